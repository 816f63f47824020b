"""Objects that take torch's functions over by __torch_function__: they see the function that the program called."""

import pytest

import minidynamo

torch = pytest.importorskip("torch")
F, overrides = torch.nn.functional, torch.overrides


class Wrapped:
    def __init__(self, value, names):
        self.value, self.names = value, names

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        (names,) = {id(each.names): each.names for each in args if isinstance(each, cls)}.values()
        names.append(function.__name__)
        plain = [each.value if isinstance(each, cls) else each for each in args]
        result = function(*plain, **(kwargs or {}))
        return cls(result, names) if isinstance(result, torch.Tensor) else result


class Plain:
    """Takes nothing over."""

    def __iter__(self):
        return iter(())


ASKED = {
    "of a tuple": lambda w, x: overrides.has_torch_function((x, w)),
    "of a list": lambda w, x: overrides.has_torch_function([w]),
    "of a generator": lambda w, x: overrides.has_torch_function(each for each in (x, w)),
    "of one": lambda w, x: overrides.has_torch_function_unary(w),
    "of several": lambda w, x: overrides.has_torch_function_variadic(x, None, w),
    "in its module": lambda w, x: torch._C._has_torch_function_unary(w),
    "of none": lambda w, x: (overrides.has_torch_function((x, 1, "a", None)), overrides.has_torch_function(())),
    "of what has none": lambda w, x: (
        overrides.has_torch_function_unary(Plain()),
        overrides.has_torch_function_variadic(x, torch.nn.Linear(1, 1), Plain),
    ),
}
CALLS = {
    "interpolate": lambda w: F.interpolate(w, scale_factor=2),
    "softmax": lambda w: F.softmax(w, 0),
    "normalize": lambda w: F.normalize(w, dim=0),
    "dropout": lambda w: F.dropout(w, 0.5, False),
    "einsum": lambda w: torch.einsum("...i->...", w),
    "stack": lambda w: torch.sin(w),
    "split": lambda w: torch.norm(w),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("is_made_inside", [True, False])
def test_question(asked, is_made_inside):
    def function(x, w):
        y = x + 1
        answer = ASKED[asked](Wrapped(x, []) if is_made_inside else w, y)
        return answer, y * 2

    minidynamo._dynamo.reset()
    compiled, x = minidynamo.compile(function), torch.ones(2)
    for _ in range(2):
        assert compiled(x, Wrapped(x, []))[0] == function(x, Wrapped(x, []))[0]


@pytest.mark.parametrize("call", CALLS)
def test_function_that_is_taken_over(call):
    def function(x, names):
        w = Wrapped(x * 2, names)
        return CALLS[call](w).value, x + 1

    minidynamo._dynamo.reset()
    compiled, x = minidynamo.compile(function), torch.rand(2, 3, 4)
    for _ in range(2):
        ours, theirs = [], []
        torch.testing.assert_close(compiled(x, ours), function(x, theirs))
        assert ours == theirs
