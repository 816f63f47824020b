"""Functions over numbers and sizes that vary from call to call, for both libraries: torch is minidynamo or torch.

A row of PROGRAMS is the text of an expression over `x` (a tensor of four ones) and `n` (the value that varies), and
the values of its calls.
"""

import dataclasses
import functools
import math
import operator

INTEGERS = (5, 6, 9, 7, 2, 1, 0, -1, -3, 100000, 2**70, True)
SMALL = (5, 6, 9, 7, 2, 3, 1, 0, -1, -3, 40, True)
FLOATS = (0.5, 1.5, 2.25, 1.0, 0.0, -0.0, -0.5, -3.0, 1e300, math.inf, math.nan, 0.55)
SIZES = (5, 6, 9, 7, 2, 3, 1, 0, 40, 8, 4, -1)
PAIRS = ((4, 5), (5, 6), (6, 7), (9, 3), (2, 3), (3, 3), (1, 7), (0, 4), (5, 0), (12, 1), (7, 9), (-1, 2))

BINARY = ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^")
OF_FLOATS = ("+", "-", "*", "/", "//", "%", "**")
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")

UNARY_MATH = (
    "sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p cbrt erf erfc"
    " gamma lgamma fabs floor ceil trunc degrees radians isnan isinf isfinite ulp"
).split()
BINARY_MATH = "pow atan2 fmod hypot copysign remainder nextafter log isclose".split()
OF_INTEGERS_MATH = "isqrt factorial".split()
OF_TWO_INTEGERS_MATH = "gcd lcm comb perm".split()

ARITHMETIC = {
    "negative": "x * -n",
    "positive": "x * +n",
    "absolute": "x * abs(n)",
    "int": "x * int(n)",
    "float": "x * float(n)",
    "bool": "x * bool(n)",
    "not": "x * (not n)",
    "round": "x * round(n)",
    "round_to": "x * round(n, 1)",
    "round_to_tens": "x * round(n, -1)",
    "divmod_first": "x * divmod(n, 3)[0]",
    "divmod_second": "x * divmod(n, 3)[1]",
    "divmod_by": "x * divmod(7, n)[1]",
    "divmod_unpacked": "(lambda q, r: x * q + r)(*divmod(n, 2))",
    "pow_call": "x * pow(n, 2)",
    "pow_of_two": "x * pow(2, n)",
    "min": "x * min(n, 3)",
    "max": "x * max(n, 3)",
    "max_of_float": "x * max(n, 2.5)",
    "min_of_tuple": "x * min((n, 3, 1))",
    "max_of_list": "x * max([n, 3, 1])",
    "clamped": "x * min(max(n, 2), 6)",
    "sum_of_list": "x * sum([n, 1])",
    "sum_of_tuple": "x * sum((n, n, 2), 1)",
    "sum_of_generator": "x * sum(n * i for i in range(3))",
    "prod": "x * math.prod((n, 2))",
    "fsum": "x * math.fsum([n, 0.5])",
    "chain": "x * ((n + 1) * 2 - n / 4)",
    "polynomial": "x * (n * n * n - 2 * n + 1)",
    "mean": "x * ((n + 3) / 2)",
    "returned": "(x + 1, n * 2)",
    "returned_compared": "(x + 1, n > 2)",
    "in_tuple": "x + 1 if n in (1, 2) else x - 1",
    "if_greater": "x + 1 if n > 3 else x - 1",
    "if_equal": "x + 1 if n == 5 else x - 1",
    "if_true": "x + 1 if n else x - 1",
    "if_not": "x + 1 if not n else x - 1",
    "if_between": "x + 1 if 0 < n < 7 else x - 1",
    "if_and": "x + 1 if n > 1 and n < 100 else x - 1",
    "abs_compared": "x + 1 if abs(n) > 2 else x - 1",
    "formatted": "(x + 1, f'{n}')",
    "text": "(x + 1, str(n))",
    "full": "T.full((3,), n)",
    "full_like": "T.full_like(x, n)",
    "clamp": "T.clamp(x, max=n)",
    "add_alpha": "T.add(x, x, alpha=n)",
    "where": "T.where(x > 0, x, n)",
    "tensor": "x + T.tensor(n)",
    "in_list": "T.stack([x * n, x + n])",
    "in_helper": "helper(x, n)",
    "in_keyword": "helper(x, n=n)",
    "in_star_args": "helper(*(x, n))",
    "in_dict": "helper(**{'x': x, 'n': n})",
    "in_dataclass": "x * Numbers(n).n",
    "in_partial": "functools.partial(helper, n=n)(x)",
    "operator_mul": "x * operator.mul(n, 3)",
    "operator_neg": "x * operator.neg(n)",
    "masked_fill": "x.masked_fill(x > 0, n)",
    "in_comprehension": "x * sum([n + i for i in range(3)])",
    "as_bool_of_comparison": "x * int(n > 2)",
    "sign": "x * ((n > 0) - (n < 0))",
}
OF_INTEGERS_ONLY = {
    "invert": "x * ~n",
    "bit_length": "x * n.bit_length()",
    "index": "x * operator.index(n)",
    "parity": "x + 1 if n % 2 == 0 else x - 1",
    "even_by_bits": "x + 1 if n & 1 else x - 1",
    "pow_modulo": "x * pow(n, 2, 5)",
    "true_half": "x * (n / 2)",
    "power_of_two": "x + 1 if n > 0 and n & (n - 1) == 0 else x - 1",
}
OF_FLOATS_ONLY = {
    "is_integer": "x + 1 if n.is_integer() else x - 1",
    "is_nan": "x + 1 if n != n else x - 1",
    "is_nan_call": "x + 1 if math.isnan(n) else x - 1",
    "square_root": "x * n ** 0.5",
    "reciprocal": "x * n ** -1",
}
SIZES_OF_ONE = {
    "zeros": "T.zeros(n)",
    "zeros_of_tuple": "T.zeros((n, 2))",
    "new_zeros": "x.new_zeros(n, 2)",
    "zeros_of_list": "x.new_zeros([n, 2])",
    "doubled": "T.zeros(n * 2 + 1)",
    "halved": "T.zeros(n // 2)",
    "halved_by_shift": "T.zeros(n >> 1)",
    "shifted": "T.zeros(n << 1)",
    "rest": "T.zeros(n % 3)",
    "rounded_up": "T.zeros(-(-n // 4) * 4)",
    "of_max": "T.zeros(max(n, 3))",
    "of_min": "T.zeros(min(n, 3))",
    "of_square": "T.zeros(n ** 2)",
    "of_int_of_half": "T.zeros(int(n * 0.5))",
    "of_ceil": "T.zeros(math.ceil(n / 2))",
    "of_abs": "T.zeros(abs(n))",
    "arange": "T.arange(n)",
    "expand": "x.unsqueeze(0).expand(n, 4)",
    "repeat": "x.repeat(n)",
    "pad": "T.nn.functional.pad(x, (n, 1))",
    "slice": "x[:n]",
    "slice_from": "x[n:]",
    "eye": "T.eye(n)",
    "full": "T.full((n,), 2.0)",
    "linspace": "T.linspace(0, 1, n)",
    "sum_of_shape": "T.zeros(n, 2).sum() * n",
    "size_times_number": "T.zeros(n).shape[0] * x",
    "narrow_helper": "helper(T.zeros(n), n)",
    "empty_like": "T.zeros_like(T.zeros(n, 3))",
    "view": "T.arange(n * 4).view(n, 4)",
    "reshape": "T.arange(n * 4).reshape(4, n)",
    "reshape_rest": "T.arange(n * 4).reshape(-1, 2)",
    "mean_by_number": "T.ones(n).sum() / max(n, 1)",
}
SIZES_OF_MANY = {
    "zeros": "T.zeros(n)",
    "new_zeros": "x.new_zeros(n)",
    "new_ones": "x.new_ones(n)",
    "ones": "T.ones(n)",
    "full": "T.full(n, 2.0)",
    "empty": "T.zeros_like(T.empty(n))",
    "star": "T.zeros(*n)",
    "sum": "T.zeros(tuple(n) + (2,))",
    "sum_before": "T.zeros((2,) + tuple(n))",
    "display": "T.zeros((*n, 2))",
    "reversed": "T.zeros(n[::-1])",
    "last": "T.zeros(n[-1])",
    "first": "T.zeros(n[:1])",
    "unpacked": "(lambda a, b: T.zeros(a, b))(*n)",
    "expand": "x[:1].expand(n)",
    "expand_star": "x[:1].expand(*n)",
    "repeat": "x.repeat(n)",
    "repeat_star": "x.repeat(*n)",
    "pad": "T.nn.functional.pad(x, n)",
    "reshape": "T.zeros(n).reshape(n[::-1])",
    "view": "T.zeros(n).view(n[1], n[0])",
    "flat": "T.zeros(n).view(n[0] * n[1])",
    "count": "T.zeros(math.prod(n))",
    "sum_of_all": "T.zeros(sum(n))",
    "largest": "T.zeros(max(n))",
    "rest": "T.zeros(n).reshape(n[0], -1)",
    "helper": "make(T, n)",
    "keyword": "T.zeros(size=n)",
    "dict": "T.zeros({'size': n}['size'])",
    "dataclass": "T.zeros(Sizes(n).size)",
    "doubled": "T.zeros([2 * i for i in n])",
    "map": "T.zeros(tuple(map(lambda i: i + 1, n)))",
    "zip": "T.zeros([a + b for a, b in zip(n, (1, 2))])",
    "enumerate": "T.zeros([a + i for i, a in enumerate(n)])",
    "list": "T.zeros(list(n))",
    "tuple": "T.zeros(tuple(n))",
    "size": "T.zeros(T.Size(n))",
    "numel": "T.Size(n).numel() * x",
    "length": "x * len(n)",
    "interpolate": "T.nn.functional.interpolate(T.ones(1, 1, 2, 2), size=n)",
    "broadcast_to": "T.broadcast_to(x[:1], n)",
    "equal": "x + 1 if n[0] == n[1] else x - 1",
    "contains": "x + 1 if 3 in n else x - 1",
    "numbers": "x * n[0] + n[1]",
    "shape_of_it": "T.zeros(T.zeros(n).shape)",
    "shape_and_more": "T.zeros(T.zeros(n).shape + (2,))",
    "shape_reversed": "T.zeros(T.zeros(n).shape[::-1])",
    "shape_unpacked": "T.zeros(*T.zeros(n).shape)",
    "shape_in_keyword": "x.new_zeros(size=T.zeros(n).shape)",
}


def rows():
    programs = {}
    for name, text in ARITHMETIC.items():
        programs[f"int {name}"] = text, SMALL if "pow" in name else INTEGERS
        programs[f"float {name}"] = text, FLOATS
    for sign in BINARY:
        programs[f"int {sign} 3"] = f"x * (n {sign} 3)", INTEGERS
        programs[f"int 3 {sign}"] = f"x * (3 {sign} n)", SMALL if sign in ("**", "<<") else INTEGERS
    for sign in OF_FLOATS:
        programs[f"float {sign} 0.3"] = f"x * (n {sign} 0.3)", FLOATS
        programs[f"float 0.3 {sign}"] = f"x * (0.3 {sign} n)", FLOATS
        programs[f"int {sign} 0.5"] = f"x * (n {sign} 0.5)", INTEGERS
    for sign in COMPARISONS:
        programs[f"int {sign} 3"] = f"x * (n {sign} 3)", INTEGERS
        programs[f"float {sign} 0.5"] = f"x * (n {sign} 0.5)", FLOATS
    for name in UNARY_MATH:
        if not hasattr(math, name):
            continue
        programs[f"float math.{name}"] = f"x * math.{name}(n)", FLOATS
    for name in ("sqrt", "sin", "exp", "log", "floor", "ceil", "isnan"):
        programs[f"int math.{name}"] = f"x * math.{name}(n)", SMALL
    for name in BINARY_MATH:
        programs[f"float math.{name}"] = f"x * math.{name}(n, 1.5)", FLOATS
    for name in OF_INTEGERS_MATH:
        programs[f"int math.{name}"] = f"x * math.{name}(n)", SMALL
    for name in OF_TWO_INTEGERS_MATH:
        programs[f"int math.{name}"] = f"x * math.{name}(n, 4)", SMALL
    programs["float math.ldexp"] = "x * math.ldexp(n, 3)", FLOATS
    programs["float math.modf"] = "x * math.modf(n)[0]", FLOATS
    programs["float math.frexp"] = "x * math.frexp(n)[1]", FLOATS
    for name, text in OF_INTEGERS_ONLY.items():
        programs[f"int {name}"] = text, INTEGERS
    for name, text in OF_FLOATS_ONLY.items():
        programs[f"float {name}"] = text, FLOATS
    for name, text in SIZES_OF_ONE.items():
        programs[f"size {name}"] = text, SIZES
    for name, text in SIZES_OF_MANY.items():
        programs[f"tuple {name}"] = text, PAIRS
        if name in ("zeros", "new_zeros", "expand", "pad", "helper", "star", "reversed", "dataclass", "equal"):
            programs[f"list {name}"] = text, tuple(list(pair) for pair in PAIRS)
        if name not in ("pad", "sum", "sum_before", "first", "reversed", "display", "map", "zip", "enumerate"):
            programs[f"shape {name}"] = text, tuple(Shape(pair) for pair in PAIRS if min(pair) >= 0)
    for place in PLACES:
        for name in ("int chain", "float chain", "int if_greater", "size zeros"):
            text, values = programs[name]
            programs[f"{place}: {name}"] = text, tuple(InPlace(place, value) for value in values)
    return programs


@dataclasses.dataclass
class Shape:
    """The Size of a tensor of these sizes."""

    sizes: tuple


PLACES = (
    "item of list",
    "item of tuple",
    "item of dict",
    "attribute",
    "attribute of module",
    "cell",
    "global",
    "default",
)


@dataclasses.dataclass
class InPlace:
    """A number that the function reads from elsewhere than its argument."""

    place: str
    value: object


@dataclasses.dataclass
class Numbers:
    n: object


@dataclasses.dataclass
class Sizes:
    size: object


class Holder:
    def __init__(self, n):
        self.n = n


READS = {
    "item of list": "h[0]",
    "item of tuple": "h[0]",
    "item of dict": "h['n']",
    "attribute": "h.n",
    "attribute of module": "h.n",
    "cell": "cell_of_n",
    "global": "GLOBAL_N",
    "default": "read()",
}

SOURCE = """
def helper(x, n):
    return x * n + 1

def make(T, size):
    return T.zeros(size)

def read(n=None):
    return n

def maker():
    cell_of_n = None

    def set_cell(value):
        nonlocal cell_of_n
        cell_of_n = value

    def program(x, h):
        n = {read}
        return {text}

    return program, set_cell
"""


def program_of(library, text, values):
    """The function to be compiled, and for each call a function that makes its arguments."""
    place = values[0].place if isinstance(values[0], InPlace) else None
    names = {
        "T": library,
        "math": math,
        "operator": operator,
        "functools": functools,
        "Numbers": Numbers,
        "Sizes": Sizes,
        "GLOBAL_N": None,
    }
    exec(compile(SOURCE.format(text=text, read=READS.get(place, "h")), "<program>", "exec"), names)
    program, set_cell = names["maker"]()
    held = {
        "item of list": lambda value: [value],
        "item of tuple": lambda value: (value,),
        "item of dict": lambda value: {"n": value},
    }
    keeper = library.nn.Module() if place == "attribute of module" else Holder(None)

    def call(value):
        x = library.ones(4)
        if isinstance(value, Shape):
            return x, library.zeros(value.sizes).shape
        if not isinstance(value, InPlace):
            return x, (list(value) if isinstance(value, list) else value)
        number = value.value
        if place in held:
            return x, held[place](number)
        keeper.n = number
        set_cell(number)
        names["GLOBAL_N"] = number
        names["read"].__defaults__ = (number,)
        return x, keeper

    return program, [(lambda value=value: call(value)) for value in values]


PROGRAMS = rows()
