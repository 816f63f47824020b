"""opcheck(): whether an operator behaves as registered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import _C
from .._dynamo.traced_calls import flatten, unflatten
from .custom_op import CustomOpDef


class OpCheckError(Exception):
    """An operator does not behave as registered."""


def opcheck(
    op: CustomOpDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Iterable[str] = ("test_schema", "test_faketensor", "test_captured"),
    raise_exception: bool = True,
) -> dict[str, str | Exception]:
    """Calls the operator on the arguments and compares with its schema, its fake and a capture.

    test_schema      only the arguments named in mutates_args are written to, and no result shares memory
    test_faketensor  the fake returns the dtypes and shapes of the results
    test_captured    a compiled call returns what the eager call returns
    Returns {test: "SUCCESS" or the exception}; raises OpCheckError for the first failure unless disabled.
    """
    if not isinstance(op, CustomOpDef):
        raise TypeError(f"opcheck(): a custom operator is expected, not {type(op).__name__}")
    kwargs = kwargs or {}
    tests = {"test_schema": _check_schema, "test_faketensor": _check_fake, "test_captured": _check_capture}
    names = [test_utils] if isinstance(test_utils, str) else test_utils
    results: dict[str, str | Exception] = {}
    for name in names:
        if name not in tests:
            raise ValueError(f"opcheck(): unknown test {name!r}; the tests are {', '.join(tests)}")
        try:
            tests[name](op, args, kwargs)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def _copied(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], list[_C.Tensor]]:
    template, tensors = flatten((args, kwargs))
    copies = [tensor.detach().clone() for tensor in tensors]
    args, kwargs = unflatten(template, copies)
    return args, kwargs, copies


def _check_schema(op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    copied_args, copied_kwargs, tensors = _copied(args, kwargs)
    before = [tensor.clone() for tensor in tensors]
    op(*copied_args, **copied_kwargs)
    bound = op._bind(copied_args, copied_kwargs)
    allowed = flatten([bound[name] for name in op._mutates])[1]
    for tensor, old in zip(tensors, before, strict=True):
        if not _same(tensor, old) and not any(tensor is each for each in allowed):
            raise OpCheckError(f"{op._qualname} writes to an argument that is not in mutates_args")


def _check_fake(op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if op._needs_fake():
        raise OpCheckError(f"{op._qualname} has no fake")
    copied_args, copied_kwargs, _ = _copied(args, kwargs)
    real = flatten(op(*copied_args, **copied_kwargs))[1]
    template, tensors = flatten(op._bind(args, kwargs))
    fake = flatten(op._call_fake(unflatten(template, [_C._fake_of(tensor) for tensor in tensors])))[1]
    if len(real) != len(fake):
        raise OpCheckError(f"{op._qualname} gives {len(real)} tensors, its fake {len(fake)}")
    for number, (one, other) in enumerate(zip(real, fake, strict=True)):
        if one.dtype != other.dtype or one.shape != other.shape:
            raise OpCheckError(
                f"{op._qualname}: result {number} is {one.dtype} {tuple(one.shape)}, its fake says {other.dtype} "
                f"{tuple(other.shape)}"
            )


def _check_capture(op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    from .._dynamo._compile import compile

    plain_args, plain_kwargs, plain_tensors = _copied(args, kwargs)
    other_args, other_kwargs, other_tensors = _copied(args, kwargs)
    plain = op(*plain_args, **plain_kwargs)
    captured = compile(lambda *args, **kwargs: op(*args, **kwargs))(*other_args, **other_kwargs)
    pairs = zip(flatten((plain, plain_tensors))[1], flatten((captured, other_tensors))[1], strict=True)
    if not all(_same(one, other) for one, other in pairs):
        raise OpCheckError(f"{op._qualname} gives another result when it is captured")


def _same(a: _C.Tensor, b: _C.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and repr(a.tolist()) == repr(b.tolist())
