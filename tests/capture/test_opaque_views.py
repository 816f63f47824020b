"""Functions under allow_in_graph that return an argument, a view, a view of a view: memory is shared as in eager
Python."""

import itertools

import pytest

import minidynamo as md
from minidynamo._dynamo import allow_in_graph, config, nonstrict_trace

RUNS = []
TABLE = md.arange(6.0)


@md.library.custom_op("opaque::bump", mutates_args=("c",))
def bump(c: md.Tensor) -> None:
    c.add_(1)


def new_and_view(t):
    y = t * 2
    return y, y[0]


def written_and_returned(t):
    t.add_(1)
    return t


def written_through_a_view(t):
    t[1:].mul_(2)
    return t.t(), t * 2


def written_by_an_operator(t):
    bump(t)
    return t[0]


def several_views(t):
    return t, [t[0], t[1:]], {"turned": t.t(), "new": t + 1}


def overlapping_new(t):
    y = t * 2
    return y[:2], y[1:]


def written_item(t):
    t[0] = 7
    return t[0], t


# All take a matrix of 4 x 3.
FUNCTIONS = {
    "same": lambda t: t,
    "tail": lambda t: t[1:],
    "row": lambda t: t[0],
    "last": lambda t: t[-1],
    "turned": lambda t: t.t(),
    "flat": lambda t: t.reshape(-1),
    "copied_flat": lambda t: t.t().reshape(-1),
    "reshaped": lambda t: t.reshape(2, 2, 3).permute(1, 0, 2),
    "view_of_view": lambda t: t[1:].t()[:2].unsqueeze(0),
    "steps": lambda t: t[::2, 1:],
    "expanded": lambda t: t[0].expand(2, 3),
    "diagonal": lambda t: t.diagonal(),
    "chunks": lambda t: t.chunk(2),
    "unbound": lambda t: t.unbind(),
    "one_of_parts": lambda t: t.split(2)[1],
    "pair": lambda t: (t[0], t[1:]),
    "same_view_twice": lambda t: [t[1:]] * 2,
    "equal_views": lambda t: (t[1:], t[1:]),
    "new": lambda t: t * 2,
    "contiguous": lambda t: t.contiguous(),
    "contiguous_new": lambda t: (t * 2).contiguous(),
    "detached": lambda t: t.detach()[0],
    "empty": lambda t: t[4:],
    "new_chunks": lambda t: (t * 2).chunk(2, 1),
    "view_of_new": lambda t: (t * 2)[1:].t(),
    "selected": lambda t: t.select(1, 2),
    "narrowed": lambda t: t.narrow(0, 1, 2),
    "number": lambda t: t.shape[0],
    "nothing": lambda t: None,
    "table": lambda t: TABLE,
    "strided": lambda t: t.as_strided((2, 2), (1, 1)),
    **{each.__name__: each for each in (new_and_view, written_and_returned, written_through_a_view, several_views)},
    **{each.__name__: each for each in (written_by_an_operator, overlapping_new, written_item)},
}


def leaves(value):
    if isinstance(value, md.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else []


def read(f, x):
    r = f(x)
    return [leaf * 2 for leaf in leaves(r)], r


def written_result(f, x):
    r = f(x)
    for leaf in leaves(r):
        leaf.add_(1)
    return r, x * 1


def written_argument(f, x):
    r = f(x)
    x.mul_(3)
    return r, [leaf + 0 for leaf in leaves(r)]


def of_the_region(f, x):
    y = x * 2
    r = f(y)
    for leaf in leaves(r):
        leaf.mul_(2)
    y[0] = 9
    return r, y


def of_a_view(f, x):
    y = (x * 2).t()
    r = f(y.t())
    y.add_(1)
    return r, y


def of_a_written_argument(f, x):
    x.add_(1)
    r = f(x)
    x[1] = 0
    return r


def twice(f, x):
    r = f(x)
    s = f(x)
    for leaf in leaves(r):
        leaf.sub_(1)
    return r, s


def over_a_break(f, x):
    r = f(x)
    md._dynamo.graph_break()
    for leaf in leaves(r):
        leaf.add_(1)
    return r, x


def unused(f, x):
    f(x)
    return x + 1


PROGRAMS = [
    read,
    written_result,
    written_argument,
    of_the_region,
    of_a_view,
    of_a_written_argument,
    twice,
    over_a_break,
    unused,
]
OPTIONS = ({}, {"backend": "eager"}, {"dynamic": True}, {"backend": "eager", "dynamic": True})


def describe(value):
    if isinstance(value, md.Tensor):
        return "tensor", tuple(value.shape), value.stride(), value.storage_offset(), value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [describe(item) for item in value]
    return [(key, describe(item)) for key, item in value.items()] if isinstance(value, dict) else value


def sharing(tensors):
    """Which tensors are the same object, and which share memory: a write to one is visible in the other."""
    found = []
    for a, b in itertools.combinations(tensors, 2):
        before = b.tolist()
        kept = a.clone()
        a.copy_(kept + 100) if a.numel() == 0 or 0 not in a.stride() else None
        found.append((a is b, b.tolist() != before))
        a.copy_(kept) if a.numel() == 0 or 0 not in a.stride() else None
    return found


def outcome(program, f, rows):
    x = md.arange(3.0 * rows).reshape(rows, 3) + 1
    TABLE.copy_(md.arange(6.0))
    RUNS.clear()
    try:
        result = program(f, x)
    except Exception as error:
        return type(error).__name__, str(error), describe(x), list(RUNS)
    return describe(result), describe(x), describe(TABLE), list(RUNS), sharing([x, TABLE, *leaves(result)])


FLAGS = {"verify_graphs": True, "suppress_internal_errors": False}


@pytest.fixture(autouse=True)
def checked():
    before = {name: getattr(config, name) for name in FLAGS}
    for name, value in FLAGS.items():
        setattr(config, name, value)
    md._dynamo.reset()
    yield
    for name, value in before.items():
        setattr(config, name, value)


def mismatches(mark, name, program, options):
    body = FUNCTIONS[name]

    def counted(t):
        if not t._is_traced():
            RUNS.append(name)
        return body(t)

    f = mark(counted if mark is allow_in_graph else body)
    compiled = md.compile(program, **options)
    found = []
    for rows in (4, 5, 4, 6):
        want, got = outcome(program, f, rows), outcome(compiled, f, rows)
        if got != want:
            found.append((name, program.__name__, options, rows, got, want))
    md._dynamo.reset()
    return found


@pytest.mark.parametrize("mark", [allow_in_graph, nonstrict_trace], ids=["allow_in_graph", "nonstrict_trace"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_eager_python(name, mark):
    found = []
    for number, program in enumerate(PROGRAMS):
        found += mismatches(mark, name, program, OPTIONS[number % len(OPTIONS)])
        found += mismatches(mark, name, program, OPTIONS[(number + 1) % len(OPTIONS)])
    assert found == []
