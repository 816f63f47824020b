"""Debuggers, tracers, profilers and other tools that inspect frames: they show the same for a compiled function as
for a plain one."""

import bdb
import contextlib
import faulthandler
import gc
import inspect
import io
import logging
import pdb
import sys
import tempfile
import traceback
import warnings

import pytest

import minidynamo

AT_THE_BREAK = []


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()
    yield
    AT_THE_BREAK.clear()


def ones():
    return minidynamo.tensor([1.0, 1.0])


@minidynamo.compiler.disable
def visit(number):
    """The functions below break here; runs the code that the test sets."""
    for action in AT_THE_BREAK:
        action(number)


class Doubling:
    def __call__(self, x):
        y = x * 2
        visit(1)
        return y + 1


def middle(x):
    y = x + 3
    with minidynamo.no_grad():
        z = Doubling()(y)
    return y * z


def root(x):
    total = x - 1
    for step in range(2):
        total = total + step
        visit(step + 10)
    try:
        total = total + middle(
            total * 2,
        )
    finally:
        total = total - 4
    visit(20)
    return [total for _ in range(1)][0] * 2


USERS = {function.__code__.co_name: function for function in (root, middle, visit.__wrapped__, Doubling.__call__)}


@contextlib.contextmanager
def uncollected():
    """A tool would otherwise also see the callbacks that others have registered with the collector."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def same_as_plain(show, function=root):
    """Asserts that show(function) returns the same for the compiled function, cold and warm, as for the plain one."""
    compiled = minidynamo.compile(function)
    plain = None
    for call, called in {"plain": function, "cold": compiled, "warm": compiled, "captured unseen": compiled}.items():
        if call == "captured unseen":
            minidynamo._dynamo.reset()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled(ones())
        with uncollected():
            shown = show(called)
        plain = plain or shown
        assert shown == plain, call
    assert plain, "nothing was seen"
    return plain


@contextlib.contextmanager
def doing(action):
    AT_THE_BREAK.append(action)
    try:
        yield
    finally:
        AT_THE_BREAK.remove(action)


def seen_at(action):
    """Returns a show() that calls action(number) at each break and lists the results, with the function's result."""

    def show(function):
        seen = []
        with doing(lambda number: seen.append(action(number))):
            seen.append(function(ones()).tolist())
        return seen

    return show


# ---- pdb


def debugging(commands, at):
    """The output of pdb if it is entered at the break `at` and gets the commands."""

    def show(function):
        transcript = io.StringIO()
        debugger = pdb.Pdb(
            stdin=io.StringIO("\n".join(commands) + "\n"), stdout=transcript, nosigint=True, readrc=False
        )
        debugger.use_rawinput = False

        def enter(number):
            if number == at:
                debugger.set_trace(sys._getframe(2))

        try:
            with doing(enter):
                result = function(ones()).tolist()
        finally:
            sys.settrace(None)
            bdb.Breakpoint.clearBreakpoints()
        return transcript.getvalue(), result

    return show


STEPPING = {
    "next": ["n", "p total.tolist()", "n", "n", "p step", "c"],
    "step into": ["n", "n", "n", "n", "n", "s", "s", "s", "w", "p x.tolist()", "c"],
    "return": ["r", "c"],
    "until and up": ["unt", "u", "d", "p sorted(locals())", "c"],
    "set a variable": ["n", "!total = total * 0", "n", "c"],
    "jump": ["n", "n", "n", "j 60", "c"],
    "break point": ["b middle", "c", "n", "n", "p y.tolist()", "w", "cl 1", "c", "c", "c"],
}


@pytest.mark.parametrize("at", [10, 11, 1, 20])
@pytest.mark.parametrize("case", STEPPING)
def test_pdb_continues_after_a_break(case, at):
    transcript, _ = same_as_plain(debugging(STEPPING[case], at))
    assert transcript.count("(Pdb)") >= 2


def fails_after_a_break(x):
    y = x + 1
    visit(1)
    z = y * 2
    return deeper(z, [y])


def deeper(z, kept):
    visit(2)
    return z / kept[1]


def test_pdb_post_mortem():
    def show(function):
        transcript = io.StringIO()
        commands = ["w", "p z.tolist()", "u", "p y.tolist()", "d", "p len(kept)", "q"]
        debugger = pdb.Pdb(
            stdin=io.StringIO("\n".join(commands) + "\n"), stdout=transcript, nosigint=True, readrc=False
        )
        debugger.use_rawinput = False
        try:
            function(ones())
        except IndexError as error:
            debugger.reset()
            debugger.interaction(None, error.__traceback__)
        return transcript.getvalue()

    with minidynamo._dynamo.config.patch(keep_dead_locals=True):
        plain = show(fails_after_a_break)
        compiled = minidynamo.compile(fails_after_a_break)
        for _ in range(3):
            assert show(compiled) == plain
    assert "[4.0, 4.0]" in plain and "[2.0, 2.0]" in plain


def test_the_breakpoint_builtin(monkeypatch):
    def stops(x):
        y = x + 1
        breakpoint()
        z = y * 2
        return z + 3

    def show(function):
        transcript = io.StringIO()
        commands = ["p y.tolist()", "n", "p 'z' in dir() and z.tolist()", "n", "p 'z' in dir() and z.tolist()", "c"]
        debugger = pdb.Pdb(
            stdin=io.StringIO("\n".join(commands) + "\n"), stdout=transcript, nosigint=True, readrc=False
        )
        debugger.use_rawinput = False
        monkeypatch.setattr(sys, "breakpointhook", lambda: debugger.set_trace(sys._getframe(1)))
        try:
            return function(ones()).tolist(), transcript.getvalue()
        finally:
            sys.settrace(None)
            monkeypatch.setattr(sys, "breakpointhook", lambda: None)

    _, transcript = same_as_plain(show, stops)
    assert "[4.0, 4.0]" in transcript


# ---- coverage


@pytest.mark.parametrize("core", ["ctrace", "pytrace", "sysmon"])
@pytest.mark.parametrize("branch", [False, True])
def test_coverage_counts_the_lines(core, branch, monkeypatch):
    coverage = pytest.importorskip("coverage")
    if core == "sysmon" and sys.version_info < (3, 12):
        pytest.skip("sys.monitoring is there from 3.12 on")
    if core == "sysmon" and branch and sys.version_info < (3, 14):
        pytest.skip("that core measures branches from 3.14 on")
    if core == "ctrace":
        pytest.importorskip("coverage.tracer")
    monkeypatch.setenv("COVERAGE_CORE", core)

    def show(function):
        measured = coverage.Coverage(data_file=None, include=[__file__], branch=branch, config_file=False)
        measured.start()
        try:
            function(ones())
        finally:
            measured.stop()
        data = measured.get_data()
        ranges = [
            (f.__code__.co_firstlineno, max(line or 0 for *_, line in f.__code__.co_lines())) for f in USERS.values()
        ]
        own = [line for line in data.lines(__file__) if any(first <= line <= last for first, last in ranges)]
        arcs = data.arcs(__file__) or []
        own_arcs = [arc for arc in arcs if any(first <= abs(n) <= last for n in arc for first, last in ranges)]
        return sorted(own), sorted(own_arcs)

    lines, _ = same_as_plain(show)
    assert len(lines) > 15


def test_coverage_started_at_a_break():
    coverage = pytest.importorskip("coverage")

    def show(function):
        measured = coverage.Coverage(data_file=None, include=[__file__], config_file=False)

        def start(number):
            if number == 11:
                measured.start()

        try:
            with doing(start):
                function(ones())
        finally:
            measured.stop()
        first = middle.__code__.co_firstlineno
        return sorted(line for line in measured.get_data().lines(__file__) or () if first <= line <= first + 5)

    same_as_plain(show)


# ---- sys.settrace, sys.setprofile


def collector(events, names, opcodes=False):
    def tracer(frame, event, arg):
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name in names:
            frame.f_trace_opcodes = opcodes
            shown = (
                arg.__name__ if event.startswith("c_") else arg if isinstance(arg, (int, str)) else type(arg).__name__
            )
            at = frame.f_lasti if opcodes else 0
            events.append((frame.f_code.co_name, event, frame.f_lineno - frame.f_code.co_firstlineno, at, shown))
        return tracer

    return tracer


@pytest.mark.parametrize("opcodes", [False, True], ids=["lines", "opcodes"])
def test_settrace_before_the_call(opcodes):
    def show(function):
        events = []
        sys.settrace(collector(events, USERS, opcodes))
        try:
            function(ones())
        finally:
            sys.settrace(None)
        return events

    show(root)  # 3.12 reports opcode events of a function from its second traced call on
    events = same_as_plain(show)
    assert {event for _, event, *_ in events} >= {"call", "line", "return"}


@pytest.mark.parametrize("at", [10, 11, 1, 20])
@pytest.mark.parametrize("follows", [False, True], ids=["callees only", "with the callers"])
def test_settrace_by_a_callee(at, follows):
    def show(function):
        events = []
        tracer = collector(events, USERS)

        def start(number):
            if number == at:
                frame = sys._getframe(2)
                while follows and frame is not None and frame.f_code.co_name in USERS:
                    frame.f_trace = tracer
                    frame = frame.f_back
                sys.settrace(tracer)

        try:
            with doing(start):
                result = function(ones()).tolist()
        finally:
            sys.settrace(None)
        return result, events

    _, events = same_as_plain(show)
    assert events or not follows


def test_settrace_for_a_while():
    def show(function):
        events = []

        def switch(number):
            sys.settrace(collector(events, USERS) if number in (10, 1) else None)

        try:
            with doing(switch):
                result = function(ones()).tolist()
        finally:
            sys.settrace(None)
        return result, events

    same_as_plain(show)


def test_a_tracer_sees_exceptions():
    def show(function):
        events = []
        sys.settrace(collector(events, ["fails_after_a_break", "deeper"]))
        try:
            with pytest.raises(IndexError):
                function(ones())
        finally:
            sys.settrace(None)
        return events

    plain = show(fails_after_a_break)
    compiled = minidynamo.compile(fails_after_a_break)
    for _ in range(3):
        assert show(compiled) == plain
    assert [event for _, event, *_ in plain].count("exception") == 2


@pytest.mark.parametrize("at", [None, 10, 1, 20])
def test_setprofile(at):
    def show(function):
        events = []
        profiler = collector(events, USERS)

        def start(number):
            if number == at:
                sys.setprofile(profiler)

        try:
            if at is None:
                sys.setprofile(profiler)
            with doing(start):
                result = function(ones()).tolist()
        finally:
            sys.setprofile(None)
        kept = [event for event in events if event[1:] != ("c_call", event[2], 0, "setprofile")]
        return result, kept

    _, events = same_as_plain(show)
    assert {"return"} <= {event for _, event, *_ in events}


def test_cprofile():
    import cProfile
    import pstats

    def show(function):
        profile = cProfile.Profile()
        profile.runcall(function, ones())
        stats = pstats.Stats(profile, stream=io.StringIO()).stats
        return sorted((name, calls) for (file, _, name), (_, calls, *_) in stats.items() if file == __file__)

    assert ("middle", 1) in same_as_plain(show)


def test_the_trace_module():
    import trace

    def show(function):
        tracer = trace.Trace(count=1, trace=0, countfuncs=0)
        tracer.runfunc(function, ones())
        first, last = Doubling.__call__.__code__.co_firstlineno, root.__code__.co_firstlineno + 20
        counts = tracer.results().counts
        return sorted(
            (line, count) for (file, line), count in counts.items() if file == __file__ and first <= line <= last
        )

    assert len(same_as_plain(show)) > 10


def test_current_frames_of_another_thread():
    import threading

    def action(number):
        seen = []
        caller = threading.current_thread().ident

        def look():
            frame = sys._current_frames()[caller]
            while frame is not None:
                if frame.f_code.co_filename == __file__ and frame.f_code.co_name in USERS:
                    seen.append((frame.f_code.co_name, frame.f_lineno))
                frame = frame.f_back

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return seen

    plain = same_as_plain(seen_at(action))
    assert [name for name, _ in plain[2]] == ["visit", "__call__", "middle", "root"]


def test_a_signal_handler_sees_the_frames():
    import signal

    def action(number):
        seen = []

        def handle(signum, frame):
            seen.extend(entry[:3] for entry in traceback.extract_stack(frame) if entry.name in USERS)

        previous = signal.signal(signal.SIGUSR1, handle)
        try:
            signal.raise_signal(signal.SIGUSR1)
        finally:
            signal.signal(signal.SIGUSR1, previous)
        return seen

    plain = same_as_plain(seen_at(action))
    assert all(plain[:-1])


# ---- sys.monitoring

if sys.version_info >= (3, 12):
    monitoring = sys.monitoring
    LOCAL_KINDS = ["PY_START", "PY_RETURN", "LINE", "CALL", "JUMP", "BRANCH"]
    KINDS = [*LOCAL_KINDS, "RAISE", "PY_UNWIND", "EXCEPTION_HANDLED"]


def event_set(kinds):
    return sum(getattr(monitoring.events, kind) for kind in kinds)


@contextlib.contextmanager
def monitor(events):
    tool = monitoring.PROFILER_ID
    monitoring.use_tool_id(tool, "test")

    def register(kind):
        def note(code, *rest):
            if code.co_filename == __file__ and code.co_name in USERS:
                numbers = [value for value in rest if isinstance(value, int)]
                events.append((kind, code.co_name, *numbers))

        monitoring.register_callback(tool, getattr(monitoring.events, kind), note)

    try:
        for kind in KINDS:
            register(kind)
        yield tool
    finally:
        monitoring.set_events(tool, 0)
        for function in USERS.values():
            monitoring.set_local_events(tool, function.__code__, 0)
        for kind in KINDS:
            monitoring.register_callback(tool, getattr(monitoring.events, kind), None)
        monitoring.free_tool_id(tool)


needs_monitoring = pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is there from 3.12 on")


@needs_monitoring
@pytest.mark.parametrize("at", [None, 10, 11, 1, 20])
def test_monitoring_of_all_code(at):
    def show(function):
        events = []
        with monitor(events) as tool:

            def start(number):
                if number == at:
                    monitoring.set_events(tool, event_set(KINDS))

            if at is None:
                monitoring.set_events(tool, event_set(KINDS))
            with doing(start):
                result = function(ones()).tolist()
        return result, events

    _, events = same_as_plain(show)
    assert len(events) > 3


@needs_monitoring
@pytest.mark.parametrize("at", [None, 10, 1])
@pytest.mark.parametrize("name", ["root", "middle", "__call__"])
def test_monitoring_of_one_function(name, at):
    def show(function):
        events = []
        with monitor(events) as tool:

            def start(number):
                if number == at:
                    monitoring.set_local_events(tool, USERS[name].__code__, event_set(LOCAL_KINDS))

            if at is None:
                monitoring.set_local_events(tool, USERS[name].__code__, event_set(LOCAL_KINDS))
            with doing(start):
                result = function(ones()).tolist()
        return result, events

    _, events = same_as_plain(show)
    assert events


# ---- faulthandler, traceback, inspect, warnings, logging


def test_faulthandler():
    def action(number):
        with tempfile.TemporaryFile("w+") as file:
            faulthandler.dump_traceback(file, all_threads=False)
            file.seek(0)
            return file.read()

    plain = same_as_plain(seen_at(action))
    assert any("in middle" in text for text in plain[:-1])


def test_faulthandler_of_another_thread():
    import threading

    def action(number):
        texts = []
        waiting = threading.current_thread().ident

        def dump():
            with tempfile.TemporaryFile("w+") as file:
                faulthandler.dump_traceback(file, all_threads=True)
                file.seek(0)
                texts.append(file.read())

        thread = threading.Thread(target=dump)
        thread.start()
        thread.join()
        stack = texts[0].partition(f"Thread 0x{waiting:016x}")[2]
        return stack.partition(" in visit")[2]

    plain = same_as_plain(seen_at(action))
    assert all(" in root" in text for text in plain[:-1])


def test_extract_stack():
    def action(number):
        stack = traceback.extract_stack()
        return [(entry.filename, entry.lineno, entry.name, entry.line) for entry in stack]

    plain = same_as_plain(seen_at(action))
    assert [name for *_, name, _ in plain[2]][-6:-2] == ["root", "middle", "__call__", "visit"]


def test_inspect_stack():
    def action(number):
        return [
            (entry.filename, entry.lineno, entry.function, entry.code_context, entry.index, entry.positions)
            for entry in inspect.stack()
        ]

    same_as_plain(seen_at(action))


def test_locals_of_the_frames_above():
    def action(number):
        found = []
        frame = sys._getframe(3)
        while frame.f_code.co_name in USERS:
            values = {name: v.tolist() if hasattr(v, "tolist") else v for name, v in frame.f_locals.items()}
            values.pop("self", None)
            found.append((frame.f_code.co_name, frame.f_lineno, values))
            frame = frame.f_back
        return found

    with minidynamo._dynamo.config.patch(keep_dead_locals=True):
        same_as_plain(seen_at(action))


def warning_with(level):
    def warns(x):
        y = x + 1
        warnings.warn("in the function", stacklevel=level)
        return inner(y) * 2

    def inner(y):
        y = y - 1
        warnings.warn("in its callee", DeprecationWarning, stacklevel=level)
        visit(level)
        return y

    return warns


@pytest.mark.parametrize("level", [1, 2, 3, 4, 50])
def test_warnings_name_the_line_of_their_level(level):
    def show(function):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with doing(lambda number: warnings.warn("at the break", stacklevel=number)):
                function(ones())
        return [(w.category, str(w.message), w.filename, w.lineno) for w in caught]

    assert len(same_as_plain(show, warning_with(level))) == 3


def test_a_warning_is_shown_once_for_each_line():
    def show(function):
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(2):
                function(ones())
        return [(str(w.message), w.lineno) for w in caught]

    assert len(same_as_plain(show, warning_with(1))) == 2


def test_warnings_as_errors():
    function = warning_with(1)

    def show(function):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning) as caught:
                function(ones())
        return str(caught.value), [entry[:3] for entry in traceback.extract_tb(caught.value.__traceback__)][1:]

    plain = show(function)
    compiled = minidynamo.compile(function)
    for _ in range(3):
        assert show(compiled) == plain


def logging_with(logger, level):
    def logs(x):
        y = x + 1
        logger.info("in %s", "the function", stacklevel=level)
        return inner(y) * 2

    def inner(y):
        logger.warning("in its callee", stacklevel=level, stack_info=True)
        visit(1)
        return y

    return logs


@pytest.mark.parametrize("level", [1, 2, 3])
def test_logging_finds_the_caller(level):
    logger = logging.getLogger("test_python_tools")
    records = []

    class Collect(logging.Handler):
        def emit(self, record):
            stack = record.stack_info
            records.append((record.getMessage(), record.pathname, record.lineno, record.funcName, stack))

    def show(function):
        records.clear()
        with doing(lambda number: logger.error("at the break", stacklevel=level)):
            function(ones())
        return list(records)

    handler = Collect()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        assert len(same_as_plain(show, logging_with(logger, level))) == 3
    finally:
        logger.removeHandler(handler)
