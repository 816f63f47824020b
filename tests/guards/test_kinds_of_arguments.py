"""Every function of one argument, or two: captured with one kind of argument, then called with the others."""

import builtins
import inspect
import math
import operator

import pytest

import minidynamo

MAKERS = {
    "tensor": lambda: minidynamo.tensor([1.0, 2.0]),
    "element": lambda: minidynamo.tensor(3),
    "list": lambda: [1.0, 2.0],
    "tuple": lambda: (1, 2),
    "int": lambda: 2,
    "float": lambda: 0.5,
    "bool": lambda: True,
    "none": lambda: None,
    "text": lambda: "ab",
    "dict": lambda: {"a": 1},
    "class": lambda: int,
    "dtype": lambda: minidynamo.float64,
    "size": lambda: minidynamo.Size([1, 2]),
}
# They change the state of the process, draw random numbers, read what is not set, or answer with what changes.
STATEFUL = set(
    "manual_seed seed compile save load input breakpoint help open print copyright credits license exit quit id hash "
    "bernoulli rand_like randn_like empty_like randperm rand randn empty multinomial normal poisson exponential uniform "
    "cauchy geometric log_normal random randint_like new_empty gumbel_softmax memoryview iter reversed enumerate zip map filter object super vars dir "
    "globals locals".split()
)


def functions():
    libraries = {"minidynamo": minidynamo, "Tensor": minidynamo.Tensor, "F": minidynamo.nn.functional}
    for where, library in (libraries | {"math": math, "operator": operator, "builtins": builtins}).items():
        for name in sorted(dir(library)):
            function = getattr(library, name)
            is_random = (
                name.endswith("_") and name.rstrip("_") in STATEFUL or name.startswith(("dropout", "feature_", "set_"))
            )
            is_context = inspect.isclass(function) and hasattr(function, "__enter__")
            if (
                name.startswith("_")
                or name.rstrip("_") in STATEFUL
                or is_random
                or is_context
                or not callable(function)
            ):
                continue
            yield f"{where}.{name}", function


FUNCTIONS = dict(functions())


def shown(value):
    if isinstance(value, minidynamo.Tensor):
        return "tensor", value.dtype, value.shape, repr(value.tolist())
    if isinstance(value, (tuple, list)):
        return type(value), [shown(item) for item in value]
    if isinstance(value, set):  # tensors are hashed by their places
        return sorted(map(repr, value))
    if isinstance(value, (int, float, str, bytes, bool, type, type(None), dict, complex)):
        return type(value), repr(value)
    return type(value)


def outcome(function, argument):
    try:
        return shown(function(argument)), shown(argument)
    except Exception as error:
        return type(error), str(error), shown(argument)


def check_kinds_in_turn(call):
    """call(function, argument), captured with each kind first."""
    expected = {kind: outcome(call, make()) for kind, make in MAKERS.items()}
    for first in MAKERS:
        minidynamo._dynamo.reset()
        compiled = minidynamo.compile(call)
        found = {kind: outcome(compiled, MAKERS[kind]()) for kind in [first, *MAKERS]}
        different = {kind: (found[kind], expected[kind]) for kind in MAKERS if found[kind] != expected[kind]}
        assert different == {}, f"captured with {first}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_argument(name):
    function = FUNCTIONS[name]
    check_kinds_in_turn(lambda argument: function(argument))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_behind_a_tensor(name):
    function = FUNCTIONS[name]
    check_kinds_in_turn(lambda argument: function(minidynamo.tensor([3.0, 4.0]), argument))
