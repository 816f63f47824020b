"""Activations composed of other functions, and dropout."""

from __future__ import annotations

import warnings
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._composites.autocast import is_autocasting, low_precision
from ..._composites.registry import fitted, is_narrow, kept_from_write, prims, require_held

__all__ = [
    "alpha_dropout",
    "feature_alpha_dropout",
    "celu",
    "elu",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "rrelu",
    "selu",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanhshrink",
    "threshold",
]


def _read(input: Tensor, inplace: bool) -> Tensor:
    return kept_from_write(input) if inplace else input


def _into(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    return input.copy_(result) if inplace else result


def _widened(input: Tensor) -> Tensor:
    """float32 for the 16-bit dtypes: several steps in those would each round, and might overflow."""
    is_narrow = input.dtype is minidynamo.float16 or input.dtype is minidynamo.bfloat16
    return input.float() if is_narrow else input


def _require_floats(op: str, input: Tensor) -> None:
    if not input.is_floating_point():
        raise NotImplementedError(f"[{op}] not implemented for '{str(input.dtype).rpartition('.')[2]}'")


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0)."""
    return input.relu_() if inplace else minidynamo.relu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return _into(input, prims.silu(_read(input, inplace)), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where positive, else negative_slope * input."""
    return _into(input, prims.leaky_relu(_read(input, inplace), negative_slope), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, else alpha * (exp(input) - 1)."""
    return _into(input, prims.elu(_read(input, inplace), alpha), inplace)


def _implicit_dim(name: str, input: Tensor) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input) divided by its sum along dim; without dim, along torch's legacy default, with a warning."""
    if dim is None:
        dim = _implicit_dim("softmax", input)
    return minidynamo.softmax(input, dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(input, dim))."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input)
    return minidynamo.log_softmax(input, dim, dtype)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """input clamped to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("hardtanh(): min_val cannot be greater than max_val")
    if not input.is_floating_point():
        if input.dtype is minidynamo.bool:
            raise RuntimeError("[hardtanh] Bool inputs not supported for hardtanh")
        if not (-(2**63) <= min_val and max_val < 2**63):
            raise RuntimeError("[hardtanh] value cannot be converted to type int64_t without overflow")
        # Bounds in the integer dtype.
        min_val, max_val = int(min_val), int(max_val)
        if input.dtype is minidynamo.uint8 and (min_val < 0 or max_val < 0):
            raise RuntimeError("[hardtanh] cannot do hardtanh on an unsigned type with negative limits")
    result = input.clamp(min_val, max_val)
    if input.requires_grad:
        # On a bound the slope is 0, that of clamp 1.
        result = minidynamo.where((input <= min_val) | (input >= max_val), result.detach(), input)
    return _into(input, result, inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """input clamped to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """relu6(input + 3) / 6."""
    read = _read(input, inplace)
    result = prims.hardsigmoid(read) if input.is_floating_point() else (input + 3).clamp(0, 6) / 6
    return _into(input, result, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * relu6(input + 3) / 6."""
    read = _read(input, inplace)
    result = prims.hardswish(read) if input.is_floating_point() else input * (input + 3).clamp(0, 6) / 6
    return _into(input, result, inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta; input itself where beta * input is above the threshold."""
    _require_floats("softplus", input)
    wide = _widened(input)
    require_held(wide.dtype, beta, threshold)
    scaled = wide * beta
    # Limited so that what is not taken has a finite slope.
    near = scaled.clamp(max=threshold).exp().log1p() / beta
    return minidynamo.where(scaled > threshold, wide, near).to(input.dtype)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input))."""
    wide = _widened(_read(input, inplace))
    return _into(input, (wide * softplus(wide).tanh()).to(input.dtype), inplace)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), without intermediate overflow."""
    wide = _widened(input)
    return (minidynamo.minimum(wide, wide.new_zeros(())) - (-wide.abs()).exp().log1p()).to(input.dtype)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with the scale and alpha that keep mean and variance."""
    return _into(input, prims.selu(_read(input, inplace)), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    _require_floats("celu", input)
    return _into(input, prims.celu(_read(input, inplace), alpha), inplace)


def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""
    return input / (1 + input.abs())


def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)."""
    return input - input.tanh()


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input moved by lambd towards 0, not beyond it."""
    _require_floats("softshrink", input)
    largest = minidynamo.finfo(input.dtype).max
    if not 0 <= lambd <= largest:
        raise RuntimeError(f"[softshrink] lambda must be in range [0, {largest}], but found to be {lambd}")
    return prims.softshrink(input, fitted(lambd, input.dtype))


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """input, and 0 between -lambd and lambd."""
    _require_floats("hardshrink", input)
    return prims.hardshrink(input, fitted(lambd, input.dtype))


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """input where it is above the threshold, else value, which the dtype of input holds."""
    if input.dtype is minidynamo.bool:
        raise NotImplementedError("[threshold] not implemented for 'bool'")
    if is_narrow(input):
        fitted(threshold, minidynamo.float32)  # the comparison's dtype, which must hold it
    return _into(input, prims.threshold(_read(input, inplace), threshold, value), inplace)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input where positive, else weight * input; weight has one element, or one for each channel (dim 1)."""
    if is_autocasting():
        return low_precision(prelu, input, weight)
    if weight.dim() > 1:
        raise RuntimeError(f"[prelu] Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.numel() != 1:
        channels = input.shape[1] if input.dim() > 1 else 1
        if weight.numel() != channels:
            raise RuntimeError(
                "[prelu] Mismatch of parameter numbers and input channel size. Found parameter numbers ="
                f" {weight.numel()}"
                f" and channel size = {channels}; shapes {tuple(input.shape)} and {tuple(weight.shape)}"
            )
        weight = weight.reshape(-1, *([1] * (input.dim() - 2)))
    else:
        weight = weight.reshape(())
    return minidynamo.where(input > 0, input, weight * input)


def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """input where positive, else input times a slope: random in [lower, upper) in training, else their mean."""
    if lower > upper:
        raise RuntimeError(f"[rrelu] Lower bound should be less than or equal to the upper bound, got {lower}, {upper}")
    if not training:
        return _into(input, prims.leaky_relu(_read(input, inplace), (lower + upper) / 2), inplace)
    return _into(input, input * prims.rrelu_slopes(input, lower, upper), inplace)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along dim times the sigmoid of the second."""
    extent = input.shape[dim]
    if extent % 2 != 0:
        raise RuntimeError(f"[glu] Halving dimension must be even, but dimension {dim} is size {extent}")
    first, second = input.chunk(2, dim)
    return first * second.sigmoid()


def softmin(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """softmax of -input."""
    return softmax(-input, dim, dtype=dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; hard: one-hot."""
    noise = -minidynamo.empty(logits.shape, dtype=logits.dtype).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    return minidynamo.zeros_like(soft).scatter(dim, soft.argmax(dim, True), 1.0)


def _check_probability(op: str, p: float) -> None:
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{op}(): dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Elements set to 0 with probability p and the others divided by 1 - p; input itself when not in training."""
    _check_probability("dropout", p)
    if not training or p == 0:
        return input
    if p == 1:
        return _into(input, input * 0, inplace)
    noise = prims.bernoulli_numbers(input, 1 - p) / (1 - p)
    return _into(input, input * noise, inplace)


def _channel_dropout(op: str, input: Tensor, p: float, training: bool, inplace: bool, dims: int) -> Tensor:
    _check_probability(op, p)
    if not training or p == 0:
        return input
    shape = (*input.shape[: input.dim() - dims], *([1] * dims))
    if p == 1:
        return _into(input, input * 0, inplace)
    noise = prims.bernoulli_numbers(minidynamo.empty(shape, dtype=input.dtype), 1 - p) / (1 - p)
    return _into(input, input * noise, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels: (C, L) or (N, C, L)."""
    if input.dim() not in (2, 3):
        raise RuntimeError(f"[dropout1d] Expected 2D or 3D input, but received a {input.dim()}D input")
    return _channel_dropout("dropout1d", input, p, training, inplace, 1)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels: (N, C, H, W)."""
    return _channel_dropout("dropout2d", input, p, training, inplace, input.dim() - 2)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """dropout of whole channels: (N, C, D, H, W) or (C, D, H, W)."""
    if input.dim() == 4:
        return _channel_dropout("dropout3d", input.unsqueeze(0), p, training, inplace, 3).squeeze(0)
    return _channel_dropout("dropout3d", input, p, training, inplace, input.dim() - 2)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """dropout to the saturation value of selu, keeping mean and variance."""
    _check_probability("alpha_dropout", p)
    if not training or p == 0:
        return input
    saturation = -1.7580993408473766
    scale = ((1 - p) * (1 + p * saturation**2)) ** -0.5 if p < 1 else 0.0
    kept = prims.bernoulli_numbers(input, 1 - p, dtype=minidynamo.bool)
    dropped = minidynamo.where(kept, input, saturation)
    return _into(input, dropped * scale - scale * p * saturation, inplace)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels: of dim 1, for each example of dim 0."""
    _check_probability("feature_alpha_dropout", p)
    if not training or p == 0:
        return input
    return _into(input, minidynamo.feature_alpha_dropout(input, p, True), inplace)
