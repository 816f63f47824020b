"""Functions over torch's tensors that regions call as they are: custom operators, functions under allow_in_graph."""

from __future__ import annotations

import functools

from .. import _C
from .._dynamo.traced_calls import CannotCapture, flatten, unflatten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    _Layout = tuple[tuple[int, ...], tuple[int, ...], Any]


# Functions that make one tensor of numbers out of torch's default generator.
_DRAWING: set[Any] = set()


def register(torch: Any, drawing: Iterable[Any]) -> None:
    """Says which callables these are, and how they are traced. drawing: see _DRAWING."""
    _DRAWING.update(drawing)
    _C._torch.set_opaque_tracer(functools.partial(_trace, torch))
    for kind in _operator_types(torch):
        _C._torch.add_opaque_type(kind)


def _operator_types(torch: Any) -> tuple[type, ...]:
    return torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._library.custom_ops.CustomOpDef


def register_marked(dynamo: Any) -> None:
    """The functions that torch._dynamo.allow_in_graph() has marked, or will mark."""
    marked = getattr(getattr(dynamo, "trace_rules", None), "_allowed_callable_ids", None)
    addresses = marked() if callable(marked) else None
    if isinstance(addresses, set):
        _C._torch.add_opaque_addresses(addresses)


@functools.cache
def _fake_mode(torch: Any) -> Any:
    """Tensors that a function closes over count as tensors without data, too."""
    return torch._subclasses.fake_tensor.FakeTensorMode(allow_non_fake_inputs=True)


def _trace(torch: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """One step that calls the function: its results are determined by running it on tensors without data."""
    name = str(getattr(function, "__name__", None) or getattr(function, "_qualname", None) or function)
    template, tensors = flatten((args, kwargs))
    is_operator = isinstance(function, _operator_types(torch))
    if is_operator and not tensors:
        # Without tensors the operator itself would run, not its fake.
        raise CannotCapture("traced_call", f"{name} without a tensor")
    with _fake_mode(torch):
        given = [torch.empty_strided(t.shape, t.stride(), dtype=_C._from_own("torch", t.dtype)) for t in tensors]
    versions = [fake._version for fake in given]
    try:
        with _fake_mode(torch):
            fake_args, fake_kwargs = unflatten(template, given)
            result = function(*fake_args, **fake_kwargs)
    except Exception as error:
        is_missing = type(error).__name__ == "UnsupportedOperatorException"
        text = f"{name} raised {type(error).__name__} on tensors without data: {error}"
        raise CannotCapture("missing_fake" if is_missing else "traced_call", text) from error
    result_template, fakes = flatten(result, torch.Tensor)
    if is_operator and not _is_of_tensors(result):
        raise CannotCapture("traced_call", f"{name} returns something else than tensors")
    arguments = [_position(given, fake) for fake in fakes]
    made = [fake for fake, argument in zip(fakes, arguments, strict=True) if argument is None]
    _check_made(name, made, given)
    layouts = [(tuple(fake.shape), fake.stride(), fake.dtype) for fake in made]
    written = [at for at, (fake, version) in enumerate(zip(given, versions, strict=True)) if fake._version != version]
    if (
        function in _DRAWING
        and kwargs.get("generator") is None
        and not written
        and not _is_recorded(torch, tensors, made)
    ):
        example = torch.empty_strided(*layouts[0][:2], dtype=layouts[0][2])
        (drawn,) = _C._record_library_call(name, function, args, kwargs, example, True, torch.default_generator)
        return drawn
    like = [_C._fake(sizes, strides, _C._to_own("torch", dtype)) for sizes, strides, dtype in layouts]
    grad_mode = torch.is_grad_enabled()

    def run(*own: _C.Tensor) -> tuple[_C.Tensor, ...]:
        theirs = [_C._from_own("torch", tensor) for tensor in own]
        call_args, call_kwargs = unflatten(template, theirs)
        if torch.is_grad_enabled() == grad_mode:
            result = function(*call_args, **call_kwargs)
        else:
            with torch.set_grad_enabled(grad_mode):
                result = function(*call_args, **call_kwargs)
        results = flatten(result, torch.Tensor)[1]
        for at in written:
            own[at].copy_(_C._to_own("torch", theirs[at]))
        return _checked(torch, name, results, theirs, arguments, layouts)

    # Without tensors, what it does was tried: only what elements are could raise.
    recorded = iter(_C._record_call_out(name, run, tensors, like, written, may_raise=bool(tensors)))
    return unflatten(result_template, [next(recorded) if at is None else tensors[at] for at in arguments])


def _is_recorded(torch: Any, tensors: list[Any], made: list[Any]) -> bool:
    is_differentiable = any(fake.dtype.is_floating_point for fake in made)
    return is_differentiable and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _is_of_tensors(result: Any) -> bool:
    if isinstance(result, (tuple, list)):
        return all(map(_is_of_tensors, result))
    return result is None or type(result).__name__ == "FakeTensor"


def _position(given: list[Any], tensor: Any) -> int | None:
    return next((at for at, each in enumerate(given) if each is tensor), None)


def _check_made(name: str, made: list[Any], given: list[Any]) -> None:
    """Results that are no arguments must be new tensors."""
    seen = [_storage(fake) for fake in given]
    for number, fake in enumerate(made):
        if type(fake).__name__ != "FakeTensor" or fake.device.type != "cpu":
            raise CannotCapture("traced_call", f"{name} returns a tensor that it has not made of its arguments")
        if fake.requires_grad:
            raise CannotCapture("traced_call", f"{name} returns a tensor that requires grad")
        if not isinstance(_C._to_own("torch", fake.dtype), _C.dtype):
            raise CannotCapture("traced_call", f"{name} returns a tensor of {fake.dtype}")
        if _storage(fake) in seen:
            raise CannotCapture("traced_call", f"{name} returns a view (result {number})")
        seen.append(_storage(fake))


def _storage(tensor: Any) -> int:
    storage: int = tensor.untyped_storage()._cdata
    return storage


def _checked(
    torch: Any, name: str, results: list[Any], given: list[Any], arguments: list[int | None], layouts: list[_Layout]
) -> tuple[_C.Tensor, ...]:
    """The new ones among the results of a run, each with the layout of its fake."""
    if len(results) != len(arguments):
        raise RuntimeError(f"{name} returned {len(results)} tensors, but {len(arguments)} on tensors without data")
    expected = iter(layouts)
    made: list[_C.Tensor] = []
    for number, (result, argument) in enumerate(zip(results, arguments, strict=True)):
        if argument is not None:
            if result is not given[argument]:
                raise RuntimeError(f"{name}: result {number} is not the argument that it is on tensors without data")
            continue
        if _storage(result) in map(_storage, given):
            raise RuntimeError(f"{name}: result {number} shares memory with an argument")
        sizes, strides, dtype = next(expected)
        if (tuple(result.shape), result.dtype) == (sizes, dtype) and result.stride() != strides:
            result = torch.empty_strided(sizes, strides, dtype=dtype).copy_(result)
        own = _C._own_result(result)
        if own is None:
            raise RuntimeError(f"{name}: result {number} is a tensor of a kind that is not captured")
        made.append(own)
    return tuple(made)
