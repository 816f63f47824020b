"""Parameters computed from other tensors whenever they are read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import minidynamo

from ..._C import Tensor
from ..._missing_names import explain_missing as _explain_missing
from ..container import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

_cached_blocks = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Computes each parametrized tensor once within the block."""
    global _cached_blocks
    _cached_blocks += 1
    try:
        yield
    finally:
        _cached_blocks -= 1
        if not _cached_blocks:
            _cache.clear()


def _registered(owner: Module, name: str, tensor: Tensor) -> None:
    """Enters it as a parameter or as a buffer, by its type."""
    if isinstance(tensor, Parameter):
        owner.register_parameter(name, tensor)
    else:
        owner.register_buffer(name, tensor)


def _write(original: Tensor, value: Tensor) -> None:
    original.detach().copy_(value.detach())


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and what it is computed from: `original`, or `original0` and so on."""

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        before_shape, before_dtype = original.shape, original.dtype
        new: Any = original
        with minidynamo.no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    # One that says so has no inverse for now: the tensor is taken as it is.
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        held: Any = new
        self.is_tensor = isinstance(held, Tensor)
        self.ntensors = 1 if self.is_tensor else len(held)
        if self.is_tensor:
            self._hold_one(original, held)
        else:
            self._hold_several(original, held)
        if not unsafe:
            self._check_result(before_shape, before_dtype)

    def _hold_one(self, original: Tensor, new: Tensor) -> None:
        if original.dtype != new.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\n"
                f"right_inverse(original).dtype: {new.dtype}"
            )
        if new.shape == original.shape:
            _write(original, new)
            _registered(self, "original", original)
        elif isinstance(original, Parameter):
            _registered(self, "original", Parameter(new, original.requires_grad))
        else:
            _registered(self, "original", new)

    def _hold_several(self, original: Tensor, new: Sequence[Tensor]) -> None:
        for at, each in enumerate(new):
            if not isinstance(each, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {at} of the sequence with type {type(each).__name__}."
                )
            if isinstance(original, Parameter):
                each = Parameter(each, original.requires_grad)
            _registered(self, f"original{at}", each)

    def _check_result(self, shape: Any, dtype: minidynamo.dtype) -> None:
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        if result.dtype != dtype:
            raise ValueError(
                "Registering a parametrization may not change the dtype of the tensor, unless `unsafe` flag is"
                f" enabled.\nunparametrized dtype: {dtype}\nparametrized dtype: {result.dtype}"
            )
        if result.shape != shape:
            raise ValueError(
                "Registering a parametrization may not change the shape of the tensor, unless `unsafe` flag is"
                f" enabled.\nunparametrized shape: {shape}\nparametrized shape: {result.shape}"
            )

    def right_inverse(self, value: Tensor) -> None:
        """Sets the originals to what gives the value, by `right_inverse` of the parametrizations, last one first."""
        with minidynamo.no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            if self.is_tensor:
                self._set(self.original, new, "original", "right_inverse")
                return
            if not isinstance(new, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new).__name__}.")
            if len(new) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length"
                    f" {self.ntensors}. Got a sequence of length {len(new)}."
                )
            for at, each in enumerate(new):
                self._set(getattr(self, f"original{at}"), each, f"original{at}", f"right_inverse element {at}")

    def _set(self, original: Tensor, value: Any, name: str, what: str) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`{what}` should return a tensor. Got {type(value).__name__}")
        if original.dtype != value.dtype:
            raise ValueError(f"The tensor returned by `{what}` has dtype {value.dtype}, while `{name}` has dtype"
                             f" {original.dtype}")  # fmt: skip
        if original.shape == value.shape:
            _write(original, value)
        elif isinstance(original, Parameter):
            self._parameters[name] = Parameter(value, original.requires_grad)
        else:
            self._buffers[name] = value

    def forward(self) -> Tensor:
        if self.is_tensor:
            value = self[0](self.original)
        else:
            value = self[0](*[getattr(self, f"original{at}") for at in range(self.ntensors)])
        for at in range(1, len(self)):
            value = self[at](value)
        return value


def _read(module: Any, name: str) -> Tensor:
    if not _cached_blocks:
        return module.parametrizations[name]()
    key = (id(module), name)
    value = _cache.get(key)
    if value is None:
        value = _cache[key] = module.parametrizations[name]()
    return value


def _property(name: str) -> property:
    return property(
        lambda self: _read(self, name), lambda self, value: self.parametrizations[name].right_inverse(value)
    )


def _refuse_state(self: Module) -> dict[str, Any]:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _deep_copied(self: Any, memo: dict[int, Any]) -> Module:
    cls = _class_for(type(self).__bases__[0])
    made: Any = object.__new__(cls)
    memo[id(self)] = made
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    for name in made.parametrizations:
        setattr(cls, name, _property(name))
    return made


def _class_for(cls: Any) -> type:
    """A class of its own for one module: its properties are the module's parametrized tensors."""
    made: type = type(
        f"Parametrized{cls.__name__}", (cls,), {"__getstate__": _refuse_state, "__deepcopy__": _deep_copied}
    )
    return made


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Has module.tensor_name computed by a module from its present value; further ones take the results
    of earlier ones.

    unsafe: the parametrization may change the shape and the dtype. Returns the module.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _append(module, tensor_name, parametrization, unsafe)
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        found = ParametrizationList([parametrization], original, unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.__class__ = _class_for(type(module))
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        getattr(module, "parametrizations")[tensor_name] = found  # noqa: B009  mypy knows no such attribute
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name"
            f" '{tensor_name}'"
        )
    return module


def _append(module: Any, name: str, parametrization: Any, unsafe: bool) -> None:
    if not unsafe:
        value = getattr(module, name)
        result = parametrization(value)
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        if result.dtype != value.dtype:
            raise ValueError(
                "Registering a parametrization may not change the dtype of the tensor, unless the `unsafe` flag is"
                f" enabled.\nmodule.{name}.dtype: {value.dtype}\nparametrization(module.{name}).dtype: {result.dtype}"
            )
        if result.shape != value.shape:
            raise ValueError(
                "Registering a parametrization may not change the shape of the tensor, unless the `unsafe` flag is"
                f" enabled.\nmodule.{name}.shape: {value.shape}\nparametrization(module.{name}).shape: {result.shape}"
            )
        if hasattr(parametrization, "right_inverse"):
            back = parametrization.right_inverse(result)
            if not isinstance(back, Tensor):
                raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
            if back.dtype != value.dtype:
                raise ValueError(
                    "The tensor returned by parametrization.right_inverse must have the same dtype as"
                    f" module.{name}.\nmodule.{name}.dtype: {value.dtype}\nreturned dtype: {back.dtype}"
                )
    found = module.parametrizations[name]
    found.append(parametrization)
    found.unsafe |= unsafe


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module has a parametrized tensor, or one of this name."""
    found = getattr(module, "parametrizations", None)
    if found is None or not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes a tensor a plain parameter or buffer again, of its value or, if leave_parametrized is False, of what it is
    computed from. Returns the module.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            original = _with_value(original, getattr(module, tensor_name).detach())
    elif leave_parametrized:
        value = getattr(module, tensor_name).detach()
        needs_grad = any(each.requires_grad for each in found.parameters(recurse=False))
        is_parameter = len(found._parameters) > 0
        original = Parameter(value, needs_grad) if is_parameter else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a"
            " sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _registered(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def _with_value(original: Tensor, value: Tensor) -> Tensor:
    """The same object where the value fits into it."""
    if original.shape == value.shape and original.dtype == value.dtype:
        _write(original, value)
        return original
    return Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value


def type_before_parametrizations(module: Module) -> type:
    """The class of the module as it was defined."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


_explain_missing(__name__)
