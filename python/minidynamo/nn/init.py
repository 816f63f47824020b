"""The functions of torch.nn.init: each fills a tensor in place and returns it."""

from __future__ import annotations

import math
from typing import Any

import minidynamo

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain of the standard deviation of weights for a nonlinearity."""
    plain = (
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
    )
    if nonlinearity in plain:
        return 1.0
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"calculate_gain(): Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode.lower() == "fan_out"]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform in [a, b)."""
    with minidynamo.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normal."""
    with minidynamo.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Normal, redrawn until it is in [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        import warnings

        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )

    def below(x: float) -> float:
        return (1 + math.erf(x / math.sqrt(2))) / 2

    with minidynamo.no_grad():
        if below((b - mean) / std) - below((a - mean) / std) > 0.3:
            return tensor.copy_(_redrawn_normal(tensor, mean, std, a, b, generator))
        return tensor.copy_(_accepted_uniform(tensor, mean, std, a, b, generator))


def _redrawn_normal(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Normal numbers, those outside of [a, b] replaced by others."""
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    result = tensor.normal_(mean, std, generator=generator)
    while (outside := (result < low) | (result > high)).any():
        others = minidynamo.empty_like(result).normal_(mean, std, generator=generator)
        result = minidynamo.where(outside, others, result)
    return result


def _accepted_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Uniform numbers, each replaced until it is accepted, with a probability in proportion to its normal density."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    result, pending = tensor, minidynamo.ones_like(tensor, dtype=minidynamo.bool)
    while pending.any():
        candidates = minidynamo.empty_like(tensor).uniform_(a, b, generator=generator)
        result = minidynamo.where(pending, candidates, result)
        density = (((candidates - mean) / std) ** 2) * -0.5 - peak
        refused = minidynamo.empty_like(tensor).uniform_(generator=generator).log() > density
        pending = pending & refused
    return result


def constant_(tensor: Tensor, val: float) -> Tensor:
    """val everywhere."""
    with minidynamo.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with minidynamo.no_grad():
        return tensor.copy_(minidynamo.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Weights of a convolution that keeps its input."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    rows = tensor.shape[0] // groups
    centre = [size // 2 for size in tensor.shape[2:]]
    with minidynamo.no_grad():
        tensor.zero_()
        for group in range(groups):
            for at in range(min(rows, tensor.shape[1])):
                tensor[(group * rows + at, at, *centre)] = 1
        return tensor


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform with variance gain**2 * 2 / (fan_in + fan_out)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = gain * math.sqrt(6.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with variance gain**2 * 2 / (fan_in + fan_out)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Uniform with variance gain**2 / fan."""
    if 0 in tensor.shape:
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Normal with variance gain**2 / fan."""
    if 0 in tensor.shape:
        return tensor
    return normal_(
        tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode)), generator
    )


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Orthogonal rows, or columns if there are more rows, of length gain: Gram-Schmidt, twice, of normal
    numbers."""
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    with minidynamo.no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(generator=generator).double()
        vectors = (drawn if rows < columns else drawn.t()).contiguous()
        for at in range(min(rows, columns)):
            vector = vectors[at]
            for _ in range(2):
                vector = vector - (vectors[:at] @ vector) @ vectors[:at]
            vectors[at] = vector / vector.norm()
        made = vectors if rows < columns else vectors.t()
        return tensor.copy_((made * gain).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal, with a share of zeros in each column."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    normal_(tensor, 0, std, generator)
    with minidynamo.no_grad():
        for column in range(columns):
            tensor[minidynamo.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(name: str) -> Any:
    function = globals()[name + "_"]

    def renamed(*args: Any, **kwargs: Any) -> Tensor:
        import warnings

        warnings.warn(f"nn.init.{name} is now deprecated in favor of nn.init.{name}_.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return renamed


xavier_uniform, xavier_normal = _deprecated("xavier_uniform"), _deprecated("xavier_normal")
kaiming_uniform, kaiming_normal = _deprecated("kaiming_uniform"), _deprecated("kaiming_normal")
uniform, normal, constant = _deprecated("uniform"), _deprecated("normal"), _deprecated("constant")
eye, dirac = _deprecated("eye"), _deprecated("dirac")
orthogonal, sparse = _deprecated("orthogonal"), _deprecated("sparse")


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    """uniform_(a, b) without history."""
    with minidynamo.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    """normal_(mean, std) without history."""
    with minidynamo.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    """fill_(val) without history."""
    with minidynamo.no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    """zero_() without history."""
    with minidynamo.no_grad():
        return tensor.zero_()


_explain_missing(__name__)
