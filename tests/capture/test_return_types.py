"""Results with named fields (max, min, sort, topk): the same type eager and captured, before and after a graph break."""

import pytest

import minidynamo as md

X = [[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]]
CALLS = {
    "max": lambda x: x.max(0),
    "min": lambda x: x.min(dim=1, keepdim=True),
    "sort": lambda x: md.sort(x, -1, descending=True),
    "topk": lambda x: x.topk(2),
}


def plain(result):
    return [part.tolist() for part in result]


@pytest.fixture(autouse=True)
def fresh():
    md._dynamo.reset()


@pytest.mark.parametrize("name", CALLS)
def test_type_and_names(name):
    eager = CALLS[name](md.tensor(X))
    captured = md.compile(CALLS[name], fullgraph=True)(md.tensor(X))
    assert type(captured) is type(eager) and type(eager).__name__ == name
    assert isinstance(captured, tuple) and len(captured) == 2
    assert plain(captured) == plain(eager) == [captured.values.tolist(), captured.indices.tolist()]
    assert repr(captured) == repr(eager)


def parts(x):
    values, indices = x.sort(0)
    largest = x.max(1)
    first, *rest = x.topk(1)
    return (
        values + 1,
        indices,
        largest.values * 2,
        largest[1],
        largest[-1:],
        first,
        rest,
        len(largest),
        isinstance(largest, tuple),
        [part.sum() for part in largest],
        type(largest) is type(x.min(0)),
        getattr(largest, "values") is largest[0],
        hasattr(largest, "other"),
        largest + (1,),
    )


def leaves(value):
    if isinstance(value, md.Tensor):
        return value.tolist()
    return [leaves(part) for part in value] if isinstance(value, (tuple, list)) else value


@pytest.mark.counts_regions
def test_parts_are_captured():
    assert leaves(md.compile(parts, fullgraph=True)(md.tensor(X))) == leaves(parts(md.tensor(X)))


def across_a_break(x):
    largest = x.max(0)
    held = {"smallest": x.min(0)}
    md._dynamo.graph_break()
    values, indices = largest
    total = largest.values + values + largest[0]
    for part in held["smallest"]:
        total = total + part
    return total, indices, largest, held


def test_across_a_break():
    expected = across_a_break(md.tensor(X))
    for _ in range(2):
        total, indices, largest, held = md.compile(across_a_break)(md.tensor(X))
        assert total.tolist() == expected[0].tolist() and indices.tolist() == expected[1].tolist()
        assert type(largest) is type(expected[2]) and type(held["smallest"]) is type(expected[3]["smallest"])
    counters = md._C.engine_counters()
    assert counters["graphs_captured"] >= 2


@pytest.mark.counts_regions
def test_as_an_argument():
    def add(pair, x):
        return pair.values + x, pair.indices * 2, pair[0] - x, [part + 1 for part in pair]

    compiled = md.compile(add, fullgraph=True)
    for dim in (0, 1):
        pair = md.tensor(X).max(dim)
        assert leaves(compiled(pair, 1.5)) == leaves(add(pair, 1.5))
    # A plain tuple has no such names, and raises.
    with pytest.raises(AttributeError, match="values"):
        md.compile(add)(tuple(pair), 1.5)


def test_a_missing_name_raises_as_in_eager_python():
    def wrong(x):
        return x.max(0).value

    with pytest.raises(AttributeError) as expected:
        wrong(md.tensor(X))
    with pytest.raises(AttributeError) as caught:
        md.compile(wrong)(md.tensor(X))
    assert str(caught.value) == str(expected.value)


def test_sizes_from_numbers():
    """Sizes that the shape of a result depends on are not inputs of the graph."""
    compiled = md.compile(lambda n, step: md.arange(n) + md.arange(0, n, step).sum())
    for n, step in ((4, 1), (5, 1), (6, 2), (6.0, 2), (7, 0.5)):
        expected = md.arange(n) + md.arange(0, n, step).sum()
        result = compiled(n, step)
        assert result.tolist() == expected.tolist() and result.dtype is expected.dtype
