"""What single ops cost, eager: python benchmarks/ops.py

Three elements, where the time is that of the call; 10^5 elements, where it is that of the kernel; matrix products from
64 to 1024. Results are compared with NumPy's before anything is timed.
"""

import timeit

from harness import (
    Worker,
    available,
    environment,
    interleave,
    parse_arguments,
    print_table,
    serve,
    summarise,
    write_json,
)

LARGE = 100_000
# Name in NumPy, of the op in minidynamo and torch, and how many operands.
POINTWISE = {
    "add": ("add", 2),
    "sub": ("subtract", 2),
    "mul": ("multiply", 2),
    "div": ("divide", 2),
    "maximum": ("maximum", 2),
    "minimum": ("minimum", 2),
    "lt": ("less", 2),
    "neg": ("negative", 1),
    "abs": ("absolute", 1),
    "sqrt": ("sqrt", 1),
    "exp": ("exp", 1),
    "log": ("log", 1),
    "sin": ("sin", 1),
    "cos": ("cos", 1),
    "tanh": ("tanh", 1),
    "floor": ("floor", 1),
    "square": ("square", 1),
    "reciprocal": ("reciprocal", 1),
}
REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "argmax", "any", "all", "var", "std")
IN_PLACE = ("add", "mul")
NUMPY_REDUCTIONS = {"amax": "max", "amin": "min"}
SIZES = (64, 128, 256, 512, 1024)


def questions():
    yield "add, 3 elements, float32"
    yield "add_, 3 elements, float32"
    for dtype in ("float32", "float64"):
        for name in POINTWISE:
            yield f"{name}, {LARGE} elements, {dtype}"
        for name in IN_PLACE:
            yield f"{name}_, {LARGE} elements, {dtype}"
        for name in REDUCTIONS:
            yield f"{name}, {LARGE} elements, {dtype}"
        for size in SIZES:
            yield f"matmul, {size} x {size}, {dtype}"


class Numpy:
    module = "numpy"

    def array(self, values):
        return values

    def function(self, name, operands):
        import numpy

        if name.endswith("_"):
            call = getattr(numpy, POINTWISE[name[:-1]][0])
            return lambda: call(*operands, out=operands[0])
        if name == "matmul":
            return lambda: operands[0] @ operands[1]
        if name in POINTWISE:
            call = getattr(numpy, POINTWISE[name][0])
            return lambda: call(*operands)
        method = getattr(operands[0], NUMPY_REDUCTIONS.get(name, name))
        return (lambda: method(ddof=1)) if name in ("var", "std") else (lambda: method())

    def plain(self, value):
        import numpy

        return numpy.asarray(value)


class Torchlike:
    def __init__(self):
        self.library = __import__(self.module)

    def array(self, values):
        return self.library.tensor(values)

    def function(self, name, operands):
        if name in ("matmul",) or name in POINTWISE:
            call = getattr(self.library, name)
            return lambda: call(*operands)
        method = getattr(operands[0], name)
        return lambda: method(*operands[1:])

    def plain(self, value):
        return value.numpy()


class Minidynamo(Torchlike):
    module = "minidynamo"


class Torch(Torchlike):
    module = "torch"


CONTENDERS = {"numpy": Numpy, "minidynamo": Minidynamo, "torch": Torch}


def operands_of(name, size, dtype):
    import numpy

    rng = numpy.random.default_rng(0)
    count = 2 if name == "matmul" else POINTWISE.get(name.rstrip("_"), (None, 1))[1]
    shape = (size, size) if name == "matmul" else (size,)
    # Near one, so that products stay finite.
    return [(1 + rng.random(shape) / 1e3).astype(dtype) for _ in range(count)]


def parse(question):
    name, size, dtype = question.split(", ")
    return name, int(size.split()[0]), dtype


def measure(contender, expected_of, question):
    import numpy

    name, size, dtype = parse(question)
    values = operands_of(name, size, dtype)
    call = contender.function(name, [contender.array(value.copy()) for value in values])
    if not name.endswith("_"):
        expected = expected_of.plain(expected_of.function(name, values)())
        numpy.testing.assert_allclose(contender.plain(call()), expected, rtol=2e-3)
    timer = timeit.Timer(call)
    once = max(timer.timeit(3) / 3, 1e-8)
    count = max(3, int(0.01 / once))
    timer.timeit(count)
    return timer.timeit(count) / count


def main():
    arguments = parse_arguments(__doc__, 7)
    if arguments.worker:
        contender = CONTENDERS[arguments.worker[0]]()
        library = __import__(contender.module)
        if hasattr(library, "set_num_threads"):
            library.set_num_threads(int(arguments.worker[1]))
        oracle = Numpy()
        serve(lambda question: measure(contender, oracle, question))
        return
    results = {}
    for threads in arguments.threads.split(","):
        names = available({name: contender.module for name, contender in CONTENDERS.items()}, arguments.only)
        workers = [Worker(__file__, [name, threads], environment(threads)) for name in names]
        answers = interleave(workers, list(questions()), arguments.rounds)
        for worker in workers:
            worker.close()
        rows = {q: {name: summarise(samples) for name, samples in by.items()} for q, by in answers.items()}
        results[threads] = rows
        for question, by in rows.items():
            print_table(f"{question}, {threads} thread(s)", by, "us", 1e6)
    write_json(arguments.json, results)


if __name__ == "__main__":
    main()
