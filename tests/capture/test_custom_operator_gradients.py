"""Whether results of custom operators require grad depends on their arguments only, not on other tensors in the frame."""

import pytest

import minidynamo as md


@md.library.custom_op("operator_gradients::total", mutates_args=())
def total(a: md.Tensor) -> md.Tensor:
    return a.sum().reshape(1).clone()


@total.register_fake
def _(a):
    return a.new_empty(1)


GIVEN = {
    "detached": lambda base: base.detach(),
    "a view of the detached": lambda base: base.detach().view(-1),
    "the tensor": lambda base: base,
    "a view": lambda base: base.view(-1),
    "another": lambda base: md.ones(2),
}


@pytest.mark.parametrize("grad", [True, False], ids=["grad", "no_grad"])
@pytest.mark.parametrize("backend", ["onednn", "eager"])
@pytest.mark.parametrize("name", GIVEN)
def test_with_locals_that_require_grad(name, backend, grad):
    def function(x):
        base = x * 2
        given = GIVEN[name](base)
        with md.set_grad_enabled(grad):
            result = total(given)
        return result, result.requires_grad, base + 1, given * 1

    def shown(call):
        result, inside, *others = call(md.ones(2, requires_grad=True))
        return inside, [(each.requires_grad, each.tolist()) for each in (result, *others)]

    assert shown(md.compile(function, backend=backend)) == shown(function)
