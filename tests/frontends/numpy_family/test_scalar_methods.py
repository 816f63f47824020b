"""Methods of NumPy's scalars, and numbers that follow from constants alone: they are known while capturing."""

import warnings

import numpy as np
import pytest
from compared import mismatch

import minidynamo

# Of x.sum(), whose value is known only at run time, and of a number that is known.
METHODS = {
    "item": lambda s: s.item(),
    "tolist": lambda s: s.tolist(),
    "astype int": lambda s: s.astype(int),
    "astype by name": lambda s: s.astype("float32"),
    "astype complex": lambda s: s.astype(complex),
    "astype then item": lambda s: s.astype(np.int32).item(),
    "astype of an own order": lambda s: s.astype(int, order="F"),
    "astype of no dtype": lambda s: s.astype("nothing"),
    "round": lambda s: s.round(1),
    "round to an integer": lambda s: s.round(),
    "int": lambda s: int(s),
    "float": lambda s: float(s),
    "bool": lambda s: bool(s),
    "negative": lambda s: -s,
}
MAKE = {
    "sum": lambda x: x.sum(),
    "mean as float32": lambda x: x.astype(np.float32).mean(),
    "ceil": lambda x: np.ceil(np.log(len(x) + 5)),
    "float64": lambda x: np.sqrt(len(x) / 7),
    "nan": lambda x: np.fmax(float("nan"), float("nan")),
    "infinity": lambda x: np.log(float(len(x) - 3)),
    "too large for integers": lambda x: np.multiply(1e20, float(len(x))),
}


@pytest.mark.parametrize("number", MAKE)
@pytest.mark.parametrize("method", METHODS)
def test_as_plain_code(method, number):
    make, of = MAKE[number], METHODS[method]

    def function(x):
        return x * 2, of(make(x))

    for values in ([1.5, -2.25, 7.0], [0.0, 1.0], [1.5, -2.25, 7.0]):
        assert not mismatch(function, [np.array(values)])


@pytest.mark.parametrize("method", ["item", "tolist", "astype then item", "int", "float", "bool"])
@pytest.mark.parametrize("number", ["ceil", "float64"])
def test_known_numbers_break_no_graph(method, number):
    make, of = MAKE[number], METHODS[method]

    def function(x):
        return x * of(make(x)) + len(range(int(make(x))))

    explained = minidynamo._dynamo.explain(function)(np.array([1.5, 2.5]))
    assert (explained.graph_break_count, explained.graph_count) == (0, 1)


UFUNCS = (
    "add subtract multiply divide power floor_divide remainder fmod maximum fmin hypot arctan2 logaddexp copysign "
    "less equal logical_and float_power heaviside nextafter"
).split()


@pytest.mark.parametrize("numbers", [(2.5, 3.25), (7, 3), (7, 2.5), (0.1, 3), (True, 2)])
@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_of_numbers_alone(name, numbers):
    ufunc = getattr(np, name)
    assert not mismatch(lambda x: (x * 2, ufunc(*numbers)), [np.array([1.5, 2.5])])


CONVERSIONS = {
    "int": int,
    "float": float,
    "bool": bool,
    "complex": complex,
    "chr": chr,
    "index": lambda a: a.__index__(),
    "item": lambda a: a.item(),
    "start": lambda a: np.arange(5)[a:],
    "stop": lambda a: np.arange(5)[:a],
    "step": lambda a: np.arange(5)[::a],
    "all bounds": lambda a: np.arange(5)[a:a:a],
    "of a list": lambda a: [1, 2, 3][a:],
    "range": range,
    "shape": lambda a: np.zeros(a),
}


def outcome_of(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(function(*args))
        except Exception as error:
            return type(error), str(error)


@pytest.mark.parametrize("rank", [0, 1, 3])
@pytest.mark.parametrize("name", CONVERSIONS)
def test_one_element_of_each_rank(name, rank):
    """NumPy takes those of rank 0 alone as numbers, but for their truth and item()."""
    convert = CONVERSIONS[name]

    def known():
        return convert(np.ones((1,) * rank, dtype=int))

    def given(a):
        return convert(a + 0)

    array = np.ones((1,) * rank, dtype=int)
    for options in ({}, {"fullgraph": True}):
        assert outcome_of(minidynamo.compile(known), *()) == outcome_of(known)
        found, plain = outcome_of(minidynamo.compile(given, **options), array), outcome_of(given, array)
        broke = isinstance(found, tuple) and options and issubclass(found[0], minidynamo._dynamo.exc.Unsupported)
        assert broke or found == plain
