"""A backend that fails, and the callable that it returned failing later: under each policy, with and without
config.suppress_errors."""

import traceback

import pytest

import minidynamo
from minidynamo import _dynamo
from minidynamo._dynamo import config, error_on_graph_break, graph_break
from minidynamo._dynamo.exc import BackendCompilerFailed

pytestmark = pytest.mark.counts_regions


@pytest.fixture(autouse=True)
def fresh():
    _dynamo.reset()
    yield
    _dynamo.reset()


class Backend:
    """Counts its calls, and those of the callable that it returned."""

    def __init__(self):
        self.calls = self.runs = 0

    def __call__(self, gm, example_inputs):
        self.calls += 1
        return self.compile(gm)


class Raises(Backend):
    def compile(self, gm):
        raise self.error("of the backend")


class RaisesValueError(Raises):
    error = ValueError


class RaisesStopIteration(Raises):
    error = StopIteration


class RaisesMemoryError(Raises):
    error = MemoryError


class RaisesRecursionError(Raises):
    def compile(self, gm):
        return self.compile(gm)

    error = RecursionError


class Returns(Backend):
    error = TypeError

    def compile(self, gm):
        return self.value


class ReturnsNone(Returns):
    value = None


class ReturnsNumber(Returns):
    value = 3


class ReturnsTuple(Returns):
    value = ()


class TakesOneArgument(Backend):
    error = TypeError

    def __call__(self, gm):
        raise AssertionError("not reached")


FAILURES = (
    RaisesValueError,
    RaisesStopIteration,
    RaisesMemoryError,
    RaisesRecursionError,
    ReturnsNone,
    ReturnsNumber,
    ReturnsTuple,
    TakesOneArgument,
)

events = []


def at_entry(x):
    events.append("entry")
    return x.sin()


def behind_a_break(x):
    with error_on_graph_break(False):
        graph_break()
    events.append("behind")
    return x.sin()


def in_a_callee(x):
    return behind_a_break(x)


def in_a_handler(x):
    """The program's own except clauses must not catch the failure of a backend."""
    try:
        with error_on_graph_break(False):
            graph_break()
        x = x.sin()
    except Exception as error:
        events.append(type(error).__name__)
    return x


def in_a_callees_handler(x):
    return in_a_handler(x)


def in_a_loop(x):
    for _ in range(1):
        with error_on_graph_break(False):
            graph_break()
        x = x.sin()
    return x


PLACES = (at_entry, behind_a_break, in_a_callee, in_a_handler, in_a_callees_handler, in_a_loop)


def plainly(function, backend):
    return minidynamo.compile(function, backend=backend)


def with_errors(function, backend):
    return error_on_graph_break(True)(minidynamo.compile(function, backend=backend))


def without_errors(function, backend):
    return error_on_graph_break(False)(minidynamo.compile(function, backend=backend))


def with_fullgraph(function, backend):
    return minidynamo.compile(function, backend=backend, fullgraph=True)


def by_optimize(function, backend):
    return _dynamo.optimize(backend)(function)


def in_a_block(function, backend):
    def call(x):
        with _dynamo.optimize(backend):
            return function(x)

    return call


def without_nested_breaks(function, backend):
    return config.patch(nested_graph_breaks=False)(minidynamo.compile(function, backend=backend))


POLICIES = (plainly, with_errors, without_errors, with_fullgraph, by_optimize, in_a_block, without_nested_breaks)


def both(policies, places):
    """All pairs, without fullgraph and a place after a break, which is an error of another kind."""
    return [
        (policy, place) for policy in policies for place in places if policy is not with_fullgraph or place is places[0]
    ]


def breaks_are_errors(policy, place):
    """Whether breaks are errors where the region for the backend begins: not after a break in the block that allows
    that break."""
    return policy is with_fullgraph or (policy is with_errors and place is at_entry)


@pytest.mark.parametrize("suppressed", [False, True])
@pytest.mark.parametrize(("policy", "place"), both(POLICIES, PLACES))
@pytest.mark.parametrize("failure", FAILURES)
def test_a_backend_that_fails(failure, policy, place, suppressed, caplog):
    backend = failure()
    call = policy(place, backend)
    events.clear()
    with config.patch(suppress_errors=suppressed), caplog.at_level("WARNING", "minidynamo"):
        for _ in range(3):
            x = minidynamo.ones(2)
            # As in torch: where breaks are errors, failures are errors too.
            if suppressed and not breaks_are_errors(policy, place):
                assert call(x).tolist() == x.sin().tolist()
                continue
            with pytest.raises(BackendCompilerFailed) as caught:
                call(x)
            assert isinstance(caught.value.inner_exception, failure.error)
            assert caught.value.__cause__ is caught.value.inner_exception
    if suppressed and not breaks_are_errors(policy, place):
        warnings = [record for record in caplog.records if record.levelname == "WARNING"]
        assert len(warnings) == 1 and "is left to Python: backend=" in warnings[0].getMessage()
        assert backend.calls == (0 if failure is TakesOneArgument else 1)
    elif failure is not TakesOneArgument:
        assert backend.calls >= 3


def test_suppressed_failures_of_other_places_do_not_count():
    class Second(Backend):
        def compile(self, gm):
            if self.calls == 2:
                raise ValueError
            return gm.forward

    def function(x):
        x = x + 1
        graph_break()
        x = x * 2
        graph_break()
        return x - 1

    backend = Second()
    with config.patch(suppress_errors=True):
        compiled = minidynamo.compile(function, backend=backend)
        for _ in range(2):
            assert compiled(minidynamo.ones(2)).tolist() == [3.0, 3.0]


def test_an_interrupt_is_no_failure():
    def backend(gm, example_inputs):
        raise KeyboardInterrupt

    for suppressed in (False, True):
        with config.patch(suppress_errors=suppressed), pytest.raises(KeyboardInterrupt):
            minidynamo.compile(at_entry, backend=backend)(minidynamo.ones(2))


# ---- failures of what a backend returned


class WhenRun(Backend):
    error, text = None, ""

    def compile(self, gm):
        def run(*args):
            self.runs += 1
            return self.run(gm, *args)

        return run


class RunRaises(WhenRun):
    error, text = ZeroDivisionError, "of the callable"

    def run(self, gm, *args):
        raise ZeroDivisionError("of the callable")


class RunRaisesAnExceptionOfItsOwn(WhenRun):
    class Own(Exception):
        pass

    error, text = Own, "of the callable"

    def run(self, gm, *args):
        raise self.Own("of the callable")


class RunExits(WhenRun):
    error, text = SystemExit, "3"

    def run(self, gm, *args):
        raise SystemExit(3)


class RunFailsInAnOperation(WhenRun):
    error, text = RuntimeError, "size"

    def run(self, gm, *args):
        return (args[0] + minidynamo.ones(7),)


class RunReturnsNothing(WhenRun):
    error, text = TypeError, "must return a tuple or list of 1 tensors, not a NoneType"

    def run(self, gm, *args):
        return None


class RunReturnsTooMuch(WhenRun):
    error, text = TypeError, "2 values"

    def run(self, gm, *args):
        return (args[0], args[0])


class RunReturnsOtherSizes(WhenRun):
    error, text = RuntimeError, "output 0 must be"

    def run(self, gm, *args):
        return (minidynamo.ones(5),)


RUN_FAILURES = (
    RunRaises,
    RunRaisesAnExceptionOfItsOwn,
    RunExits,
    RunFailsInAnOperation,
    RunReturnsNothing,
    RunReturnsTooMuch,
    RunReturnsOtherSizes,
)


def run_at_entry(x):
    events.append("entry")
    return x.sin()


def run_behind_a_break(x):
    events.append("before")
    with error_on_graph_break(False):
        graph_break()
    return x.sin()


def run_in_a_callee(x):
    return run_behind_a_break(x)


@pytest.mark.parametrize("suppressed", [False, True])
@pytest.mark.parametrize(("policy", "place"), both(POLICIES, [run_at_entry, run_behind_a_break, run_in_a_callee]))
@pytest.mark.parametrize("failure", RUN_FAILURES)
def test_the_callable_of_a_backend_fails(failure, policy, place, suppressed):
    backend = failure()
    call = policy(place, backend)
    events.clear()
    with config.patch(suppress_errors=suppressed):
        for count in (1, 2, 3):
            with pytest.raises(failure.error, match=failure.text) as caught:
                call(minidynamo.ones(2))
            # One frame for each function, and no other.
            functions = [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)]
            assert functions.count("run_at_entry") + functions.count("run_behind_a_break") == 1
            assert (backend.calls, backend.runs) == (1, count)
    assert events == ([] if place is run_at_entry else ["before"] * 3)


def test_the_programs_handlers_catch_exceptions_of_the_callable():
    def function(x):
        try:
            graph_break()
            return x.sin()
        except ZeroDivisionError as error:
            return x, str(error)

    backend = RunRaises()
    x = minidynamo.ones(2)
    assert minidynamo.compile(function, backend=backend)(x) == (x, "of the callable")
    assert backend.runs == 1
