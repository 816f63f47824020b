"""Valid calls for every row of the op table. Tensors are described by `Data`, so that any library can create them."""

import math
import zlib

import minidynamo as md
from minidynamo import _C

ROWS = _C._op_rows()


class Data:
    """A tensor of small numbers: floats ("f"), positive floats ("p"), integers ("i"), bools ("b"), or the numbers
    passed in."""

    def __init__(self, kind, *shape, values=None, dtype=None):
        self.kind, self.shape, self.values, self.dtype = kind, shape, values, dtype

    def numbers(self):
        if self.values is not None:
            return self.values
        count = math.prod(self.shape)
        seed = zlib.crc32(f"{self.kind}{self.shape}".encode())
        drawn = [(seed * (n + 1) * 2654435761 >> 7) % 97 for n in range(count)]
        if self.kind == "b":
            return [n % 3 == 0 for n in drawn]
        if self.kind == "i":
            return [n % 9 + 1 for n in drawn]
        return [n / 100 + 0.01 if self.kind == "p" else (n - 48) / 16 for n in drawn]

    def make(self, library):
        # From an empty list a library would create floats.
        dtype = self.dtype or {"b": "bool", "i": "int64"}.get(self.kind, "float32")
        flat = library.tensor(self.numbers(), dtype=getattr(library, dtype))
        return flat if self.values is not None and not self.shape else flat.reshape(self.shape)

    def of(self, **changes):
        return Data(**{"kind": self.kind, "values": self.values, "dtype": self.dtype, **changes})


class Named:
    """A dtype, by name."""

    def __init__(self, name):
        self.name = name


def f(*shape):
    return Data("f", *shape)


def p(*shape):
    return Data("p", *shape)


def i(*shape):
    return Data("i", *shape)


def b(*shape):
    return Data("b", *shape)


def z(*shape):
    count = math.prod(shape)
    return Data("f", *shape, values=[complex(n - 2, 1.5 - n / 2) for n in range(count)], dtype="complex64")


def index(*values, shape=None):
    return Data("i", *(shape or (len(values),)), values=list(values))


def realize(value, library):
    if isinstance(value, Data):
        return value.make(library)
    if isinstance(value, Named):
        return getattr(library, value.name)
    if isinstance(value, list):
        return [realize(part, library) for part in value]
    return value


def call(*args, **keywords):
    return args, keywords


X = f(3, 4)
UNARY = [call(f(3, 4)), call(f()), call(f(0, 2)), call(f(2, 1, 3))]
POSITIVE = [call(p(3, 4)), call(p()), call(i(3))]
WHOLE = [call(i(3, 4)), call(i()), call(b(3))]
BINARY = [call(f(3, 4), f(4)), call(f(3, 1), p(1, 4)), call(i(3), p(2, 1)), call(f(2), f())]
ARITHMETIC = [*BINARY, call(f(3), 2), call(i(3), 2.5), call(i(2, 3), i(3))]
INTEGERS = [call(i(3, 4), i(4)), call(i(3), 2), call(i(2, 1), i(3))]
BITS = [*INTEGERS, call(b(3), b(3))]
REDUCE = [call(f(3, 4)), call(f(3, 4), 1), call(f(3, 4), dim=0, keepdim=True), call(f(2, 3, 4), -1)]
SEVERAL = [*REDUCE, call(f(2, 3, 4), (0, 2)), call(f(0, 3), 0)]
ALONG = [call(f(3, 4), 0), call(f(3, 4), -1), call(f(), 0)]
ONE_DIM = [call(f(3, 4), 1), call(f(3, 4), 0, True), call(f(5), dim=-1)]
SIZES = [call(2, 3), call((2, 3)), call(2, dtype=Named("float64")), call(())]
LIKE = [call(f(2, 3)), call(i(2), dtype=Named("float32")), call(f())]
NEW = [call(f(2), 2, 3), call(i(2), (2,)), call(f(1), (2, 1), dtype=Named("int32"))]

SAMPLES = {
    **dict.fromkeys(
        "neg abs sign square floor ceil trunc round relu sigmoid isnan isinf isfinite logical_not tanh".split(), UNARY
    ),
    **dict.fromkeys("exp exp2 expm1 sin cos tan atan sinh cosh erf erfc asinh".split(), UNARY),
    **dict.fromkeys("frac signbit".split(), UNARY),
    **dict.fromkeys("sqrt rsqrt reciprocal log log2 log10 log1p asin acos acosh atanh".split(), POSITIVE),
    "round.decimals": [call(f(3, 4), decimals=1), call(p(3), decimals=0), call(Data("f", 3, values=[1234.5, -1250.0, 49.0]), decimals=-2)],
    "angle": [*UNARY, call(z(5))],
    "complex": [call(f(3), p(3)), call(f(3, 1), f(2))],
    "view_as_real": [call(z(4))],
    "view_as_complex": [call(f(3, 2))],
    "gelu": [*UNARY, call(f(3), approximate="tanh")],
    "bitwise_not": WHOLE,
    "add": [*ARITHMETIC, call(f(3), f(3), alpha=2), call(b(3), b(3)), call(b(2), True)],
    "sub": [*ARITHMETIC, call(f(3), f(3), alpha=0.5)],
    **dict.fromkeys("mul div".split(), ARITHMETIC),
    "div.rounding": [
        call(f(3), p(3), rounding_mode="floor"),
        call(i(3), i(3), rounding_mode="trunc"),
    ],
    "div.plain": [call(f(3), 2, rounding_mode=None), call(i(3), i(3), rounding_mode=None)],
    **dict.fromkeys("floor_divide remainder fmod".split(), [call(f(3, 4), p(4)), *INTEGERS, call(f(3), 2.5)]),
    "pow": [
        call(p(3, 4), f(4)),
        call(f(3), 2),
        call(i(3), 2),
        call(p(3), 0.5),
        call(b(3), True),
        call(b(3), False),
    ],
    "hypot": [call(f(3, 4), f(4)), call(f(3, 1), p(1, 4)), call(f(2), f())],
    "copysign": [call(f(3, 4), f(4)), call(f(3), -2), call(i(3), f(3)), call(i(3), -1)],
    **dict.fromkeys("fmax fmin atan2 maximum minimum logical_and logical_or logical_xor max.other min.other".split(), BINARY),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor".split(), BITS),
    **dict.fromkeys("bitwise_left_shift bitwise_right_shift".split(), INTEGERS),
    **dict.fromkeys("eq ne lt le gt ge".split(), ARITHMETIC),
    "where": [call(b(3, 4), f(3, 4), f(4)), call(b(3), f(3), 0.0), call(b(2, 1), 1, f(3))],
    "where.condition": [call(b(3, 4)), call(i(3))],
    "clamp": [call(X, -1, 1), call(X, min=0.5), call(X, max=f(4)), call(X, f(4), f(3, 1)), call(i(3), 2, 4)],
    **dict.fromkeys("clamp_min clamp_max".split(), [call(X, 0.25), call(X, f(4)), call(i(3), 2)]),
    "lerp": [call(f(3), p(3), 0.25), call(f(2, 3), p(3), p(2, 1))],
    "sum": [*SEVERAL, call(index(2, 256, -2), dtype=Named("bool")), call(f(3, 4), 1, dtype=Named("bool")), call(i(3)), call(b(3)), call(i(3), dtype=Named("float64"))],
    "prod": [*REDUCE, call(i(3)), call(f(3), dtype=Named("float64"))],
    "mean": [*SEVERAL[:-1], call(i(3), dtype=Named("float32"))],
    **dict.fromkeys("var std".split(), [*SEVERAL[:-1], call(f(3, 4), 0, correction=0)]),
    **dict.fromkeys("var.unbiased std.unbiased".split(), [call(f(3, 4), 0, False), call(f(3, 4), 1, unbiased=True)]),
    **dict.fromkeys("var.whole std.whole".split(), [call(f(3, 4), True), call(f(5), False), call(f(0), unbiased=True)]),
    **dict.fromkeys("amax amin".split(), SEVERAL[:-1]),
    **dict.fromkeys("max min".split(), [call(X), call(i(3)), call(f())]),
    **dict.fromkeys("max.dim min.dim".split(), ONE_DIM),
    **dict.fromkeys("argmax argmin".split(), [call(X), *ONE_DIM]),
    **dict.fromkeys("any all".split(), [call(b(3, 4)), call(b(3, 4), 1), call(f(3, 4), 0, True)]),
    **dict.fromkeys("cumsum cumprod".split(), [*ALONG, call(i(3), 0), call(f(3), 0, dtype=Named("float64"))]),
    **dict.fromkeys("cummax cummin".split(), [*ALONG, call(i(3, 4), 1), call(b(5), 0), call(f(0, 2), 0)]),
    "logsumexp": [call(X, 1), call(X, (0, 1)), call(X, dim=0, keepdim=True), call(i(3), 0)],
    "norm": [call(X), call(X, 1), call(X, 2, 1), call(X, math.inf, 0, True), call(X, 3, (0, 1)), call(X, 0), call(p(3), -1)],
    "norm.name": [call(X, "fro"), call(X, "fro", 1), call(X, p="fro", dim=(0, 1))],
    "matmul": [call(X, f(4, 2)), call(f(4), f(4)), call(X, f(4)), call(f(2, 1, 3, 4), f(5, 4, 2)), call(i(2, 2), i(2, 2))],
    "mm": [call(X, f(4, 2)), call(f(0, 4), f(4, 2))],
    "bmm": [call(f(2, 3, 4), f(2, 4, 5))],
    "mv": [call(X, f(4))],
    "dot": [call(f(4), p(4))],
    "outer": [call(f(3), p(2)), call(i(2), p(2))],
    "addmm": [call(f(3, 2), X, f(4, 2)), call(f(2), X, f(4, 2), beta=0.5, alpha=2)],
    "linear": [call(X, f(2, 4)), call(X, f(2, 4), f(2)), call(f(4), f(2, 4))],
    **dict.fromkeys("softmax log_softmax".split(), [*ALONG, call(i(3), 0, dtype=Named("float32"))]),
    "layer_norm": [call(X, (4,)), call(X, (3, 4), p(3, 4), f(3, 4)), call(X, (4,), None, f(4), 1e-3)],
    "detach": [call(X)],
    "positive": [call(X)],
    "view": [call(X, 2, 6), call(X, (-1,)), call(X, 12)],
    "view.dtype": [call(X, Named("int32")), call(X, Named("int16")), call(X, Named("float64"))],
    "reshape": [call(X, 2, 6), call(X, (-1,)), call(f(0, 3), 3, 0)],
    "permute": [call(f(2, 3, 4), 2, 0, 1), call(f(2, 3), (1, 0))],
    "transpose": [call(f(2, 3, 4), 0, -1)],
    "t": [call(X), call(f(3))],
    "squeeze": [call(f(1, 3, 1)), call(f(1, 3, 1), 0), call(f(1, 3, 1), (0, 2))],
    "unsqueeze": [call(X, 0), call(X, -1)],
    "expand": [call(f(3, 1), 3, 4), call(f(3), (2, -1))],
    "as_strided": [call(f(12), (2, 3), (4, 1)), call(f(12), (2,), (1,), 3)],
    "select": [call(X, 0, 1), call(X, -1, -1)],
    "diagonal": [call(X), call(f(2, 3, 4), 1, 1, 2)],
    "unfold": [call(X, 1, 2, 1), call(f(7), 0, 3, 2), call(f(2, 5), -1, 5, 1)],
    "movedim": [call(f(2, 3, 4), 0, 2), call(f(2, 3, 4), (0, 1), (2, 0))],
    "expand_as": [call(f(3, 1), f(3, 4))],
    "broadcast_to": [call(f(3, 1), (3, 4))],
    "narrow": [call(X, 1, 1, 2)],
    "narrow.tensor": [call(X, 1, Data("i", values=1), 2), call(X, 0, Data("i", values=-1, dtype="int32"), 1)],
    "split": [call(f(5, 2), 2), call(f(5, 2), 1, 1), call(f(5), 2, dim=0)],
    "split.sizes": [call(f(5, 2), [2, 3]), call(f(2, 3), (1, 2), 1)],
    "chunk": [call(f(5, 2), 2), call(f(2, 5), 3, 1)],
    "unbind": [call(X), call(X, 1)],
    "flatten": [call(f(2, 3, 4)), call(f(2, 3, 4), 1), call(f(2, 3, 4), 0, 1)],
    "contiguous": [call(X)],
    "clone": [call(X)],
    **dict.fromkeys("cat stack".split(), [call([f(2, 3), p(2, 3)]), call([f(2, 3), i(2, 3)], 1), call([i(2), i(2)], dim=-1)]),
    "flip": [call(X, 0), call(X, (0, 1))],
    "roll": [call(X, 2), call(X, (1, -1), (0, 1)), call(X, 1, 1)],
    "repeat": [call(X, 2, 1), call(f(3), (2, 2))],
    **dict.fromkeys("sort argsort".split(), [call(X), call(X, 0, True), call(i(5), descending=True)]),
    "kthvalue": [call(X, 2), call(X, 1, 0, True), call(Data("i", values=[5, 2, 9, 1, 7]), k=3)],
    "topk": [call(X, 2), call(X, 1, 0, False), call(f(5), k=3, dim=0)],
    "index_select": [call(X, 0, index(2, 0)), call(X, -1, index(3, 3, 1))],
    "gather": [call(X, 0, index(2, 0, 1, 1, shape=(1, 4))), call(f(3), 0, index(1, 1))],
    "copy": [call(X, f(4)), call(X, i(3, 4)), call(i(3), f(3))],
    "fill": [call(X, 2), call(i(3), 7.5), call(X, f())],
    "zero": [call(X)],
    "index_fill": [call(X, 0, index(1), 5.0), call(X, 1, index(0, 2), f())],
    "index_copy": [call(X, 0, index(2, 0), f(2, 4))],
    "index_add": [call(X, 0, index(2, 0, 2), p(3, 4)), call(X, 1, index(1), p(3, 1), alpha=2)],
    "scatter": [call(X, 0, index(2, 0, 1, 1, shape=(1, 4)), p(1, 4)), call(X, 1, index(1, 2, 0, shape=(3, 1)), 9.0)],
    "scatter.reduce": [
        call(X, 0, index(2, 0, 1, 1, shape=(1, 4)), p(1, 4), reduce="add"),
        call(X, 1, index(1, 1, shape=(1, 2)), p(1, 2), reduce="multiply"),
        call(i(3), 0, index(1, 1), 3, reduce="multiply"),
    ],
    "scatter_add": [call(X, 0, index(2, 0, 1, 1, shape=(1, 4)), p(1, 4))],
    "masked_select": [call(X, b(3, 4)), call(X, b(4))],
    "masked_fill": [call(X, b(3, 4), 2.0), call(X, b(4), f())],
    **dict.fromkeys("tril triu".split(), [call(X), call(f(2, 3, 3), -1), call(X, diagonal=1)]),
    **dict.fromkeys("empty zeros ones rand randn".split(), SIZES),
    "full": [call((2, 3), 1.5), call((2,), 3), call((2,), True), call([1], 2, dtype=Named("float64"))],
    "arange": [call(5), call(2.5), call(4, dtype=Named("float32"))],
    "arange.start": [call(1, 5), call(5, 1, -2), call(0, 1, 0.25)],
    "linspace.tensors": [call(f(), Data("i", values=3), 4), call(Data("f", values=2.5), 1, 3), call(0, f(), 2)],
    "linspace": [call(0, 1, 5), call(3.0, -1.0, 3, dtype=Named("float64")), call(0, 1, 1)],
    "eye": [call(3), call(2, 3), call(2, dtype=Named("int64"))],
    **dict.fromkeys("zeros_like ones_like empty_like".split(), LIKE),
    **dict.fromkeys("rand_like randn_like".split(), [call(f(2, 3)), call(i(2), dtype=Named("float32"))]),
    "full_like": [call(f(2, 3), 1.5), call(i(2), 3)],
    **dict.fromkeys("new_zeros new_ones new_empty".split(), NEW),
    "new_full": [call(f(2), (2, 3), 1.5), call(i(2), (2,), 3), call(f(1), (2,), 1, dtype=Named("int32"))],
    "randint": [call(5, (2, 3)), call(high=3, size=(2,)), call(2, (4,), dtype=Named("float32"))],
    "randint.low": [call(-3, 5, (2, 3)), call(1, 2, (3,))],
    "randint_like": [call(f(2, 3), 5), call(i(2), 3, dtype=Named("float32"))],
    "randint_like.low": [call(f(2, 3), -3, 5), call(i(2), 1, 2, memory_format=None)],
    "randperm": [call(5), call(0)],
}  # fmt: skip

# Ops whose results have no defined value to compare.
UNDETERMINED = {"empty", "empty_like", "new_empty"}
# In graphs these have variants of their own.
WITHOUT_VARIANTS = {
    row["name"] for row in ROWS if not any(row[variant] for variant in ("function", "method", "functional", "in_place"))
}


def python_name(row):
    return row["name"].partition(".")[0]


def cases(wanted=lambda row: True):
    """(row, number, args, keywords) of every sample of the rows that `wanted` accepts."""
    return [
        (row, number, *sample)
        for row in ROWS
        if row["name"] not in WITHOUT_VARIANTS and wanted(row)
        for number, sample in enumerate(SAMPLES[row["name"]])
    ]


def case_id(case):
    return f"{case[0]['name']}-{case[1]}"


def variants(row, library=md):
    """The callables of a row, by the name of the variant."""
    name = python_name(row)
    owners = {"function": library, "method": library.Tensor, "functional": library.nn.functional}
    if row["method"] and "int[*]" in row["schema"] and library is not md:
        del owners["function"]  # torch's functions do not accept sizes as separate arguments, ours do
    found = {variant: getattr(owner, name, None) for variant, owner in owners.items() if row[variant]}
    if row["in_place"]:
        found["in_place"] = getattr(library.Tensor, name + "_", None)
    return found
