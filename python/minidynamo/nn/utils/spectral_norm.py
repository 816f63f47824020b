"""Weights divided by their largest singular value, by a hook before each call."""

from __future__ import annotations

from typing import Any

import minidynamo

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing
from .. import functional as F
from ..convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Module
from ..parameter import Parameter


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """(size of dim, all other elements)."""
    return weight.movedim(dim, 0).reshape(weight.shape[dim], -1) if dim != 0 else weight.reshape(weight.shape[0], -1)


def _power_steps(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float) -> tuple[Tensor, Tensor]:
    """The singular vectors of the largest singular value after some steps of the power method."""
    for _ in range(count):
        v = F.normalize(minidynamo.mv(matrix.t(), u), dim=0, eps=eps)
        u = F.normalize(minidynamo.mv(matrix, v), dim=0, eps=eps)
    return u, v


def default_dim(module: Module) -> int:
    """The dim of the weight's outputs."""
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


class SpectralNorm:
    """The hook: it sets the attribute `name` from `name`_orig and the buffers `name`_u and `name`_v."""

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        self.name = name
        self.dim = dim
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, module: Module, do_power_iteration: bool) -> Tensor:
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with minidynamo.no_grad():
                new_u, new_v = _power_steps(matrix, u, v, self.n_power_iterations, self.eps)
                u.copy_(new_u)
                v.copy_(new_v)
            u, v = new_u, new_v
        return weight / minidynamo.dot(u, minidynamo.mv(matrix, v))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        rows, columns = as_matrix(weight.detach(), dim).shape
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        # An attribute of any kind: the hook replaces it.
        setattr(module, name, weight.detach())
        for suffix, size in (("_u", rows), ("_v", columns)):
            drawn = F.normalize(minidynamo.randn(size, dtype=weight.dtype), dim=0, eps=eps)
            module.register_buffer(name + suffix, drawn)
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module: Module) -> None:
        with minidynamo.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides module.name before each call by its largest singular value, which steps of the power method estimate in
    training. dim: that of the outputs. Returns the module. parametrizations.spectral_norm is the newer form.
    """
    SpectralNorm.apply(module, name, n_power_iterations, default_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Makes the weight a plain parameter again; ValueError if spectral_norm was not applied. Returns the module."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")


_explain_missing(__name__)
