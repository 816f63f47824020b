"""optimize() inside a function that is under optimize() or compile(): the value of eager Python, whatever the nesting."""

import functools

import pytest

import minidynamo
from minidynamo import _dynamo, nn
from minidynamo._dynamo import error_on_graph_break, graph_break, optimize, optimize_assert
from minidynamo._dynamo.exc import Unsupported

pytestmark = pytest.mark.counts_regions


@pytest.fixture(autouse=True)
def fresh():
    _dynamo.reset()


def whole(x):
    return x.sin() + 1


def broken(x):
    graph_break()
    return x.sin() + 1


class Called:
    """A class that is called, an object that is called, and methods."""

    def __init__(self, x=None):
        self.x = x

    def __call__(self, x):
        return x + 4

    def method(self, x):
        return x + 1

    @classmethod
    def of_class(cls, x):
        return x + 3


class Profiler:
    def __init__(self):
        self.calls = []

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")

    def __call__(self, gm, example_inputs):
        return gm.forward


TARGETS = {
    "whole": whole,
    "broken": broken,
    "lambda": lambda x: x * 2,
    "builtin": minidynamo.sin,
    "partial": functools.partial(whole),
    "object": Called(),
    "method": Called().method,
    "class method": Called.of_class,
    "class": Called,
    "module": nn.ReLU(),
    "compiled": minidynamo.compile(whole),
    "disabled": minidynamo.compiler.disable(whole),
    "without errors": error_on_graph_break(False)(broken),
}
BACKENDS = {"name": "eager", "function": lambda gm, example_inputs: gm.forward, "profiler": Profiler()}


def by_call(backend, target, x):
    return optimize(backend)(target)(x)


def by_decorator(backend, target, x):
    @optimize(backend)
    @functools.wraps(target)
    def decorated(x):
        return target(x)

    return decorated(x)


def by_block(backend, target, x):
    with optimize(backend):
        return target(x)


def by_block_with_errors_off(backend, target, x):
    with optimize(backend, error_on_graph_break=False):
        return target(x)


def by_two(backend, target, x):
    once = optimize(backend)(target)
    return optimize(backend)(once)(x)


def by_disabled_one(backend, target, x):
    return optimize(backend, disable=True)(target)(x)


def by_own_function(backend, target, x):
    def made(y):
        return target(y)

    return optimize(backend)(made)(x)


def by_method_of_own_class(backend, target, x):
    class Own:
        @optimize(backend)
        def method(self, y):
            return target(y)

    return Own().method(x)


FORMS = {name: value for name, value in dict(globals()).items() if name.startswith("by_")}
OUTER = {
    "optimize": lambda function: optimize("eager")(function),
    "profiled": lambda function: optimize(Profiler())(function),
    "without nested breaks": lambda function: _dynamo.config.patch(nested_graph_breaks=False)(
        optimize("eager")(function)
    ),
}


def describe(result):
    return result.tolist() if isinstance(result, minidynamo.Tensor) else (type(result), result.x.tolist())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("form", FORMS)
def test_optimize_inside(form, target):
    for backend in BACKENDS.values():
        for outer in OUTER.values():
            _dynamo.reset()

            def program(x, backend=backend):
                return FORMS[form](backend, TARGETS[target], x * 2)

            expected = describe(TARGETS[target](minidynamo.ones(2) * 2))
            compiled = outer(program)
            for _ in range(2):
                assert describe(compiled(minidynamo.ones(2))) == expected


def test_a_block_around_it():
    def program(x):
        return optimize("eager")(whole)(x)

    with optimize("eager"):
        assert program(minidynamo.ones(2)).tolist() == whole(minidynamo.ones(2)).tolist()


@pytest.mark.parametrize(
    "strict", [lambda f: optimize_assert("eager")(f), lambda f: optimize("eager", nopython=True)(f)]
)
def test_a_strict_one_inside(strict):
    def program(x, target):
        return strict(target)(x)

    compiled = optimize("eager")(program)
    assert compiled(minidynamo.ones(2), whole).tolist() == whole(minidynamo.ones(2)).tolist()
    with pytest.raises(Unsupported):
        compiled(minidynamo.ones(2), broken)


@pytest.mark.parametrize("errors", [None, False, True])
def test_error_on_graph_break_of_optimize(errors):
    compiled = optimize("eager", error_on_graph_break=errors)(broken)
    if not errors:
        assert compiled(minidynamo.ones(2)).tolist() == whole(minidynamo.ones(2)).tolist()
        return
    with pytest.raises(Unsupported):
        compiled(minidynamo.ones(2))
    with pytest.raises(Unsupported), optimize("eager", error_on_graph_break=True):
        broken(minidynamo.ones(2))
    assert minidynamo._C._error_on_graph_break() is False


@pytest.mark.parametrize("keyword", ["guard_export_fn", "guard_fail_fn", "package", "shapes_spec"])
def test_missing_keywords_of_torch(keyword):
    assert optimize("eager", **{keyword: None})(whole)(minidynamo.ones(1)).shape == (1,)
    with pytest.raises(NotImplementedError, match=keyword):
        optimize("eager", **{keyword: print})


def test_guard_filter_and_limits():
    seen = []

    def keep(guards):
        seen.append(len(guards))
        return [True] * len(guards)

    compiled = optimize("eager", guard_filter_fn=keep, recompile_limit=1, isolate_recompiles=True)(whole)
    for sizes in ((2,), (2, 2), (2, 2, 2)):
        assert compiled(minidynamo.ones(sizes)).shape == sizes
    assert len(seen) == 1
