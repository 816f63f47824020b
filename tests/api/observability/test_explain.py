"""explain(): what one call captures, as fields, report and page. why(): how a function was captured."""

import re

import pytest

import minidynamo
from minidynamo import _dynamo
from minidynamo._dynamo import config


@pytest.fixture(autouse=True)
def fresh():
    _dynamo.reset()


def ones(*shape):
    return minidynamo.ones(*(shape or (3,)))


def inner(x):
    return x.relu() + 1


def two_breaks(x, n):
    y = inner(x) * n
    _dynamo.graph_break(msg="the first")
    z = y - 1
    _dynamo.graph_break(msg="the <second> & last")
    return z.sum()


def test_regions_of_a_call():
    report = minidynamo.explain(two_breaks)(ones(), 2)
    assert (report.graph_count, report.graph_break_count, report.op_count) == (3, 2, 5)
    assert [[name for name, _ in region.ops] for region in report.regions] == [["relu", "add", "mul"], ["sub"], ["sum"]]
    assert [region.exit for region in report.regions] == ["break", "break", "return"]
    assert [region.break_reason is not None for region in report.regions] == [True, True, False]
    first = two_breaks.__code__.co_firstlineno
    assert [(region.name, region.line) for region in report.regions] == [("two_breaks", first)] * 3
    starts = [region.start for region in report.regions]
    assert (
        starts[0] <= first + 1 and starts[1:] == sorted(starts[1:]) and first + 2 <= starts[1] <= starts[2] <= first + 5
    )
    name, frames = report.regions[0].ops[0]
    assert name == "relu"
    assert [(line, function) for _, line, function in frames] == [
        (first + 1, "two_breaks"),
        (inner.__code__.co_firstlineno + 1, "inner"),
    ]


def test_guards_and_times():
    report = minidynamo.explain(two_breaks)(ones(), 2)
    assert report.out_guards == [guard for region in report.regions for guard in region.guards]
    assert any("L['x']" in guard for guard in report.regions[0].guards)
    assert all(region.walk_ns > 0 and region.plan_ns >= 0 for region in report.regions)
    lines = report.compile_times.splitlines()
    assert len(lines) == 4 and lines[1].split()[:2] == [f"two_breaks:{report.regions[0].start}", "3"]
    text = str(report)
    for part in ("Graph Count: 3", "Break Reason 2:", "Ops 1: relu, add, mul", "Out Guards:", "Compile Times:"):
        assert part in text


def test_all_breaks_of_a_function_under_fullgraph():
    strict = minidynamo.compile(two_breaks, fullgraph=True)
    with pytest.raises(_dynamo.exc.Unsupported):
        strict(ones(), 2)
    report = minidynamo.explain(strict)(ones(), 2)
    assert ["the first" in reason.reason for reason in report.break_reasons] == [True, False]
    assert len(report.break_reasons) == 2


def test_a_call_that_raises_passes_its_exception_on():
    def fails(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        minidynamo.explain(fails)(ones())


def test_plans_of_the_regions():
    report = minidynamo.explain(two_breaks)(ones(), 2)
    plans = [region.plan for region in report.regions]
    assert [[step.nodes for step in plan.steps] for plan in plans] == [[["relu", "add", "mul"]], [["sub"]], [["sum_1"]]]
    for plan in plans:
        assert plan.runs > 1 and plan.fastest_ns <= plan.mean_ns and plan.views == []
        for step in plan.steps:
            assert 0 <= step.fastest_ns <= step.mean_ns and step.bytes > 0 and step.kernel and step.why == ""
            assert step.least_ns > 0
            assert step.of_the_bound == (step.least_ns / step.fastest_ns if step.fastest_ns else None)
    assert plans[0].steps[0].flops == 3 * len(plans[0].steps[0].nodes)


def test_a_plan_says_what_is_not_fused_and_why():
    def several(x, w):
        y = (x @ w).exp()
        return y.t() * 2, (y + 1).sum(dim=0)

    (region,) = minidynamo.explain(several)(ones(128, 128), ones(128, 128)).regions
    why = {step.nodes[0]: step.why for step in region.plan.steps}
    assert [step.nodes for step in region.plan.steps] == [["matmul", "exp", "add"], ["mul"], ["sum_1"]]
    assert why["matmul"] == ""
    assert why["mul"] == "reads exp through a view, in another order"
    assert why["sum_1"] == "has a kernel of its own and reads add from memory"
    assert region.plan.views == ["t"]


def test_unrepeatable_code_runs_once():
    drawn = minidynamo.explain(lambda x: x + minidynamo.rand(3))(ones())
    assert [region.plan.runs for region in drawn.regions] == [1]
    minidynamo.manual_seed(4)
    minidynamo.explain(lambda x: x + minidynamo.rand(3))(ones())
    after = minidynamo.rand(2).tolist()
    minidynamo.manual_seed(4)
    minidynamo.rand(3)
    assert after == minidynamo.rand(2).tolist()


def test_why_it_was_captured_again():
    def named(x, name):
        return x + len(name)

    compiled = minidynamo.compile(named)
    compiled(ones(), "a")
    compiled(ones(), "bc")
    report = minidynamo.explain(compiled)(ones(), "def")
    assert [region.recompile_reasons for region in report.regions] == [[]]
    first, second = report.earlier
    assert first.recompile_reasons == [] and "L['name']" in second.recompile_reasons[0]


def test_a_compiled_module_is_reported_with_its_earlier_captures():
    compiled = minidynamo.compile(minidynamo.nn.Linear(3, 2))
    compiled(ones(1, 3))
    report = minidynamo.explain(compiled)(ones(1, 3))
    assert [region.name for region in report.regions] == ["Linear"]
    assert (report.graph_count, len(report.earlier)) == (1, 1)


def test_a_place_captured_twice_in_one_call():
    def loop(xs):
        total = []
        for x in xs:
            graph_break()
            total.append(x * 2)
        return total

    graph_break = _dynamo.graph_break
    report = minidynamo.explain(loop)([ones(2), ones(2, 2), ones(2)])
    again = [reason for region in report.regions for reason in region.recompile_reasons]
    assert again and any("rank" in reason or "dim" in reason or "size" in reason for reason in again), again


def whole(x):
    return x * 2 + 1


def test_why_whole():
    assert _dynamo.why(whole).startswith("whole is not captured: it was not called under compile()")
    compiled = minidynamo.compile(whole)
    compiled(ones())
    assert _dynamo.why(compiled) == _dynamo.why(whole) == "whole is captured whole: 2 operations."
    compiled(ones().double())
    assert _dynamo.why(whole).startswith("whole is captured whole for each of 2 kinds of arguments")


def test_why_break():
    minidynamo.compile(two_breaks)(ones(), 2)
    place = f"{__file__}:{two_breaks.__code__.co_firstlineno + 2}"
    assert re.fullmatch(
        rf"two_breaks breaks the graph at {re.escape(place)} \(MD\d+: .*\), the first of 2 places\.",
        _dynamo.why(two_breaks),
    )


def test_why_disabled():
    kept_out = minidynamo.compiler.disable(whole)
    assert _dynamo.why(kept_out) == "whole is not captured: it and what it calls are kept out by disable()."
    only_this = minidynamo.compiler.disable(whole, recursive=False)
    assert _dynamo.why(only_this) == "whole is not captured: it is kept out by disable()."


def test_why_skipped_frame():
    def skips(x):
        _dynamo.skip_frame()
        return x + 1

    minidynamo.compile(skips)(ones())
    assert _dynamo.why(skips).endswith("skips is left to Python: skip_frame() was called in it.")


def test_why_nothing_to_capture():
    def plain(n):
        return n + 1

    minidynamo.compile(plain)(1)
    assert _dynamo.why(plain).endswith("there is no operation on tensors in it that anything needs.")


def test_why_limit():
    def named(x, name):
        return x + len(name)

    compiled = minidynamo.compile(named)
    with config.patch(recompile_limit=2):
        for name in ("a", "bc", "def"):
            compiled(ones(), name)
    assert "is captured for 2 kinds of arguments, as many as config.recompile_limit allows" in _dynamo.why(named)


def test_why_raise():
    def raises(x):
        y = x + 1
        raise ValueError(y)

    with pytest.raises(ValueError):
        minidynamo.compile(raises)(ones())
    place = f"{__file__}:{raises.__code__.co_firstlineno + 2}"
    assert _dynamo.why(raises).endswith(f"raises is captured whole: it raises ValueError at {place}.")


def adds(x, n):
    y = x * 2
    return y + n


def reshapes(x, shape):
    return halved(x, shape)


def halved(x, shape):
    return (x * 2).reshape(shape)


def catches(x, n):
    try:
        return x[n]
    except IndexError:
        return x * 2


@pytest.mark.parametrize(
    "function, good, bad, name, place",
    [
        (adds, 3, "a", "TypeError", (adds, 2)),
        (reshapes, (3, 1), (5,), "RuntimeError", (halved, 1)),
        (catches, 1, 9, "IndexError", (catches, 2)),
    ],
)
def test_why_an_operation_failed(function, good, bad, name, place):
    _dynamo.reset()
    compiled = minidynamo.compile(function)
    x = minidynamo.ones(3)
    compiled(x, good)
    before = _dynamo.why(function)
    assert "is captured whole" in before and "fails" not in before
    for _ in range(2):
        try:
            compiled(x, bad)
        except Exception as error:
            assert type(error).__name__ == name
    line = place[0].__code__.co_firstlineno + place[1]
    assert f"; an operation fails with {name} at {__file__}:{line}." in _dynamo.why(function)
    compiled(x, good)
    assert "is captured whole" in _dynamo.why(function)


def test_why_an_operation_failed_alone():
    _dynamo.reset()
    with pytest.raises(TypeError):
        minidynamo.compile(adds)(minidynamo.ones(3), "a")
    assert (
        _dynamo.why(adds)
        == f"adds is captured whole: an operation fails with TypeError at {__file__}:{adds.__code__.co_firstlineno + 2}."
    )


def test_why_module():
    net = minidynamo.nn.Linear(3, 2)
    compiled = minidynamo.compile(net)
    compiled(ones(1, 3))
    assert "Linear is captured whole" in _dynamo.why(compiled)
    net.compile()
    net(ones(1, 3))
    assert "Linear is captured whole" in _dynamo.why(net)


def test_why_of_no_function():
    with pytest.raises(TypeError, match="not int"):
        _dynamo.why(3)
