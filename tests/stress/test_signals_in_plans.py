"""Signals that arrive while a plan runs: when their handlers run, and the state after one that raises."""

import signal
import subprocess
import sys
import textwrap

import pytest

# send() makes the other thread send a signal as soon as it gets the GIL, which with this interval is when a plan
# releases it, and a processor; interrupted() repeats the call until the signal was in time.
PRELUDE = """
import os, signal, sys, threading, time, traceback
import minidynamo as md

sys.setswitchinterval(1000)
asked, main = threading.Semaphore(0), threading.main_thread().ident

def sender():
    while True:
        asked.acquire()
        signal.pthread_kill(main, SIGNAL)

threading.Thread(target=sender, daemon=True).start()
send = asked.release

class Stop(BaseException):
    pass

class Box:
    n = 0

box, items, seen = Box(), [], []
BIG = 1_000_000

def line_of(error, function):
    "Where the exception left the function, from its first line on."
    lines = [e.lineno for e in traceback.extract_tb(error.__traceback__) if e.name == function.__name__]
    return lines[-1] - function.__code__.co_firstlineno if lines else None

def interrupted(call):
    "Calls, with a signal on its way, until the signal comes while the call runs. The result, or the exception of the handler."
    while True:
        before = len(seen)
        send()
        try:
            result = call()
        except (Stop, KeyboardInterrupt) as error:
            return error
        if len(seen) > before:
            return result
        try:
            while len(seen) == before:
                time.sleep(0.001)
        except (Stop, KeyboardInterrupt):
            pass

def run(function, *args, **options):
    compiled = md.compile(function, **options)
    for _ in range(2):
        compiled(*args)
    return compiled
"""


def run_program(program, signal_number=signal.SIGUSR1):
    text = PRELUDE.replace("SIGNAL", str(int(signal_number))) + textwrap.dedent(program)
    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


FUNCTIONS = {
    "fused": ("def f(x):\n    y = x * 2\n    return y.relu() + 1", "onednn", "md.ones(BIG)"),
    "several steps": (
        "def f(x):\n    y = x.cumsum(0)\n    y = y.flip(0).cumsum(0)\n    return y.flip(0).cumsum(0)",
        "onednn",
        "md.ones(BIG)",
    ),
    "op by op": ("def f(x):\n    y = x * 2\n    y = y.relu()\n    return y + 1", "eager", "md.ones(BIG)"),
    "products": ("def f(x):\n    y = x @ x\n    return (y @ x) @ x", "onednn", "md.ones(300, 300)"),
    "draws": ("def f(x):\n    y = x + md.rand(x.shape[0])\n    return y.cumsum(0)", "onednn", "md.ones(BIG)"),
    "writes": (
        "def f(x):\n    box.n += 1\n    items.append(box.n)\n    x.add_(1)\n    return x.cumsum(0)",
        "onednn",
        "md.ones(BIG)",
    ),
    "a loop": ("def f(x):\n    for _ in range(3):\n        x = x.cumsum(0)\n    return x", "onednn", "md.ones(BIG)"),
}

HANDLERS = {
    "returns": "seen.append(1)",
    "calls compiled code": "seen.append(len(handled(md.ones(5))))",
    "captures": "seen.append(len(md.compile(lambda x: x + len(seen))(md.ones(len(seen) + 2))))",
    "runs a large plan": "seen.append(len(large(md.ones(BIG))))",
    "resets everything": "seen.append(md._dynamo.reset())",
}


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_handler_that_returns(function, handler):
    source, backend, argument = FUNCTIONS[function]
    out = run_program(f"""
{textwrap.indent(source, "        ")}
        handled = run(lambda x: x * 3, md.ones(5))
        large = run(lambda x: x.cumsum(0), md.ones(BIG))

        def handler(number, frame):
            {HANDLERS[handler]}

        def call(g, argument):
            argument, box.n, items[:] = argument.clone(), 0, []
            md.manual_seed(7)
            return g(argument), argument

        signal.signal(signal.SIGUSR1, handler)
        compiled = run(f, {argument}, backend={backend!r})
        results = []
        for g in (lambda x: interrupted(lambda: call(compiled, x)), lambda x: call(f, x)):
            for _ in range(3):
                result, argument = g({argument})
            results.append((result, argument, box.n, items[:]))
        (a, written, n, own), (b, plain_written, plain_n, plain_own) = results
        assert (a - b).abs().max().item() <= 1e-4 * b.abs().max().item(), (a, b)
        assert (written - plain_written).abs().max().item() == 0
        assert (n, own) == (plain_n, plain_own)
        print(len(seen))
    """)
    assert int(out) >= 3


RAISED = """
        {definition}

        def handler(number, frame):
            raise Stop

        compiled = run(f, {argument}, backend={backend!r})
        signal.signal(signal.SIGUSR1, handler)
        md.manual_seed(7)
        drawn = md.rand(3).tolist()

        def call():
            global x
            x, box.n, items[:] = {argument}, 0, []
            md.manual_seed(7)
            compiled(x)

        written, box.n, items[:] = {argument}, 0, []
        f(written)
        last = f.__code__.co_firstlineno, max(line for *_, line in f.__code__.co_lines() if line)

        within = 0
        while within < 3:
            error = interrupted(call)
            line = line_of(error, f)
            if line is None:  # behind the call
                continue
            if line == last[1] - last[0] and line > 0:  # during the plan's own write, which is then completed
                assert (x - written).abs().max().item() == 0
                continue
            within += 1
            print(line, end=" ")
            assert (x - {argument}).abs().max().item() == 0 and (box.n, items) == (0, [])
            assert md.rand(3).tolist() == drawn
"""


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_handler_that_raises_before_anything_is_written(function):
    source, backend, argument = FUNCTIONS[function]
    definition = textwrap.indent(source, "        ").strip()
    assert run_program(RAISED.format(definition=definition, argument=argument, backend=backend)) == "0 0 0 "


def test_ctrl_c():
    definition = "def f(x):\n            return x.cumsum(0).cumsum(0)"
    program = RAISED.format(definition=definition, argument="md.ones(BIG)", backend="onednn")
    # A shell starts background processes with SIGINT ignored.
    program = program.replace(
        "signal.signal(signal.SIGUSR1, handler)", "signal.signal(signal.SIGINT, signal.default_int_handler)"
    )
    assert run_program(program, signal.SIGINT) == "0 0 0 "


# After a call of Python code the handler waits for the end of the region, and for all its effects.
AFTER_A_CALL = """
        def tell_inside(x):
            if armed:
                signal.setitimer(signal.ITIMER_REAL, 0.003)
            return x + 1

        @md.library.custom_op("signals::tell", mutates_args=())
        def tell(x: md.Tensor) -> md.Tensor:
            return tell_inside(x)

        @tell.register_fake
        def _(x):
            return md.empty_like(x)

        armed = []

        def f(x):
            box.n += 1
            y = tell(x)
            for _ in range(30):
                y = y.cumsum(0).flip(0)
            x.add_(1)
            items.append(box.n)
            {end}

        def handler(number, frame):
            {handler}

        signal.signal(signal.SIGALRM, handler)
        compiled = run(f, md.ones(BIG))
        armed.append(1)
        while True:
            x, box.n, items[:], seen[:] = md.zeros(BIG), 0, [], []
            try:
                compiled(x)
            except Stop as error:
                line = line_of(error, f)
                if line is None or line_of(error, tell_inside) is not None or line == 2:  # behind the call of f, or before the plan goes on
                    continue
                print(line in {lines}, end=" ")
            break
        print(x.sum().item() == BIG, box.n, items, len(seen))
"""


@pytest.mark.parametrize(
    ("end", "handler", "lines", "expected"),
    [
        ("return y", "raise Stop", (7,), "True True 1 [1] 0"),
        ("return y", "seen.append(1)", (), "True 1 [1] 1"),
        ("print(end='')\n            return y", "raise Stop", (7, 8), "True True 1 [1] 0"),
    ],
)
def test_after_a_call(end, handler, lines, expected):
    program = AFTER_A_CALL.format(end=end, handler=handler, lines=lines)
    assert run_program(program).strip() == expected


def test_changes_by_a_handler_are_noticed():
    out = run_program("""
        factor = 2

        def f(x):
            box.n += 1
            return x.cumsum(0).cumsum(0) * factor

        def handler(number, frame):
            global factor
            factor = 5
            box.n += 100
            seen.append(1)

        signal.signal(signal.SIGUSR1, handler)
        compiled = run(f, md.ones(BIG))

        def call():
            global factor
            factor, box.n = 2, 0
            return compiled(md.ones(BIG))

        while (found := (interrupted(call)[0].item(), box.n)) == (2.0, 101):
            pass  # behind the plan
        print(found)
    """)
    assert out.strip() == "(5.0, 101)"


def test_another_thread_is_not_interrupted():
    out = run_program("""
        def handler(number, frame):
            raise Stop

        signal.signal(signal.SIGUSR1, handler)
        compiled = run(lambda x: x.cumsum(0).cumsum(0), md.ones(BIG))
        results = []

        def work():
            for _ in range(20):
                results.append(compiled(md.ones(BIG))[1].item())

        thread = threading.Thread(target=work)
        thread.start()
        stopped = 0
        while thread.is_alive() or stopped == 0:
            try:
                send()
                time.sleep(0.005)
            except Stop:
                stopped += 1
        print(set(results), len(results))
    """)
    assert out.strip() == "{3.0} 20"


STORMS = {
    "plans": "compiled(x)",
    "capture": "(md._dynamo.reset(), compiled(x))[1]",
    "captures of new sizes": "compiled(md.ones(len(done) % 40 + 2))",
    "eager": "f(x)",
}


@pytest.mark.counts_python_runs
@pytest.mark.parametrize("handler", ["seen.append(1)", "seen.append(handled(md.ones(3)).sum().item())", "raise Stop"])
@pytest.mark.parametrize("work", STORMS)
def test_timers_that_fire_all_the_time(work, handler):
    out = run_program(f"""
        sys.setswitchinterval(0.005)

        def f(x):
            y = x * 2
            for _ in range(4):
                y = (y + 1).relu()
            box.n += 1
            return y.sum() / len(x)

        handled = run(lambda x: x * 3, md.ones(3))

        def handler(number, frame):
            {handler}

        compiled = run(f, md.ones(3))
        x, done, stops, began = md.ones(BIG), [], 0, box.n
        signal.signal(signal.SIGALRM, handler)
        rounds = 0
        while rounds < 120 or not (seen or stops):  # until one came in time
            rounds += 1
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0004, 0.0009)
                value = {STORMS[work]}.item()
                signal.setitimer(signal.ITIMER_REAL, 0)
                done.append(value)
            except Stop:
                stops += 1
            finally:
                while True:
                    try:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                        break
                    except Stop:
                        stops += 1
        assert set(done) <= {{6.0}}, set(done)
        assert len(done) <= box.n - began <= len(done) + stops, (len(done), box.n - began, stops)
        print("right")
    """)
    assert out.strip() == "right"


def test_that_a_plan_runs_to_its_end_in_a_forked_child():
    out = run_program("""
        compiled = run(lambda x: x.cumsum(0).cumsum(0), md.ones(BIG))
        signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(1))
        pid = os.fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGUSR1)
            assert compiled(md.ones(BIG))[1].item() == 3 and seen == [1]
            os._exit(0)
        print(os.waitpid(pid, 0)[1])
    """)
    assert out.strip() == "0"
