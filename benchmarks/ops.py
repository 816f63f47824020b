"""What single ops cost, eager: python benchmarks/ops.py

Three elements, where the time is that of the call; 10^5 elements, where it is that of the kernel; matrix products from
64 to 1024. Results are compared with NumPy's before anything is timed. With one thread it is the
thread's processor time, so that what other programs take does not count.
"""

import functools

from harness import Timers, compare_answers, parse_arguments, serve

LARGE = 100_000
# The op in minidynamo and torch, its name in NumPy; by the number of operands.
UNARY = {
    "neg": "negative", "abs": "absolute", "sign": "sign", "square": "square", "reciprocal": "reciprocal",
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos",
    "tan": "tan", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite", "logical_not": "logical_not",
}  # fmt: skip
BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "floor_divide": "floor_divide",
    "remainder": "remainder", "fmod": "fmod", "pow": "power", "atan2": "arctan2", "maximum": "maximum",
    "minimum": "minimum", "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip
BITS = {
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
}  # fmt: skip
POINTWISE = {**UNARY, **BINARY, **BITS, "bitwise_not": "invert"}
# What integers are timed with: the rest goes through floats.
WHOLE = ("neg", "abs", "add", "sub", "mul", "floor_divide", "remainder", "maximum", "eq", "lt", *BITS, "bitwise_not")
REDUCTIONS = ("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "any", "all", "var", "std")
WHOLE_REDUCTIONS = ("sum", "prod", "amax", "argmax", "any")
IN_PLACE = ("add", "mul")
NUMPY_REDUCTIONS = {"amax": "max", "amin": "min"}
SIZES = (64, 128, 256, 512, 1024)


def questions():
    yield "add, 3 elements, float32"
    yield "add_, 3 elements, float32"
    for dtype in ("float32", "float64"):
        for name in (*UNARY, *BINARY, *(f"{name}_" for name in IN_PLACE), *REDUCTIONS):
            yield f"{name}, {LARGE} elements, {dtype}"
        for size in SIZES:
            yield f"matmul, {size} x {size}, {dtype}"
    for dtype in ("int32", "int64"):
        for name in (*WHOLE, *WHOLE_REDUCTIONS):
            yield f"{name}, {LARGE} elements, {dtype}"


class Numpy:
    module = "numpy"

    def array(self, values):
        return values

    def function(self, name, operands):
        import numpy

        if name.endswith("_"):
            call = getattr(numpy, POINTWISE[name[:-1]])
            return functools.partial(call, *operands, out=operands[0])
        if name == "matmul":
            return functools.partial(numpy.matmul, *operands)
        if name in POINTWISE:
            return functools.partial(getattr(numpy, POINTWISE[name]), *operands)
        method = getattr(operands[0], NUMPY_REDUCTIONS.get(name, name))
        return functools.partial(method, ddof=1) if name in ("var", "std") else method

    def plain(self, value):
        import numpy

        return numpy.asarray(value)


class Torchlike:
    def __init__(self):
        self.library = __import__(self.module)

    def array(self, values):
        return self.library.tensor(values)

    def function(self, name, operands):
        if name == "matmul" or name in POINTWISE:
            return functools.partial(getattr(self.library, name), *operands)
        return functools.partial(getattr(operands[0], name), *operands[1:])

    def plain(self, value):
        return value.numpy()


class Minidynamo(Torchlike):
    module = "minidynamo"


class Torch(Torchlike):
    module = "torch"


CONTENDERS = {"minidynamo": Minidynamo, "NumPy": Numpy, "torch": Torch}
BASE = "minidynamo"  # the others are compared with it


def operands_of(name, size, dtype):
    import numpy

    rng = numpy.random.default_rng(0)
    count = 2 if name == "matmul" or name.rstrip("_") in (*BINARY, *BITS) else 1
    shape = (size, size) if name == "matmul" else (size,)
    if dtype.startswith("int"):
        values = [rng.integers(1, 30, shape) for _ in range(count)]
    else:
        values = [rng.random(shape) for _ in range(count)]
        if name in ("prod", "mul_"):
            values = [1 + value / 1e3 for value in values]  # near one, so that products stay finite
    return [value.astype(dtype) for value in values]


def parse(question):
    name, size, dtype = question.split(", ")
    return name, int(size.split()[0]), dtype


def checked_call(contender, question):
    """What the contender calls for a question, its result compared with NumPy's."""
    import numpy

    name, size, dtype = parse(question)
    values = operands_of(name, size, dtype)
    call = contender.function(name, [contender.array(value.copy()) for value in values])
    if not name.endswith("_"):
        expected = Numpy().function(name, values)()
        numpy.testing.assert_allclose(contender.plain(call()), expected, rtol=2e-3)
    return call


def work(name, threads):
    contender = CONTENDERS[name]()
    if hasattr(contender, "library"):
        contender.library.set_num_threads(int(threads))
    serve(Timers(functools.partial(checked_call, contender), int(threads)).sample)


def main():
    arguments = parse_arguments(__doc__, rounds=15)
    if arguments.worker:
        work(*arguments.worker)
        return
    modules = {name: contender.module for name, contender in CONTENDERS.items()}
    compare_answers(__file__, arguments, modules, questions(), BASE)


if __name__ == "__main__":
    main()
