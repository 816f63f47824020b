"""Custom operators whose arguments require grad: the backward that register_autograd was given."""

from __future__ import annotations

from .._dynamo.traced_calls import flatten, unflatten
from ..autograd.function import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .custom_op import CustomOpDef


class _Operator(Function):
    @staticmethod
    def forward(ctx: Any, operator: CustomOpDef, template: Any, *tensors: Any) -> Any:
        arguments = unflatten(template, tensors)
        ctx._operator = operator
        needs = iter(ctx.needs_input_grad[2:])
        ctx._template = _mapped(arguments, lambda _: None)
        ctx.needs_input_grad = tuple(_mapped(arguments, lambda _: next(needs)).values())
        result = operator._kernel()(**arguments)
        setup = operator._autograd and operator._autograd[1]
        if setup is not None:
            setup(ctx, tuple(arguments.values()), result)
        return tuple(result) if isinstance(result, list) else result

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        operator = ctx._operator
        if operator._autograd is None:
            raise RuntimeError(
                f"Trying to backward through {operator._qualname.replace('::', '.')}.default but no autograd formula"
                " was registered. Please use register_autograd to add one."
            )
        found = operator._autograd[0](ctx, *gradients)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(ctx.needs_input_grad):
            raise RuntimeError(
                f"{operator._qualname}: backward returned {len(found)} gradients for"
                f" {len(ctx.needs_input_grad)} arguments"
            )
        by_tensor: list[Any] = []
        for needs, each in zip(ctx.needs_input_grad, found):
            if isinstance(needs, (list, tuple)):
                by_tensor += [None] * len(needs) if each is None else list(each)
            elif isinstance(needs, bool):
                by_tensor.append(each)
        return (None, None, *by_tensor)


def _mapped(arguments: dict[str, Any], function: Any) -> dict[str, Any]:
    """function(tensor) for each tensor and each tensor of a list, None for anything else."""
    from .._C import Tensor

    def value_of(value: Any) -> Any:
        if isinstance(value, Tensor):
            return function(value)
        if isinstance(value, (list, tuple)) and any(isinstance(each, Tensor) for each in value):
            return [function(each) for each in value]
        return None

    return {name: value_of(value) for name, value in arguments.items()}


def apply_with_history(operator: CustomOpDef, arguments: dict[str, Any]) -> Any:
    """The operator's result for arguments some of which require grad."""
    template, tensors = flatten(arguments)
    result = _Operator.apply(operator, template, *tensors)
    return list(result) if operator._schema.returns == ["Tensor[]"] else result
