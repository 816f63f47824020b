"""Memory formats: the strides, and whether the tensor itself is returned, as in torch; in captured code as well."""

import copy
import math
import pickle

import pytest

import minidynamo as md

FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
SHAPES = (
    *((), (3,), (2, 3), (2, 3, 4, 5), (2, 1, 4, 5), (2, 3, 0, 2), (0, 3, 2, 2), (1, 2, 3, 2, 2)),
    *((1, 3, 1, 1), (1, 1, 1, 1), (1, 3, 1, 4), (4, 1, 1, 1), (1, 1, 4, 1), (1, 3, 1, 1, 1), (1, 3, 1), (3, 1, 1)),
)
CALLS = {
    "clone": lambda lib, x, given: x.clone(memory_format=given),
    "function clone": lambda lib, x, given: lib.clone(x, memory_format=given),
    "contiguous": lambda lib, x, given: x.contiguous(memory_format=given),
    "to": lambda lib, x, given: x.to(lib.float64, memory_format=given),
    "to a copy": lambda lib, x, given: x.to(lib.float64, copy=True, memory_format=given),
    "double": lambda lib, x, given: x.double(memory_format=given),
    "float": lambda lib, x, given: x.float(memory_format=given),
    "to alone": lambda lib, x, given: x.to(memory_format=given),
    "to another's": lambda lib, x, given: x.to(lib.zeros(1, dtype=lib.float64), memory_format=given),
    "half": lambda lib, x, given: x.half(memory_format=given),
    "bool": lambda lib, x, given: x.bool(memory_format=given),
    "cpu": lambda lib, x, given: x.cpu(memory_format=given),
    "zeros_like": lambda lib, x, given: lib.zeros_like(x, memory_format=given),
    "rand_like": lambda lib, x, given: lib.rand_like(x, memory_format=given).zero_(),
    "randint_like": lambda lib, x, given: lib.randint_like(x, 1, memory_format=given),
    "randint_like(low)": lambda lib, x, given: lib.randint_like(x, 2, 3, memory_format=given),
    "empty": lambda lib, x, given: lib.empty(x.shape, dtype=x.dtype, memory_format=given).fill_(1),
    "full_like": lambda lib, x, given: lib.full_like(x, 3, memory_format=given),
    "is_contiguous": lambda lib, x, given: x.is_contiguous(memory_format=given),
}


def orders(rank):
    """Orders of the dims in memory: in order, in reverse, with the channels last, and two swapped."""
    yield tuple(range(rank))
    if rank > 1:
        yield tuple(reversed(range(rank)))
    if rank > 3:
        yield (0, rank - 1, *range(1, rank - 1))
        yield (0, 2, 1, *range(3, rank))


def facts(lib, shape, order, dtype, call, name):
    x = lib.arange(1, 1 + math.prod(shape)).to(getattr(lib, dtype)).reshape(shape).permute(order)
    given = getattr(lib, name) if isinstance(name, str) and name in FORMATS else name
    try:
        result = call(lib, x, given)
    except Exception as error:
        return type(error).__name__
    if isinstance(result, bool):
        return result
    return tuple(result.shape), result.stride(), str(result.dtype).rpartition(".")[2], result is x, result.tolist()


# None and values that are not formats are arguments as well.
@pytest.mark.parametrize("name", [*FORMATS, None, "a text", 3])
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
    md._dynamo.reset()  # all calls are made by one code object
    given = getattr(md, name)
    x = md.arange(24.0).reshape(1, 2, 3, 4)
    try:
        plain = call(md, x, given)
    except RuntimeError as error:
        with pytest.raises(RuntimeError) as raised:
            md.compile(lambda x: call(md, x, given))(x)
        assert str(raised.value) == str(error)
        return
    result = md.compile(lambda x: call(md, x, given), fullgraph=True)(x)
    if isinstance(plain, bool):
        assert result is plain
    else:
        assert result.stride() == plain.stride() and result.tolist() == plain.tolist() and (result is x) == (plain is x)


@pytest.mark.parametrize("order", list(orders(4)))
def test_captured_conversion_of_a_layout(order):
    function = md.compile(
        lambda x: (x.to(memory_format=md.channels_last), x.double(memory_format=md.channels_last)), fullgraph=True
    )
    for shape in ((2, 3, 4, 5), (1, 3, 1, 1), (3, 2, 5, 4)):
        x = md.arange(float(math.prod(shape))).reshape(shape).permute(order)
        for ours, plain in zip(
            function(x), (x.to(memory_format=md.channels_last), x.double(memory_format=md.channels_last)), strict=True
        ):
            assert ours.stride() == plain.stride() and ours.tolist() == plain.tolist() and (ours is x) == (plain is x)


def test_module_in_a_format():
    module = md.nn.Sequential(md.nn.Conv2d(2, 3, 2), md.nn.BatchNorm2d(3), md.nn.Conv3d(2, 3, 2))
    with pytest.raises(RuntimeError, match="required rank 4 tensor"):
        module.to(memory_format=md.channels_last)
    module = module[:2].to(memory_format=md.channels_last)
    assert module[0].weight.stride() == (8, 1, 4, 2) and module[0].bias.stride() == (1,)
    with pytest.raises(TypeError, match="memory_format"):
        module.to(memory_format="channels_last")


def test_code_of_a_graph_names_the_format():
    graphs = []
    md.compile(
        lambda x: x.clone(memory_format=md.channels_last), backend=lambda graph, _: graphs.append(graph) or graph
    )(md.ones(1, 2, 3, 4))
    assert "memory_format=minidynamo.channels_last" in graphs[0].code


def test_a_format_passed_as_an_argument_is_guarded():
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
