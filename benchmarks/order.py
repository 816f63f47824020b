"""What sorts, selections and searches cost, eager: python benchmarks/order.py

Of random numbers: one row, many rows, and columns. Results are compared with NumPy's before anything is timed. With one
thread it is the thread's processor time, so that what other programs take does not count.
"""

import functools

from harness import Timers, compare_answers, parse_arguments, serve

# Of each shape the dim.
SHAPES = {"1000": 0, "100000": 0, "1000000": 0, "10000x32": 1, "32x10000": 0, "500x2000": 1}
DTYPES = ("float32", "float64", "int32", "int64", "uint8")
BEST = 10

# By name: what NumPy and what the others do with an array, its dim and an array of values to look for.
NUMPY = {
    "sort": lambda np, x, dim, _: np.sort(x, dim),
    "argsort": lambda np, x, dim, _: np.argsort(x, dim, kind="stable"),
    "topk": lambda np, x, dim, _: np.flip(np.partition(x, x.shape[dim] - BEST, dim), dim).take(range(BEST), dim),
    "kthvalue": lambda np, x, dim, _: np.partition(x, x.shape[dim] // 3, dim).take(x.shape[dim] // 3, dim),
    "median": lambda np, x, dim, _: np.partition(x, (x.shape[dim] - 1) // 2, dim).take((x.shape[dim] - 1) // 2, dim),
    "quantile": lambda np, x, dim, _: np.quantile(x, (0.1, 0.5, 0.9), dim),
    "unique": lambda np, x, dim, _: np.unique(x),
    "searchsorted": lambda np, x, dim, sequence: np.searchsorted(sequence, x),
}
TENSORS = {
    "sort": lambda library, x, dim, _: library.sort(x, dim)[0],
    "argsort": lambda library, x, dim, _: library.argsort(x, dim=dim, stable=True),
    "topk": lambda library, x, dim, _: library.topk(x, BEST, dim)[0],
    "kthvalue": lambda library, x, dim, _: library.kthvalue(x, x.shape[dim] // 3 + 1, dim)[0],
    "median": lambda library, x, dim, _: library.median(x, dim)[0],
    "quantile": lambda library, x, dim, _: library.quantile(x, library.tensor([0.1, 0.5, 0.9], dtype=x.dtype), dim),
    "unique": lambda library, x, dim, _: library.unique(x),
    "searchsorted": lambda library, x, dim, sequence: library.searchsorted(sequence, x),
}
OF_FLOATS = ("quantile",)
OF_ONE_ROW = ("unique", "searchsorted")
CONTENDERS = {"minidynamo": "minidynamo", "NumPy": "numpy", "torch": "torch"}
BASE = "minidynamo"  # the others are compared with it


def questions():
    for name in NUMPY:
        for shape in SHAPES:
            for dtype in DTYPES:
                if (name in OF_FLOATS and not dtype.startswith("float")) or (name in OF_ONE_ROW and "x" in shape):
                    continue
                yield f"{name}, {shape}, {dtype}"


def checked_call(library, functions, question):
    """What a library calls for a question, its result compared with NumPy's."""
    import numpy

    name, shape, dtype = question.split(", ")
    rng = numpy.random.default_rng(0)
    values = (rng.standard_normal(tuple(map(int, shape.split("x")))) * 1e6).astype("int64").astype(dtype)
    if dtype.startswith("float"):
        values = rng.standard_normal(values.shape).astype(dtype)
    sequence = numpy.sort(values.reshape(-1)[:1000])
    dim, function = SHAPES[shape], functions[name]
    expected = NUMPY[name](numpy, values, dim, sequence)
    if functions is not NUMPY:
        values, sequence = library.from_numpy(values), library.from_numpy(sequence)
    call = functools.partial(function, library, values, dim, sequence)
    found = numpy.asarray(call())
    if name == "topk":
        found, expected = numpy.sort(found, dim), numpy.sort(expected, dim)
    numpy.testing.assert_allclose(found, expected, rtol=1e-4)
    return call


def work(name, threads):
    library = __import__(CONTENDERS[name])
    if name != "NumPy":
        library.set_num_threads(int(threads))
    functions = NUMPY if name == "NumPy" else TENSORS
    serve(Timers(functools.partial(checked_call, library, functions), int(threads)).sample)


def main():
    arguments = parse_arguments(__doc__, rounds=7)
    if arguments.worker:
        work(*arguments.worker)
        return
    compare_answers(__file__, arguments, CONTENDERS, questions(), BASE)


if __name__ == "__main__":
    main()
