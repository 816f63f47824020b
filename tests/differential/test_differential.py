"""The check must notice each kind of difference: it is tried on pairs of functions that differ in one respect."""

import warnings

import pytest

from differential import assert_same, observe


def hold(plain, other, *args):
    make = [lambda: [1, [2], {"k": 3}], lambda: [1, [2], {"k": 3}]]
    outcomes = [observe(function, args or (m(),), globals(), ("STATE",)) for function, m in zip((plain, other), make)]
    assert_same(*outcomes, "here")


STATE = 0


def raise_here():
    raise KeyError("k")


def raise_there():
    raise KeyError("k")


def raise_with_context():
    try:
        raise ValueError
    except ValueError:
        raise_here()


def raise_from():
    raise KeyError("k") from ValueError()


def raise_from_none():
    raise KeyError("k") from None


def set_state(value):
    global STATE
    STATE = value


class Box:
    __slots__ = ("inside",)

    def __init__(self, inside):
        self.inside = inside


def shared_list():
    item = []
    return [item, item]


def warn(text):
    warnings.warn(text, stacklevel=1)


DIFFERENT = {
    "value": (lambda a: 1, lambda a: 2),
    "type": (lambda a: 1, lambda a: True),
    "subclass": (lambda a: (1,), lambda a: [1]),
    "sign of zero": (lambda a: 0.0, lambda a: -0.0),
    "nan": (lambda a: float("nan"), lambda a: 0.0),
    "nested": (lambda a: [1, {"a": (2, 3)}], lambda a: [1, {"a": (2, 4)}]),
    "order of keys": (lambda a: {"a": 1, "b": 2}, lambda a: {"b": 2, "a": 1}),
    "set": (lambda a: {1, 2}, lambda a: {1, 3}),
    "object": (lambda a: Box(1), lambda a: Box(2)),
    "is the argument": (lambda a: a, list),
    "is shared": (lambda a: shared_list(), lambda a: [[], []]),
    "argument changed": (lambda a: a.append(1), lambda a: None),
    "inner argument changed": (lambda a: a[1].append(1), lambda a: None),
    "printed": (lambda a: print("x"), lambda a: print("y")),
    "warned": (lambda a: warn("x"), lambda a: None),
    "global": (lambda a: set_state(1), lambda a: set_state(2)),
    "raised": (lambda a: raise_here(), lambda a: None),
    "exception type": (lambda a: [][1], lambda a: {}[1]),
    "exception text": (lambda a: {}["a"], lambda a: {}["b"]),
    "place": (lambda a: raise_here(), lambda a: raise_there()),
    "context": (lambda a: raise_here(), lambda a: raise_with_context()),
    "cause": (lambda a: raise_from(), lambda a: raise_from_none()),
    "closure": (lambda a: (lambda x: lambda: x)(1), lambda a: (lambda x: lambda: x)(2)),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_a_difference_is_noticed(case):
    with pytest.raises(AssertionError, match="differ|plain raised"):
        hold(*DIFFERENT[case])


@pytest.mark.parametrize("case", DIFFERENT)
def test_the_same_is_the_same(case):
    plain, _ = DIFFERENT[case]
    hold(plain, plain)


def test_cycles_end():
    def cycle(a):
        a.append(a)
        return a

    hold(cycle, cycle)


def test_tensors():
    import minidynamo

    def pair(value, dtype=minidynamo.float32):
        return observe(lambda: minidynamo.tensor(value, dtype=dtype), ())

    assert_same(pair([1.0, 2.0]), pair([1.0, 2.0]), "here")
    assert_same(pair([1.0, 2.0]), pair([1.0, 2.0000002]), "here", tolerance=1e-6)
    for other in (pair([1.0, 2.0000002]), pair([[1.0, 2.0]]), pair([1.0, 2.0], minidynamo.float64)):
        with pytest.raises(AssertionError, match="differ"):
            assert_same(pair([1.0, 2.0]), other, "here")
