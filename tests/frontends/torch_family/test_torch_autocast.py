"""torch.autocast inside of captured functions: where it changes nothing it is captured, with the state that it keeps."""

import pytest
from program_table import Programs

import minidynamo
from minidynamo import _C

torch = pytest.importorskip("torch")

PROGRAMS = Programs()
program, breaks = PROGRAMS.add, PROGRAMS.add_breaking


@program
def off(x):
    with torch.autocast("cpu", enabled=False):
        y = x @ x
    return y + 1


@program
def off_for_another_device(x):
    with torch.autocast("cuda", enabled=False):
        return x @ x


@program
def nested(x):
    with torch.autocast("cpu", enabled=False), torch.autocast("cpu", enabled=False, dtype=torch.bfloat16):
        return (x @ x).exp()


@program
def as_a_decorator(x):
    @torch.autocast("cpu", enabled=False)
    def product(y):
        return y @ y

    return product(x) * 2


@program
def left_by_an_exception(x):
    try:
        with torch.autocast("cpu", enabled=False):
            raise ValueError("inside")
    except ValueError:
        return x + 1


@program
def asked(x):
    with torch.autocast("cpu", enabled=False) as block:
        return x + 1, block.prev, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")


@program
def counted(x):
    outer = torch.autocast_increment_nesting()
    inner = torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting()
    return x * 2, outer, inner, torch.autocast_decrement_nesting()


@program
def left_open(x):
    return x + torch.autocast_increment_nesting()


@breaks
def with_a_break(x):
    with torch.autocast("cpu", enabled=False):
        y = x @ x
        minidynamo._dynamo.graph_break()
        z = y + 1
    return z * 2


@breaks
def on(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
    return y.float() + 1


@breaks
def off_inside_of_on(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            y = y.float() @ x
    return y


@breaks
def another_dtype(x):
    with torch.autocast("cpu", enabled=False, dtype=torch.float16):
        return x @ x


@breaks
def without_casts_kept(x):
    with torch.autocast("cpu", enabled=False, cache_enabled=False):
        return x @ x


def state():
    blocks = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    dtypes = [torch.get_autocast_dtype(device) for device in ("cpu", "cuda")]
    return blocks, torch.is_autocast_enabled("cpu"), dtypes, torch.is_autocast_cache_enabled()


@pytest.fixture(autouse=True)
def blocks_are_left():
    yield
    while state()[0] > 0:
        torch.autocast_decrement_nesting()


def run(function):
    before = state()[0]
    with torch.no_grad():
        result = function(torch.arange(4.0).view(2, 2))
    after = state()
    while state()[0] > before:
        torch.autocast_decrement_nesting()
    return result, after


def same(ours, theirs):
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    elif isinstance(theirs, torch.Tensor):
        torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-6)
    else:
        assert ours == theirs


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain_torch(name):
    minidynamo._dynamo.reset()
    compiled, found = minidynamo.compile(PROGRAMS[name]), []
    for _ in range(2):
        expected = run(PROGRAMS[name])
        found += _C.record_breaks(lambda: same(run(compiled), expected))  # noqa: B023
    assert bool(found) == (name in PROGRAMS.breaking), [each["text"] for each in found]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_state_around_it_is_guarded(name):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(PROGRAMS[name])
    arounds = [
        lambda: torch.autocast("cpu", enabled=False),
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        lambda: torch.autocast("cpu", enabled=False, dtype=torch.float16),
        lambda: torch.autocast("cpu", enabled=False, cache_enabled=False),
    ]
    for around in [*arounds, *arounds]:
        run(compiled)
        with around():
            same(run(compiled), run(PROGRAMS[name]))
