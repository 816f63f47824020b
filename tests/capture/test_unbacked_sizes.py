"""Unbacked sizes, taken from the elements of tensors as in zeros(x.item()): one graph, whatever the value is."""

import pytest

import minidynamo
from minidynamo import _dynamo
from minidynamo._dynamo import config
from minidynamo._dynamo.exc import Unsupported

md = minidynamo
NUMBERS = (3, 4, 2, 0, 1, 12, 3)


@pytest.fixture(autouse=True)
def fresh():
    _dynamo.reset()


def describe(value):
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [describe(item) for item in value]
    if isinstance(value, minidynamo.Tensor):
        return str(value.dtype), tuple(value.shape), value.stride(), value.tolist()
    return type(value), value


def outcome(function, *args):
    try:
        return describe(function(*args))
    except Exception as error:
        return type(error), str(error)


def counted(name):
    return minidynamo._C.engine_counters()[name]


def pair(x):
    return md.stack([x, x + 1]).tolist()


# Functions of x, an integer in a tensor.
FUNCTIONS = {
    "zeros": lambda x: md.zeros(x.item()),
    "of_a_tuple": lambda x: md.zeros((x.item(), 3)),
    "twice": lambda x: md.zeros(x.item(), x.item() + 1),
    "ones": lambda x: md.ones(x.item()) + 1,
    "full": lambda x: md.full((x.item(),), 2.0) * 2,
    "fill_value": lambda x: md.full((2,), x.item()) * 2,
    "empty": lambda x: md.empty(x.item()).shape,
    "arange": lambda x: md.arange(x.item()) * 2,
    "arange_from": lambda x: md.arange(1, x.item() + 3).sum(),
    "eye": lambda x: md.eye(x.item()),
    "linspace": lambda x: md.linspace(0, 1, x.item()),
    "view": lambda x: md.arange(12).view(x.item(), -1),
    "view_of_both": lambda x: md.arange(12).reshape(x.item(), 12 // x.item()),
    "reshape": lambda x: md.arange(12).reshape(-1, x.item()),
    "expand": lambda x: md.ones(3, 1).expand(3, x.item()) * 2,
    "narrow": lambda x: md.arange(12).narrow(0, 1, x.item()),
    "narrow_from": lambda x: md.arange(12).narrow(0, x.item(), 2),
    "slice": lambda x: md.arange(12)[: x.item()],
    "slice_from": lambda x: md.arange(12)[x.item() :],
    "slice_between": lambda x: md.arange(12)[x.item() : x.item() + 2] + 1,
    "index": lambda x: md.arange(12)[x.item()],
    "select": lambda x: md.arange(12).select(0, x.item()),
    "written": lambda x: md.zeros(6).fill_(2).narrow(0, 0, x.item()).add_(1),
    "matmul": lambda x: md.ones(2, x.item()) @ md.ones(x.item(), 2),
    "beside_a_size": lambda x: md.zeros(x.item()) + md.ones(3),
    "shape": lambda x: md.zeros(x.item(), 2).shape,
    "shape_as_a_number": lambda x: md.zeros(x.item()).shape[0] * x,
    "numel": lambda x: md.zeros(x.item(), 2).numel() * 3 - 1,
    "length": lambda x: (len(md.zeros(x.item())), x + 1),
    "mixed": lambda x: md.zeros(x.item()).shape[0] + x.item(),
    "repeat": lambda x: md.arange(3).repeat(x.item()),
    "list": lambda x: md.zeros(*pair(x)),
    "split": lambda x: [part.sum() for part in md.arange(24).split([x.item(), 24 - x.item()])],
    "cat": lambda x: md.cat([md.zeros(x.item()), md.ones(2)]),
    "roll": lambda x: md.arange(5).roll(x.item()),
    "tril": lambda x: md.ones(4, 4).tril(x.item()),
    "chain": lambda x: md.ones(int(md.ones(x.item(), dtype=md.int64).sum())) * 2,
    "product": lambda x: md.arange(x.item() * 2 + 1),
    "the_number_too": lambda x: (x.item(), md.zeros(x.item())),
    "int": lambda x: md.zeros(int(x)),
    "smallest": lambda x: md.zeros(min(md.zeros(x.item()).shape[0], 2)),
    "largest": lambda x: md.zeros(max(1, x.item(), 2)),
    "checked": lambda x: (md._check(x.item() > 2), md.zeros(x.item())),
    "checked_as_a_size": lambda x: (md._check_is_size(x.item(), max=5), md.arange(12)[: x.item()]),
}
BACKENDS = ("onednn", "eager")
CHECKS = _dynamo.config.check_captures > 0


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_graph_as_in_eager_python(name, backend):
    function = FUNCTIONS[name]

    def program(x):
        return function(x + 0)

    compiled = minidynamo.compile(program, fullgraph=True, backend=backend)
    before = counted("regions_captured")
    for number in NUMBERS:
        x = md.tensor(number)
        assert outcome(compiled, x) == outcome(program, x), number
    # Under config.check_captures the interpreter continues the frame of a failed plan, and its callees are captured.
    assert CHECKS or counted("regions_captured") == before + 1


def test_no_call_is_left_to_python_without_assertions():
    compiled = minidynamo.compile(lambda x: md.zeros(x.item()), fullgraph=True)
    before = counted("plan_failures")
    for number in NUMBERS:
        assert compiled(md.tensor(number)).shape == (number,)
    assert counted("plan_failures") == before


def test_assertions_of_shape_rules_are_checked_in_each_run():
    def program(x, y):
        return y + md.ones((x + 0).item())

    compiled = minidynamo.compile(program, fullgraph=True)
    y = md.ones(3)
    assert compiled(md.tensor(3), y).shape == (3,)
    before = counted("plan_failures")
    assert compiled(md.tensor(1), y).shape == (3,)  # a broadcast that does not fit 3
    assert counted("plan_failures") == before + 1
    with pytest.raises(RuntimeError):
        compiled(md.tensor(2), y)


def test_together_with_sizes_of_inputs():
    def program(x, n):
        k = n.item()
        return x[:k] * 2, md.zeros(k, x.shape[1]) + x.shape[0]

    compiled = minidynamo.compile(program, fullgraph=True, dynamic=True)
    for rows, columns, number in ((5, 3, 2), (6, 4, 5), (6, 2, 9), (7, 2, 0)):
        x, n = md.ones(rows, columns), md.tensor(number)
        assert describe(compiled(x, n)) == describe(program(x, n))


def test_random_numbers_come_in_their_order():
    def program(x):
        first = md.rand(2)
        n = x.sum().item()
        return first, md.rand(n), md.rand(2)

    compiled = minidynamo.compile(program, fullgraph=True)
    for number in NUMBERS:
        md.manual_seed(5)
        expected = describe(program(md.tensor(number)))
        md.manual_seed(5)
        assert describe(compiled(md.tensor(number))) == expected


def test_a_failed_check_draws_no_random_numbers():
    def program(x):
        first = md.rand(2)
        md._check(x.item() > 2, lambda: "too small")
        return first

    compiled = minidynamo.compile(program, fullgraph=True)
    compiled(md.tensor(3))
    states = []
    for function in (program, compiled):
        md.manual_seed(5)
        with pytest.raises(RuntimeError, match="too small"):
            function(md.tensor(1))
        states.append(md.get_rng_state().tolist())
    assert states[0] == states[1]


def test_writes_happen_in_their_order():
    def program(x, out):
        out.add_(1)
        n = x.item()
        x.add_(1)
        out[:n] = 7
        return md.zeros(n), x * 2

    compiled = minidynamo.compile(program, fullgraph=True)
    for number in (2, 3, 0, 8):
        x, out, y, other = md.tensor(number), md.zeros(5), md.tensor(number), md.zeros(5)
        assert describe(compiled(x, out)) == describe(program(y, other))
        assert describe([x, out]) == describe([y, other])


DECISIONS = {
    "branch": lambda x: md.zeros(2) if md.zeros(x.item()).shape[0] > 2 else md.ones(2),
    "truth": lambda x: md.zeros(2) if md.zeros(x.item()).numel() else md.ones(2),
    "text": lambda x: f"{md.zeros(x.item()).shape[0]} rows",
    "list": lambda x: md.ones(x.item()).tolist(),
    "key": lambda x: (x + 1, {3: 1}.get(md.zeros(x.item()).shape[0])),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_branches_of_the_program_break(name):
    function = DECISIONS[name]

    def program(x):
        return function(x + 0)

    with pytest.raises(Unsupported):
        minidynamo.compile(program, fullgraph=True)(md.tensor(3))
    _dynamo.reset()
    with config.patch(capture_scalar_outputs=True, recompile_limit=64):
        compiled = minidynamo.compile(program)
        for number in NUMBERS:
            assert outcome(compiled, md.tensor(number)) == outcome(program, md.tensor(number)), number


def test_together_with_a_custom_operator_it_breaks():
    calls = []

    @minidynamo.library.custom_op("unbacked_sizes::noted", mutates_args=())
    def noted(x: minidynamo.Tensor) -> minidynamo.Tensor:
        calls.append(1)
        return x.clone()

    @noted.register_fake
    def _(x):
        return minidynamo.empty_like(x)

    def after(x):
        y = noted(x)
        return y, md.zeros(x.item())

    def before(x):
        y = md.zeros(x.item())
        return noted(x), y + 1

    def of_that_size(x):
        return noted(md.zeros(x.item()))

    with config.patch(capture_scalar_outputs=True):
        for function in (after, before, of_that_size):
            compiled = minidynamo.compile(function)
            for number in NUMBERS:
                calls.clear()
                assert describe(compiled(md.tensor(number))) == describe(function(md.tensor(number)))
                assert len(calls) == 2


def test_the_graph_shows_the_origin_of_the_size():
    seen = []

    def backend(gm, examples):
        seen.append(gm.code)
        return gm

    compiled = minidynamo.compile(lambda x: md.zeros(x.max().item(), 2), backend=backend, fullgraph=True)
    for number in NUMBERS:
        assert compiled(md.tensor([number, 0])).shape == (number, 2)
    (code,) = seen
    assert "u0 = " in code and ".item()" in code and "zeros((u0, 2))" in code


def test_explain_shows_one_graph():
    with config.patch(capture_scalar_outputs=True):
        report = minidynamo.explain(lambda x: md.zeros((x * 2).item()) + 1)(md.tensor(2))
    assert (report.graph_count, report.graph_break_count) == (1, 0)
    assert "u0" in report.html()


def test_a_loop_over_it_is_asserted():
    def program(x):
        total = md.zeros(1)
        for row in md.ones(x.item(), 2):
            total = total + row.sum()
        return total

    compiled = minidynamo.compile(program, fullgraph=True)
    for number in NUMBERS:
        assert describe(compiled(md.tensor(number))) == describe(program(md.tensor(number)))


def test_by_default_it_breaks_and_the_rest_is_one_capture_for_all_sizes():
    compiled = minidynamo.compile(lambda x: md.zeros((x + 0).item()) * 2)
    for number in NUMBERS:
        assert compiled(md.tensor(number)).shape == (number,)


def test_checks_of_python_numbers():
    for function in (md._check, minidynamo.compile(lambda *args: md._check(*args), fullgraph=True)):
        assert function(True) is None
        with pytest.raises(RuntimeError, match="Expected cond to be True, but got False"):
            function(False)
        with pytest.raises(RuntimeError, match="why"):
            function(False, lambda: "why")
        with pytest.raises(TypeError, match="cond must be a bool"):
            function(1)
    md._check_is_size(3, max=3)
    with pytest.raises(RuntimeError):
        md._check_is_size(-1)
    with pytest.raises(RuntimeError):
        md._check_is_size(4, max=3)


def test_threads():
    from concurrent.futures import ThreadPoolExecutor

    compiled = minidynamo.compile(lambda x: md.ones((x + 0).item()).sum() * 2, fullgraph=True)
    with ThreadPoolExecutor(6) as pool:
        assert [r.item() for r in pool.map(lambda n: compiled(md.tensor(n)), [n % 50 for n in range(600)])] == [
            2.0 * (n % 50) for n in range(600)
        ]
