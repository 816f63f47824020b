"""fullgraph and error_on_graph_break: when a break is an error, and what happens to the frame then."""

import traceback

import pytest

import minidynamo
from minidynamo._dynamo import error_on_graph_break, graph_break
from minidynamo._dynamo.exc import Unsupported
from minidynamo._dynamo.testing import CompileCounter


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def ones():
    return minidynamo.tensor([1.0, 1.0])


def breaks(x):
    x = x + 1
    graph_break()
    return x + 2


@pytest.mark.counts_regions
def test_fullgraph_raises_with_the_place_and_the_reason():
    compiled = minidynamo.compile(lambda x: breaks(x), fullgraph=True)
    for _ in range(2):
        with pytest.raises(Unsupported, match=r"Call to `minidynamo\._dynamo\.graph_break\(\)`") as caught:
            compiled(ones())
        text = str(caught.value)
        assert "from user code:" in text
        assert text.index("in <lambda>") < text.index("in breaks")
        assert "graph_break()" in text


@pytest.mark.counts_regions
def test_fullgraph_does_not_run_anything_before_it_raises():
    ran = []

    def function(x):
        ran.append(1)
        x = x + 1
        graph_break()
        return x

    with pytest.raises(Unsupported):
        minidynamo.compile(function, fullgraph=True)(ones())
    assert ran == []


def top_level(y):
    return y * 2


def decorated_lambda(x):
    return error_on_graph_break(True)(lambda y: y + 1)(x)


def decorated_twice_and_returned(x):
    @error_on_graph_break(True)
    @error_on_graph_break(False)
    def inner(y, *, by=3):
        return y * by

    return inner(x), inner


def decorated_function_of_the_module(x):
    return error_on_graph_break(False)(top_level)(x) + 1


def decorated_method_put_on_an_instance(x):
    class_of_it = Scale()
    class_of_it.forward = error_on_graph_break(False)(class_of_it.forward)
    return class_of_it.forward(x)


def disabled_and_not_called(x):
    return minidynamo.compiler.disable(lambda y: y + 1, reason="not needed"), x * 2


class Scale:
    def forward(self, y):
        return y * 5


DECORATE = [
    decorated_lambda,
    decorated_twice_and_returned,
    decorated_function_of_the_module,
    decorated_method_put_on_an_instance,
    disabled_and_not_called,
]


@pytest.mark.counts_regions
@pytest.mark.parametrize("function", DECORATE, ids=lambda function: function.__name__)
def test_decorating_inside_of_captured_code_keeps_one_graph(function):
    plain = function(ones())
    counter = CompileCounter()
    compiled = minidynamo.compile(function, backend=counter, fullgraph=True)
    for _ in range(2):
        result = compiled(ones())
    assert counter.frame_count == 1
    if not isinstance(plain, tuple):
        plain, result = (plain,), (result,)
    for expected, found in zip(plain, result):
        if callable(expected):
            assert found.__wrapped__ is not expected.__wrapped__
            assert (found.__name__, found.error_on_graph_break) == (expected.__name__, expected.error_on_graph_break)
            expected, found = expected(ones()), found(ones())
        assert found.tolist() == expected.tolist()


@pytest.mark.counts_regions
def test_functions_decorated_inside_run_under_their_setting():
    def allowed(x):
        return error_on_graph_break(False)(breaks)(x)

    def forbidden(x):
        return error_on_graph_break(True)(breaks)(x)

    def disabled(x):
        return minidynamo.compiler.disable(breaks, reason="too odd")(x) * 2

    assert error_on_graph_break(True)(minidynamo.compile(allowed))(ones()).tolist() == [4.0, 4.0]
    with pytest.raises(Unsupported, match="graph_break"):
        minidynamo.compile(forbidden)(ones())
    with pytest.raises(Unsupported, match="too odd"):
        minidynamo.compile(disabled, fullgraph=True)(ones())
    assert minidynamo.compile(disabled)(ones()).tolist() == [8.0, 8.0]


@pytest.mark.counts_regions
def test_fullgraph_rejects_library_functions_that_break():
    def function(x):
        x = x + 1
        return error_on_graph_break(True)(abs)(x) * 2

    assert minidynamo.compile(function)(ones()).tolist() == [4.0, 4.0]
    with pytest.raises(Unsupported, match="PolicyFunction"):
        minidynamo.compile(function, fullgraph=True)(ones())


@pytest.mark.counts_regions
def test_fullgraph_cannot_be_undone():
    allowed = error_on_graph_break(False)(breaks)
    with pytest.raises(Unsupported):
        minidynamo.compile(lambda x: allowed(x), fullgraph=True)(ones())
    with pytest.raises(Unsupported):
        minidynamo.compile(lambda x: minidynamo.compile(breaks)(x), fullgraph=True)(ones())


def test_exceptions_of_the_user_are_not_breaks():
    def function(x):
        y = x + 1
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        minidynamo.compile(function, fullgraph=True)(ones())

    def fails(x):
        return x + 1 + minidynamo.tensor([1.0, 2.0, 3.0])

    with pytest.raises(RuntimeError) as caught:
        minidynamo.compile(fails, fullgraph=True)(ones())
    assert not isinstance(caught.value, Unsupported)


@pytest.mark.counts_regions
def test_error_on_graph_break_as_decorator_and_as_manager():
    strict = error_on_graph_break(True)(minidynamo.compile(breaks))
    with pytest.raises(Unsupported):
        strict(ones())

    def function(x):
        with error_on_graph_break(True):
            x = x + 1
            graph_break()
        return x

    with pytest.raises(Unsupported):
        minidynamo.compile(function)(ones())
    with error_on_graph_break(True), pytest.raises(Unsupported):
        minidynamo.compile(breaks)(ones())


@pytest.mark.counts_regions
def test_the_innermost_setting_counts():
    def function(x):
        with error_on_graph_break(False):
            x = breaks(x)
        return x * 2

    assert error_on_graph_break(True)(minidynamo.compile(function))(ones()).tolist() == [8.0] * 2

    def stricter(x):
        with error_on_graph_break(False):
            with error_on_graph_break(True):
                return breaks(x)

    with pytest.raises(Unsupported):
        minidynamo.compile(stricter)(ones())


@pytest.mark.counts_regions
def test_several_graphs_are_allowed_under_error_on_graph_break():
    def function(x):
        x = x + 1
        with error_on_graph_break(False):
            graph_break()
        return x + 2

    counter = CompileCounter()
    strict = error_on_graph_break(True)(minidynamo.compile(function, backend=counter))
    assert strict(ones()).tolist() == [4.0] * 2
    assert counter.frame_count == 2


@pytest.mark.counts_regions
def test_a_capture_under_false_is_not_used_under_true():
    compiled = minidynamo.compile(breaks)
    assert compiled(ones()).tolist() == [4.0] * 2
    with error_on_graph_break(True), pytest.raises(Unsupported):
        compiled(ones())
    assert compiled(ones()).tolist() == [4.0] * 2


@pytest.mark.counts_regions
def test_an_error_after_a_break_runs_with_and_finally():
    log = []

    class Manager:
        def __enter__(self):
            log.append("enter")

        def __exit__(self, kind, error, trace):
            log.append(kind)

    def function(x):
        x = x + 1
        graph_break()
        try:
            with Manager():
                graph_break()
                with error_on_graph_break(True):
                    x = x * 2
                    graph_break()
        finally:
            log.append("finally")
        return x

    with pytest.raises(Unsupported):
        minidynamo.compile(function)(ones())
    assert log == ["enter", Unsupported, "finally"]


def fails_first(x, log):
    """The region ends where reshape() raises: the code after the call is reached in a running frame."""
    try:
        x.reshape(7, 7)
    except RuntimeError:
        log.append("reshape")


def swallows(x, log):
    fails_first(x, log)
    try:
        graph_break()
    except Exception as error:
        log.append(type(error))
    return x + 1


def returns_in_finally(x, log):
    fails_first(x, log)
    try:
        graph_break()
    finally:
        return x + 1  # noqa: B012


def swallows_a_callees(x, log):
    try:
        swallows(x, log)
    except Exception as error:
        log.append(type(error))
    return x + 1


@pytest.mark.parametrize("function", [swallows, returns_in_finally, swallows_a_callees])
def test_the_functions_own_handlers_do_not_end_the_error(function):
    log = []
    with pytest.raises(Unsupported) as caught:
        minidynamo.compile(function, fullgraph=True)(ones(), log)
    assert log[0] == "reshape"
    assert log[1:] in ([], [Unsupported], [Unsupported, Unsupported])
    names = [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)]
    assert function.__name__ in names


def test_handlers_catch_errors_of_other_calls():
    """The error of another compiled function belongs to that call, and an exception of the program to the program."""

    def calls_another(x, log):
        x = x + 1
        graph_break()
        try:
            minidynamo.compile(breaks, fullgraph=True)(x)
        except Unsupported as error:
            log.append(error.gb_type)
        try:
            raise Unsupported("made here", "none", "none")
        except Unsupported:
            log.append("made")
        return x + 1

    log = []
    assert minidynamo.compile(calls_another)(ones(), log).tolist() == [3.0, 3.0]
    assert log == ["Call to `minidynamo._dynamo.graph_break()`", "made"]


def test_the_flag_is_restored_after_an_exception():
    def function(x):
        with error_on_graph_break(True):
            raise ValueError("left")

    compiled = minidynamo.compile(function)
    with pytest.raises(ValueError, match="left"):
        compiled(ones())
    assert minidynamo.compile(breaks)(ones()).tolist() == [4.0] * 2


def test_the_flag_belongs_to_the_thread():
    import threading

    results = []

    def run():
        try:
            results.append(minidynamo.compile(breaks)(ones()).tolist())
        except Unsupported as error:
            results.append(error)

    with error_on_graph_break(True):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert results == [[4.0] * 2]


@pytest.mark.counts_regions
def test_disable():
    counter = CompileCounter()

    @minidynamo.compiler.disable
    def plain(x):
        return x * 3 + 1

    def function(x):
        return plain(x + 1) - 2

    compiled = minidynamo.compile(function, backend=counter)
    assert compiled(ones()).tolist() == [5.0] * 2
    assert (counter.frame_count, counter.op_count) == (2, 2)
    with pytest.raises(Unsupported):
        minidynamo.compile(function, fullgraph=True)(ones())


@pytest.mark.counts_regions
def test_disable_flag_of_config():
    counter = CompileCounter()
    compiled = minidynamo.compile(breaks, backend=counter)
    with minidynamo._dynamo.config.patch(disable=True):
        assert compiled(ones()).tolist() == [4.0] * 2
    assert counter.frame_count == 0
    compiled(ones())
    assert counter.frame_count == 2


@pytest.mark.counts_regions
def test_opaque_iterator_is_no_break():
    def function(x, items):
        for item in items:
            x = x + item
        return x

    strict = error_on_graph_break(True)(minidynamo.compile(function))
    assert strict(ones(), iter([1, 2, 3])).tolist() == [7.0] * 2
    items = iter([1, 2, 3])
    with pytest.raises(Unsupported, match="Loop over a pre-existing iterator"):
        minidynamo.compile(function, fullgraph=True)(ones(), items)
    assert list(items) == [1, 2, 3]
    assert minidynamo.compile(function, fullgraph=True)(ones(), [1, 2, 3]).tolist() == [7.0] * 2


@pytest.mark.counts_regions
def test_failing_backend():
    def backend(gm, example_inputs):
        raise RuntimeError("cannot")

    with pytest.raises(minidynamo._dynamo.exc.BackendCompilerFailed, match="cannot"):
        minidynamo.compile(lambda x: x + 1, backend=backend, fullgraph=True)(ones())


@pytest.mark.counts_regions
def test_failing_backend_under_suppress_errors_is_python(caplog):
    def backend(gm, example_inputs):
        raise RuntimeError("cannot")

    compiled = minidynamo.compile(lambda x: x + 1, backend=backend)
    with caplog.at_level("WARNING", "minidynamo"), minidynamo._dynamo.config.patch(suppress_errors=True):
        for _ in range(3):
            assert compiled(ones()).tolist() == [2.0] * 2
    assert len([r for r in caplog.records if r.levelname == "WARNING"]) == 1


@pytest.mark.counts_regions
def test_policy_error_has_the_users_frames():
    def function(x):
        x = x + 1
        graph_break()
        with error_on_graph_break(True):
            return breaks(x)

    with pytest.raises(Unsupported) as caught:
        minidynamo.compile(function)(ones())
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert "function" in names
    assert not any("resume" in name for name in names)
