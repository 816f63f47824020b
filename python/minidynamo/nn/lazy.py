"""Layers whose sizes follow from the first input that they see."""

from __future__ import annotations

from typing import Any

import minidynamo

from .._C import Tensor
from .convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from .linear import Linear
from .module import Module
from .normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from .parameter import Parameter, UninitializedBuffer, UninitializedParameter, UninitializedTensor, is_lazy


class LazyModuleMixin:
    """Makes parameters known at the first call: a subclass defines initialize_parameters(*args), which materializes
    its UninitializedParameters, and may name the class that it becomes then, cls_to_become."""

    cls_to_become: type[Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._initialize_hook: Any = module.register_forward_pre_hook(_initialize, with_kwargs=True)
        self._note_places()

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        # A tensor in the place of a buffer is stored without register_buffer().
        if isinstance(value, UninitializedTensor):
            self._note_place(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """As Module's; notes where an uninitialized one is."""
        super().register_parameter(name, param)  # type: ignore[misc]  # of the module beside
        self._note_place(name)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """As Module's; notes where an uninitialized one is."""
        super().register_buffer(name, tensor, persistent)  # type: ignore[misc]  # of the module beside
        self._note_place(name)

    def _note_places(self) -> None:
        for name in (*self.__dict__["_parameters"], *self.__dict__["_buffers"]):
            self._note_place(name)

    def _note_place(self, name: str) -> None:
        for table in (self.__dict__["_parameters"], self.__dict__["_buffers"]):
            tensor = table.get(name)
            if isinstance(tensor, UninitializedTensor):
                tensor.note_place(table, name)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materializes the parameters for the inputs of a call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no sizes yet."""
        tables = (self.__dict__["_parameters"], self.__dict__["_buffers"])
        return any(is_lazy(tensor) for table in tables for tensor in table.values())


def _initialize(module: Any, args: Any, kwargs: Any) -> None:
    # A copy of a module has tensors of its own, whose places have not been noted.
    module._note_places()
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    del module.__dict__["_initialize_hook"]
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, Linear):
    """Linear whose in_features is the last size of the first input."""

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.out_features = out_features
        self.weight = UninitializedParameter(dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(dtype=dtype)

    def initialize_parameters(self, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            self.in_features = self.weight.shape[-1]
            return
        made = Linear(input.shape[-1], self.out_features, self.bias is not None, dtype=self.weight.dtype)
        _take(self, made)
        self.in_features = made.in_features


def _take(module: Any, made: Module) -> None:
    """Takes the parameters and buffers of a module that was made with the sizes."""
    for table, new in ((module._parameters, made._parameters), (module._buffers, made._buffers)):
        for name, tensor in new.items():
            if is_lazy(table.get(name)):
                table[name] = tensor


class _LazyConvolution(LazyModuleMixin):
    """Convolutions whose in_channels is the size of the first input's channel dim."""

    def __init__(self, out_channels: int, *args: Any, bias: bool = True, **kwargs: Any) -> None:
        # The arguments that build the layer once the channels are known.
        self_fields = {"_given": (out_channels, args, bias, kwargs)}
        super().__init__(kwargs.get("groups", 1), kwargs.get("groups", 1), *args, bias=False, **kwargs)
        self.__dict__.update(self_fields)
        module: Any = self
        module.in_channels, module.out_channels = 0, out_channels
        module.weight = UninitializedParameter(dtype=kwargs.get("dtype"))
        if bias:
            module.bias = UninitializedParameter(dtype=kwargs.get("dtype"))

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        module: Any = self
        if input.dim() not in (module.rank + 1, module.rank + 2):
            raise RuntimeError(
                f"Expected {module.rank + 1}D (unbatched) or {module.rank + 2}D (batched) input to"
                f" {type(self).__name__}, but got input of size: {list(input.shape)}"
            )
        channels = input.shape[-1 - module.rank]
        out_channels, others, bias, keywords = self.__dict__.pop("_given")
        if channels % module.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        made = module.cls_to_become(channels, out_channels, *others, bias=bias, **keywords)
        _take(module, made)
        module.in_channels = channels


class LazyConv1d(_LazyConvolution, Conv1d):
    """Conv1d whose in_channels is that of the first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """Conv2d whose in_channels is that of the first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """Conv3d whose in_channels is that of the first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvolution, ConvTranspose1d):
    """ConvTranspose1d whose in_channels is that of the first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvolution, ConvTranspose2d):
    """ConvTranspose2d whose in_channels is that of the first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvolution, ConvTranspose3d):
    """ConvTranspose3d whose in_channels is that of the first input."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    """Norms whose num_features is the size of dim 1 of the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        module: Any = self
        module.affine, module.track_running_stats = affine, track_running_stats
        self.__dict__["_given"] = (affine, track_running_stats, dtype, bias)
        if affine:
            module.weight = UninitializedParameter(dtype=dtype)
            if bias:
                module.bias = UninitializedParameter(dtype=dtype)
        if track_running_stats:
            module.running_mean = UninitializedBuffer(dtype=dtype)
            module.running_var = UninitializedBuffer(dtype=dtype)
            module.num_batches_tracked = minidynamo.tensor(0, dtype=minidynamo.int64)

    def initialize_parameters(self, input: Tensor) -> None:
        if not self.has_uninitialized_params():
            return
        module: Any = self
        affine, tracks, dtype, bias = self.__dict__.pop("_given")
        features = input.shape[self._channel_dim(input)]
        made = module.cls_to_become(features, module.eps, module.momentum, affine, tracks, dtype=dtype, bias=bias)
        _take(module, made)
        module.num_features = features

    def _channel_dim(self, input: Tensor) -> int:
        return 1


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """BatchNorm1d whose num_features is that of the first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """BatchNorm2d whose num_features is that of the first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """BatchNorm3d whose num_features is that of the first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """InstanceNorm1d whose num_features is that of the first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """InstanceNorm2d whose num_features is that of the first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """InstanceNorm3d whose num_features is that of the first input."""

    cls_to_become = InstanceNorm3d
