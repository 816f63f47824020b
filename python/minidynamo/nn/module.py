"""Module: a callable with parameters, buffers, submodules and hooks."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import TYPE_CHECKING, Any, Self

import minidynamo

from .._C import Tensor
from .._composites.registry import is_inexact
from ..autograd.clearing import clear_gradient
from ..utils.hooks import RemovableHandle, add_hook
from .global_hooks import buffer_to_register, module_to_register, parameter_to_register
from .module_hooks import ModuleHooks
from .module_state import _type_name
from .parameter import Buffer, Parameter, UninitializedParameter


def _convert_elements(tensor: Tensor, convert: Callable[[Tensor], Tensor]) -> None:
    """Has a tensor become what convert makes of it; it stays the object that optimizers and other modules have."""
    plain = tensor.detach()
    converted = convert(plain)
    if converted is plain:
        return
    tensor.data = converted
    if isinstance(tensor, UninitializedParameter):
        tensor._dtype = converted.dtype


class Module(ModuleHooks):
    """Base class of layers and models: assign Parameters, tensors and Modules in __init__, and write forward().

    Calling a module calls forward() between its hooks.
    """

    training = True
    # The compiled form of _call_impl.
    _compiled_call_impl: Callable[..., Any] | None = None

    # __getattr__ and __setattr__ read it before __init__ has run.
    _parameters: dict[str, Parameter | None] = None  # type: ignore[assignment]  # the tables are there from __init__ on
    _buffers: dict[str, Tensor | None] = None  # type: ignore[assignment]  # likewise
    _modules: dict[str, Module | None] = None  # type: ignore[assignment]  # likewise

    _non_persistent_buffers_set: set[str]
    _forward_pre_hooks: dict[int, Callable[..., Any]]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _forward_hooks: dict[int, Callable[..., Any]]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]

    def __init__(self) -> None:
        fields = self.__dict__
        fields["training"] = True
        fields["_parameters"] = {}
        fields["_buffers"] = {}
        fields["_non_persistent_buffers_set"] = set()
        fields["_modules"] = {}
        fields["_forward_pre_hooks"] = {}
        fields["_forward_pre_hooks_with_kwargs"] = {}
        fields["_forward_hooks"] = {}
        fields["_forward_hooks_with_kwargs"] = {}
        fields["_forward_hooks_always_called"] = {}
        # In the dict, where guards on it cost nothing in addition to those on the hooks.
        fields["_compiled_call_impl"] = None

    if TYPE_CHECKING:
        # Each class has one with parameters of its own.
        forward: Callable[..., Any]
    else:

        def forward(self, *args: Any) -> Any:
            raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        if self._forward_pre_hooks or self._forward_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        # compile() keeps this method: what it calls may be another one later.
        return self._call_uncompiled(*args, **kwargs)

    def _call_uncompiled(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_pre_hooks or self._forward_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    @staticmethod
    def _look_for_every_hook() -> None:
        """Has calls of all modules look for the hooks of ModuleHooks, too."""
        if Module.__call__ is not ModuleHooks._call_looking_for_hooks:
            Module.__call__ = ModuleHooks._call_looking_for_hooks  # type: ignore[method-assign]  # with more hooks
            Module._call_uncompiled = ModuleHooks._call_uncompiled_looking_for_hooks  # type: ignore[method-assign]  # likewise

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._forward_hooks_always_called:
            return self._call_with_hooks_always(args, kwargs)
        args, kwargs = self._run_pre_hooks(args, kwargs)
        result = self.forward(*args, **kwargs)
        for key, hook in tuple(self._forward_hooks.items()):
            result = self._run_hook(key, hook, args, kwargs, result)
        return result

    def _call_with_hooks_always(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        called = set()
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            result = self.forward(*args, **kwargs)
            for key, hook in tuple(self._forward_hooks.items()):
                called.add(key)
                result = self._run_hook(key, hook, args, kwargs, result)
            return result
        except BaseException:
            for key, hook in tuple(self._forward_hooks.items()):
                if key in self._forward_hooks_always_called and key not in called:
                    self._run_hook(key, hook, args, kwargs, None)
            raise

    def _run_pre_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        for key, hook in tuple(self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                            f"but got {changed}."
                        )
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _run_hook(
        self, key: int, hook: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> Any:
        if key in self._forward_hooks_with_kwargs:
            changed = hook(self, args, kwargs, result)
        else:
            changed = hook(self, args, result)
        return result if changed is None else changed

    # ---- attributes

    def __getattr__(self, name: str) -> Any:
        parameters = self._parameters
        if parameters is not None:
            if name in parameters:
                return parameters[name]
            buffers = self._buffers
            if name in buffers:
                return buffers[name]
            modules = self._modules
            if name in modules:
                return modules[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._require_init("module")
            self._forget(name, self._modules)
            self._modules[name] = module_to_register(self, name, value)
        elif isinstance(value, Buffer):
            self._forget(name, self._buffers)
            self.register_buffer(name, value, value.persistent)
        elif self._parameters is None:
            object.__setattr__(self, name, value)
        elif name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self._parameters[name] = None
        elif name in self._modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._modules[name] = None
        elif name in self._buffers:
            if value is not None and not isinstance(value, minidynamo.Tensor):
                raise TypeError(
                    f"cannot assign '{_type_name(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            self._buffers[name] = buffer_to_register(self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if table and name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*object.__dir__(self), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def _forget(self, name: str, table: object) -> None:
        """Removes all attributes of this name except that in `table`, whose order a new value keeps."""
        self.__dict__.pop(name, None)
        for other in (self._parameters, self._modules, self._buffers):
            if other is not table:
                other.pop(name, None)
        if table is not self._buffers:
            self._non_persistent_buffers_set.discard(name)

    def _require_init(self, what: str) -> None:
        if self._parameters is None:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _check_new_name(self, what: str, name: object, table: Container[object]) -> None:
        self._require_init(what)
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {_type_name(name)}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."' + (f", got: {name}" if what == "module" else ""))
        if name == "":
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter; None reserves its position. Raises KeyError for a name that is taken or has a dot."""
        self._require_init("parameters")
        if name in self.__dict__ or (isinstance(name, str) and (name in self._modules or name in self._buffers)):
            self._forget(name, self._parameters)
        self._check_new_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_type_name(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        self._parameters[name] = None if param is None else parameter_to_register(self, name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is not a parameter; only a persistent one is part of state_dict()."""
        self._check_new_name("buffer", name, self._buffers or ())
        if tensor is not None and not isinstance(tensor, minidynamo.Tensor):
            raise TypeError(
                f"cannot assign '{_type_name(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = buffer_to_register(self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a submodule under a name that need not be an identifier."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type_name(module)} is not a Module subclass")
        self._check_new_name("module", name, self._modules or ())
        self._modules[name] = module_to_register(self, name, module)

    register_module = add_module

    # ---- hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """hook(module, args) -> None or new args; with_kwargs: hook(module, args, kwargs) -> None or (args, kwargs)."""
        marks = (self._forward_pre_hooks_with_kwargs,) if with_kwargs else ()
        return add_hook(self._forward_pre_hooks, hook, *marks, prepend=prepend)

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """hook(module, args[, kwargs], output) -> None or a new output; always_call: also after an exception."""
        marks = []
        if with_kwargs:
            marks.append(self._forward_hooks_with_kwargs)
        if always_call:
            marks.append(self._forward_hooks_always_called)
        return add_hook(self._forward_hooks, hook, *marks, prepend=prepend)

    # ---- contents of a module

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """(dotted name, module) for this module and all below it, each module once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def _named_tensors(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, tensor in getattr(module, table).items():
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        yield from self._named_tensors("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        yield from self._named_tensors("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path; AttributeError if there is none."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def _registered(self, target: str, registry: str, kind: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        entries = getattr(module, registry)
        if name not in entries:
            raise AttributeError(f"{type(module).__name__} has no {kind} `{name}`")
        return entries[name]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        return self._registered(target, "_parameters", "parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        return self._registered(target, "_buffers", "buffer")

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module at a dotted path; with strict there must be one already.

        Raises ValueError for an empty path and for anything but a Module, AttributeError where the path does not
        lead to modules.
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        path, _, name = target.rpartition(".")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_name(self) -> str:
        return type(self).__name__

    # ---- modes and conversions

    def train(self, mode: bool = True) -> Self:
        """Sets `training` here and in all submodules; returns the module."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Calls fn on every submodule, then on the module itself; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, convert: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        for module in self.children() if recurse else ():
            module._apply(convert)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            _convert_elements(parameter, convert)
            if parameter.grad is not None:
                _convert_elements(parameter.grad, convert)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = convert(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Converts the floating and complex parameters and buffers to a dtype, in place; devices other than the CPU
        are refused.

        A memory_format applies to tensors with 4 or 5 dims.
        """
        memory_format = kwargs.pop("memory_format", None)
        if memory_format is not None and not isinstance(memory_format, minidynamo.memory_format):
            raise TypeError(f"to(): argument 'memory_format' must be minidynamo.memory_format, not {memory_format!r}")

        def converted(tensor: Tensor) -> Tensor:
            in_format = {"memory_format": memory_format} if tensor.dim() in (4, 5) else {}
            # Integer tensors keep their dtype: they are counts or indices.
            if not is_inexact(tensor):
                return tensor.to(**in_format)
            return tensor.to(*args, **kwargs, **in_format)

        return self._apply(converted)

    def _to_dtype(self, dtype: minidynamo.dtype) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def float(self) -> Self:
        return self._to_dtype(minidynamo.float32)

    def double(self) -> Self:
        return self._to_dtype(minidynamo.float64)

    def half(self) -> Self:
        return self._to_dtype(minidynamo.float16)

    def bfloat16(self) -> Self:
        return self._to_dtype(minidynamo.bfloat16)

    def type(self, dst_type: minidynamo.dtype | str) -> Self:
        """Converts all parameters and buffers to a dtype, in place."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def cpu(self) -> Self:
        return self

    def cuda(self, device: int | str | None = None) -> Self:
        """Raises what to("cuda") raises: there is no such device."""
        return self.to("cuda")

    def to_empty(self, *, device: minidynamo.device | str | None, recurse: bool = True) -> Self:
        """Replaces the parameters and buffers by new ones whose numbers are unspecified, in place."""
        return self._apply(lambda tensor: minidynamo.empty_like(tensor, device=device), recurse)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradients of all parameters to None, or to zeros in place."""
        for parameter in self.parameters():
            clear_gradient(parameter, set_to_none)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Captures the calls of this module from now on, without a wrapper object."""
        from .._dynamo._compile import compile
        from .._dynamo.module_wrapper import call_of

        call = call_of(self, self._call_impl)
        self.__dict__["_compiled_call_impl"] = compile(call, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        # A copy is not compiled, as in torch.
        return {**self.__dict__, "_compiled_call_impl": None}

    # ---- text

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if not self._modules and len(lines) < 2:
            return f"{type(self).__name__}({extra})"
        for name, module in self._modules.items():
            lines.append(f"({name}): {module!r}".replace("\n", "\n  "))
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"
