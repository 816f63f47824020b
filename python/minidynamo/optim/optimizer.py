"""Optimizer: parameters in groups with options, the state of each, hooks, and what is saved of them."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, TypeAlias

from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from ..autograd.clearing import clear_gradient
from ..utils.hooks import RemovableHandle, add_hook
from .saved_state import packed, unpacked_group, unpacked_state

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]

ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


class _RequiredParameter:
    def __repr__(self) -> str:
        return "<required parameter>"


# A default that each group has to replace.
required = _RequiredParameter()

# Of all optimizers, by the numbers of their handles.
_global_pre_hooks: dict[int, Callable[..., Any]] = OrderedDict()
_global_post_hooks: dict[int, Callable[..., Any]] = OrderedDict()

_HOOK_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """hook(optimizer, args, kwargs) is called before step() of every optimizer; (args, kwargs) replace the
    arguments."""
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """hook(optimizer, args, kwargs) is called behind step() of every optimizer."""
    return add_hook(_global_post_hooks, hook)


def _with_hooks(step: Callable[..., Any], owner: type) -> Callable[..., Any]:
    """The step() of a class, with the hooks around it; one that a subclass's step() calls has none of its own."""

    @functools.wraps(step)
    def hooked_step(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if not self.__dict__.get("_opt_called", True):
            self._opt_called = True
        if not (_global_pre_hooks or _global_post_hooks or self._optimizer_step_pre_hooks) and (
            not self._optimizer_step_post_hooks
        ):
            return step(*args, **kwargs)
        if _outermost_step(type(self)) is not owner:
            return step(*args, **kwargs)
        for hook in (*_global_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is None:
                continue
            if not isinstance(changed, tuple) or len(changed) != 2:
                raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
            args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in (*self._optimizer_step_post_hooks.values(), *_global_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    hooked_step.hooked = True  # type: ignore[attr-defined]  # a mark that schedulers read
    return hooked_step


def _outermost_step(cls: type) -> type | None:
    for each in cls.__mro__:
        if getattr(each.__dict__.get("step"), "hooked", False):
            return each
    return None


class Optimizer:
    """Base of optimizers: a subclass calls __init__ with the options' defaults, and defines step().

    params    tensors, (name, tensor) pairs, or dicts that each have "params" and options of a group
    defaults  the options of groups that do not have them

    Raises TypeError or ValueError for anything but a leaf tensor, for duplicates, and for an empty list.
    """

    defaults: dict[str, Any]
    state: defaultdict[Any, dict[str, Any]]
    param_groups: list[dict[str, Any]]
    _optimizer_step_pre_hooks: dict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: dict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: dict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: dict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: dict[int, Callable[..., Any]]
    # False from the making of a scheduler to the first step(): schedulers warn then.
    _opt_called: bool

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        step = cls.__dict__.get("step")
        if callable(step) and not getattr(step, "hooked", False):
            cls.step = _with_hooks(step, cls)  # type: ignore[method-assign]  # the same with hooks

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hook_tables()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + params.type()
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hook_tables(self) -> None:
        for table in _HOOK_TABLES:
            self.__dict__.setdefault(table, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Takes the state of a pickle or, without defaults, of a loaded state dict; subclasses add options that it
        lacks."""
        self.__dict__.update(state)
        self._make_hook_tables()

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    # ---- groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds {"params": a tensor or several, option: value, ...}. Raises as the constructor does."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, Tensor):
            param_group["params"] = [given]
        elif isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                "sets will change between runs. Please use a list instead."
            )
        else:
            param_group["params"] = list(given)
        self._take_names(param_group)
        for parameter in param_group["params"]:
            self._check_parameter(parameter)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_duplicates(param_group)
        self.param_groups.append(param_group)

    def _take_names(self, group: dict[str, Any]) -> None:
        """Splits (name, tensor) pairs into "params" and "param_names"."""
        pairs = [entry for entry in group["params"] if isinstance(entry, tuple)]
        if pairs:
            if len(pairs) != len(group["params"]):
                raise ValueError("all optimizer params should be with/without names. Some param names are missing")
            group["param_names"] = [name for name, _ in pairs]
            group["params"] = [parameter for _, parameter in pairs]
        if self.param_groups and ("param_names" in self.param_groups[0]) != ("param_names" in group):
            with_or_without = "with" if "param_names" in group else "without"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {with_or_without} names to the optimizer"
            )

    def _check_parameter(self, parameter: object) -> None:
        if not isinstance(parameter, Tensor):
            kind = type(parameter)
            name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {name}")
        if not self.defaults.get("differentiable") and not (parameter.is_leaf or parameter.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _check_duplicates(self, group: dict[str, Any]) -> None:
        own = {id(parameter) for parameter in group["params"]}
        if len(own) != len(group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        if any(id(parameter) in own for other in self.param_groups for parameter in other["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

    # ---- hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """hook(optimizer, args, kwargs) is called before step(); (args, kwargs) that it returns replace the
        arguments."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """hook(optimizer, args, kwargs) is called behind step()."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """hook(optimizer) is called before state_dict() reads the state."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """hook(optimizer, state_dict) may change what state_dict() returns, or return another."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """hook(optimizer, state_dict) may change what load_state_dict() loads, or return another."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None], prepend: bool = False) -> RemovableHandle:
        """hook(optimizer) is called behind load_state_dict()."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)

    # ---- saving and loading

    def state_dict(self) -> dict[str, Any]:
        """{"state": state of each parameter by its number, "param_groups": options, with numbers as "params"}."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        saved = packed(self.state, self.param_groups)
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, saved)
            if changed is not None:
                saved = changed
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the state of a state_dict() of an optimizer with equal groups; tensors of torch are accepted, too.

        State tensors but "step" become of the parameter's dtype. Raises ValueError where the groups do not fit.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(self.param_groups) != len(saved_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(
            len(group["params"]) != len(saved["params"])
            for group, saved in zip(self.param_groups, saved_groups, strict=True)
        ):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        parameters = {
            number: parameter
            for group, saved in zip(self.param_groups, saved_groups, strict=True)
            for number, parameter in zip(saved["params"], group["params"], strict=True)
        }
        self.__setstate__(
            {
                "state": unpacked_state(state_dict["state"], parameters),
                "param_groups": [
                    unpacked_group(saved, group) for group, saved in zip(self.param_groups, saved_groups, strict=True)
                ],
            }
        )
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # ---- steps

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradients to None, or to zeros in place."""
        for group in self.param_groups:
            for parameter in group["params"]:
                clear_gradient(parameter, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters; closure computes the loss anew, and its gradients. Returns what closure does."""
        raise NotImplementedError


_explain_missing(__name__)
