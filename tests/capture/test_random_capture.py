"""Random numbers in captured code: the same ones, in the same order, as in eager Python, whatever else happens."""

import pytest
from at_once import at_once

import minidynamo as md

X = md.ones(3)
BACKENDS = ("onednn", "eager")


def drawn(function, args, calls=3):
    """The results of calls from one seed, exceptions included, and the random numbers that follow."""
    md.manual_seed(7)
    results = []
    for _ in range(calls):
        try:
            results.append(str(function(*args)))
        except (IndexError, RuntimeError, ZeroDivisionError) as error:
            results.append(repr(error))
    return results, md.rand(2).tolist()


def check(function, *args, graphs=None):
    expected = drawn(function, args)
    for backend in BACKENDS:
        md._dynamo.reset()
        assert drawn(md.compile(function, backend=backend), args) == expected
    if graphs is not None:
        md._dynamo.reset()
        assert md._dynamo.explain(function)(*args).graph_count == graphs


def all_kinds(x):
    numbers = md.rand(2, 3), md.randn(5), md.randint(9, (4,)), md.randint(-3, 3, (2,)), md.randperm(6)
    return numbers, md.rand_like(x), md.randn_like(x), x + md.rand(3, dtype=md.float64)


def unused(x):
    md.rand(3)
    return x + 1


def unused_without_any_result(x):
    md.rand(3)
    return 1


def seeded(x):
    first = md.rand(2)
    md.manual_seed(3)
    return first, md.rand(2)


def seeded_alone(x):
    md.manual_seed(-1)
    return 5


def of_one_shape_twice(x):
    return md.rand(3) - md.rand(3)


def into_an_argument(x):
    y = md.empty(3)
    md.rand(3, out=y)
    return y


@pytest.mark.counts_regions
@pytest.mark.parametrize(
    "function",
    [all_kinds, unused, unused_without_any_result, seeded, seeded_alone, of_one_shape_twice, into_an_argument],
)
def test_in_one_graph(function):
    check(function, X, graphs=1)


def broken(x):
    a = md.rand(2)
    md._dynamo.graph_break()
    b = md.rand(2)
    if b.sum() > 1:
        b = b + md.rand(2)
    return a, b


def looped(x):
    return [md.rand(1) for _ in range(3)], md._dynamo.graph_break(), md.randn(2)


def test_across_breaks():
    check(broken, X)
    check(looped, X)


def fails_after(x, index):
    return md.rand(3) + md.index_select(x, 0, index)


def fails_between(x, index):
    a = md.rand(3)
    try:
        return a, md.index_select(x, 0, index), md.rand(1)
    except IndexError:
        return a, md.rand(3)


def fails_after_a_seed(x, index):
    md.rand(1)
    md.manual_seed(2)
    a = md.rand(2)
    return a, 7 // index


@pytest.mark.parametrize("index", [[0, 2, 1], [0, 9, 1], [0, 0, 0]])
@pytest.mark.parametrize("function", [fails_after, fails_between, fails_after_a_seed])
def test_a_plan_that_fails_draws_nothing(function, index):
    check(function, X, md.tensor(index))


def test_mixed_with_calls_that_are_not_compiled():
    def f(x):
        return x + md.rand(3)

    def mix(g):
        md.manual_seed(4)
        return [[g(X).tolist(), md.randn(2).tolist(), f(X).tolist()] for _ in range(4)]

    assert mix(md.compile(f)) == mix(f)


def test_capture_draws_nothing():
    def backend(gm, examples):
        md.rand(100)
        return gm.forward

    @md.library.custom_op("test::noise", mutates_args=())
    def noise(x: md.Tensor) -> md.Tensor:
        return x + md.rand(3)

    @noise.register_fake
    def _(x):
        return md.rand(3)

    def f(x):
        return noise(x) + md.rand(3), md.randn(2)

    expected = drawn(f, [X])
    for with_backend in (backend, *BACKENDS):
        md._dynamo.reset()
        assert drawn(md.compile(f, backend=with_backend), [X]) == expected


def test_a_traced_call_that_draws_is_left_to_python():
    @md._dynamo.nonstrict_trace
    def noise(x):
        return x + md.rand(3)

    @md._dynamo.nonstrict_trace
    def noise_like(x):
        return x + md.rand_like(x)

    check(lambda x: (noise(x) * 2, md.rand(1)), X)
    check(lambda x: (noise_like(x) * 2, md.rand(1)), X, graphs=1)


def test_a_seed_that_is_not_a_scalar_of_the_graph():
    def f(x, seed):
        md.manual_seed(seed)
        return md.rand(2) + x[:2]

    check(f, X, 2**64 - 1)
    check(f, X, 5)
    for wrong in (2**64, "text", None):
        with pytest.raises((ValueError, TypeError), match="manual_seed"):
            md.compile(f)(X, wrong)


def test_leaves_are_made_by_python():
    def f():
        return md.rand(2, requires_grad=True), md.zeros(2, requires_grad=True).requires_grad

    md.manual_seed(1)
    made, flag = md.compile(f)()
    assert made.requires_grad and flag
    with pytest.raises(RuntimeError, match="leaf"):
        made.add_(1)


def test_threads_have_separate_generators():
    compiled = md.compile(lambda x: x + md.rand(3))
    results = []

    def work(number):
        results.extend(tuple(compiled(X).tolist()) for _ in range(50))

    at_once(work, 4)
    assert len(set(results)) == 200
