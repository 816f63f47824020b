"""A normalization in eval mode folded into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing
from ..parameter import Parameter


def _factor(rm: Tensor, rv: Tensor, eps: float, bn_w: Tensor | None) -> Tensor:
    scale = (rv + eps).rsqrt()
    return scale if bn_w is None else bn_w * scale


def _shift(bias: Tensor | None, rm: Tensor, scale: Tensor, bn_b: Tensor | None) -> Tensor:
    shifted = ((minidynamo.zeros_like(rm) if bias is None else bias) - rm) * scale
    return shifted if bn_b is None else shifted + bn_b


def _parameters(weight: Tensor, given: Tensor, bias: Tensor, given_bias: Tensor | None) -> tuple[Parameter, Parameter]:
    return (
        Parameter(weight.to(given.dtype), given.requires_grad),
        Parameter(
            bias.to((given if given_bias is None else given_bias).dtype),
            True if given_bias is None else given_bias.requires_grad,
        ),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the convolution that also normalizes; transpose: channels of results are dim 1 of weight."""
    scale = _factor(bn_rm, bn_rv, bn_eps, bn_w)
    sizes = [1] * conv_w.dim()
    sizes[1 if transpose else 0] = -1
    return _parameters(conv_w * scale.reshape(sizes), conv_w, _shift(conv_b, bn_rm, scale, bn_b), conv_b)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the linear layer that also normalizes."""
    scale = _factor(bn_rm, bn_rv, bn_eps, bn_w)
    return _parameters(linear_w * scale.unsqueeze(-1), linear_w, _shift(linear_b, bn_rm, scale, bn_b), linear_b)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of the convolution that returns what conv and then bn return, both in eval mode."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of the linear layer that returns what linear and then bn return, both in eval mode."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(linear)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


_explain_missing(__name__)
