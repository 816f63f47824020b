"""What is decided of a loop (unrolled, a region of its own, left to Python), and that the results are the same."""

import signal

import pytest
from alarm import alarm
from loop_programs import PROGRAMS, mix, outcome, over_functions, recurrence, uses_the_index, within_a_function

import minidynamo as md
from minidynamo import _C
from minidynamo._dynamo import config
from minidynamo._dynamo.testing import CompileCounter

BODY, UNROLLED, PYTHON = "a region of its own", "unrolled", "left to Python"
# With this limit every loop of more than an iteration or two is a region of its own.
TIGHT = 150


@pytest.mark.parametrize("limit", [TIGHT, 100_000])
@pytest.mark.parametrize("checked", [0, 10])
@pytest.mark.parametrize("name", PROGRAMS)
def test_is_as_in_python(name, checked, limit):
    function = PROGRAMS[name]
    md._dynamo.reset()
    before = _C.check_captures_counts()["mismatches"]
    with config.patch(walk_limit=limit, check_captures=checked):
        compiled = md.compile(function)
        for n in (9, 12, 0, 1, 9):
            assert outcome(compiled, n) == outcome(function, n), n
    assert _C.check_captures_counts()["mismatches"] == before


def decisions(function, *args):
    """The last decision on each line."""
    loops = md._dynamo.explain(function)(*args).loops
    return {loop.line - function.__code__.co_firstlineno: loop.decision for loop in loops}


X, W = md.tensor([0.5, -1.0, 2.0, 0.25]), md.tensor([1.0, 0.5, -0.5, 2.0])
LONG = 2000


def heavy(x):
    for i in range(40):
        for j in range(40):
            x = mix(mix(x, W), W) + i
    return x


LAYERS = md.nn.Module()
for number in range(100):
    setattr(LAYERS, f"layer{number}", md.nn.Identity())


def modules_by_name(x):
    for i in range(100):
        for _ in range(5):
            x = mix(mix(getattr(LAYERS, f"layer{i}")(x), W), W)
    return x


def few(x):
    for i in range(5):
        x = mix(x, W) + i
    return x


def cheap(x):
    for i in range(5000):
        x = x + i
    return x


def elements(x):
    for i in range(3000):
        x[i % 4] = x[(i + 1) % 4]
    return x


def large_tensors(x):
    x = md.zeros(100_000)
    for i in range(1000):
        x = md.tanh(x + i) * 0.5
    return x


def long(x):
    for i in range(LONG):
        x = mix(x, W) + i
    return x


def names(x):
    for name in ["sin", "cos"] * 700:
        x = getattr(md, name)(x) * 0.5
    return x


MODULES = [md.nn.Identity() for _ in range(500)]


def modules_by_index(x):
    for i in range(len(MODULES)):
        x = mix(MODULES[i](x), W)
    return x


ROWS = [md.ones(k % 3 + 1) for k in range(600)]


def sizes_that_differ(x):
    s = 0.0
    for row in ROWS:
        s = mix(row, 0.5).sum() + s
    return s


def numbers(x):
    total = 0
    for i in range(20_000):
        total += i % 7
    return x + total


def inner_long(x):
    for i in range(3):
        for j in range(LONG):
            x = mix(x, W) + j
    return x


def outer_long(x):
    for i in range(LONG):
        for j in range(2):
            x = mix(x, W) + j
    return x


DECISIONS = {
    few: {1: UNROLLED},
    heavy: {1: BODY, 2: UNROLLED},
    modules_by_name: {1: UNROLLED},
    cheap: {1: PYTHON},
    elements: {1: PYTHON},
    large_tensors: {2: BODY},
    long: {1: BODY},
    names: {1: UNROLLED},
    modules_by_index: {1: UNROLLED},
    sizes_that_differ: {2: UNROLLED},
    numbers: {2: PYTHON},
    inner_long: {2: BODY},
    outer_long: {1: BODY, 2: UNROLLED},
}


@pytest.mark.counts_regions
@pytest.mark.parametrize("function", DECISIONS, ids=lambda function: function.__name__)
def test_the_decision(function):
    md._dynamo.reset()
    found = decisions(function, X.clone())
    assert {line: found.get(line) for line in DECISIONS[function]} == DECISIONS[function]


@pytest.mark.parametrize("function", DECISIONS, ids=lambda function: function.__name__)
def test_its_result(function):
    md._dynamo.reset()
    expected = function(X.clone()).tolist()
    compiled = md.compile(function)
    for _ in range(2):
        assert compiled(X.clone()).tolist() == expected


@pytest.mark.counts_regions
@pytest.mark.parametrize("function", [recurrence, uses_the_index])
def test_the_regions_do_not_grow_with_the_iterations(function):
    md._dynamo.reset()
    compiled = md.compile(function)
    counts = []
    for n in (LONG, LONG + 1, 2 * LONG, 3 * LONG):
        assert compiled(X, W, n, []).tolist() == function(X, W, n, []).tolist()
        counts.append(len(_C.code_captures(function.__code__)[0]))
    assert counts[-1] == counts[1] <= 7


@pytest.mark.counts_regions
def test_a_loop_is_no_break():
    md._dynamo.reset()
    report = md._dynamo.explain(long)(X)
    assert report.graph_break_count == 0
    assert "loop" in {region.exit for region in report.regions}
    assert f"long, line {long.__code__.co_firstlineno + 1}: {BODY} ({LONG} iterations of cost" in str(report)
    strict = md._dynamo.error_on_graph_break(True)(md.compile(long))
    assert strict(X).tolist() == long(X).tolist()


def work_behind_a_cheap_loop(x):
    for i in range(LONG):
        x = x + i
    return mix(mix(x, W), W)


def work_behind_a_loop_without_work(x):
    y = mix(x, W)
    total = 0
    for i in range(20_000):
        total += i % 7
    return mix(y * total, W)


@pytest.mark.counts_regions
@pytest.mark.parametrize(
    "function", [work_behind_a_cheap_loop, work_behind_a_loop_without_work], ids=lambda function: function.__name__
)
def test_work_behind_a_loop_that_is_left_is_captured(function):
    md._dynamo.reset()
    assert list(decisions(function, X.clone()).values()) == [PYTHON]
    compiled, expected = md.compile(function), function(X).tolist()
    for _ in range(3):
        before = _C.engine_counters()
        assert compiled(X).tolist() == expected
        grown = {name: count - before[name] for name, count in _C.engine_counters().items()}
    assert (grown["captures_begun"], grown["graph_breaks"], grown["stretches_driven"]) == (0, 0, 1)
    assert grown["regions_run"] >= 2


@pytest.mark.counts_regions
def test_one_graph_where_one_is_wanted():
    def half(x):
        for i in range(LONG // 2):
            x = mix(x, W) + i
        return x

    for options in ({"fullgraph": True}, {"backend": CompileCounter()}):
        md._dynamo.reset()
        assert md.compile(half, **options)(X).tolist() == half(X).tolist()
        (region,) = _C.code_captures(half.__code__)[0]
        assert region["exit"] == "return"
    with config.patch(walk_limit=1000), pytest.raises(md._dynamo.exc.Unsupported, match="Capture took too many steps"):
        md.compile(half, fullgraph=True, dynamic=False)(X)


def test_the_first_iterations_of_a_body_are_checked():
    md._dynamo.reset()
    before = _C.check_captures_counts()
    with config.patch(check_captures=10):
        md.compile(uses_the_index)(X, W, LONG, [])
    counts = {kind: count - before[kind] for kind, count in _C.check_captures_counts().items()}
    assert counts["mismatches"] == 0
    assert counts["compared"] >= 10


def test_a_loop_in_an_inlined_function():
    with config.patch(walk_limit=TIGHT):
        md._dynamo.reset()
        compiled = md.compile(within_a_function)
        assert outcome(compiled, 40) == outcome(within_a_function, 40)


def test_a_loop_over_objects_is_one_graph_up_to_the_limit():
    md._dynamo.reset()
    assert md._dynamo.explain(over_functions)(X, W, 3, []).graph_count == 1


def endless(x, steps):
    for i in range(10_000_000):
        x = mix(x, W) + 1
        steps[0] = i + 1
        if i == 3000:
            signal.raise_signal(signal.SIGINT)
    return x


def endless_by_timer(x, steps):
    for i in range(100_000_000):
        x = mix(x, W)
        steps[0] = i + 1
        steps[1] = x
    return x


def test_an_interrupt_ends_a_loop_after_its_step():
    md._dynamo.reset()
    steps = [0, X]

    def stop(number, frame):
        raise KeyboardInterrupt

    with alarm(1.0, stop), pytest.raises(KeyboardInterrupt):
        md.compile(endless_by_timer)(X, steps)
    count = steps[0]
    assert 0 < count < 100_000_000
    # The effects of a step are all there, or none of them.
    x = X
    for _ in range(min(count, 200)):
        x = mix(x, W)
    if count <= 200:
        assert steps[1].tolist() == x.tolist()


def test_an_interrupt_raised_in_the_loop():
    md._dynamo.reset()
    steps = [0]
    # A shell starts background processes with SIGINT ignored.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            md.compile(endless)(X, steps)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert steps == [3001]
