"""Pruning: masks over the elements of parameters, applied by a hook before each call.

`name` becomes an attribute, computed as the parameter name_orig times the buffer name_mask. amount is a number of
elements (of slices along a dim, for the structured ones), or a fraction of them: TypeError for another type,
ValueError out of range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing
from ..module import Module


class BasePruningMethod:
    """One way to choose; a subclass has PRUNING_TYPE ("unstructured", "structured", "global") and compute_mask()."""

    PRUNING_TYPE: str = ""
    _tensor_name: str

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of t, where what default_mask has removed stays removed."""
        raise NotImplementedError

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """name_orig * name_mask"""
        original = getattr(module, self._tensor_name + "_orig")
        mask = getattr(module, self._tensor_name + "_mask")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prunes a parameter, on top of earlier prunings of it, and adds the hook to the module."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        before = _method_of(module, name)
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError("importance_scores should have the same shape as parameter")
        if before is None:
            mask = method.compute_mask(scores, minidynamo.ones_like(original))
            used = method
            # The same object, which an optimizer may hold.
            module.register_parameter(name + "_orig", module._parameters.pop(name))
        else:
            key, earlier = before
            used = PruningContainer(*(earlier if isinstance(earlier, PruningContainer) else [earlier]))
            used.add_pruning_method(method)
            mask = used.compute_mask(scores, getattr(module, name + "_mask"))
            del module._forward_pre_hooks[key]
        module.register_buffer(name + "_mask", mask.detach())
        setattr(module, name, used.apply_mask(module))
        module.register_forward_pre_hook(used)
        return used

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """t, with what is removed set to 0."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        mask = minidynamo.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, mask)

    def remove(self, module: Module) -> None:
        """Makes the pruned tensor the parameter again."""
        name = self._tensor_name
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        del module._buffers[name + "_mask"]
        original.data = pruned.detach()
        module.register_parameter(name, original)


def _method_of(module: Module, name: str) -> tuple[Any, BasePruningMethod] | None:
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None


class PruningContainer(BasePruningMethod):
    """Several prunings of one tensor: each one chooses among what those before it left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._pruning_methods and method._tensor_name != self._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._tensor_name = method._tensor_name
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method = self._pruning_methods[-1]
        kept = default_mask == 1
        mask = default_mask.clone()
        if method.PRUNING_TYPE == "unstructured":
            mask[kept] = method.compute_mask(t[kept], default_mask[kept])
            return mask
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, default_mask)
        if method.PRUNING_TYPE != "structured":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        dim: int = method.dim  # type: ignore[attr-defined]  # of each structured method
        others = [each for each in range(t.dim()) if each != dim % t.dim()]
        slices = kept.sum(others).nonzero().squeeze(-1)
        chosen = method.compute_mask(t.index_select(dim, slices), default_mask.index_select(dim, slices))
        return mask.index_copy(dim, slices, chosen)


class Identity(BasePruningMethod):
    """Removes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _ByAmount(BasePruningMethod):
    def __init__(self, amount: float) -> None:
        _validate_amount(amount)
        self.amount = amount

    def _without(self, order: Tensor, count: int, default_mask: Tensor) -> Tensor:
        """The mask without the first `count` elements in an order."""
        mask = default_mask.clone()
        if count > 0:
            mask.view(-1)[order[:count]] = 0
        return mask


class RandomUnstructured(_ByAmount):
    """Removes elements at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.numel())
        order = minidynamo.rand(t.numel()).topk(count).indices if count else minidynamo.arange(0)
        return self._without(order, count, default_mask.contiguous())


class L1Unstructured(_ByAmount):
    """Removes the elements that are smallest in magnitude."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = _count(self.amount, t.numel())
        order = t.abs().reshape(-1).topk(count, largest=False).indices if count else minidynamo.arange(0)
        return self._without(order, count, default_mask.contiguous())


class _Structured(BasePruningMethod):
    """Removes slices along a dim: those of the lowest scores."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _validate_amount(amount)
        self.amount = amount
        self.dim = dim

    def _scores(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to "
                f"multidimensional tensors. Found tensor of shape {t.shape} with {t.dim()} dims"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if count == 0:
            return default_mask
        kept = self._scores(t).topk(size - count).indices if count < size else minidynamo.arange(0)
        line = minidynamo.zeros(size, dtype=t.dtype).index_fill(0, kept, 1.0)
        shape = [1] * t.dim()
        shape[self.dim] = size
        return default_mask * line.reshape(shape).to(default_mask.dtype)


class RandomStructured(_Structured):
    """Removes slices along a dim at random."""

    def _scores(self, t: Tensor) -> Tensor:
        return minidynamo.rand(t.shape[self.dim])


class LnStructured(_Structured):
    """Removes the slices along a dim whose norm of order n is smallest."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor) -> Tensor:
        return t.norm(self.n, [each for each in range(t.dim()) if each != self.dim % t.dim()])


class CustomFromMask(BasePruningMethod):
    """Removes what a mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError("default_mask and self.mask must have the same shape")
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Adds the mask and the hook, and removes nothing. Returns the module, as do the following."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """RandomUnstructured on a parameter."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """L1Unstructured on a parameter."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """RandomStructured on a parameter."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """LnStructured on a parameter."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """CustomFromMask on a parameter."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prunes several parameters as if they were one: (module, name) of each."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if importance_scores is not None and not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = importance_scores or {}
    pairs = list(parameters)
    relevant = [scores.get((module, name), getattr(module, name)) for module, name in pairs]
    ones = [minidynamo.ones_like(getattr(module, name)) for module, name in pairs]
    masks = [getattr(module, name + "_mask", one) for (module, name), one in zip(pairs, ones)]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for '
            f"the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    flat = minidynamo.cat([each.reshape(-1) for each in relevant])
    final = container.compute_mask(flat, minidynamo.cat([each.reshape(-1) for each in masks]))
    at = 0
    for module, name in pairs:
        parameter = getattr(module, name)
        custom_from_mask(module, name, final[at : at + parameter.numel()].view_as(parameter))
        at += parameter.numel()


def remove(module: Module, name: str) -> Module:
    """Makes the pruned tensor the parameter; ValueError if it was not pruned."""
    found = _method_of(module, name)
    if found is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    found[1].remove(module)
    del module._forward_pre_hooks[found[0]]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module or of a submodule is pruned."""
    return any(
        isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values()
    )


def _validate_amount(amount: Any) -> None:
    if not isinstance(amount, (int, float)) or isinstance(amount, bool):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, int) and amount < 0) or (isinstance(amount, float) and not 0.0 <= amount <= 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _count(amount: float, size: int) -> int:
    """How many of `size` are removed; ValueError for more than there are."""
    if isinstance(amount, int):
        if amount > size:
            raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
        return amount
    return round(amount * size)


_explain_missing(__name__)
