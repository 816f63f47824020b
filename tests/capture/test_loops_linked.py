"""Loops whose body runs again from its own exit: the steps that need no look-up, and what Python sees of each."""

import gc
import signal
import sys
import threading
import traceback
import weakref

import pytest
from alarm import alarm
from loop_programs import PROGRAMS, mix, outcome

import minidynamo as md
from minidynamo import _C
from minidynamo._dynamo import config

X, W = md.tensor([0.5, -1.0, 2.0, 0.25]), md.tensor([1.0, 0.5, -0.5, 2.0])
LONG = 600  # steps: more than are unrolled
SCALE = 0.5


def linked_runs(function, *arguments):
    """What the call returns, and how many steps were linked."""
    before = _C.engine_counters()["linked_runs"]
    result = function(*arguments)
    return result, _C.engine_counters()["linked_runs"] - before


def plain(x, log):
    for _ in range(LONG):
        x = mix(x, W)
    return x


def with_the_index(x, log):
    for i in range(LONG):
        x = mix(x, W) + i * 0.001
    return x


def downwards(x, log):
    for i in range(LONG, 0, -1):
        x = mix(x, W) + i * 0.001
    return x, i


def over_a_list(x, log):
    for k in [0.5, 1.5, -1.0] * (LONG // 3):
        x = mix(x, W) * k
    return x, k


def enumerated(x, log):
    for i, k in enumerate([0.5, 1.5, -1.0] * (LONG // 3)):
        x = mix(x, W) * k + i * 0.001
    return x, i, k


def zipped(x, log):
    for i, k in zip(range(LONG), [0.5, 1.5, -1.0] * LONG):
        x = mix(x, W) * k + i * 0.001
    return x


def two_carried(x, log):
    y = x * 0.5
    for _ in range(LONG):
        x, y = mix(y, W), mix(x, W) * 0.5
    return x, y


def counts(x, log):
    k = 0
    for _ in range(LONG):
        x = mix(x, W) + k * 0.001
        k += 2
    return x, k


def appends(x, log):
    for i in range(LONG):
        x = mix(x, W)
        log.append(i)
    return x


def writes(x, log):
    out = md.zeros(LONG)
    for i in range(LONG):
        x = mix(x, W)
        out[i] = x[1] + i
    return x, out


def reads_a_global(x, log):
    for _ in range(LONG):
        x = mix(x, W) * SCALE
    return x


def inner_loops(x, log):
    for i in range(8):
        for j in range(LONG):
            x = mix(x, W) + j * 0.001
        x = x * 0.5
    return x


def iterator_shared(x, log):
    steps = iter(range(LONG))
    for i in steps:
        x = mix(x, W)
        if i % 7 == 0:
            log.append(next(steps, None))
    return x


def ends_early(x, log):
    for i in range(LONG):
        x = mix(x, W)
        if i == LONG - 5:
            break
    else:
        log.append("else")
    return x, i


def skips(x, log):
    for i in range(LONG):
        x = mix(x, W)
        if i % 3 == 0:
            continue
        x = x + 0.25
    else:
        log.append("else")
    return x


def raises_at_the_end(x, log):
    out = md.zeros(LONG - 10)
    for i in range(LONG):
        x = mix(x, W)
        log.append(i)
        out[i] = x[0]
    return x


def within_a_generator(x, log):
    def steps():
        nonlocal_x = x
        for _ in range(3):
            for _ in range(60):
                nonlocal_x = mix(nonlocal_x, W)
            yield nonlocal_x

    return list(steps())


def drops_objects(x, log):
    class Noted:
        def __del__(self):
            log.append(len(log))

    for i in range(200):
        note = Noted()
        x = mix(x, W)
    del note
    return x


def residual(x, log):
    change, steps = 1.0, 0
    while change > 1e-6 and steps < LONG:
        y = mix(x, W) * 0.5
        change = (y - x).abs().max().item() + 1e-5
        x = y
        steps += 1
    return x, steps, change


def counted_by_while(x, log):
    i = 0
    while i < LONG:
        x = mix(x, W) + i * 0.001
        i += 1
    return x, i


def number_becomes_tensor(x, log):
    change, steps = 1.0, 0
    while steps < LONG:
        y = mix(x, W) * 0.5
        change = (y - x).abs().max().item() + 1e-5
        if steps > LONG - 20:
            change = y.sum() + change
        x = y * 0.999
        steps = steps + 1
        change = change * 2 + 1
    return x, steps, change


def size_changes(x, log):
    for i in range(LONG):
        x = mix(x, x)
        if i == LONG - 30:
            x = md.cat([x, x])
    return x


def dtype_changes(x, log):
    for i in range(LONG):
        x = mix(x, x)
        if i == LONG - 30:
            x = x.double()
    return x


LOOPS = [
    plain,
    with_the_index,
    downwards,
    over_a_list,
    enumerated,
    zipped,
    two_carried,
    counts,
    appends,
    writes,
    reads_a_global,
    inner_loops,
    iterator_shared,
    ends_early,
    skips,
    raises_at_the_end,
    within_a_generator,
    drops_objects,
    residual,
    counted_by_while,
    number_becomes_tensor,
    size_changes,
    dtype_changes,
]
LINKED = [plain, with_the_index, over_a_list, two_carried, counts, appends, inner_loops]


def listed(value):
    if isinstance(value, md.Tensor):
        return value.dtype, value.stride(), value.tolist()
    return type(value)(listed(each) for each in value) if isinstance(value, (tuple, list)) else value


def seen(function):
    """What a call returns or raises, with the lines, and its side effects."""
    x, log = X.clone(), []
    try:
        result = listed(function(x, log))
    except Exception as error:
        lines = [(frame.name, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)[1:]]
        result = type(error), str(error), lines
    return result, log, listed(x)


@pytest.mark.parametrize("checked", [0, 5])
@pytest.mark.parametrize("function", LOOPS, ids=lambda function: function.__name__)
def test_is_as_in_python(function, checked):
    md._dynamo.reset()
    before = _C.check_captures_counts()["mismatches"]
    with config.patch(check_captures=checked):
        compiled = md.compile(function)
        for _ in range(2):
            assert seen(compiled) == seen(function)
    assert _C.check_captures_counts()["mismatches"] == before


@pytest.mark.parametrize("function", LINKED, ids=lambda function: function.__name__)
def test_later_steps_need_no_look_up(function):
    md._dynamo.reset()
    compiled = md.compile(function)
    compiled(X, [])
    before = _C.engine_counters()
    compiled(X, [])
    after = _C.engine_counters()
    run = after["regions_run"] - before["regions_run"]
    assert run >= LONG
    assert after["linked_runs"] - before["linked_runs"] > 0.9 * run
    assert after["regions_captured"] == before["regions_captured"]


def test_the_number_of_regions_does_not_depend_on_the_steps():
    def program(x, n):
        for i in range(n):
            x = mix(x, W) + i
        return x

    found = []
    for n in (LONG, 4 * LONG):
        md._dynamo.reset()
        before = _C.engine_counters()["regions_captured"]
        md.compile(program)(X, n)
        found.append(_C.engine_counters()["regions_captured"] - before)
    assert found[0] == found[1]


def test_the_first_steps_are_checked():
    md._dynamo.reset()
    counts = _C.check_captures_counts()
    with config.patch(check_captures=5):
        compiled = md.compile(plain)
        compiled(X, [])
        _, linked = linked_runs(compiled, X, [])
    after = _C.check_captures_counts()
    assert after["compared"] - counts["compared"] >= 5
    assert linked > LONG // 2


def test_a_global_that_a_finalizer_changes_in_a_step():
    class Changes:
        def __del__(self):
            globals()["SCALE"] = 0.25

    def program(x, objects):
        for _ in range(LONG):
            x = mix(x, W) * SCALE
            objects.pop()
        return x

    def run(function):
        globals()["SCALE"] = 0.5
        objects = [None] * 100 + [Changes()] + [None] * (LONG - 101)
        try:
            return function(X, objects).tolist()
        finally:
            globals()["SCALE"] = 0.5

    md._dynamo.reset()
    compiled = md.compile(program)
    assert [run(compiled), run(compiled)] == [run(program), run(program)]


@pytest.mark.counts_python_runs
def test_a_global_that_another_thread_changes():
    """The loop sees the change, within some steps, as in Python."""
    begun, changed = threading.Event(), threading.Event()
    state = {"stop": 0.0}

    def program(x, state, begun):
        steps = 0
        while state["stop"] == 0.0 and steps < 100_000_000:
            x = mix(x, W)
            steps += 1
            if steps == 1000:
                begun.set()
        return steps

    def stop():
        begun.wait()
        state["stop"] = 1.0
        changed.set()

    md._dynamo.reset()
    thread = threading.Thread(target=stop)
    thread.start()
    steps = md.compile(program)(X, state, begun)
    thread.join()
    assert 1000 <= steps < 100_000_000


def test_a_trace_function_set_by_a_handler_sees_the_steps():
    lines = []

    def trace(frame, event, argument):
        if frame.f_code is program.__code__ and event == "line":
            lines.append(frame.f_lineno - program.__code__.co_firstlineno)
        return trace

    def handle(number, frame):
        sys.settrace(trace)
        frame.f_trace = trace

    def program(x, steps):
        for i in range(LONG):
            x = mix(x, W)
            steps[0] = i
            if i == LONG - 100:
                signal.raise_signal(signal.SIGALRM)
        return x

    def run(function):
        lines.clear()
        old = signal.signal(signal.SIGALRM, handle)
        previous = sys.gettrace()
        try:
            result = function(X, [0])
        finally:
            sys.settrace(previous)
            signal.signal(signal.SIGALRM, old)
        return result.tolist(), list(lines)

    md._dynamo.reset()
    expected = run(program)
    assert run(md.compile(program)) == expected
    assert expected[1].count(2) == 99


def test_values_of_earlier_steps_are_freed():
    seen = []

    def program(x, seen):
        for i in range(LONG):
            x = mix(x, W)
            if i % 200 == 1:
                seen.append(weakref.ref(x))
        return x

    md._dynamo.reset()
    compiled = md.compile(program)
    compiled(X, [])
    result = compiled(X, seen)
    gc.collect()
    assert [each() for each in seen] == [None] * len(seen)
    assert len(seen) == 3
    assert result is not None


def million(x, steps):
    for i in range(1_000_000):
        x = mix(x, W)
        steps[0] = i + 1
        steps[1] = x
    return x


def test_an_interrupt_ends_a_linked_loop_of_a_million_steps():
    md._dynamo.reset()
    compiled = md.compile(million)
    stopped = []

    def stop(number, frame):
        stopped.append((steps[0], frame.f_code.co_name, frame.f_locals["i"]))
        raise KeyboardInterrupt

    steps = [0, X]
    before = _C.engine_counters()["linked_runs"]
    with alarm(0.2, stop), pytest.raises(KeyboardInterrupt):
        compiled(X, steps)
    assert _C.engine_counters()["linked_runs"] > before
    count, name, index = stopped[0]
    assert name == "million"
    assert 0 < count < 1_000_000
    # No step began after the signal was handled, and the frame showed the step that had ended.
    assert steps[0] == count
    assert index in (count - 1, count)
    x = X
    for _ in range(count):
        x = mix(x, W)
    assert steps[1].tolist() == x.tolist()


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_without_a_limit_on_what_is_linked(name):
    function = PROGRAMS[name]
    md._dynamo.reset()
    with config.patch(walk_limit=150):
        compiled = md.compile(function)
        for n in (60, 9, 60):
            assert outcome(compiled, n) == outcome(function, n), n
