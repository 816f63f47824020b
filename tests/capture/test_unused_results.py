"""An unused result is not computed, but an exception that its computation raises is still raised."""

import math

import pytest
from differential import assert_same, observe

import minidynamo as md

FLOATS = md.ones(3)
INTS = md.tensor([1, 2, 3])
BYTES = md.zeros(3, dtype=md.int8)
OUTSIDE = md.tensor([7])
ZEROS = md.zeros(2, 2)
HUGE = 10**400

# (name, function of a tensor and one more argument, the tensor, values that pass, one that fails)
TENSORS = [
    ("x * n", lambda x, n: x * n, FLOATS, [2, 3, 5], 10**30),
    ("x + n", lambda x, n: x + n, INTS, [2, 3, 5], 10**30),
    ("x == n", lambda x, n: x == n, INTS, [2, 3, 5], 10**30),
    ("clamp", lambda x, n: x.clamp(n), FLOATS, [2, 3, 5], 10**30),
    ("where", lambda x, n: md.where(x > 0, x, n), INTS, [2, 3, 5], 10**30),
    ("clamp to a float", lambda x, n: x.clamp(n), FLOATS, [2.5, 3.5, 5.5], 1e300),
    ("clamp twice", lambda x, n: x.relu().clamp(n).clamp(1.0, n).neg(), FLOATS, [2.5, 3.5, 5.5], 1e300),
    ("clamp_min", lambda x, n: x.clamp_min(n), FLOATS, [2.5, 3.5, 5.5], 1e300),
    ("clamp_max", lambda x, n: x.exp().clamp_max(n), FLOATS, [2.5, 3.5, 5.5], 1e300),
    ("clamp of integers", lambda x, n: x.clamp(n), BYTES, [2, 3, 5], 300),
    ("clamp to a constant", lambda x, n: x.clamp(1e300), FLOATS, [], 1),
    ("where, floats", lambda x, n: md.where(x > 0, n, x), FLOATS, [2.5, 3.5, 5.5], 1e300),
    ("lerp", lambda x, n: x.lerp(x, n), FLOATS, [2.5, 3.5, 5.5], 1e300),
    ("alpha", lambda x, n: md.add(x, x, alpha=n), FLOATS, [2.5, 3.5, 5.5], 1e300),
    ("alpha of sub", lambda x, n: md.sub(x, x, alpha=n), FLOATS, [2.5, 3.5, 5.5], 1e300),
    ("full", lambda x, n: md.full((2,), n, dtype=md.int8), FLOATS, [2, 3, 5], 300),
    ("full of a constant", lambda x, n: md.full((2,), 300, dtype=md.int8), FLOATS, [], 1),
    ("full_like", lambda x, n: md.full_like(x, n), BYTES, [2.5, 3.5, 5.5], 300.5),
    ("new_full", lambda x, n: x.new_full((2,), n), BYTES, [2.5, 3.5, 5.5], 300.5),
    ("fill", lambda x, n: md.fill(x, n), BYTES, [2, 3, 5], 300),
    ("masked_fill", lambda x, n: x.masked_fill(x == 0, n), BYTES, [2.5, 3.5, 5.5], 300.5),
    ("index_fill", lambda x, n: x.index_fill(0, md.tensor([0]), n), BYTES, [2, 3, 5], 300),
    ("scatter", lambda x, n: x.scatter(0, md.tensor([0]), n), BYTES, [2, 3, 5], 300),
    ("//", lambda x, y: x // y, INTS, [INTS], INTS - 1),
    ("// 0", lambda x, n: x // n, INTS, [2, 3, 5], 0),
    ("%", lambda x, y: x % y, INTS, [INTS], INTS - 1),
    ("fmod", lambda x, y: md.fmod(x, y), INTS, [INTS], INTS - 1),
    ("div", lambda x, y: md.div(x, y, rounding_mode="floor"), INTS, [INTS], INTS - 1),
    ("**", lambda x, n: x**n, INTS, [2, 3, 5], -1),
    ("index_select", lambda x, i: x.index_select(0, i), FLOATS, [INTS - 1], OUTSIDE),
    ("gather", lambda x, i: x.gather(0, i), FLOATS, [INTS - 1], OUTSIDE),
    ("[]", lambda x, i: x[i], FLOATS, [INTS - 1], OUTSIDE),
    ("embedding", lambda x, i: md.nn.functional.embedding(i, x), ZEROS, [INTS - 2], OUTSIDE),
    ("index_add", lambda x, i: x.index_add(0, i, md.ones(1)), FLOATS, [OUTSIDE - 7], OUTSIDE),
    ("nll_loss", lambda x, i: md.nn.functional.nll_loss(x, i), ZEROS[:1], [OUTSIDE - 7], OUTSIDE),
    ("inv", lambda x, y: md.linalg.inv(x + y), ZEROS, [md.eye(2)], ZEROS),
    ("solve", lambda x, y: md.linalg.solve(x + y, x), ZEROS, [md.eye(2)], ZEROS),
    ("cholesky", lambda x, y: md.linalg.cholesky(x + y), ZEROS, [md.eye(2)], ZEROS),
    ("zeros", lambda x, t: md.zeros(t.item()), FLOATS, [md.tensor(1), md.tensor(2)], md.tensor(-7)),
    ("narrow", lambda x, t: x.narrow(0, 0, t.item()), FLOATS, [md.tensor(1), md.tensor(2)], md.tensor(7)),
]  # fmt: skip
NUMBERS = [
    ("//", lambda x, n: 1 // n, FLOATS, [1, 2, 3], 0),
    ("%", lambda x, n: 7 % n, FLOATS, [1, 2, 3], 0),
    ("/", lambda x, n: n / 7, FLOATS, [1, 2, 3], HUGE),
    ("*", lambda x, n: n * 1.5, FLOATS, [1, 2, 3], HUGE),
    ("+", lambda x, n: n + 1.5, FLOATS, [1, 2, 3], HUGE),
    ("-", lambda x, n: 1.5 - n, FLOATS, [1, 2, 3], HUGE),
    ("**", lambda x, n: n**3, FLOATS, [1.5, 2.5, 3.5], 1e200),
    (">>", lambda x, n: 8 >> n, FLOATS, [1, 2, 3], -1),
    ("<<", lambda x, n: 8 << n, FLOATS, [1, 2, 3], -1),
    ("float", lambda x, n: float(n), FLOATS, [1, 2, 3], HUGE),
    ("int", lambda x, n: int(n), FLOATS, [1.5, 2.5, 3.5], math.nan),
    ("round", lambda x, n: round(n), FLOATS, [1.5, 2.5, 3.5], math.inf),
    ("divmod", lambda x, n: divmod(7, n), FLOATS, [1, 2, 3], 0),
    ("sum", lambda x, n: sum([n, 1.5]), FLOATS, [1, 2, 3], HUGE),
    ("str", lambda x, n: str(n), FLOATS, [1, 2, 3], 10**5000),
    ("f-string", lambda x, n: f"{n}", FLOATS, [1, 2, 3], 10**5000),
    ("f-string, .3f", lambda x, n: f"{n:.3f}", FLOATS, [1, 2, 3], HUGE),
    ("f-string, !r", lambda x, n: f"{n!r}", FLOATS, [1, 2, 3], 10**5000),
    ("of a sum", lambda x, n: 1 // (n + n - 8), FLOATS, [1, 2, 3], 4),
    ("sqrt", lambda x, n: math.sqrt(n), FLOATS, [1.5, 2.5, 3.5], -1.0),
    ("item // ", lambda x, t: 7 // t.item(), FLOATS, [md.tensor(1), md.tensor(2)], md.tensor(0)),
    ("item / ", lambda x, t: 7 / t.item(), FLOATS, [md.tensor(1.0), md.tensor(2.0)], md.tensor(0.0)),
    ("item >>", lambda x, t: 7 >> t.item(), FLOATS, [md.tensor(1), md.tensor(2)], md.tensor(-1)),
    ("int of item", lambda x, t: int(t.item()), FLOATS, [md.tensor(1.0), md.tensor(2.0)], md.tensor(math.nan)),
    ("size //", lambda x, t: 7 // (t.shape[0] - 3), FLOATS, [md.ones(5), md.ones(6), md.ones(7)], md.ones(3)),
    ("size <<", lambda x, t: 7 << (t.shape[0] - 4), FLOATS, [md.ones(5), md.ones(6), md.ones(7)], md.ones(3)),
]  # fmt: skip
CASES = [pytest.param(*case, id=f"{kind}: {name}") for kind, cases in (("tensor", TENSORS), ("number", NUMBERS))
         for name, *case in cases]  # fmt: skip


@pytest.mark.parametrize("backend", ["eager", "onednn"])
@pytest.mark.parametrize("function, x, fine, failing", CASES)
def test_raises(function, x, fine, failing, backend):
    def unused(x, n):
        function(x, n)
        return x + 1

    assert observe(unused, (x, failing)).error is not None, "this value does not fail"
    for values in ([failing], [*fine, failing, *fine[:1]], [failing, *fine, failing]):
        md._dynamo.reset()
        compiled = md.compile(unused, backend=backend)
        for call, value in enumerate(values):
            assert_same(observe(unused, (x, value)), observe(compiled, (x, value)), f"call {call} of {len(values)}")


@pytest.mark.parametrize("backend", ["eager", "onednn"])
def test_raises_before_later_effects(backend):
    def raises_twice(x, n):
        x * n
        raise KeyError(n)

    def after_a_break(x, n):
        for _ in range(6):
            n *= n
        md._dynamo.graph_break()
        x * n
        return x + 1

    for function in (raises_twice, after_a_break):
        md._dynamo.reset()
        compiled = md.compile(function, backend=backend)
        for n in (2, 3, 1, 10**30, 5):
            assert_same(observe(function, (FLOATS, n)), observe(compiled, (FLOATS, n)), f"n = {n}")


def test_unused_pure_op_is_dropped():
    graphs = []

    def keep(graph, inputs):
        graphs.append(graph)
        return graph.forward

    @md.compile(backend=keep)
    def f(x, n):
        x * n
        md.full((2,), 3.0)
        x.masked_fill(x == 0, 1.5)
        7 // 2
        return x + n

    for n in (1.5, 2.5, 3.5):
        f(FLOATS, n)
    assert all("mul" not in graph.code and "full" not in graph.code for graph in graphs)
