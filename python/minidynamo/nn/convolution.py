"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import minidynamo

from .._C import Tensor
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


def _tuple(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


class _ConvNd(Module):
    """Any convolution: what its dims are, weight and bias."""

    rank = 0
    convolve: Callable[..., Tensor]
    bias: Parameter | None
    padding: tuple[int, ...] | str

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int] | str,
        dilation: int | Sequence[int],
        transposed: bool,
        output_padding: int | Sequence[int],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(
                "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got"
                f" padding_mode='{padding_mode}'"
            )
        if not self.rank:
            self.rank = len(kernel_size)  # type: ignore[arg-type]  # a tuple, where the class has no rank
        rank = self.rank
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _tuple(kernel_size, rank)
        self.stride = _tuple(stride, rank)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        self.padding = padding if isinstance(padding, str) else _tuple(padding, rank)
        self.dilation = _tuple(dilation, rank)
        self.transposed = transposed
        self.output_padding = _tuple(output_padding, rank)
        self.groups = groups
        self.padding_mode = padding_mode
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(minidynamo.empty(first, second // groups, *self.kernel_size, dtype=dtype))
        if bias:
            self.bias = Parameter(minidynamo.empty(out_channels, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        # (before, after) of each dim, the last one first: the argument of F.pad.
        around: list[int] = []
        for dim in reversed(range(rank)):
            around.extend(self._around(dim))
        self._reversed_padding_repeated_twice = tuple(around)
        self.reset_parameters()

    def _around(self, dim: int) -> list[int]:
        if self.padding == "same":
            total = self.dilation[dim] * (self.kernel_size[dim] - 1)
            return [total // 2, total - total // 2]
        return [0, 0] if self.padding == "valid" else [self.padding[dim]] * 2  # type: ignore[list-item]  # no text

    def reset_parameters(self) -> None:
        """Redraws weight and bias, uniform in +-1/sqrt(fan in), the distribution that torch documents."""
        init.kaiming_uniform_(self.weight, math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.shape[1] * math.prod(self.kernel_size)
            if fan_in != 0:
                init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        none = (0,) * self.rank
        if self.padding != none:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.rank:
            text += f", dilation={self.dilation}"
        if self.output_padding != none:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] | str = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            False,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _padded(self, input: Tensor) -> tuple[Tensor, tuple[int, ...] | str | int]:
        """The padded input and the padding left to the convolution."""
        if self.padding_mode == "zeros":
            return input, self.padding
        return F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode), 0

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        input, padding = self._padded(input)
        return self.convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeNd(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            True,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _sizes_for(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """The output padding that makes the wanted size."""
        if output_size is None:
            return self.output_padding
        wanted = list(output_size)[-self.rank :]
        extra = []
        for dim in range(self.rank):
            span = self.dilation[dim] * (self.kernel_size[dim] - 1) + 1
            least = (input.shape[dim - self.rank] - 1) * self.stride[dim] - 2 * self.padding[dim] + span
            if not least <= wanted[dim] <= least + self.stride[dim] - 1:
                raise ValueError(
                    f"requested an output size of {wanted}, but valid sizes of dim {dim} range from {least} to"
                    f" {least + self.stride[dim] - 1} (for an input of {tuple(input.shape)})"
                )
            extra.append(wanted[dim] - least)
        return tuple(extra)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        output_padding = self._sizes_for(input, output_size)
        return self.convolve(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )


class Conv1d(_Conv):
    """The cross-correlation of (N, C, L) with weight (out_channels, in_channels / groups, *kernel_size), plus bias."""

    rank = 1
    convolve = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """The cross-correlation of (N, C, H, W) with weight (out_channels, in_channels / groups, *kernel_size), plus
    bias."""

    rank = 2
    convolve = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """The cross-correlation of (N, C, D, H, W) with weight (out_channels, in_channels / groups, *kernel_size), plus
    bias."""

    rank = 3
    convolve = staticmethod(F.conv3d)


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of Conv1d: weight is (in_channels, out_channels / groups, *kernel_size)."""

    rank = 1
    convolve = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of Conv2d: weight is (in_channels, out_channels / groups, *kernel_size)."""

    rank = 2
    convolve = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of Conv3d: weight is (in_channels, out_channels / groups, *kernel_size)."""

    rank = 3
    convolve = staticmethod(F.conv_transpose3d)
