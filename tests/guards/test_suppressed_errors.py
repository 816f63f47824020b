"""config.suppress_errors: exceptions other than graph breaks that end a capture. As in torch, it has no effect where
breaks are errors."""

import pytest

import minidynamo
from minidynamo import _dynamo
from minidynamo._dynamo import config, error_on_graph_break, mark_dynamic
from minidynamo._dynamo.exc import ConstraintViolationError, FailOnRecompileLimitHit, RecompileError

pytestmark = pytest.mark.counts_regions


@pytest.fixture(autouse=True)
def fresh():
    _dynamo.reset()


def ones(*sizes):
    return minidynamo.ones(sizes)


def marked(*sizes):
    tensor = ones(*sizes)
    mark_dynamic(tensor, 0)
    return tensor


def twice(x):
    return x * 2


def decides(x):
    return x * 2 if x.shape[0] == 3 else x


# error, flags, function, arguments of the calls before it, and of the call that raises
CASES = {
    "recompile": (RecompileError, {"error_on_recompile": True}, twice, [ones(2)], ones(2, 2)),
    "limit": (
        FailOnRecompileLimitHit,
        {"fail_on_recompile_limit_hit": True, "recompile_limit": 1},
        twice,
        [ones(2)],
        ones(2, 2),
    ),
    "limit by its alias": (
        FailOnRecompileLimitHit,
        {"fail_on_cache_limit_hit": True, "cache_size_limit": 1},
        twice,
        [ones(2)],
        ones(2, 2),
    ),
    "mark": (ConstraintViolationError, {}, decides, [], marked(3)),
}
POLICIES = {
    "default": lambda function: minidynamo.compile(function),
    "fullgraph": lambda function: minidynamo.compile(function, fullgraph=True),
    "errors": lambda function: error_on_graph_break(True)(minidynamo.compile(function)),
    "no errors": lambda function: error_on_graph_break(False)(minidynamo.compile(function)),
    "behind a break": lambda function: minidynamo.compile(behind_a_break(function)),
}


def behind_a_break(function):
    def program(x):
        _dynamo.graph_break()
        return function(x)

    return program


@pytest.mark.parametrize("suppressed", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("case", CASES)
def test_suppressed(case, policy, suppressed, caplog):
    error, flags, function, before, argument = CASES[case]
    compiled = POLICIES[policy](function)
    with config.patch(suppress_errors=suppressed, **flags), caplog.at_level("WARNING", "minidynamo"):
        for each in before:
            assert compiled(each).tolist() == function(each).tolist()
        for _ in range(2):
            if suppressed and policy not in ("fullgraph", "errors"):
                assert compiled(argument).tolist() == function(argument).tolist()
                continue
            with pytest.raises(error):
                compiled(argument)
    # One warning per place: a callee of a function that is left to Python is captured on its own.
    warnings = [record.getMessage() for record in caplog.records if "is left to Python" in record.getMessage()]
    assert bool(warnings) == (suppressed and policy not in ("fullgraph", "errors"))
    assert len(warnings) == len(set(warnings))
    for each in before:
        assert compiled(each).tolist() == function(each).tolist()


@pytest.mark.parametrize("policy", POLICIES)
def test_marks_that_do_not_hold_can_be_ignored(policy):
    compiled = POLICIES[policy](decides)
    with config.patch(allow_ignore_mark_dynamic=True):
        for n in (3, 4, 3, 5):
            assert compiled(marked(n)).tolist() == decides(ones(n)).tolist()
    with pytest.raises(ConstraintViolationError):
        _dynamo.reset()
        compiled(marked(3))
