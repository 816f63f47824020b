"""Captures ordinary Python functions over tensors into graphs and runs the graphs on oneDNN kernels.

The names follow torch, at the same places: `import minidynamo as torch`.
"""

import os
import sys

from . import _C, _dynamo, _log_records, _numpy_routines, _subclasses, _torch_c_names, linalg  # noqa: F401
from ._C import _rebuild_tensor  # noqa: F401  pickles of tensors name it here
from ._dynamo import explain
from ._dynamo._compile import compile
from ._missing_names import missing as _missing
from ._serialization.saving import load, save
from ._tensor import printing as _printing
from ._tensor.names import TENSOR_NAMES
from ._tensor.size_checks import (  # noqa: F401  where torch has them
    _check,
    _check_index,
    _check_is_size,
    _check_not_implemented,
    _check_tensor_all,
    _check_tensor_all_with,
    _check_type,
    _check_value,
    _check_with,
)
from ._tensor.symbolic_numbers import (
    SymBool,
    SymFloat,
    SymInt,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_sum,
)

# Submodules that are imported when they are first used, because few programs need what they import.
_LAZY_MODULES = (
    "__config__",
    "_custom_ops",
    "_jit_internal",
    "_ops",
    "_logging",
    "accelerator",
    "amp",
    "ao",
    "autograd",
    "backends",
    "compat",
    "compiler",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "export",
    "fft",
    "func",
    "functional",
    "futures",
    "fx",
    "hub",
    "jit",
    "library",
    "mps",
    "mtia",
    "multiprocessing",
    "nested",
    "nn",
    "onnx",
    "optim",
    "overrides",
    "profiler",
    "quantization",
    "random",
    "return_types",
    "safetensors",
    "serialization",
    "signal",
    "sparse",
    "special",
    "storage",
    "testing",
    "torch_version",
    "torchdynamo",
    "types",
    "utils",
    "version",
    "xpu",
)

# Of nn.functional, whose arguments torch's functions of these names have in the same order; there with its first use.
_FUNCTIONAL_NAMES = (
    "adaptive_avg_pool1d",
    "avg_pool1d",
    "bilinear",
    "celu",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_similarity",
    "dropout",
    "group_norm",
    "hardshrink",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "relu_",
    "rms_norm",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "threshold",
    "threshold_",
)

# Of other modules, which are imported when one of these is first used.
_NAMES_OF_MODULES = {
    "accelerator": ("AcceleratorError", "Event", "Stream"),
    "amp.autocast_mode": (
        "autocast",
        "clear_autocast_cache",
        "get_autocast_cpu_dtype",
        "get_autocast_dtype",
        "get_autocast_gpu_dtype",
        "is_autocast_cache_enabled",
        "is_autocast_cpu_enabled",
        "is_autocast_enabled",
        "set_autocast_cache_enabled",
        "set_autocast_cpu_dtype",
        "set_autocast_cpu_enabled",
        "set_autocast_dtype",
        "set_autocast_enabled",
        "set_autocast_gpu_dtype",
    ),
    "amp.grad_scaler": ("GradScaler",),
    "cuda": ("OutOfMemoryError",),
    "func.batching": ("vmap",),
    "func.conditions": ("cond",),
    "futures": ("Future",),
    "jit.type_names": (
        "AnyType",
        "BoolType",
        "ClassType",
        "ComplexType",
        "DeviceObjType",
        "DictType",
        "EnumType",
        "FloatType",
        "FutureType",
        "IntType",
        "InterfaceType",
        "ListType",
        "NoneType",
        "NumberType",
        "OptionalType",
        "PyObjectType",
        "RRefType",
        "StreamObjType",
        "StringType",
        "SymBoolType",
        "SymIntType",
        "TensorType",
        "TupleType",
        "Type",
        "UnionType",
    ),
    "fft.short_time": ("istft", "stft"),
    "jit": ("fork", "wait"),
    "nn.functional.native_forms": (
        "adaptive_max_pool1d",
        "affine_grid_generator",
        "alpha_dropout",
        "alpha_dropout_",
        "batch_norm",
        "binary_cross_entropy_with_logits",
        "cosine_embedding_loss",
        "ctc_loss",
        "embedding",
        "embedding_bag",
        "feature_alpha_dropout",
        "feature_alpha_dropout_",
        "feature_dropout",
        "feature_dropout_",
        "grid_sampler",
        "grid_sampler_2d",
        "grid_sampler_3d",
        "hinge_embedding_loss",
        "instance_norm",
        "kl_div",
        "margin_ranking_loss",
        "poisson_nll_loss",
        "triplet_margin_loss",
    ),
    "sparse": ("spmm",),
    "storage": (
        "BFloat16Storage",
        "BoolStorage",
        "ByteStorage",
        "CharStorage",
        "ComplexDoubleStorage",
        "ComplexFloatStorage",
        "DoubleStorage",
        "FloatStorage",
        "HalfStorage",
        "IntStorage",
        "LongStorage",
        "ShortStorage",
        "TypedStorage",
        "UntypedStorage",
    ),
    "sparse.coo": ("sparse_coo_tensor",),
    "signal.periodic_windows": (
        "bartlett_window",
        "blackman_window",
        "hamming_window",
        "hann_window",
        "kaiser_window",
    ),
}
_LAZY_NAMES = {name: module for module, names in _NAMES_OF_MODULES.items() for name in names}

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "__version__",
    "_dynamo",
    "amp",
    "autograd",
    "compile",
    "compiler",
    "explain",
    "distributions",
    "fft",
    "func",
    "fx",
    "library",
    "linalg",
    "load",
    "nn",
    "optim",
    "safetensors",
    "save",
    "serialization",
    "show_config",
    "special",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sum",
    "utils",
    *TENSOR_NAMES,
]


def show_config():
    """Returns the versions, the processor's instruction set, the threads and the flags as text."""
    from ._show_config import show_config

    return show_config()


def __getattr__(name):
    if name in _LAZY_MODULES:
        __import__(f"{__name__}.{name}")
        return sys.modules[f"{__name__}.{name}"]
    if name in _FUNCTIONAL_NAMES:
        __import__(f"{__name__}.nn")
        return globals()[name]
    if name in _LAZY_NAMES:
        module = f"{__name__}.{_LAZY_NAMES[name]}"
        __import__(module)
        globals()[name] = value = getattr(sys.modules[module], name)
        return value
    if name == "ops":
        from .library.custom_op import ops

        return ops
    if name == "torch" and sys.modules.get("torch") is sys.modules[__name__]:  # torch imports itself
        return sys.modules[__name__]
    if name == "__version__":  # another one where this module is torch's
        from .torch_version import _version

        return _version()
    raise _missing(__name__, name)


def __dir__():
    return sorted({*globals(), *_LAZY_MODULES, *_FUNCTIONAL_NAMES, *_LAZY_NAMES, "ops", "__version__"})


from . import _families  # noqa: E402, F401  their functions stand on all of the above

# Modules that the extension reads while a frame runs; minidynamo.fx and the guard filters register themselves.
for _each in (_C, _dynamo.exc, _dynamo.traced_calls, _log_records, _numpy_routines, _printing):
    _C._hold_module(_each)
del _each

# Last: names such as `sum` and `float` shadow the builtins in this module from here on.
globals().update(TENSOR_NAMES)
del TENSOR_NAMES

from . import _foreach  # noqa: E402  of the names above

globals().update(_foreach.FUNCTIONS)

if "MINIDYNAMO_LOGS_OUT" in os.environ or "MINIDYNAMO_LOGS_FORMAT" in os.environ:
    _log_records.use_logging()  # for a user-defined file or format

if "MINIDYNAMO_LOGS" in os.environ:
    from ._logging import load_environment

    load_environment()
    del load_environment
