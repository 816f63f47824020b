"""How a program controls capture: disable, disallow, allow, forbid, skip, stances and the functions that query it."""

import math
import threading

import pytest

import minidynamo
from minidynamo import compiler, nn
from minidynamo._dynamo import (
    allow_in_graph,
    disallow_in_graph,
    error_on_graph_break,
    explain,
    forbid_in_graph,
    graph_break,
    nonstrict_trace,
    skip_frame,
)
from minidynamo._dynamo.exc import FailOnRecompileLimitHit, Unsupported
from minidynamo._dynamo.testing import CompileCounter, CompileCounterWithBackend

pytestmark = pytest.mark.counts_regions


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def ones():
    return minidynamo.tensor([1.0, 1.0])


def reasons(function, *args):
    return [reason.gb_id for reason in explain(function)(*args).break_reasons]


# ---- disable


def helper(x):
    return x * 3


def test_disable_in_its_forms():
    decorated = compiler.disable(helper)
    with_reason = compiler.disable(reason="too odd")(helper)
    for function in (decorated, with_reason, minidynamo._dynamo.disable(helper)):
        assert reasons(lambda x: function(x + 1) - 1, ones()) == ["MD0003"]
        assert minidynamo.compile(lambda x: function(x + 1) - 1)(ones()).tolist() == [5.0, 5.0]
        assert function.__name__ == "helper" and function.__wrapped__ is helper
    with pytest.raises(Unsupported, match="disabled for capture"):
        minidynamo.compile(lambda x: decorated(x), fullgraph=True)(ones())
    with pytest.raises(TypeError):
        compiler.disable(3)


def test_disable_applies_to_callees():
    counter = CompileCounter()
    seen = []

    @minidynamo.compile(backend=counter)
    def inner(x):
        seen.append(compiler.is_compiling())
        return x + 1

    outer = compiler.disable(lambda x: inner(x))
    minidynamo.compile(lambda x: outer(x), backend=counter)(ones())
    assert counter.frame_count == 0 and seen == [False]


def test_disable_without_recursion_captures_callees():
    counter = CompileCounter()

    @compiler.disable(recursive=False)
    def frame(x):
        return helper(x)

    compiled = minidynamo.compile(lambda x: frame(x + 1) - 1, backend=counter)
    assert compiled(ones()).tolist() == [5.0, 5.0]
    assert counter.frame_count == 3


def test_disable_of_a_class_and_of_a_module():
    class Plain:
        def method(self, x):
            return x + 1

        @staticmethod
        def static(x):
            return x + 2

    assert compiler.disable(Plain) is Plain
    assert reasons(lambda x: Plain.static(Plain().method(x)), ones()) == ["MD0003", "MD0003"]
    layer = compiler.disable(nn.Linear(2, 2))
    assert isinstance(layer, nn.Module)
    assert reasons(lambda x: layer(x) + 1, ones()) == ["MD0003"]
    holder = nn.Sequential(layer, nn.ReLU())
    assert len(list(holder.parameters())) == 2


def test_a_disabled_method_keeps_its_self():
    class Plain:
        factor = 5

        @compiler.disable
        def method(self, x):
            return x * self.factor

    assert minidynamo.compile(lambda p, x: p.method(x) + 1)(Plain(), ones()).tolist() == [6.0, 6.0]


# ---- graph_break, skip_frame


def test_the_message_of_a_graph_break_is_shown():
    for call in (lambda: graph_break("by place"), lambda: graph_break(msg="by place")):
        (reason,) = explain(lambda x: (x + 1, call()))(ones()).break_reasons
        assert "Message: by place" in reason.reason
    assert graph_break() is None


def test_skip_frame_leaves_the_whole_frame_to_python():
    def skipped(x):
        x = helper(x) + compiler.is_compiling()
        skip_frame("not this one")
        return x + 1

    report = explain(lambda x: skipped(x) * 2)(ones())
    assert [reason.gb_id for reason in report.break_reasons] == ["MD0002"]
    assert minidynamo.compile(lambda x: skipped(x) * 2)(ones()).tolist() == [8.0, 8.0]
    counter = CompileCounter()
    compiled = minidynamo.compile(skipped, backend=counter)
    for _ in range(3):
        assert compiled(ones()).tolist() == [4.0, 4.0]
    with pytest.raises(Unsupported, match="skip_frame"):
        minidynamo.compile(skipped, fullgraph=True)(ones())


def test_step_unsupported_leaves_the_rest_of_the_frame_to_python():
    def stepping(x):
        x = helper(x) + 1
        minidynamo._dynamo.step_unsupported("far enough")
        assert not compiler.is_compiling()
        x = x * 2
        return helper(x) * 3

    def caller(x):
        return stepping(x) + 5

    expected = caller(ones()).tolist()
    report = explain(caller)(ones())
    assert [reason.gb_id for reason in report.break_reasons] == ["MD0064"]
    for nested in (True, False):
        minidynamo._dynamo.reset()
        with minidynamo._dynamo.config.patch(nested_graph_breaks=nested):
            counter = CompileCounter()
            compiled = minidynamo.compile(caller, backend=counter)
            for _ in range(3):
                assert compiled(ones()).tolist() == expected
            # Before the break, the helper that the rest calls, and the caller's use of the result.
            assert counter.frame_count == 3
    for strict in (
        minidynamo.compile(caller, fullgraph=True),
        minidynamo._dynamo.error_on_graph_break(True)(minidynamo.compile(caller)),
    ):
        with pytest.raises(Unsupported, match="step_unsupported.*\n.*far enough"):
            strict(ones())
    assert minidynamo._dynamo.step_unsupported() is None


# ---- disallow, allow, forbid


def test_disallow_until_it_is_allowed_again():
    def function(x, y):
        a = minidynamo.add(x, y)
        b = minidynamo.sub(x, y)
        return minidynamo.mul(a, b)

    compiled = minidynamo.compile(function)
    expected = function(ones() * 3, ones()).tolist()
    assert compiled(ones() * 3, ones()).tolist() == expected
    assert reasons(function, ones() * 3, ones()) == []
    disallow_in_graph(minidynamo.sub)
    try:
        report = explain(function)(ones() * 3, ones())
        assert [reason.gb_id for reason in report.break_reasons] == ["MD0006"]
        assert report.graph_count == 2
        assert compiled(ones() * 3, ones()).tolist() == expected
    finally:
        assert allow_in_graph(minidynamo.sub) is minidynamo.sub
    assert reasons(function, ones() * 3, ones()) == []


def test_disallow_is_for_operations():
    with pytest.raises(RuntimeError, match="already allowed callable"):
        disallow_in_graph(helper)
    for function in (disallow_in_graph, allow_in_graph, forbid_in_graph):
        with pytest.raises(AssertionError, match="callable"):
            function(3)


def test_allow_in_graph_is_one_node():
    assert minidynamo.compile.allow_in_graph is compiler.allow_in_graph is allow_in_graph

    @allow_in_graph
    def opaque(x, factor, *, more=None):
        if any(row > 10 for row in (1, 2)):
            raise AssertionError
        return {"scaled": x * factor, "rest": [x + 1, more]}

    counter = CompileCounterWithBackend("eager")

    def function(x):
        result = opaque(x * 2, 3, more=x)
        return result["scaled"] + result["rest"][0] + result["rest"][1]

    compiled = minidynamo.compile(function, backend=counter, fullgraph=True)
    assert compiled(ones()).tolist() == function(ones()).tolist() == [10.0, 10.0]
    (gm,) = counter.graphs
    names = [str(node.name) for node in gm.graph.nodes]
    assert "opaque" in names and names.count("mul") == 1
    assert minidynamo.compile(function, fullgraph=True)(ones() * 2).tolist() == function(ones() * 2).tolist()


def test_an_allowed_function_that_needs_data_breaks():
    @allow_in_graph
    def opaque(x):
        return x * x.sum().item()

    function = minidynamo.compile(lambda x: opaque(x) + 1)
    assert function(ones()).tolist() == [3.0, 3.0]
    # The function is then called in a frame of its own, which breaks where it needs the data.
    assert reasons(lambda x: opaque(x) + 1, ones()) == ["MD0062", "MD0018"]


def test_a_forbidden_function_is_an_error_in_every_mode():
    @forbid_in_graph
    def forbidden(x):
        return x

    assert forbidden(1) == 1
    with pytest.raises(AssertionError, match="Attempt to trace forbidden callable <function"):
        minidynamo.compile(lambda x: forbidden(x))(ones())


# ---- nonstrict_trace, constants, replacements


@pytest.mark.counts_python_runs
def test_nonstrict_trace_puts_the_operations_into_the_graph():
    held = minidynamo.tensor([10.0, 20.0])
    calls = []

    def traced(data, *, scale):
        calls.append(1)
        graph_break()
        first, second = data["pair"]
        total = sum(part * scale for part in [first, second])
        return [total + held, (first, "text", None)]

    def function(x):
        result, (same, text, nothing) = nonstrict_trace(traced)({"pair": (x, x + 1)}, scale=2.0)
        assert same is x and text == "text" and nothing is None
        return result * 2

    counter = CompileCounterWithBackend("eager")
    compiled = minidynamo.compile(function, backend=counter, fullgraph=True)
    expected = function(ones()).tolist()
    calls.clear()
    for _ in range(3):
        assert compiled(ones()).tolist() == expected
    assert calls == [1] and counter.frame_count == 1
    decorated = nonstrict_trace(traced)
    assert decorated.__name__ == "traced"
    again = minidynamo.compile(lambda x: decorated({"pair": (x, x)}, scale=1.0)[0], fullgraph=True)
    assert again(ones()).tolist() == [12.0, 22.0]


@pytest.mark.counts_python_runs
def test_nonstrict_trace_breaks_where_data_is_needed():
    def traced(x):
        return x + 1 if x.sum() > 0 else x - 1

    function = lambda x: nonstrict_trace(traced)(x) * 2  # noqa: E731
    assert minidynamo.compile(function)(ones()).tolist() == [4.0, 4.0]
    assert minidynamo.compile(function)(-ones()).tolist() == [-4.0, -4.0]
    with pytest.raises(Unsupported, match="cannot be traced"):
        minidynamo.compile(function, fullgraph=True)(ones())


def test_using_a_tensor_kept_from_a_traced_call_is_an_error():
    kept = []

    def traced(x):
        kept.append(x + 1)
        return x

    minidynamo.compile(lambda x: nonstrict_trace(traced)(x) + 1, fullgraph=True)(ones())
    with pytest.raises(RuntimeError, match="capture that has ended"):
        kept[0] + 1


@pytest.mark.counts_python_runs
def test_a_constant_result_is_computed_once():
    calls = []

    @compiler.assume_constant_result
    def constant(n):
        calls.append(n)
        return n + 1

    compiled = minidynamo.compile(lambda x: x * constant(3), fullgraph=True)
    for _ in range(3):
        assert compiled(ones()).tolist() == [4.0, 4.0]
    assert calls == [3]


def test_a_replacement_is_followed():
    class Counter:
        pass

    with pytest.raises(TypeError, match="Signature mismatch"):

        @compiler.substitute_in_graph(math.gcd.__self__.factorial)
        def factorial(a, b): ...

    @compiler.substitute_in_graph(math.factorial, skip_signature_check=True)
    def factorial(n):
        result = 1
        for i in range(2, n + 1):
            result = result * i
        return result

    assert minidynamo.compile(lambda x: x * math.factorial(4), fullgraph=True)(ones()).tolist() == [24.0, 24.0]
    with pytest.raises(ValueError, match="Duplicate dispatch rule"):
        compiler.substitute_in_graph(math.factorial)
    with pytest.raises(TypeError):
        compiler.substitute_in_graph(math.perm)(3)


# ---- queries


def test_is_compiling():
    def function(x):
        flags = (
            compiler.is_compiling(),
            compiler.is_dynamo_compiling(),
            compiler.is_exporting(),
            minidynamo._dynamo.is_compiling(),
        )
        return x + 1, flags

    assert function(ones())[1] == (False, False, False, False)
    assert minidynamo.compile(function, fullgraph=True)(ones())[1] == (True, True, False, True)
    traced = nonstrict_trace(lambda: [compiler.is_compiling()])
    assert minidynamo.compile(lambda x: (x + 1, traced()), fullgraph=True)(ones())[1] == [True]


# ---- stances and run


def test_stances():
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: x + 1, backend=counter)
    with compiler.set_stance("force_eager"):
        assert compiled(ones()).tolist() == [2.0, 2.0]
    assert counter.frame_count == 0
    with compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError, match="fail_on_recompile"):
        compiled(ones())
    with compiler.set_stance("eager_then_compile"):
        compiled(ones())
        assert counter.frame_count == 0
        compiled(ones())
        assert counter.frame_count == 1
    with compiler.set_stance("fail_on_recompile"):
        assert compiled(ones()).tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError, match="Detected recompile when torch.compile stance is 'fail_on_recompile'"):
            compiled(minidynamo.ones(2, 2))
    with compiler.set_stance("eager_on_recompile"):
        assert compiled(minidynamo.ones(2, 2)).tolist() == [[2.0, 2.0]] * 2
    assert counter.frame_count == 1
    compiled(minidynamo.ones(2, 2))
    assert counter.frame_count == 2


def test_a_stance_for_a_function_and_permanently():
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: x + 1, backend=counter)

    @compiler.set_stance("force_eager")
    def eagerly(x):
        return compiled(x)

    eagerly(ones())
    assert counter.frame_count == 0
    compiler.set_stance("force_eager")
    compiled(ones())
    assert counter.frame_count == 0
    compiler.set_stance("default")
    compiled(ones())
    assert counter.frame_count == 1


def test_an_unknown_stance_is_rejected_at_once():
    with pytest.raises(ValueError, match="unknown stance 'nope'; the stances are default,"):
        compiler.set_stance("nope")


@compiler.set_stance("force_eager")
def with_a_stance(x):
    return x * 2


STANCE = compiler.set_stance("default")


def calls_set_stance(x):
    compiler.set_stance("force_eager")
    return x


def behind_a_break(x):
    minidynamo._dynamo.graph_break()
    compiler.set_stance("force_eager")
    return x


def catches_it(x):
    try:
        compiler.set_stance("force_eager")
    except AssertionError:
        return x
    return x + 1


def decorates(x):
    @compiler.set_stance("force_eager")
    def inner(y):
        return y * 2

    return inner(x)


def calls_a_decorated_one(x):
    return with_a_stance(x) + 1


def enters_one(x):
    with STANCE:
        return x + 1


def skips_itself(x):
    minidynamo._dynamo.skip_frame("")
    compiler.set_stance("force_eager")
    return x


FORBIDDEN = (AssertionError, "forbidden callable")
REFUSED = (RuntimeError, "attempted to set_stance in a minidynamo.compile region")
STANCES_WITHIN = {
    calls_set_stance: FORBIDDEN,
    behind_a_break: FORBIDDEN,
    catches_it: FORBIDDEN,
    decorates: FORBIDDEN,
    calls_a_decorated_one: FORBIDDEN,
    enters_one: REFUSED,
    skips_itself: REFUSED,
    with_a_stance: REFUSED,
}


@pytest.mark.parametrize("function", STANCES_WITHIN)
def test_a_stance_cannot_be_set_within_compiled_code(function):
    kind, message = STANCES_WITHIN[function]
    compiled = minidynamo.compile(function)
    for _ in range(2):
        with pytest.raises(kind, match=message):
            compiled(ones())
    counter = CompileCounter()
    minidynamo.compile(lambda x: x + 1, backend=counter)(ones())
    assert counter.frame_count == 1  # it is unchanged


def test_disabled_functions_within_compiled_code_set_stances():
    def inner(x):
        with compiler.set_stance("force_eager"):
            return with_a_stance(x)

    def running(x):
        return minidynamo._dynamo.run(lambda y: y + 1)(x)

    assert minidynamo.compile(lambda x: compiler.disable(inner)(x) + 1)(ones()).tolist() == [3.0, 3.0]
    assert minidynamo.compile(running)(ones()).tolist() == [2.0, 2.0]


def test_run_uses_what_exists():
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: x + 1, backend=counter)
    assert minidynamo._dynamo.run(compiled)(ones()).tolist() == [2.0, 2.0]
    assert counter.frame_count == 0
    compiled(ones())
    with minidynamo._dynamo.run():
        compiled(minidynamo.ones(3, 3))
    assert counter.frame_count == 1


def test_reset_forgets():
    counter = CompileCounter()
    compiled = minidynamo.compile(lambda x: x + 1, backend=counter)
    compiled(ones())
    compiler.reset()
    compiled(ones())
    assert counter.frame_count == 2


# ---- compile's own switches


def test_switches_of_compile():
    def function(x, n):
        return x + 1 if n else x - 1

    assert minidynamo.compile(function, disable=True) is function
    assert minidynamo.compile(function, name="other").__name__ == "other"
    counter = CompileCounter()
    limited = minidynamo.compile(lambda x, n: x * len(n), backend=counter, recompile_limit=2)
    for length in range(5):
        assert limited(ones(), [0] * length).tolist() == [float(length)] * 2
    assert counter.frame_count == 2


def test_the_recompile_limit_is_an_error_where_breaks_are():
    def function(x, text):
        return x * len(text)

    for strict, error in (
        (minidynamo.compile(function, fullgraph=True, recompile_limit=2), FailOnRecompileLimitHit),
        (error_on_graph_break(True)(minidynamo.compile(function, recompile_limit=2)), Unsupported),
    ):
        minidynamo._dynamo.reset()
        for text in ("a", "bc"):
            strict(ones(), text)
        with pytest.raises(error, match=r"hit config\.recompile_limit \(2\)"):
            strict(ones(), "def")
        assert strict(ones(), "bc").tolist() == [2.0, 2.0]


def test_the_default_backend():
    counter = CompileCounter()
    assert compiler.get_default_backend() == "onednn"
    compiler.set_default_backend(counter)
    try:
        assert compiler.get_default_backend() is counter
        for compile in (minidynamo.compile, minidynamo._dynamo.optimize(), minidynamo._dynamo.optimize_assert()):
            minidynamo._dynamo.reset()
            assert compile(lambda x: x + 1)(ones()).tolist() == [2.0, 2.0]
        assert counter.frame_count == 3
    finally:
        compiler.set_default_backend("onednn")
    with pytest.raises(minidynamo._dynamo.exc.InvalidBackend):
        compiler.set_default_backend("nope")
    assert compiler.get_default_backend() == "onednn"


def test_optimize_assert_takes_no_break():
    def function(x):
        graph_break()
        return x + 1

    with pytest.raises(Unsupported):
        minidynamo._dynamo.optimize_assert("eager")(function)(ones())


def test_whether_disable_covers_callees():
    asked = minidynamo._dynamo.is_dynamo_disable_recursive
    assert asked(compiler.disable(helper)) is True
    assert asked(compiler.disable(helper, recursive=False)) is False
    assert asked(helper) is asked(minidynamo._dynamo.error_on_graph_break(True)(helper)) is None


def test_a_nested_compile_region_is_the_function():
    assert compiler.nested_compile_region(helper) is helper
    assert compiler.nested_compile_region(max_reuse_entries=2)(helper) is helper
    with pytest.raises(AssertionError, match="expects a callable"):
        compiler.nested_compile_region(3)


def test_an_unsupported_names_the_innermost_frame():
    def function(x):
        graph_break()
        return x

    with pytest.raises(Unsupported) as caught:
        minidynamo.compile(lambda x: function(x), fullgraph=True)(ones())
    summary = caught.value.innermost_user_frame_summary
    assert (summary.filename, summary.name, summary.line) == (__file__, "function", "graph_break()")
    assert Unsupported("by hand").innermost_user_frame_summary is None


# ---- error_on_graph_break by hand


def test_error_on_graph_break_by_hand_and_per_thread():
    def breaks(x):
        graph_break()
        return x + 1

    compiled = minidynamo.compile(breaks)
    manager = error_on_graph_break(True)
    manager.__enter__()
    try:
        with pytest.raises(Unsupported):
            compiled(ones())
        results = []
        thread = threading.Thread(target=lambda: results.append(compiled(ones()).tolist()))
        thread.start()
        thread.join()
        assert results == [[2.0, 2.0]]
    finally:
        manager.__exit__(None, None, None)
    assert compiled(ones()).tolist() == [2.0, 2.0]


def test_error_on_graph_break_on_a_generator():
    @error_on_graph_break(True)
    def numbers(x):
        yield x + 1
        yield x + 2

    assert [value.tolist() for value in numbers(ones())] == [[2.0, 2.0], [3.0, 3.0]]
    assert numbers.__name__ == "numbers"
    compiled = minidynamo.compile(lambda x: [v for v in numbers(x)])
    assert [value.tolist() for value in compiled(ones())] == [[2.0, 2.0], [3.0, 3.0]]
