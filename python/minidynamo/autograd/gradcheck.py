"""gradcheck and gradgradcheck: gradients against central differences.

Every element of every input that requires grad is moved by eps to both sides; for complex inputs along both axes, for
complex
outputs the two parts are functions of their own. Source: the PyTorch documentation of torch.autograd.gradcheck.
"""

from __future__ import annotations

import itertools
import warnings

import minidynamo

from .. import _C
from .._missing_names import explain_missing as _explain_missing
from .engine import grad
from .function import Function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .._C import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient that is not what differences say, or not like its input."""


_NOT_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different"
    " values,"
    " although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}."
)
_NONDETERMINISM_NOTE = """

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`
"""
_UNDEFINED = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _wanted(inputs: tuple[Any, ...]) -> list[Tensor]:
    return [each for each in inputs if isinstance(each, _C.Tensor) and each.requires_grad]


def _differentiable(outputs: Any) -> tuple[Tensor, ...]:
    return tuple([each for each in _as_tuple(outputs) if each.requires_grad])


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    for index, each in enumerate(inputs):
        if not isinstance(each, _C.Tensor) or not each.requires_grad:
            continue
        if each.dtype not in (minidynamo.float64, minidynamo.complex128):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This"
                " check will"
                " likely fail if all the inputs are not of double precision floating point or complex. ",
                stacklevel=4,
            )
        if not all(stride > 0 or size <= 1 for stride, size in zip(each.stride(), each.shape)):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are"
                " non-overlapping"
                " to be able to compute the numerical gradients correctly. You should call .contiguous on the input"
                " before"
                " passing it to gradcheck."
            )
    if not _wanted(inputs):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


def _places(tensor: Tensor) -> Iterator[tuple[int, ...]]:
    return itertools.product(*[range(size) for size in tensor.shape])


def _values(func: Callable[..., Any], inputs: tuple[Any, ...]) -> list[Tensor]:
    return [each.detach().clone() for each in _as_tuple(func(*inputs))]


def _slopes(func: Callable[..., Any], inputs: tuple[Any, ...], data: Tensor, place: Any, step: Any) -> list[Tensor]:
    """The central differences of all outputs for one step of an element, which is then restored."""
    before = data[place].item()
    try:
        data[place] = before + step
        above = _values(func, inputs)
        data[place] = before - step
        below = _values(func, inputs)
    finally:
        data[place] = before
    return [(a - b).reshape(-1) / (2 * abs(step)) for a, b in zip(above, below)]


def _numerical(func: Callable[..., Any], inputs: tuple[Any, ...], eps: float) -> list[list[Tensor]]:
    """By input and output, of sizes (elements of the input, elements of the output): real functions only."""
    found = []
    for each in _wanted(inputs):
        data = each.detach()
        columns = []
        for place in _places(each):
            slopes = _slopes(func, inputs, data, place, eps)
            if each.dtype.is_complex:
                along = _slopes(func, inputs, data, place, eps * 1j)
                slopes = [minidynamo.complex(real, imag) for real, imag in zip(slopes, along)]
            columns.append(slopes)
        found.append([minidynamo.stack(list(rows)) for rows in zip(*columns)])
    return found


def _rows(output: Tensor, inputs: list[Tensor]) -> list[list[Tensor | None]]:
    """The gradients of each element of an output, by input."""
    rows: list[list[Tensor | None]] = [[] for _ in inputs]
    start = minidynamo.zeros_like(output).reshape(-1)
    root = output.clone()
    for place in range(output.numel()):
        start.zero_()
        start[place] = 1
        found = grad(root, inputs, start.reshape(output.shape), retain_graph=True, allow_unused=True)
        for row, gradient in zip(rows, found):
            row.append(None if gradient is None else gradient.clone())
    return rows


def _stacked(row: list[Tensor | None], like: Tensor) -> Tensor:
    zeros = minidynamo.zeros(like.numel(), dtype=like.dtype)
    return minidynamo.stack([zeros if each is None else each.reshape(-1).to(like.dtype) for each in row], 1)


def _analytical(output: Tensor, inputs: list[Tensor], nondet_tol: float, check_grad_dtypes: bool) -> list[Tensor]:
    first, second = _rows(output, inputs), _rows(output, inputs)
    for row, each in zip(first, inputs):
        for gradient in row:
            if gradient is not None and gradient.shape != each.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
            if check_grad_dtypes and gradient is not None and gradient.dtype != each.dtype:
                raise GradcheckError("Gradient has dtype mismatch")
    jacobians = [_stacked(row, each) for row, each in zip(first, inputs)]
    for jacobian, row, each in zip(jacobians, second, inputs):
        if jacobian.numel() and (jacobian - _stacked(row, each)).abs().max() > nondet_tol:
            raise GradcheckError(_NOT_REENTRANT.format(nondet_tol) + "\n" + _NONDETERMINISM_NOTE)
    return jacobians


def _is_close(a: Tensor, b: Tensor, rtol: float, atol: float) -> bool:
    common = minidynamo.promote_types(a.dtype, b.dtype)
    return minidynamo.allclose(a.to(common), b.to(common), rtol=rtol, atol=atol)


def _check_real(func: Callable[..., Any], inputs: tuple[Any, ...], part: str | None, options: dict[str, Any]) -> None:
    """Compares the gradients of a function with real outputs."""
    # Differences write the inputs, which outputs made before could not be differentiated behind.
    numerical = _numerical(func, inputs, options["eps"])
    outputs, wanted = _as_tuple(func(*inputs)), _wanted(inputs)
    if not any(each.requires_grad for each in outputs):
        for by_output in numerical:
            if any((each != 0).any() for each in by_output):
                raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    places = [place for place, each in enumerate(outputs) if each.requires_grad]
    for number, place in enumerate(places):
        found = _analytical(outputs[place], wanted, options["nondet_tol"], options["check_grad_dtypes"])
        for index, (jacobian, by_output) in enumerate(zip(found, numerical)):
            if _is_close(jacobian, by_output[place], options["rtol"], options["atol"]):
                continue
            prefix = "" if part is None else f"While considering the {part} part of complex outputs only, "
            raise GradcheckError(
                f"{prefix}Jacobian mismatch for output {number} with respect to input {index},\n"
                f"numerical:{by_output[place]}\nanalytical:{jacobian}\n"
            )


def _part_of(func: Callable[..., Any], part: str) -> Callable[..., Any]:
    def function(*inputs: Any) -> Any:
        outputs = _as_tuple(func(*inputs))
        return tuple(
            [getattr(each, part) for each in outputs if each.is_complex()] if part == "imag" else _reals(outputs)
        )

    return function


def _reals(outputs: tuple[Tensor, ...]) -> list[Tensor]:
    return [each.real if each.is_complex() else each for each in outputs]


def _check_scaled(outputs: tuple[Tensor, ...], inputs: list[Tensor], masked: bool) -> None:
    """A gradient of zeros gives zeros, which lie as the inputs do."""
    starts = [minidynamo.zeros_like(each) for each in outputs]
    found = grad(outputs, inputs, starts, allow_unused=True) if outputs else ()
    for gradient, each in zip(found, inputs):
        if gradient is None:
            continue
        is_zero = minidynamo.allclose(gradient, minidynamo.zeros_like(gradient)) if masked else (gradient == 0).all()
        if not is_zero:
            raise GradcheckError("backward not multiplied by grad_output")
        if gradient.dtype != each.dtype:
            raise GradcheckError("grad is incorrect type")
        if gradient.shape != each.shape:
            raise GradcheckError("grad is incorrect size")


class _WithoutGradient(Function):
    @staticmethod
    def forward(ctx: Any, value: Any) -> Any:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return None


def _check_undefined(func: Callable[..., Any], inputs: tuple[Any, ...], wanted: list[Tensor]) -> None:
    """Functions take no gradient at all, and one without any of its outputs."""
    count = len(_differentiable(func(*inputs)))
    for left_out in [None] if count <= 1 else [None, *range(count)]:
        outputs = [
            _WithoutGradient.apply(each) if left_out in (None, index) else each
            for index, each in enumerate(_differentiable(func(*inputs)))
        ]
        if not outputs:
            return
        try:
            found = grad(outputs, wanted, [minidynamo.zeros_like(each) for each in outputs], allow_unused=True)
        except RuntimeError as error:
            _warn_of_undefined()
            raise GradcheckError(
                "Expected backward function to handle undefined output grads. " + _UNDEFINED
            ) from error
        if any(each is not None and not (each == 0).all() for each in found):
            _warn_of_undefined()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                + _UNDEFINED
            )


def _warn_of_undefined() -> None:
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may"
        " break"
        " existing callers of this function. If this is true for you, you can call this function with"
        ' "check_undefined_grad=False"'
        " to disable the feature",
        stacklevel=5,
    )


def _check_batched(outputs: tuple[Tensor, ...], wanted: list[Tensor]) -> None:
    for output in outputs:
        starts = minidynamo.stack([minidynamo.randn_like(output) for _ in range(2)])
        together = grad(output, wanted, starts, retain_graph=True, allow_unused=True, is_grads_batched=True)
        for place in range(2):
            alone = grad(output, wanted, starts[place], retain_graph=True, allow_unused=True)
            for one, other in zip(together, alone):
                if one is not None and other is not None and not minidynamo.allclose(one[place], other):
                    raise GradcheckError(
                        "gradcheck or gradgradcheck failed while testing batched gradient computation."
                    )


def _check(func: Callable[..., Any], given: Any, options: dict[str, Any]) -> bool:
    inputs = _as_tuple(given)
    _check_inputs(inputs)
    has_complex = any(each.is_complex() for each in _as_tuple(func(*inputs)))
    if has_complex:
        _check_real(_part_of(func, "imag"), inputs, "imaginary", options)
    _check_real(_part_of(func, "real") if has_complex else func, inputs, "real" if has_complex else None, options)
    wanted, outputs = _wanted(inputs), _differentiable(func(*inputs))
    if options["check_batched_grad"]:
        _check_batched(outputs, wanted)
    _check_scaled(outputs, wanted, bool(options["masked"]))
    if options["check_undefined_grad"]:
        _check_undefined(func, inputs, wanted)
    return True


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of func(*inputs) are what differences of `eps` say, for all inputs that require grad.

    The inputs should be float64 or complex128. Raises GradcheckError at the first difference, or returns False if not
    `raise_exception`. `fast_mode` makes the whole comparison, too; `check_forward_ad` is a NotImplementedError.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if check_forward_ad:
        raise NotImplementedError("gradcheck: minidynamo has no forward mode; check_forward_ad=True is not possible")
    options = {
        "eps": eps,
        "atol": atol,
        "rtol": rtol,
        "nondet_tol": nondet_tol,
        "check_undefined_grad": check_undefined_grad,
        "check_grad_dtypes": check_grad_dtypes,
        "check_batched_grad": check_batched_grad,
        "masked": masked,
    }
    if raise_exception:
        return _check(func, inputs, options)
    try:
        return _check(func, inputs, options)
    except GradcheckError:
        return False


def _random_starts(outputs: tuple[Tensor, ...], is_noncontiguous: bool) -> tuple[Tensor, ...]:
    starts = []
    for each in outputs:
        if is_noncontiguous:
            doubled = minidynamo.rand((*each.shape, 2), dtype=minidynamo.float64).to(each.dtype)
            start = (doubled * 2 - 1)[..., 0]
        else:
            start = (minidynamo.rand(each.shape, dtype=minidynamo.float64) * 2 - 1).to(each.dtype)
        starts.append(start.requires_grad_())
    return tuple(starts)


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """gradcheck of the gradients of func(*inputs), with respect to the inputs and to `grad_outputs`.

    Without grad_outputs random ones are taken. Raises GradcheckError, as gradcheck does.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    arguments = _as_tuple(inputs)
    if grad_outputs is None:
        starts = _random_starts(_differentiable(func(*arguments)), gen_non_contig_grad_outputs)
    else:
        starts = _as_tuple(grad_outputs)

    def gradients(*values: Any) -> tuple[Tensor, ...]:
        own, given = values[: len(arguments)], values[len(arguments) :]
        outputs = _differentiable(func(*own))
        found = grad(outputs, _wanted(own), given, create_graph=True, allow_unused=True)
        return tuple([each for each in found if each is not None])

    return gradcheck(
        gradients,
        arguments + starts,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


_explain_missing(__name__)
