"""Batch norm over the processes of a group: of one process, which is all there is here."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .module import Module
from .normalization import _BatchNorm


class SyncBatchNorm(_BatchNorm):
    """Batch norm of (N, C, ...) for any number of dims: one process computes what BatchNorm1d, 2d and 3d compute.

    process_group must be None: there are no processes to synchronize with. ValueError for fewer than two dims or no
    channels.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: object = None,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: object = None) -> Module:
        """The module with a SyncBatchNorm in the place of each BatchNorm*d in it, with the same parameters and buffers.

        Children are replaced in place; a BatchNorm*d itself is not changed: the new one is returned.
        """
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls._converted(module, process_group)
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted

    @classmethod
    def _converted(cls, norm: _BatchNorm, process_group: object) -> SyncBatchNorm:
        settings = (norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats, process_group)
        made = SyncBatchNorm(*settings)
        made.weight, made.bias = norm.weight, norm.bias
        made.running_mean, made.running_var = norm.running_mean, norm.running_var
        made.num_batches_tracked = norm.num_batches_tracked
        made.training = norm.training
        return made
