"""Functions of one library called with tensors of another: the library converts or raises, compiled as plainly."""

import itertools

import numpy as np
import pytest

import minidynamo

try:
    import torch
except ImportError:
    torch = None

LIBRARIES = {"minidynamo": minidynamo, "numpy": np} | ({"torch": torch} if torch is not None else {})

# Of a library, a tensor of it, and one of another.
PROGRAMS = {
    "a function": lambda lib, own, other: lib.cos(other),
    "a function of both": lambda lib, own, other: lib.add(own, other),
    "both turned round": lambda lib, own, other: lib.multiply(other, own),
    "an operator": lambda lib, own, other: own + other,
    "an operator turned round": lambda lib, own, other: other * own,
    "a comparison": lambda lib, own, other: own == other,
    "a product": lambda lib, own, other: own @ other,
    "in place": lambda lib, own, other: own.__iadd__(other),
    "a reduction": lambda lib, own, other: lib.sum(other),
    "a list": lambda lib, own, other: lib.stack([own, other]),
    "a list of the others": lambda lib, own, other: lib.stack([other, other]),
    "a choice": lambda lib, own, other: lib.where(other > 0, 1, 2),
    "an index": lambda lib, own, other: own[other > 1],
    "a store": lambda lib, own, other: own.__setitem__(0, other[0]),
    "a window": lambda lib, own, other: own.__setitem__(slice(None), other),
    "a dtype": lambda lib, own, other: lib.zeros_like(other),
    "a conversion": lambda lib, own, other: lib.asarray(other) if hasattr(lib, "asarray") else lib.as_tensor(other),
    "a conversion written to": lambda lib, own, other: lib.asarray(other).__iadd__(1),
    "a shape": lambda lib, own, other: own.reshape(other.shape),
    "fill": lambda lib, own, other: lib.full((2,), other[0]),
}
OURS = {
    "as_tensor": lambda lib, own, other: minidynamo.as_tensor(other),
    "as_tensor of a dtype": lambda lib, own, other: minidynamo.as_tensor(other, dtype=minidynamo.float32) + 1,
    "as_tensor written to": lambda lib, own, other: minidynamo.as_tensor(other).add_(1).sum(),
    "tensor": lambda lib, own, other: minidynamo.tensor(other) + 1,
    "tensor of a list": lambda lib, own, other: minidynamo.tensor([other, other]),
    "from_numpy": lambda lib, own, other: minidynamo.from_numpy(other) * 2,
    "from_numpy returned": lambda lib, own, other: minidynamo.from_numpy(other),
    "numpy": lambda lib, own, other: minidynamo.ones(3).numpy() + 1,
    "asarray": lambda lib, own, other: np.asarray(minidynamo.ones(3)) + 1,
    "is_tensor": lambda lib, own, other: minidynamo.is_tensor(other),
    "isinstance": lambda lib, own, other: isinstance(other, minidynamo.Tensor),
    "a fact": lambda lib, own, other: minidynamo.numel(other),
    "a property": lambda lib, own, other: minidynamo.is_floating_point(other),
    "requires_grad": lambda lib, own, other: minidynamo.Tensor.requires_grad_(other),
    "new_tensor": lambda lib, own, other: minidynamo.ones(1).new_tensor(other),
    "a method of ours": lambda lib, own, other: minidynamo.Tensor.cos(other),
}


def tensor_of(name):
    values = [0.0, 1.0, 2.0]
    library = LIBRARIES[name]
    return library.array(values) if name == "numpy" else library.tensor(values, dtype=library.float64)


def outcome(program, library, own, other):
    try:
        result = program(library, own, other)
    except Exception as error:
        return type(error), str(error)
    values = result.tolist() if hasattr(result, "tolist") else result
    return type(result), getattr(result, "dtype", None), values


def same_outcome(program, library, own, other):
    ours, plain = (own(), other()), (own(), other())
    compiled = minidynamo.compile(program)
    for _ in range(3):
        assert outcome(compiled, library, *ours) == outcome(program, library, *plain)
        assert [each.tolist() for each in ours] == [each.tolist() for each in plain]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(("one", "two"), itertools.permutations(LIBRARIES, 2))
def test_a_library_and_a_stranger(one, two, program):
    same_outcome(PROGRAMS[program], LIBRARIES[one], lambda: tensor_of(one), lambda: tensor_of(two))


@pytest.mark.parametrize("program", OURS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_conversions(name, program):
    same_outcome(OURS[program], LIBRARIES[name], lambda: tensor_of(name), lambda: tensor_of(name))
