"""checkpoint: a part of a model whose intermediate values are computed again for its gradients, instead of being kept.

Source: T. Chen, B. Xu, C. Zhang and C. Guestrin, "Training Deep Nets with Sublinear Memory Cost" (2016).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import minidynamo

from .. import _C
from .._C import Tensor
from .._missing_names import explain_missing as _explain_missing
from ..amp.autocast_mode import autocast, is_autocast_enabled
from ..autograd.engine import backward, has_inputs
from ..autograd.function import Function
from ..autograd.graph import saved_tensors_hooks
from ..nn import Sequential
from ..random import fork_rng

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_DETERMINISM_CHECKS = ["default", "none"]


class CheckpointError(RuntimeError):
    """A recomputation that saves other tensors than the first run did."""


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Two context managers that do nothing."""
    return nullcontext(), nullcontext()


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """([], []): the generators of devices other than the CPU, of which there are none."""
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Tensor], *, device_type: str | None = None) -> None:
    """Does nothing for no devices. RuntimeError for others."""
    if len(devices):
        raise RuntimeError("set_device_states(): minidynamo runs on the CPU only")


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Accepted: a recomputation runs to its end."""
    yield


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Accepted: errors have no more to say."""
    yield


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tensors over the same elements without history, which require gradients as the inputs do. RuntimeError for no
    tuple."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        [each.detach().requires_grad_(each.requires_grad) if isinstance(each, Tensor) else each for each in inputs]
    )


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warns if no tensor among the inputs requires gradients."""
    if not any(each.requires_grad for each in inputs if isinstance(each, Tensor)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class _Recompute:
    """Runs a function as it ran first: under the same autocast, with the same random numbers, if they are to be
    preserved."""

    def __init__(self, function: Callable[..., Any], preserve_rng_state: bool) -> None:
        self.function = function
        self._rng_state = minidynamo.get_rng_state() if preserve_rng_state else None
        self._autocast = autocast("cpu", enabled=is_autocast_enabled("cpu"))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with fork_rng(enabled=self._rng_state is not None), minidynamo.enable_grad(), self._autocast:
            if self._rng_state is not None:
                minidynamo.set_rng_state(self._rng_state)
            return self.function(*args, **kwargs)


class CheckpointFunction(Function):
    """The node of a checkpoint with use_reentrant=True: its backward is a backward of the recomputed part."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.again = _Recompute(run_function, preserve_rng_state)
        ctx.places = [place for place, each in enumerate(args) if isinstance(each, Tensor)]
        ctx.others = [None if isinstance(each, Tensor) else each for each in args]
        ctx.save_for_backward(*[args[place] for place in ctx.places])
        with minidynamo.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        if has_inputs():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs`"
                " parameter"
                " to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward()"
                " without"
                " passing the `inputs` argument."
            )
        inputs = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors):
            inputs[place] = tensor
        own = detach_variable(tuple(inputs))
        outputs = ctx.again(*own)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (output, start)
            for output, start in zip(outputs, args)
            if isinstance(output, Tensor) and output.requires_grad
        ]  # noqa: E501
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([output for output, _ in pairs], [start for _, start in pairs])
        return (None, None, *[each.grad if isinstance(each, Tensor) else None for each in own])


class _Frame:
    """One call of a checkpoint: what it saved, by number, and how to compute it again."""

    def __init__(
        self, again: _Recompute, args: tuple[Any, ...], kwargs: dict[str, Any], context: Any, checks: bool
    ) -> None:  # noqa: E501
        self.again = again
        self.args = [_C._save_tensor(each, None) if isinstance(each, Tensor) else each for each in args]
        self.kwargs = kwargs
        self.context = context
        self.checks = checks
        self.facts: list[Any] = []
        self.recomputed: dict[int, Tensor] = {}

    def pack(self, tensor: Tensor) -> int:
        self.facts.append(_facts(tensor))
        return len(self.facts) - 1

    def unpack(self, number: int) -> Tensor:
        if number not in self.recomputed:
            self.recompute()
        return self.recomputed.pop(number)

    def recompute(self) -> None:
        found: list[Tensor] = []

        def keep(tensor: Tensor) -> Tensor:
            found.append(tensor)
            return tensor

        args = [each.unpacked(None) if isinstance(each, _C._SavedTensor) else each for each in self.args]
        with saved_tensors_hooks(keep, lambda tensor: tensor), self.context:
            self.again(*args, **self.kwargs)
        self.check(found)
        self.recomputed = dict(enumerate(found))

    def check(self, found: list[Tensor]) -> None:
        if len(found) < len(self.facts):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and"
                f" recomputation.\nNumber of tensors saved during forward: {len(self.facts)}\n"
                f"Number of tensors saved during recomputation: {len(found)}."
            )
        if not self.checks:
            return
        differences = [
            f"tensor at position {place}:\nsaved metadata: {before}\nrecomputed metadata: {_facts(tensor)}\n"
            for place, (before, tensor) in enumerate(zip(self.facts, found))
            if before != _facts(tensor)
        ]
        if differences:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than"
                " during the"
                " forward pass.\n" + "".join(differences) + "."
            )


def _facts(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Returns function(*args, **kwargs). What its nodes would save is computed again by a backward, with the same
    random numbers.

    use_reentrant       should be given: True (what None means, with a warning) takes neither keyword arguments for the
                        function nor context_fn and debug, which is a ValueError, and needs an argument that requires
                        grad
    preserve_rng_state  False: the recomputation draws other random numbers
    context_fn          makes two context managers: for the function, and for its recomputation
    determinism_check   "default": a recomputation that saves tensors of other sizes or dtypes is a CheckpointError;
    "none" debug, early_stop   accepted

    In a captured region the function is a part of the region. Source: torch.utils.checkpoint.checkpoint.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be "
            "passed explicitly. Starting in PyTorch 2.9, calling checkpoint "
            "without use_reentrant will raise an exception. use_reentrant=False is "
            "recommended, but if you need to preserve the current default "
            "behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if minidynamo.compiler.is_compiling():
            return function(*args)
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in _DETERMINISM_CHECKS:
        raise ValueError(f"determinism_check should be one of {_DETERMINISM_CHECKS}, but got {determinism_check}")
    first, again = context_fn()
    if minidynamo.compiler.is_compiling() or not minidynamo.is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    return _run(
        _Frame(_Recompute(function, preserve), args, kwargs, again, determinism_check == "default"), first, args
    )  # noqa: E501


def _run(frame: _Frame, context: Any, args: tuple[Any, ...]) -> Any:
    with saved_tensors_hooks(frame.pack, frame.unpack), context:
        return frame.again.function(*args, **frame.kwargs)


def checkpoint_sequential(
    functions: Sequential | Sequence[Callable[[Any], Any]],
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Applies modules or functions one after the other; all segments but the last by checkpoint().

    Raises ValueError for keyword arguments other than preserve_rng_state.
    Source: torch.utils.checkpoint.checkpoint_sequential.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant "
            "parameter should be passed explicitly. "
            "In version 2.9 we will raise an exception if use_reentrant "
            "is not passed. use_reentrant=False is "
            "recommended, but if you need to preserve the current default "
            "behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if isinstance(functions, Sequential) else functions
    size = len(steps) // segments
    start = 0
    for start in range(size, size * segments, size):
        part = _chain(steps[start - size : start])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _chain(steps[start:])(input)


def _chain(steps: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def run(input: Any) -> Any:
        for step in steps:
            input = step(input)
        return input

    return run


_explain_missing(__name__)
