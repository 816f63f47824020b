"""Tables of torch's functions: which of our functions stand in for them, and what they answer."""

from __future__ import annotations

import types

import minidynamo

from .. import _C
from .._composites import registry
from ..nn.functional import native_forms
from . import torch_stand_ins
from .torch_stand_ins.table import StandIn, decline, decline_gradient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# Functions of ours whose namesakes in torch mean something else, or whose capture depends on more than a family knows.
OTHER_MEANINGS = {
    "manual_seed",
    "detach_",
    "requires_grad_",
    "dropout",
    "alpha_dropout",
    "bernoulli",
    "normal",
    # In Python, with a parameter of its own.
    "softmin",
    # In Python, over functions that draw.
    "gumbel_softmax",
    # In Python, over functions that are captured, its dropout too.
    "multi_head_attention_forward",
    # Their results share memory, but no history and no count of writes.
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    # Decompositions that are not unique: torch's library chooses.
    "eig",
    "eigh",
    "eigvals",
    "lstsq",
    "qr",
    "svd",
    # And those that are a call of LAPACK there, a step for each column here.
    "geqrf",
    "householder_product",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "lu_unpack",
    "orgqr",
    "ormqr",
}


# Functions that draw torch's numbers: calls in the region.
DRAWN = "bernoulli multinomial normal poisson rand randint randn randperm".split()

# Other names that torch has for the functions and methods of an op.
ALIASES = {
    **{"abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh"},
    **{"atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "cat": "concat concatenate", "clamp": "clip"},
    **{"div": "divide", "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lt": "less"},
    **{"mul": "multiply", "ne": "not_equal", "neg": "negative", "sub": "subtract", "transpose": "swapaxes swapdims"},
    **{"trunc": "fix", "sigmoid": "special_expit", "round": "special_round"},
    **{"erf": "special_erf", "erfc": "special_erfc", "exp2": "special_exp2", "expm1": "special_expm1"},
    **{"log1p": "special_log1p", "logsumexp": "special_logsumexp", "log_softmax": "special_log_softmax"},
    **{"softmax": "special_softmax"},
}


# How results lie in memory where not as our op makes them: csrc/frontends/result_layouts.def.
_BY_LAYOUT = {
    "First": "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d avg_pool2d avg_pool3d"
    " batch_norm channel_shuffle constant_pad_nd group_norm interpolate lp_pool2d lp_pool3d max_pool2d max_pool3d"
    " max_pool2d_with_indices max_pool3d_with_indices max_unpool2d native_channel_shuffle pad pixel_unshuffle rms_norm"
    " roll upsample upsample_bilinear upsample_nearest",
    "Any": "conv2d conv3d convolution conv_transpose2d conv_transpose3d",
    "All": "cat concat concatenate",
    "Contiguous": "addbmm baddbmm index_add index_copy index_reduce instance_norm log_sigmoid logcumsumexp logsigmoid"
    " masked_fill multigammaln mvlgamma scatter scatter_add scatter_reduce",
    "Preserved": "argsort flip fliplr flipud msort sort",
}
LAYOUTS = {name: layout for layout, names in _BY_LAYOUT.items() for name in names.split()}


def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Any:
    return minidynamo.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Any,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Any:
    return minidynamo.nn.functional.group_norm(input, num_groups, weight, bias, eps)


def dropout(input: Any, p: float, train: bool) -> Any:
    if not train or p == 0:
        return input
    decline("dropout, whose random numbers are torch's")


def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    decline_gradient(weight, sparse, "embedding with a sparse gradient")
    return native_forms.embedding(weight, indices, padding_idx, scale_grad_by_freq)


def max_pool1d(
    input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    return minidynamo.nn.functional.max_pool1d(input, kernel_size, stride or None, padding, dilation, ceil_mode)


def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    return minidynamo.nn.functional.max_pool2d(input, kernel_size, stride or None, padding, dilation, ceil_mode)


def max_pool3d(
    input: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Any:
    return minidynamo.nn.functional.max_pool3d(input, kernel_size, stride or None, padding, dilation, ceil_mode)


TABLE = (
    StandIn("layer_norm", layer_norm),
    StandIn("batch_norm", native_forms.batch_norm, counts_writes=False),
    StandIn("instance_norm", native_forms.instance_norm),
    StandIn("group_norm", group_norm),
    StandIn("embedding", embedding),
    StandIn("feature_dropout alpha_dropout feature_alpha_dropout", dropout),
    StandIn("max_pool1d", max_pool1d),
    StandIn("max_pool2d", max_pool2d),
    StandIn("max_pool3d", max_pool3d),
    *torch_stand_ins.TABLE,
)


def answers() -> Iterator[tuple[tuple[str, ...], tuple[str, ...], tuple[Any, ...]]]:
    """Questions of torch's own code: (places, names, (kind, operand))."""
    yield (
        ("", "_C", "overrides"),
        (
            "_has_torch_function",
            "_has_torch_function_unary",
            "_has_torch_function_variadic",
            "has_torch_function",
            "has_torch_function_unary",
            "has_torch_function_variadic",
        ),
        ("Overrides", "__torch_function__"),
    )
    yield ("_C",), ("_get_tracing_state",), ("Constant", None)
    yield (
        ("_C",),
        ("_is_tracing", "_is_torch_function_mode_enabled", "_are_functorch_transforms_active"),
        ("Constant", False),
    )
    yield ("_C",), ("_log_api_usage_once",), ("Constant", None)
    # Builds for other devices have these. Optimizers ask.
    yield ("_C",), ("_cuda_getDeviceCount", "_xpu_getDeviceCount"), ("Asked",)
    yield (
        ("_C",),
        (
            "_get_cudnn_enabled",
            "_get_mkldnn_enabled",
            "_get_deterministic_algorithms",
            "_len_torch_dispatch_stack",
            "_len_torch_function_stack",
            "_get_autograd_fallback_mode",
        ),
        ("Asked",),
    )
    yield (
        ("",),
        (
            "is_autocast_enabled",
            "is_autocast_cpu_enabled",
            "get_default_dtype",
            "is_inference_mode_enabled",
            "are_deterministic_algorithms_enabled",
            "promote_types",
            "can_cast",
            "finfo",
            "iinfo",
        ),
        ("Asked",),
    )
    # Devices that are none of ours.
    yield ("_C",), ("_accelerator_getAccelerator", "_get_privateuse1_backend_name"), ("Asked",)
    yield ("", "_C"), ("is_grad_enabled",), ("GradMode",)
    yield ("_C", ""), ("_set_grad_enabled",), ("SetGradMode",)


def fact_methods() -> Iterator[tuple[str, str]]:
    """Methods whose result follows from dtype, sizes and strides: (our fact, torch's name)."""
    for name in _C._torch.fact_methods:
        yield name, name


def composites() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Functions of ours with torch's names and parameters: (place in torch, name, function)."""
    for name, function in registry.functions.items():
        yield "", name, function
    for name, function in registry.methods.items():
        yield "Tensor", name, function
        if name.endswith("_") and name.removesuffix("_") in registry.functions:
            yield "", name, function
    special = minidynamo.special
    for name in special.__all__:
        for place in ("special", "_C._special", ""):
            own = name if place == "special" else f"special_{name}"
            if isinstance(getattr(special, name), types.FunctionType):
                yield place, own, getattr(special, name)
    for place, module in (("nn.functional", minidynamo.nn.functional), ("linalg", minidynamo.linalg)):
        for name, value in vars(module).items():
            if isinstance(value, types.FunctionType) and not name.startswith("_"):
                yield place, name, value
    for name, value in vars(_C.Tensor).items():
        if isinstance(value, types.FunctionType) and not name.startswith("_"):
            yield "Tensor", name, value
    for name, value in vars(minidynamo).items():
        is_tensor_function = isinstance(value, types.FunctionType) and value.__module__.startswith(
            "minidynamo._composites"
        )
        if is_tensor_function and not name.startswith("_"):
            yield "", name, value
