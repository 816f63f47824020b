"""Wrong arguments raise the exception of eager Python, or a clear one of ours."""

import logging

import pytest
from differential import assert_same, observe

import minidynamo
from minidynamo import tensor


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def add(x, y):
    z = x + 1
    return z + y


def multiply(x, y):
    return minidynamo.relu(x) @ y


def use_softmax(x, dim):
    return minidynamo.softmax(x, dim=dim) * 2


def reshape(x, *sizes):
    return (x + 1).reshape(*sizes)


BAD_CALLS = {
    "shapes that do not broadcast": (add, lambda: (tensor([1.0, 2.0]), tensor([1.0, 2.0, 3.0]))),
    "string operand": (add, lambda: (tensor([1.0]), "text")),
    "None operand": (add, lambda: (tensor([1.0]), None)),
    "list operand": (add, lambda: (tensor([1.0]), [1.0])),
    "object operand": (add, lambda: (tensor([1.0]), ValueError)),
    "string for a tensor": (add, lambda: ("text", 1)),
    "None for a tensor": (add, lambda: (None, 1)),
    "matmul of wrong sizes": (multiply, lambda: (tensor([[1.0, 2.0]]), tensor([[1.0, 2.0]]))),
    "matmul of a scalar": (multiply, lambda: (tensor(1.0), tensor([1.0]))),
    "matmul of two dtypes": (multiply, lambda: (tensor([1.0]), tensor([1]))),
    "matmul with a number": (multiply, lambda: (tensor([1.0]), 3)),
    "softmax over no dimension": (use_softmax, lambda: (tensor([1.0]), 5)),
    "softmax over a string": (use_softmax, lambda: (tensor([1.0]), "a")),
    "reshape to another size": (reshape, lambda: (tensor([1.0, 2.0]), 3)),
    "reshape to two unknowns": (reshape, lambda: (tensor([1.0, 2.0]), -1, -1)),
    "reshape to a negative size": (reshape, lambda: (tensor([1.0, 2.0]), -2)),
    "reshape to a huge size": (reshape, lambda: (tensor([1.0, 2.0]), 2**62, 2**62)),
    "reshape to a string": (reshape, lambda: (tensor([1.0, 2.0]), "a")),
    "missing argument": (add, lambda: (tensor([1.0]),)),
    "too many arguments": (add, lambda: (tensor([1.0]), 1, 2)),
    "number beyond int64": (add, lambda: (tensor([1]), 2**80)),
}


@pytest.mark.parametrize("backend", ["eager", "onednn"])
@pytest.mark.parametrize("case", BAD_CALLS)
def test_a_bad_call_fails_as_in_eager_python(case, backend):
    function, make = BAD_CALLS[case]
    plain = observe(function, make())
    assert plain.error is not None
    compiled = minidynamo.compile(function, backend=backend)
    for _ in range(2):
        assert_same(plain, observe(compiled, make()), case)
    good = {add: lambda: (tensor([1.0]), 1), reshape: lambda: (tensor([1.0, 2.0]), 2, 1)}.get(function)
    if good is not None:
        assert_same(observe(function, good()), observe(compiled, good()), f"after {case}")


@pytest.mark.parametrize("case", [name for name in BAD_CALLS if name.startswith(("matmul of wrong", "shapes"))])
def test_the_message_names_the_shapes(case):
    function, make = BAD_CALLS[case]
    with pytest.raises(RuntimeError, match=r"2.*(3|2)"):
        minidynamo.compile(function)(*make())


def test_unknown_backend():
    with pytest.raises(minidynamo._dynamo.exc.InvalidBackend, match="no_such_backend"):
        minidynamo.compile(add, backend="no_such_backend")
    with pytest.raises(TypeError, match="backend"):
        minidynamo.compile(add, backend=3)


@pytest.mark.parametrize("target", [3, "text", None.__class__.__mro__, [add]])
def test_compile_of_a_non_callable(target):
    with pytest.raises((AssertionError, TypeError)):
        minidynamo.compile(target)


def test_wrong_options():
    for options in ({"fullgraph": "yes"}, {"disable": 1}, {"name": 3}, {"recompile_limit": "a"}):
        with pytest.raises(TypeError):
            minidynamo.compile(add, **options)
    with pytest.raises(TypeError):
        minidynamo.compile(add, no_such_option=1)


def test_unknown_config_key():
    with pytest.raises(AttributeError, match="no_such_flag"):
        minidynamo._dynamo.config.no_such_flag = 1
    with pytest.raises(AttributeError, match="no_such_flag"):
        minidynamo._dynamo.config.no_such_flag
    with pytest.raises(TypeError):
        minidynamo._dynamo.config.recompile_limit = "many"


def test_unknown_log_name():
    with pytest.raises(TypeError, match="no_such_log"):
        minidynamo._logging.set_logs(no_such_log=True)
    with pytest.raises(ValueError, match="bool"):
        minidynamo._logging.set_logs(guards=logging.DEBUG)


@pytest.mark.counts_regions
def test_backend_that_returns_no_callable():
    def backend(gm, example_inputs):
        return 3

    with pytest.raises(minidynamo._dynamo.exc.BackendCompilerFailed):
        minidynamo.compile(lambda x: x + 1, backend=backend, fullgraph=True)(tensor([1.0]))


def test_a_tensor_subclass_like_object_is_not_a_tensor():
    class Fake:
        shape = (1,)
        dtype = "float32"

    with pytest.raises(TypeError):
        minidynamo.compile(add)(tensor([1.0]), Fake())


def test_policy_functions_refuse_wrong_values():
    for value in (1, None, "yes"):
        with pytest.raises(TypeError):
            minidynamo._dynamo.error_on_graph_break(value)
