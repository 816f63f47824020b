"""What a module saves and loads: state_dict, load_state_dict and their hooks."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import minidynamo

from .._C import Tensor
from ..utils.hooks import RemovableHandle as RemovableHandle
from ..utils.hooks import add_hook
from .parameter import Parameter, UninitializedTensor


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class _Messages(list[str]):
    """The error messages of one load_state_dict, with the writes that are done if there are none."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[Callable[[], None]] = []


class ModuleState:
    """The base of Module that reads and writes its tensors."""

    # Versions of what a class saves: load_state_dict of a subclass may tell them apart.
    _version = 1

    # Tables of hooks, made when the first is registered.
    _state_dict_hooks: dict[int, Callable[..., Any]] | None = None
    _state_dict_pre_hooks: dict[int, Callable[..., Any]] | None = None
    _load_state_dict_pre_hooks: dict[int, Callable[..., Any]] | None = None
    _load_state_dict_post_hooks: dict[int, Callable[..., Any]] | None = None

    if TYPE_CHECKING:
        _parameters: dict[str, Parameter | None]
        _buffers: dict[str, Tensor | None]
        _modules: dict[str, Any]
        _non_persistent_buffers_set: set[str]

    def _enter_state_hook(self, table: str, hook: Callable[..., Any]) -> RemovableHandle:
        return add_hook(self.__dict__.setdefault(table, OrderedDict()), hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """hook(module, prefix, keep_vars) is called before state_dict reads the module."""
        return self._enter_state_hook("_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata) may change the state_dict, and returns None."""

        def checked(*args: Any) -> None:
            returned: Any = hook(*args)  # type: ignore[func-returns-value]  # what it must not
            if returned is not None:
                raise RuntimeError("state_dict post-hook must return None")

        return self._enter_state_hook("_state_dict_hooks", checked)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata) -> None or another state_dict."""
        return self._enter_state_hook("_state_dict_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) is called
        before the module is loaded, and may change the state_dict."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        """Without with_module the hook is not given the module."""
        called = hook if with_module else lambda module, *args: hook(*args)
        return self._enter_state_hook("_load_state_dict_pre_hooks", called)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """hook(module, incompatible_keys) is called after the module is loaded, and may change the lists of keys."""
        return self._enter_state_hook("_load_state_dict_post_hooks", hook)

    def get_extra_state(self) -> Any:
        """What else belongs to the state_dict, under `_extra_state`: for classes that define it and set_extra_state."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. Please file an issue at"
            " https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    def set_extra_state(self, state: Any) -> None:
        """Takes what get_extra_state returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. Please file an issue at"
            " https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
        )

    # ---- saving

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Enters the tensors of this module alone."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Dotted names to parameters and persistent buffers, which share their memory with the module."""
        if args:
            # The older form, by position.
            given: tuple[Any, ...] = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in (self._state_dict_pre_hooks or {}).values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in (self._state_dict_hooks or {}).values():
            changed = hook(self, destination, prefix, metadata)
            if changed is not None:
                destination = changed
        return destination

    # ---- loading

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copies values into the parameters and buffers, or with assign=True replaces them by the given tensors.

        Tensors of other libraries with __dlpack__ are accepted, too. Returns (missing_keys, unexpected_keys).
        Raises RuntimeError that lists every key that does not fit; no parameter or buffer is changed then, except by
        classes and hooks that write themselves.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        given = {key: _as_ours(value) for key, value in state_dict.items()}
        missing: list[str] = []
        unexpected: list[str] = []
        errors = _Messages()
        after: list[Callable[[], None]] = []
        _load_into(self, given, "", (metadata, assign), missing, unexpected, errors, after)
        for run in () if errors else after:
            run()
        if strict and unexpected:
            errors.insert(0, "Unexpected key(s) in state_dict: " + ", ".join(f'"{key}"' for key in unexpected) + ". ")
        if strict and missing:
            at = 1 if unexpected else 0
            errors.insert(at, "Missing key(s) in state_dict: " + ", ".join(f'"{key}"' for key in missing) + ". ")
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors))
            )
        for write in errors.writes:
            write()
        return _IncompatibleKeys(missing, unexpected)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Loads this module alone; lists what is missing, not expected, and wrong."""
        for hook in (self._load_state_dict_pre_hooks or {}).values():
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        known = set()
        table: Any
        for table in (self._parameters, self._buffers):
            for name, tensor in table.items():
                if tensor is None or name in self._non_persistent_buffers_set:
                    continue
                known.add(name)
                key = prefix + name
                if key in state_dict:
                    _load(table, name, key, state_dict[key], assign, error_msgs)
                elif strict:
                    missing_keys.append(key)
        self._load_extra_state(state_dict, prefix + "_extra_state", strict, missing_keys, unexpected_keys)
        if not strict:
            return
        for key in state_dict:
            if not isinstance(key, str):
                if not prefix:  # once, by the outermost module
                    unexpected_keys.append(key)
                continue
            if not key.startswith(prefix) or key == prefix + "_extra_state":
                continue
            first, _, rest = key[len(prefix) :].partition(".")
            if first not in self._modules if rest else first not in known:
                unexpected_keys.append(key)

    def _load_extra_state(
        self, state_dict: Any, key: str, strict: bool, missing_keys: list[str], unexpected_keys: list[str]
    ) -> None:
        if type(self).set_extra_state is not ModuleState.set_extra_state:
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)


def _load_into(
    module: ModuleState,
    given: dict[str, Any],
    prefix: str,
    shared: tuple[Any, bool],
    missing: list[str],
    unexpected: list[str],
    errors: _Messages,
    after: list[Callable[[], None]],
) -> None:
    """Loads the module and those below it."""
    metadata, assign = shared
    local = dict((metadata or {}).get(prefix[:-1], {}))
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(given, prefix, local, True, missing, unexpected, errors)
    for name, below in module._modules.items():
        if below is not None:
            path = f"{prefix}{name}."
            part = {key: value for key, value in given.items() if key.startswith(path)}
            _load_into(below, part, path, shared, missing, unexpected, errors, after)
    for hook in (module._load_state_dict_post_hooks or {}).values():
        after.append(lambda hook=hook: _run_post_hook(hook, module, missing, unexpected))  # type: ignore[misc]  # bound now


def _run_post_hook(hook: Callable[..., Any], module: ModuleState, missing: list[str], unexpected: list[str]) -> None:
    if hook(module, _IncompatibleKeys(missing, unexpected)) is not None:
        raise AssertionError(
            "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if"
            " incompatible_keys need to be modified, it should be done inplace."
        )


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _as_ours(value: Any) -> Any:
    """A tensor that shares the memory of another library's tensor; anything else unchanged."""
    if isinstance(value, minidynamo.Tensor) or not hasattr(type(value), "__dlpack__"):
        return value
    return minidynamo.as_tensor(value)


def _load(table: dict[str, Any], name: str, key: str, value: Any, assign: bool, errors: list[str]) -> None:
    """Writes a value into its place, or notes the write, or why it does not fit."""
    tensor = table[name]
    wrong = _misfit(key, value, tensor)
    if wrong:
        errors.append(wrong)
        return

    def write() -> None:
        if isinstance(tensor, UninitializedTensor) and not isinstance(value, UninitializedTensor):
            table[name] = tensor.filled(value)
        elif not assign:
            tensor.detach().copy_(value.detach())
        elif isinstance(tensor, Parameter):
            table[name] = value if isinstance(value, Parameter) else Parameter(value, tensor.requires_grad)
        else:
            table[name] = value

    if isinstance(errors, _Messages):
        errors.writes.append(write)
    else:
        write()


def _misfit(key: str, value: object, tensor: Tensor) -> str:
    if not isinstance(value, minidynamo.Tensor):
        return f'While copying the parameter named "{key}", expected a Tensor but received {_type_name(value)}. '
    if isinstance(tensor, UninitializedTensor):
        return ""
    if tuple(value.shape) != tuple(tensor.shape):
        return (
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
            f"the shape in current model is {tensor.shape}."
        )
    return ""
