"""assert_close(): tensors, arrays, numbers, and sequences and mappings of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import minidynamo

from .._C import Tensor

# dtype -> (rtol, atol); 0 for those that are exact.
_TOLERANCES = {
    minidynamo.float16: (1e-3, 1e-5),
    minidynamo.bfloat16: (1.6e-2, 1e-5),
    minidynamo.float32: (1.3e-6, 1e-5),
    minidynamo.float64: (1e-7, 1e-7),
    minidynamo.complex64: (1.3e-6, 1e-5),
    minidynamo.complex128: (1e-7, 1e-7),
}
_Place = tuple[Any, ...]


class _Mismatch(Exception):
    """The text of a failure, without its place."""


class _Options:
    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, subclasses: bool, dtype: bool) -> None:
        self.rtol = rtol
        self.atol = atol
        self.equal_nan = equal_nan
        self.subclasses = subclasses
        self.dtype = dtype
        self.device = True
        self.stride = False

    def check_tolerances(self, place: _Place) -> None:
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
            raise ValueError(text + _at(place))

    def tolerances(self, *dtypes: minidynamo.dtype) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        found = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(rtol for rtol, _ in found), max(atol for _, atol in found)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """AssertionError unless all |actual - expected| <= atol + rtol * |expected|, with shapes and dtypes the same.

    Tensors, NumPy arrays, numbers, None, and sequences and mappings of them. The tolerances are by dtype: float16
    (1e-3, 1e-5), bfloat16 (1.6e-2, 1e-5), float32 (1.3e-6, 1e-5), float64 (1e-7, 1e-7), complex numbers those of their
    parts, others 0. msg is the text, or makes it from the one that is found. ValueError for one
    tolerance without the other, TypeError for other types.
    """
    options = _Options(rtol, atol, equal_nan, allow_subclasses, check_dtype)
    options.device, options.stride = check_device, check_stride
    try:
        comparisons = list(_pairs(actual, expected, (), options))
    except _Mismatch as mismatch:
        raise AssertionError(str(mismatch)) from None
    for compare, place in comparisons:
        try:
            compare()
        except _Mismatch as mismatch:
            raise AssertionError(_message(str(mismatch) + _at(place), msg)) from None


def _at(place: _Place) -> str:
    return f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in place)}" if place else ""


def _message(text: str, msg: str | Callable[[str], str] | None) -> str:
    if msg is None:
        return text
    return msg(text) if callable(msg) else msg


def _pairs(actual: Any, expected: Any, place: _Place, options: _Options) -> Iterator[tuple[Callable[[], None], _Place]]:
    """The comparisons of leaves. _Mismatch if sequences or mappings do not have the same places."""
    texts = (str, bytes)
    both = (actual, expected)
    if all(isinstance(each, Sequence) and not isinstance(each, texts) for each in both):
        if len(actual) != len(expected):
            raise _Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        for index in range(len(actual)):
            yield from _pairs(actual[index], expected[index], (*place, index), options)
    elif all(isinstance(each, Mapping) for each in both):
        _check_keys(actual, expected)
        for key in _sorted(actual):
            yield from _pairs(actual[key], expected[key], (*place, key), options)
    else:
        yield _leaves(actual, expected, place, options), place


def _sorted(keys: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return list(keys)


def _check_keys(actual: Mapping[Any, Any], expected: Mapping[Any, Any]) -> None:
    missing, additional = set(expected) - set(actual), set(actual) - set(expected)
    if missing or additional:
        raise _Mismatch(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(missing)}\n"
            f"Additional keys in the actual mapping: {sorted(additional)}"
        )


def _leaves(actual: Any, expected: Any, place: _Place, options: _Options) -> Callable[[], None]:
    if actual is None or expected is None:
        return lambda: _compare_none(actual, expected)
    if isinstance(actual, bool) and isinstance(expected, bool):
        return lambda: _compare_booleans(actual, expected)
    numbers = (int, float, complex)
    if isinstance(actual, numbers) and isinstance(expected, numbers):
        options.check_tolerances(place)
        return lambda: _compare_numbers(actual, expected, options)
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    if (related and options.subclasses) or type(actual) is type(expected):
        tensors = _as_tensor(actual), _as_tensor(expected)
        if tensors[0] is not None and tensors[1] is not None:
            options.check_tolerances(place)
            return lambda: _compare_tensors(tensors[0], tensors[1], options)
    raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.")


def _as_tensor(value: Any) -> Any:
    """The tensor of a tensor or a NumPy array, None for other things."""
    if isinstance(value, Tensor):
        return value.detach()
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return minidynamo.as_tensor(numpy.asarray(value))
    return None


def _compare_none(actual: Any, expected: Any) -> None:
    if actual is not expected:
        raise _Mismatch(f"None mismatch: {actual} is not {expected}")


def _compare_booleans(actual: bool, expected: bool) -> None:
    if actual is not expected:
        raise _Mismatch(f"Booleans mismatch: {actual} is not {expected}")


def _compare_numbers(actual: Any, expected: Any, options: _Options) -> None:
    if options.dtype and type(actual) is not type(expected):
        raise _Mismatch(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    inexact = (float, complex)
    dtypes = [minidynamo.float64 if isinstance(each, inexact) else minidynamo.int64 for each in (actual, expected)]
    rtol, atol = options.tolerances(*dtypes)
    if options.equal_nan and actual != actual and expected != expected:
        return
    difference = abs(actual - expected)
    if actual == expected or (math.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        return
    relative = difference / abs(expected) if expected != 0 else math.inf
    raise _Mismatch(_scalars(actual, expected, difference, relative, rtol, atol))


def _scalars(actual: Any, expected: Any, difference: Any, relative: Any, rtol: float, atol: float) -> str:
    exact = rtol == 0 and atol == 0
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, exact)}\n"
        f"Relative difference: {relative}{_allowed(rtol, exact)}"
    )


def _allowed(tolerance: float, exact: bool) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


def _compare_tensors(actual: Any, expected: Any, options: _Options) -> None:
    _compare_attributes(actual, expected, options)
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    if actual.dtype != expected.dtype:
        common = minidynamo.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(common), expected.to(common)
    if actual.dtype == minidynamo.bool:
        actual, expected = actual.long(), expected.long()
    matches = minidynamo.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if not bool(matches.all()):
        raise _Mismatch(_tensors(actual, expected, matches, rtol, atol))


def _compare_attributes(actual: Any, expected: Any, options: _Options) -> None:
    rows = [("shape", actual.shape, expected.shape, True), ("device", actual.device, expected.device, options.device)]
    rows.append(("dtype", actual.dtype, expected.dtype, options.dtype))
    rows.append(("stride()", actual.stride(), expected.stride(), options.stride))
    for name, one, other, checked in rows:
        if checked and one != other:
            raise _Mismatch(f"The values for attribute '{name}' do not match: {one} != {other}.")


def _tensors(actual: Any, expected: Any, matches: Any, rtol: float, atol: float) -> str:
    if actual.dtype in (minidynamo.bool, minidynamo.uint8, minidynamo.int8, minidynamo.int16, minidynamo.int32):
        actual, expected = actual.long(), expected.long()
    differences = (actual - expected).abs()
    relatives = differences / expected.abs()
    if actual.dim() == 0:
        values = (actual.item(), expected.item(), differences.item(), relatives.item())
        return _scalars(*values, rtol, atol)
    exact = rtol == 0 and atol == 0
    count, total = int((~matches).sum()), matches.numel()
    return (
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {count} / {total} ({count / total:.1%})\n"
        f"Greatest absolute difference: {_greatest(differences, matches)}{_allowed(atol, exact)}\n"
        f"Greatest relative difference: {_greatest(relatives, matches)}{_allowed(rtol, exact)}"
    )


def _greatest(values: Any, matches: Any) -> str:
    values = minidynamo.where(matches, minidynamo.zeros_like(values), values)
    flat = int(minidynamo.argmax(values.flatten()))
    index: list[int] = []
    rest = flat
    for size in reversed(values.shape):
        rest, place = divmod(rest, size)
        index.insert(0, place)
    return f"{values.flatten()[flat].item()} at index {tuple(index)}"
