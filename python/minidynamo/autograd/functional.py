"""Derivatives of functions of tensors, by one or two backwards: torch.autograd.functional's names.

`func` takes tensors and returns one or a tuple of them; `inputs` is its argument or a tuple of its arguments. Results
have no
history unless `create_graph`, and follow the structure of inputs and outputs: a tensor for one, a tuple for a tuple.
With
`strict` an output that does not depend on an input is a RuntimeError, otherwise its derivative is zeros. TypeError
for anything but a tensor.

Source of the trick by which a product with the Jacobian is two backwards: J. Townsend, "A new trick for calculating
Jacobian vector products" (2017).
"""

from __future__ import annotations

import minidynamo

from .. import _C
from .._missing_names import explain_missing as _explain_missing
from .engine import grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._C import Tensor

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

# What a strict call says of a derivative that is missing, by the stage that found it.
_INDEPENDENT = {
    "output": "The output of the user-provided function is independent of input {}. This is not allowed in strict mode.",  # noqa: E501
    "trick": (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double"
        " backward"
        " trick to compute forward mode gradients. This is not allowed in strict mode."
    ),
    "jacobian": "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode.",  # noqa: E501
    "hessian": (
        "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not"
        " allowed in"
        " strict mode as it prevents from using the double backward trick to replace forward mode AD."
    ),
}
# The same under create_graph, of a derivative that depends on nothing.
_CONSTANT = {
    "output": "The jacobian of the user-provided function is independent of input {}.",
    "trick": "The jacobian of the user-provided function is independent of input {}.",
    "jacobian": "The hessian of the user-provided function is independent of input {}.",
    "hessian": "The hessian of the user-provided function is independent of input {}.",
}
_NO_GRADIENT = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must be computed in a"
        " differentiable"
        " manner from the input when running in strict mode."
    ),
    "gradients": (
        "The gradient with respect to input {} is independent of the inputs of the user-provided function. This is"
        " not allowed"
        " in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is"
        " independent of the input. This is not allowed in strict mode. You should ensure that your function is twice"
        " differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for"
        " example)."
    ),
}


def _tensors(value: Any, what: str, caller: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Whether a value is a tuple, and its tensors."""
    if not isinstance(value, tuple):
        if not isinstance(value, _C.Tensor):
            raise TypeError(
                f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but the given {what} has"
                " type"
                f" {type(value)}."
            )
        return False, (value,)
    for index, each in enumerate(value):
        if not isinstance(each, _C.Tensor):
            raise TypeError(
                f"The {what} given to {caller} must be either a Tensor or a tuple of Tensors but the value at index"
                f" {index} has"
                f" type {type(each)}."
            )
    return True, value


def _as_variables(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """Tensors of their own, which the function's other uses of the inputs are not mistaken for."""
    return tuple(
        [
            each.view_as(each) if create_graph and each.requires_grad else each.detach().requires_grad_(True)
            for each in inputs
        ]
    )


def _finished(tensors: tuple[Any, ...], create_graph: bool) -> tuple[Any, ...]:
    if create_graph:
        return tensors
    return tuple([_finished(each, False) if isinstance(each, tuple) else each.detach() for each in tensors])


def _unpacked(values: tuple[Any, ...], is_tuple: bool) -> Any:
    return values if is_tuple else values[0]


def _check_requires_grad(tensors: tuple[Tensor | None, ...], kind: str) -> None:
    for index, each in enumerate(tensors):
        if each is None:
            raise RuntimeError(_INDEPENDENT["output"].format(index))
        if not each.requires_grad:
            raise RuntimeError(_NO_GRADIENT[kind].format(index))


def _gradients(
    outputs: tuple[Tensor | None, ...],
    inputs: tuple[Tensor, ...],
    grad_outputs: tuple[Tensor | None, ...] | None = None,
    create_graph: bool = False,
    retain_graph: bool | None = None,
) -> tuple[Tensor | None, ...]:
    """autograd.grad of those outputs that require gradients, None where nothing flows."""
    given = (None,) * len(outputs) if grad_outputs is None else grad_outputs
    pairs = [(output, each) for output, each in zip(outputs, given) if output is not None and output.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, starts = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return grad(roots, inputs, starts, retain_graph, create_graph, allow_unused=True)


def _filled(
    gradients: tuple[Tensor | None, ...], like: tuple[Tensor, ...], strict: bool, create_graph: bool, stage: str
) -> tuple[Tensor, ...]:
    """Zeros for None, which a strict call refuses."""
    results: list[Tensor] = []
    for index, (gradient, other) in enumerate(zip(gradients, like)):
        if gradient is None:
            if strict:
                raise RuntimeError(_INDEPENDENT[stage].format(index))
            gradient = minidynamo.zeros_like(other)
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                _CONSTANT[stage].format(index) + " This is not allowed in strict mode when create_graph=True."
            )
        results.append(gradient)
    return tuple(results)


def _products(
    outputs: tuple[Tensor | None, ...],
    inputs: tuple[Tensor, ...],
    vectors: tuple[Tensor, ...] | None,
    like: tuple[Tensor, ...],
    strict: bool,
    create_graph: bool,
    stage: str,
) -> tuple[Any, ...]:
    """The gradients of the inputs by a last backward from vectors, zeros like others where there are none."""
    with minidynamo.set_grad_enabled(create_graph or minidynamo.is_grad_enabled()):
        found = _gradients(outputs, inputs, vectors, create_graph)
        return _finished(_filled(found, like, strict, create_graph, stage), create_graph)


def _own_vector(
    v: Any, like: tuple[Tensor, ...], is_tuple: bool, caller: str, create_graph: bool
) -> tuple[Tensor, ...]:
    """The tensors of v, of the same sizes as others; without history unless create_graph."""
    _, vectors = _tensors(v, "v", caller)
    if len(vectors) != len(like):
        if is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for index, (vector, other) in enumerate(zip(vectors, like)):
        if vector.shape != other.shape:
            entry = f"Entry {index} in " if is_tuple else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {_sizes(other)} but got {_sizes(vector)}.")
    return tuple([each.view_as(each) if create_graph and each.requires_grad else each.detach() for each in vectors])


def _sizes(tensor: Tensor) -> str:
    return f"torch.Size({list(tensor.shape)})"


def _scalar_output(outputs: tuple[Tensor, ...], is_tuple: bool, caller: str) -> None:
    if is_tuple or not isinstance(outputs[0], _C.Tensor):
        raise RuntimeError(f"The function given to {caller} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {caller} should contain a single element")


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), the product of v and the Jacobian). v is like the outputs, and None for a single element."""
    with minidynamo.enable_grad():
        is_inputs_tuple, inputs = _tensors(inputs, "inputs", "vjp")
        inputs = _as_variables(inputs, create_graph)
        is_outputs_tuple, outputs = _tensors(func(*inputs), "outputs of the user-provided function", "vjp")
        if strict:
            _check_requires_grad(outputs, "outputs")
        if v is not None:
            vectors = _own_vector(v, outputs, is_outputs_tuple, "vjp", create_graph)
        elif len(outputs) == 1 and outputs[0].numel() == 1:
            vectors = None
        else:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single"
                " element."
            )
    products = _products(outputs, inputs, vectors, inputs, strict, create_graph, "output")
    return _unpacked(_finished(outputs, create_graph), is_outputs_tuple), _unpacked(products, is_inputs_tuple)


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), the product of the Jacobian and v), by two backwards. v is like the inputs, and None for a
    single element."""
    with minidynamo.enable_grad():
        is_inputs_tuple, inputs = _tensors(inputs, "inputs", "jvp")
        inputs = _as_variables(inputs, create_graph)
        vectors = _vector_for_inputs(v, inputs, is_inputs_tuple, "jvp", create_graph)
        is_outputs_tuple, outputs = _tensors(func(*inputs), "outputs of the user-provided function", "jvp")
        if strict:
            _check_requires_grad(outputs, "outputs")
        starts = tuple([minidynamo.zeros_like(each, requires_grad=True) for each in outputs])
        gradients = _gradients(outputs, inputs, starts, create_graph=True)
        if strict:
            _check_requires_grad(gradients, "gradients")
    products = _products(gradients, starts, vectors, outputs, strict, create_graph, "trick")
    return _unpacked(_finished(outputs, create_graph), is_outputs_tuple), _unpacked(products, is_outputs_tuple)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivatives of each element of the outputs with respect to each of the inputs: of shape output.shape +
    input.shape.

    A tuple of outputs by a tuple of inputs, without the level of what is one tensor. One backward for each element;
    `vectorize` and the strategy "forward-mode" give the same values.
    """
    _check_strategy(strategy, create_graph, strict, vectorize)
    with minidynamo.enable_grad():
        is_inputs_tuple, inputs = _tensors(inputs, "inputs", "jacobian")
        inputs = _as_variables(inputs, create_graph)
        is_outputs_tuple, outputs = _tensors(func(*inputs), "outputs of the user-provided function", "jacobian")
        if strict:
            _check_requires_grad(outputs, "outputs")
        blocks = tuple([_blocks(index, output, inputs, create_graph, strict) for index, output in enumerate(outputs)])
    finished = _finished(blocks, create_graph)
    rows = tuple([_unpacked(row, is_inputs_tuple) for row in finished])
    return _unpacked(rows, is_outputs_tuple)


def _check_strategy(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs'
            " than"
            ' inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not'
                " supported"
                ' together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported'
                " together"
                ' (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for"
                " `vectorize=True`."
            )
    elif strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please"
            " either set `strict=False` or `vectorize=False`."
        )


def _blocks(
    index: int, output: Tensor, inputs: tuple[Tensor, ...], create_graph: bool, strict: bool
) -> tuple[Tensor, ...]:
    """The derivatives of one output with respect to each input."""
    columns: list[list[Tensor]] = [[] for _ in inputs]
    elements = output.reshape(-1)
    for place in range(output.numel()):
        found = _gradients((elements[place],), inputs, None, create_graph, retain_graph=True)
        for number, (column, gradient, each) in enumerate(zip(columns, found, inputs)):
            if gradient is None and strict:
                raise RuntimeError(
                    f"Output {index} of the user-provided function is independent of input {number}. This is not"
                    " allowed in"
                    " strict mode."
                )
            if gradient is not None and strict and create_graph and not gradient.requires_grad:
                raise RuntimeError(
                    "The jacobian of the user-provided function is independent of input"
                    f" {index}. This is not allowed in strict mode when create_graph=True."
                )
            column.append(minidynamo.zeros_like(each) if gradient is None else gradient)
    return tuple(
        [
            minidynamo.stack(column).reshape(output.shape + each.shape)
            if column
            else each.new_zeros(output.shape + each.shape)
            for column, each in zip(columns, inputs)
        ]
    )


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of a function with one result of one element: of shape input.shape + other.shape.

    A tuple of tuples for a tuple of inputs.
    """
    is_inputs_tuple, inputs = _tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def scalar_func(*arguments: Tensor) -> Tensor:
        output = func(*arguments)
        is_tuple, outputs = _tensors(output, "outputs of the user-provided function", "hessian")
        _scalar_output(outputs, is_tuple, "hessian")
        return output.reshape(())

    def slopes(*arguments: Tensor) -> tuple[Tensor, ...]:
        if outer_jacobian_strategy == "forward-mode":
            arguments = tuple([each.requires_grad_(True) for each in arguments])
        found = jacobian(scalar_func, arguments, create_graph=True)
        if strict:
            _check_requires_grad(found, "jacobian")
        return found

    found = jacobian(
        slopes, inputs, create_graph=create_graph, strict=strict, vectorize=vectorize, strategy=outer_jacobian_strategy
    )
    rows = tuple([_unpacked(row, is_inputs_tuple) for row in found])
    return _unpacked(rows, is_inputs_tuple)


def _slopes_of_scalar(
    func: Callable[..., Any], inputs: tuple[Tensor, ...], caller: str, strict: bool
) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """The output of a scalar function, and its gradients with their history."""
    is_outputs_tuple, outputs = _tensors(func(*inputs), "outputs of the user-provided function", caller)
    if strict:
        _check_requires_grad(outputs, "outputs")
    _scalar_output(outputs, is_outputs_tuple, caller)
    slopes = _gradients(outputs, inputs, None, create_graph=True)
    if strict:
        _check_requires_grad(slopes, "jacobian")
    return outputs, slopes


def _vector_for_inputs(v: Any, inputs: tuple[Tensor, ...], is_tuple: bool, caller: str, create_graph: bool) -> Any:
    if v is not None:
        return _own_vector(v, inputs, is_tuple, caller, create_graph)
    if len(inputs) != 1 or inputs[0].numel() != 1:
        raise RuntimeError(
            "The vector v can only be None if the input to the user-provided function is a single Tensor with a"
            " single element."
        )
    return None


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), the product of v and the Hessian) of a function with a result of one element. v is like the
    inputs."""
    with minidynamo.enable_grad():
        is_inputs_tuple, inputs = _tensors(inputs, "inputs", "vhp")
        inputs = _as_variables(inputs, create_graph)
        vectors = _vector_for_inputs(v, inputs, is_inputs_tuple, "vhp", create_graph)
        outputs, slopes = _slopes_of_scalar(func, inputs, "vhp", strict)
    products = _products(slopes, inputs, vectors, inputs, strict, create_graph, "jacobian")
    return _unpacked(_finished(outputs, create_graph), False), _unpacked(products, is_inputs_tuple)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(func(*inputs), the product of the Hessian and v), by three backwards; vhp() needs two, and gives the same
    where the Hessian is symmetric."""
    with minidynamo.enable_grad():
        is_inputs_tuple, inputs = _tensors(inputs, "inputs", "hvp")
        inputs = _as_variables(inputs, create_graph)
        vectors = _vector_for_inputs(v, inputs, is_inputs_tuple, "hvp", create_graph)
        outputs, slopes = _slopes_of_scalar(func, inputs, "hvp", strict)
        starts = tuple([minidynamo.zeros_like(each, requires_grad=True) for each in inputs])
        double = _gradients(slopes, inputs, starts, create_graph=True)
        if strict:
            _check_requires_grad(double, "gradients")
    products = _products(double, starts, vectors, inputs, strict, create_graph, "hessian")
    return _unpacked(_finished(outputs, create_graph), False), _unpacked(products, is_inputs_tuple)


_explain_missing(__name__)
