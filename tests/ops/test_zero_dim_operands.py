"""0-d operands that torch accepts next to others: index_copy, index_add, the weight of lerp."""

import pytest

import minidynamo as md

SHAPES = [(), (1,), (2,), (4,), (5,), (1, 4), (2, 4), (3, 1)]


def outcome(module, compiled, function, *args):
    try:
        result = (md.compile(function) if compiled else function)(*args)
    except (IndexError, RuntimeError, NotImplementedError) as error:
        return type(error)
    return str(result.dtype).split(".")[-1], tuple(result.shape), result.tolist()


def copied(module, op, self, index, source, dim=0):
    zeros = module.zeros(index, dtype=module.int64)
    return lambda: getattr(module.ones(self), op)(dim, zeros, module.full(source, 2.0))


@pytest.mark.parametrize("compiled", [False, True])
def test_index_copy_of_one_number(compiled):
    x = md.arange(5.0)
    for index in (md.tensor(2), md.tensor([2])):
        found = outcome(md, compiled, lambda i: x.index_copy(0, i, md.tensor(9.0)), index)
        assert found == ("float32", (5,), [0.0, 1.0, 9.0, 3.0, 4.0])
    two = outcome(md, compiled, lambda: x.index_copy(0, md.tensor([1, 2]), md.tensor(9.0)))
    assert two is IndexError
    assert outcome(md, compiled, copied(md, "index_copy", (), (1,), (1,))) == ("float32", (), 2.0)
    assert outcome(md, compiled, copied(md, "index_copy", (3, 4), (1,), ())) is RuntimeError
    assert outcome(md, compiled, copied(md, "index_add", (5,), (1,), ())) is RuntimeError


@pytest.mark.parametrize("op", ["index_copy", "index_add"])
def test_every_combination_is_as_torch(op):
    torch = pytest.importorskip("torch")
    for self in [(), (1,), (5,), (3, 4)]:
        for source in SHAPES:
            for index in [(), (1,), (2,)]:
                for dim in range(max(len(self), 1)):
                    case = (op, self, index, source, dim)
                    assert outcome(md, False, copied(md, *case)) == outcome(torch, False, copied(torch, *case)), case


LERPS = [
    (("float32", (3,)), ("float32", (3,)), ("float64", ()), "float32"),
    (("float64", (3,)), ("float64", (3,)), ("float32", ()), "float64"),
    (("bfloat16", (3,)), ("bfloat16", (3,)), ("float32", ()), "bfloat16"),
    (("float32", ()), ("float32", ()), ("float64", ()), "float64"),
    (("int32", (3,)), ("int32", (3,)), ("float32", ()), "float32"),
    (("float32", (3,)), ("float32", (3,)), ("int64", ()), "float32"),
    (("float32", (3,)), ("float32", (3,)), ("float64", (1,)), RuntimeError),
    (("float32", (3,)), ("float64", ()), ("float32", ()), RuntimeError),
    (("int32", (3,)), ("int32", (3,)), ("int32", ()), NotImplementedError),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("self", "end", "weight", "expected"), LERPS)
def test_weight_of_lerp(self, end, weight, expected, compiled):
    def called(module):
        values = zip((self, end, weight), (1, 3, 1), strict=True)
        operands = (module.full(sizes, value, dtype=getattr(module, dtype)) for (dtype, sizes), value in values)
        return outcome(module, compiled and module is md, module.lerp, *operands)

    found = called(md)
    assert (found if isinstance(found, type) else found[0]) == expected
    try:
        import torch
    except ImportError:
        return
    assert found == called(torch)


def test_vecdot_of_two_vectors_is_dot():
    x = md.arange(5.0)
    assert md.linalg.vecdot(x, x, dim=7).item() == 30.0
    with pytest.raises(RuntimeError, match="same dtype"):
        md.linalg.vecdot(x, x.double())


@pytest.mark.parametrize("compiled", [False, True])
def test_stable_is_taken(compiled):
    x = md.tensor([2.0, 1.0, 2.0, 1.0])
    found = outcome(md, compiled, lambda: x.sort(stable=True, descending=True).indices)
    assert found == outcome(md, compiled, lambda: md.argsort(x, dim=0, descending=True, stable=True))
    assert found[2] == [0, 2, 1, 3]
