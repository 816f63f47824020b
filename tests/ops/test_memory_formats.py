"""Memory formats: the strides, and whether the tensor itself comes back, as torch's; in captured code as well."""

import copy
import math
import pickle

import pytest

import minidynamo as md

FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
SHAPES = ((3,), (2, 3), (2, 3, 4, 5), (2, 1, 4, 5), (2, 3, 0, 2), (1, 2, 3, 2, 2))
CALLS = {
    "clone": lambda lib, x, given: x.clone(memory_format=given),
    "function clone": lambda lib, x, given: lib.clone(x, memory_format=given),
    "contiguous": lambda lib, x, given: x.contiguous(memory_format=given),
    "to": lambda lib, x, given: x.to(lib.float64, memory_format=given),
    "to a copy": lambda lib, x, given: x.to(lib.float64, copy=True, memory_format=given),
    "double": lambda lib, x, given: x.double(memory_format=given),
    "float": lambda lib, x, given: x.float(memory_format=given),
    "zeros_like": lambda lib, x, given: lib.zeros_like(x, memory_format=given),
    "full_like": lambda lib, x, given: lib.full_like(x, 3, memory_format=given),
    "is_contiguous": lambda lib, x, given: x.is_contiguous(memory_format=given),
}


def orders(rank):
    """Ways in which the dims lie: in order, in reverse, and with the channels last."""
    yield tuple(range(rank))
    if rank > 1:
        yield tuple(reversed(range(rank)))
    if rank > 3:
        yield (0, rank - 1, *range(1, rank - 1))


def facts(lib, shape, order, dtype, call, name):
    x = lib.arange(1, 1 + math.prod(shape)).reshape(shape).permute(order).to(getattr(lib, dtype))
    try:
        result = call(lib, x, getattr(lib, name))
    except Exception as error:
        return type(error).__name__
    if isinstance(result, bool):
        return result
    strides = [s for s, size in zip(result.stride(), result.shape, strict=True) if size != 1] if result.numel() else []
    return tuple(result.shape), strides, str(result.dtype).rpartition(".")[2], result is x, result.tolist()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_as_torch(call, name):
    torch = pytest.importorskip("torch")
    for shape in SHAPES:
        for order in orders(len(shape)):
            for dtype in ("float32", "float64"):
                ours, theirs = [facts(lib, shape, order, dtype, call, name) for lib in (md, torch)]
                assert ours == theirs, (shape, order, dtype)


@pytest.mark.parametrize("name", FORMATS[:3])
@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_captured(call, name):
    given = getattr(md, name)
    x = md.arange(24.0).reshape(1, 2, 3, 4)
    plain = call(md, x, given)
    result = md.compile(lambda x: call(md, x, given))(x)
    if isinstance(plain, bool):
        assert result is plain
    else:
        assert result.stride() == plain.stride() and result.tolist() == plain.tolist()


def test_a_format_given_as_an_argument_is_guarded():
    function = md.compile(lambda x, given: x.clone(memory_format=given) + 1, fullgraph=True)
    x = md.ones(1, 2, 3, 4)
    assert function(x, md.channels_last).stride() == (24, 1, 8, 2)
    assert function(x, md.contiguous_format).stride() == (24, 12, 4, 1)


def test_objects():
    for name in FORMATS:
        each = getattr(md, name)
        assert repr(each) == f"minidynamo.{name}" and type(each) is md.memory_format
        assert pickle.loads(pickle.dumps(each)) is each and copy.deepcopy(each) is each
    with pytest.raises(TypeError):
        md.memory_format()


@pytest.mark.parametrize("call", [lambda x: x.to(memory_format="channels_last"), lambda x: x.clone(memory_format=3)])
def test_other_objects_are_refused(call):
    with pytest.raises(TypeError, match="memory_format"):
        call(md.ones(1, 2, 3, 4))


def test_another_rank_is_refused():
    with pytest.raises(RuntimeError, match="required rank 4 tensor"):
        md.ones(2, 3).clone(memory_format=md.channels_last)
