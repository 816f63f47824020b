"""Reflected operators called by name, on tensors and on other objects, compared with torch's where it is installed."""

import importlib.util

import pytest

import minidynamo as md
from minidynamo.nn import Parameter

torch = importlib.import_module("torch") if importlib.util.find_spec("torch") is not None else None


class Plain(md.Tensor):
    pass


class Own(md.Tensor):
    def __rmod__(self, other):
        return "its own"


# torch's methods of these names are functions of both operands, whichever is the tensor.
OPEN = {
    "mod": [7.0, 5.0, 3.0],
    "pow": [2.0, 3.0, 1.5],
    "floordiv": [7.0, 5.0, 3.0],
    "lshift": [4, 2, 1],
    "rshift": [40, 20, 10],
}
# These accept only a tensor as the right operand.
CLOSED = ["add", "sub", "mul", "truediv", "and", "or", "xor"]
NUMBER = 2


def called(library, name, left, right):
    try:
        return getattr(library.Tensor, f"__r{name}__")(left, right)
    except Exception as error:
        return type(error)


def compiled(name, left, right):
    return md.compile(lambda a, b: called(md, name, a, b))(left, right)


def shown(result):
    return result.tolist() if hasattr(result, "tolist") else result


@pytest.mark.parametrize("way", [lambda *args: called(md, *args), compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", OPEN)
def test_right_operand_of_any_kind(name, way):
    elements = OPEN[name]
    x = md.tensor(elements)
    plain = {"mod": x % NUMBER, "pow": x**NUMBER, "floordiv": x // NUMBER}
    plain |= {"lshift": x << NUMBER, "rshift": x >> NUMBER} if "shift" in name else {}
    assert shown(way(name, NUMBER, x)) == shown(plain[name])
    assert way(name, NUMBER, 3) is NotImplemented
    assert way(name, "text", 3) is NotImplemented
    assert way(name, x, "text") is NotImplemented
    if torch is not None:
        theirs = torch.tensor(elements)
        # torch's floor_divide accepts two numbers, the others do not: that is no call of an operator.
        numbers = [] if name == "floordiv" else [(NUMBER, 3)]
        for left, right in [(NUMBER, "x"), ("x", NUMBER), ("x", "x"), *numbers, ("text", 3), ("x", "text")]:
            ours = way(name, *[x if side == "x" else side for side in (left, right)])
            wanted = called(torch, name, *[theirs if side == "x" else side for side in (left, right)])
            assert shown(ours) == shown(wanted), (left, right)


@pytest.mark.parametrize("way", [lambda *args: called(md, *args), compiled], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", CLOSED)
def test_right_operand_is_a_tensor(name, way):
    x = md.tensor([True, False])
    assert way(name, NUMBER, x) is TypeError
    assert way(name, NUMBER, 3) is TypeError


@pytest.mark.parametrize("name", [*OPEN, "matmul"])
def test_name_and_class_stay(name):
    method = getattr(md.Tensor, f"__r{name}__")
    assert method.__qualname__ == f"Tensor.__r{name}__" and method.__name__ == f"__r{name}__"
    assert md.Tensor.__dict__[f"__r{name}__"] is method


@pytest.mark.parametrize(
    "make",
    [lambda t: t, Parameter, lambda t: md.Tensor._make_subclass(Plain, t)],
    ids=["Tensor", "Parameter", "subclass"],
)
def test_subclasses_inherit_the_operators(make):
    x = make(md.tensor([7.0, 5.0]))
    assert shown(9 % x) == [2.0, 4.0] and shown(x % 2) == [1.0, 1.0]
    assert shown(2**x) == [128.0, 32.0] and shown(9 // x) == [1.0, 1.0]
    assert shown(x.__rmod__(9)) == [2.0, 4.0]
    assert x.__rmod__("text") is NotImplemented
    with pytest.raises(TypeError):
        "text" - x


def test_subclass_with_its_own():
    x = md.Tensor._make_subclass(Own, md.tensor([7.0]))
    assert 9 % x == "its own" and shown(x % 2) == [1.0]
    assert Own.__rmod__(x, 9) == "its own" and shown(md.Tensor.__rmod__(x, 9)) == [2.0]
