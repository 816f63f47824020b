"""Code that serves a frame is never captured, under any policy: backends and what they return, fakes, callbacks ..."""

import functools
import logging
import threading

import pytest

import minidynamo
from minidynamo import _C, _dynamo
from minidynamo._dynamo import callback, error_on_graph_break, graph_break
from minidynamo._dynamo.eval_frame import enable_everywhere

pytestmark = pytest.mark.counts_regions


@pytest.fixture(autouse=True)
def fresh():
    _dynamo.reset()
    yield
    _dynamo.reset()


def ones(n=2):
    return minidynamo.ones(n)


class Seen:
    """The side effects of serving code, and what shows whether it was captured."""

    def __init__(self):
        self.runs = 0
        self.while_tracing = False

    def work(self):
        """Breaks the graph in several ways, calls itself and others; an error under each strict policy if captured."""
        self.runs += 1
        graph_break()
        assert minidynamo.compiler.is_compiling() == self.while_tracing
        # Code that runs while tracing is the program's: if captures are checked, eager Python calls it under that
        # policy.
        assert _C._error_on_graph_break() is False or (self.while_tracing and _dynamo.config.check_captures > 0)
        value = functools.reduce(lambda a, b: a + b, map(self.part, [1, 2]))
        return value, sum(self.generate()), ones().sum().item()

    def part(self, number):
        graph_break()
        return number

    def generate(self):
        for number in range(2):
            graph_break()
            yield self.part(number)


def as_function(run):
    def function(*args):
        return run(*args)

    return function


def as_closure_of_closures(run):
    return as_function(as_function(run))


def as_partial(run):
    return functools.partial(lambda extra, *args: run(*args), 1)


class Holder:
    def __init__(self, run):
        self.run = run

    def method(self, *args):
        graph_break()
        return self.run(*args)

    @classmethod
    def of_class(cls, run, *args):
        return run(*args)

    def __call__(self, *args):
        graph_break()
        return self.run(*args)


class Outer(Holder):
    @property
    def inner(self):
        return Holder(self.run)

    def __call__(self, *args):
        return self.inner(*args)


# A callable in the form of each kind of callable.
FORMS = {
    "function": as_function,
    "closures": as_closure_of_closures,
    "lambda": lambda run: lambda *args: run(*args),
    "partial": as_partial,
    "method": lambda run: Holder(run).method,
    "class method": lambda run: functools.partial(Holder.of_class, run),
    "object": Holder,
    "object that calls another": Outer,
    "wrapped": lambda run: functools.wraps(run)(as_function(run)),
    "under disable": lambda run: minidynamo.compiler.disable(as_function(run)),
    "under errors": lambda run: error_on_graph_break(False)(as_function(run)),
}


def serve_as_backend(form, seen):
    def backend(gm, example_inputs):
        seen.work()
        return gm.forward

    return {"backend": form(backend)}


def serve_as_what_a_backend_returns(form, seen):
    def backend(gm, example_inputs):
        def run(*args):
            seen.work()
            return gm.forward(*args)

        return form(run)

    return {"backend": backend}


def serve_as_both(form, seen):
    def backend(gm, example_inputs):
        seen.work()

        def helper(*args):
            seen.work()
            return gm(*args)

        return form(lambda *args: helper(*args))

    return {"backend": form(backend)}


def serve_as_thread(form, seen):
    """The callable that a backend returns passes its work to a thread, and waits for it."""

    def backend(gm, example_inputs):
        def run(*args):
            results = []
            thread = threading.Thread(target=form(lambda: results.append((seen.work(), gm.forward(*args)))))
            thread.start()
            thread.join()
            return results[0][1]

        return run

    return {"backend": backend}


def serve_as_guard_filter(form, seen):
    def keep(guards):
        seen.work()
        return [True for _ in guards]

    return {"backend": "eager", "options": {"guard_filter_fn": form(keep)}}


def serve_as_forced_backend(form, seen):
    return {"forced": serve_as_both(form, seen)["backend"]}


def serve_as_callback(form, seen):
    def tell(args):
        seen.work()

    return {"callback": form(tell)}


def serve_as_log_handler(form, seen):
    class Handler(logging.Handler):
        def emit(self, record):
            form(lambda: seen.work())()

    return {"handler": Handler()}


def serve_as_filter_of_logs(form, seen):
    def passes(record):
        seen.work()
        return False

    return {"log filter": form(passes)}


def serve_as_fake(form, seen):
    seen.while_tracing = True

    @minidynamo.library.custom_op("serving::sine", mutates_args=())
    def sine(x: minidynamo.Tensor) -> minidynamo.Tensor:
        return x.sin()

    fake = form(lambda x: (seen.work(), minidynamo.empty_like(x))[1])
    sine.register_fake(lambda x: fake(x))
    return {"sine": sine}


def serve_as_kernel(form, seen):
    @minidynamo.library.custom_op("serving::sine", mutates_args=())
    def sine(x: minidynamo.Tensor) -> minidynamo.Tensor:
        raise AssertionError("another kernel is registered")

    kernel = form(lambda x: (seen.work(), x.sin())[1])
    sine.register_fake(lambda x: minidynamo.empty_like(x))
    sine.register_kernel("cpu", lambda x: kernel(x))
    return {"sine": sine}


def serve_as_traced_function(form, seen):
    seen.while_tracing = True

    def sine(x):
        form(lambda: seen.work())()
        return x.sin()

    return {"sine": _dynamo.nonstrict_trace(sine)}


def serve_as_constant(form, seen):
    seen.while_tracing = True

    @_dynamo.assume_constant_result
    def none():
        form(lambda: seen.work())()
        return 0

    return {"sine": lambda x: (x + none()).sin()}


def serve_as_finalizer(form, seen):
    """A finalizer of the callable that a backend returned, which runs when its captures are dropped."""

    class Run:
        def __init__(self, gm):
            self.gm = gm

        def __call__(self, *args):
            return self.gm.forward(*args)

        def __del__(self):
            form(lambda: seen.work())()

    return {"backend": lambda gm, example_inputs: Run(gm), "dropped": True}


def serve_as_profiler(form, seen):
    class Profiler:
        def __init__(self):
            self.start = self.stop = form(lambda: seen.work())

        def __call__(self, gm, example_inputs):
            return gm.forward

    return {"optimize": Profiler()}


KINDS = {name.removeprefix("serve_as_"): value for name, value in dict(globals()).items() if name.startswith("serve_")}


def programs_of(sine):
    def program(x):
        return sine(x) + 1

    def program_with_a_break(x):
        x = sine(x)
        with error_on_graph_break(False):
            graph_break()
        return x + 1

    return program, program_with_a_break


def program_that_calls(compiled):
    def program(x):
        y = x * 2
        graph_break()
        return compiled(x) + y - y

    return program


def calls_of(policy, settings):
    """calls(x): calls of the program under a policy, all of which return sin(x) + 1."""
    keywords = {key: settings[key] for key in ("backend", "options") if key in settings}
    if policy == "fullgraph":
        keywords["fullgraph"] = True
    breaks = policy in ("errors around", "errors behind a break", "after a break")
    program = programs_of(settings.get("sine", minidynamo.sin))[breaks]
    if "optimize" in settings:
        compiled = _dynamo.optimize(settings["optimize"], nopython=keywords.pop("fullgraph", False))(program)
    else:
        compiled = minidynamo.compile(program, **keywords)
    if policy in ("errors", "errors behind a break"):
        return error_on_graph_break(True)(compiled)
    if policy == "from a compiled frame":
        return minidynamo.compile(program_that_calls(compiled), **keywords)
    around = {"errors around": lambda: error_on_graph_break(True), "everywhere": enable_everywhere}.get(policy)
    if around is None:
        return compiled

    def call(x):
        with around():
            return compiled(x)

    return call


POLICIES = (
    "default",
    "fullgraph",
    "errors",
    "errors around",
    "errors behind a break",
    "after a break",
    "from a compiled frame",
    "everywhere",
)
PROGRAM = {"program", "program_with_a_break", "dropping", "watched"}  # the last is that of optimize()
NAMES = "work part generate function <lambda> method of_class __call__ inner run helper backend keep tell emit passes"
SERVING = {*NAMES.split(), "__del__", "sine", "none"}


def dropping(x):
    """Drops all captures in the middle of a captured function."""
    x = x + 1
    _dynamo.reset()
    return x * 2


@pytest.fixture
def served():
    """served(settings): the context that a kind of serving code needs."""
    logger = logging.getLogger("minidynamo")
    undo = []

    def surround(settings):
        if "callback" in settings:
            callback.callback_handler.register_start_callback(settings["callback"])
            callback.callback_handler.register_end_callback(settings["callback"])
            undo.append(callback.callback_handler.clear)
        if "handler" in settings or "log filter" in settings:
            minidynamo._logging.set_logs(graph_code=True, guards=True, recompiles=True, graph_breaks=True, perf=True)
            undo.append(minidynamo._logging.set_logs)
        if "handler" in settings:
            logger.addHandler(settings["handler"])
            undo.append(lambda: logger.removeHandler(settings["handler"]))
        if "log filter" in settings:
            for handler in logger.handlers:
                handler.addFilter(settings["log filter"])
                undo.append(lambda handler=handler: handler.removeFilter(settings["log filter"]))
        if "forced" in settings:
            minidynamo.compiler.set_stance(force_backend=settings["forced"])
            undo.append(lambda: minidynamo.compiler.set_stance("default"))

    yield surround
    for each in reversed(undo):
        each()


# Functions under all policies, other callables under three. Everywhere mode applies to all threads, a backend's as
# well.
CASES = [
    (kind, policy, form)
    for kind in KINDS
    for policy in POLICIES
    for form in FORMS
    if (form == "function" or policy in ("default", "fullgraph", "errors behind a break"))
    and (kind, policy) != ("thread", "everywhere")
]


@pytest.mark.parametrize(("kind", "policy", "form"), CASES)
def test_serving_code(kind, policy, form, served):
    seen = Seen()
    settings = KINDS[kind](FORMS[form], seen)
    served(settings)
    calls = calls_of(policy, settings)

    def call_all():
        for n in (2, 2, 3, 2):
            x = ones(n)
            results.append((calls(x).tolist(), (x.sin() + 1).tolist()))

    results = []
    captures = _C.record_captures(call_all)
    if "dropped" in settings:  # the record has kept them
        captures = [{"name": capture["name"]} for capture in captures]
        captures += _C.record_captures(lambda: minidynamo.compile(dropping)(ones()))
    assert all(got == expected for got, expected in results)
    assert seen.runs > 0
    captured = {capture["name"] for capture in captures}
    assert captured & PROGRAM
    assert not captured & SERVING
    if policy != "everywhere":
        assert captured <= PROGRAM
