"""Runs a function plainly and compiled, on copies of the same arguments, and says in what they differ."""

from __future__ import annotations

import warnings

import numpy as np

import minidynamo

# Relative to each element; floats of 16, 32 and 64 bits.
TOLERANCES = {2: 1e-3, 4: 1e-5, 8: 1e-12}


def copied(value):
    """The argument anew, with the same strides, in memory of its own."""
    if isinstance(value, np.ndarray) and value.base is None:
        return value.copy(order="K")
    if isinstance(value, np.ndarray):
        base = value.base.copy(order="K")
        offset = value.__array_interface__["data"][0] - value.base.__array_interface__["data"][0]
        anew = np.ndarray(value.shape, value.dtype, base, offset, value.strides)
        anew.flags.writeable = value.flags.writeable
        return anew
    return [copied(item) for item in value] if isinstance(value, list) else value


def difference_of_complex(ours, theirs):
    """Each part within the tolerance of the magnitude; infinities, NaNs and the signs of zeros as they are."""
    tolerance = TOLERANCES[theirs.dtype.itemsize // 2]
    with np.errstate(all="ignore"):
        a, b = np.atleast_1d(ours).astype("c16").ravel(), np.atleast_1d(theirs).astype("c16").ravel()
        size = np.where(np.isfinite(b), np.hypot(b.real, b.imag), 0)
        smallest = np.finfo(theirs.dtype).smallest_normal
        for x, y in ((a.real, b.real), (a.imag, b.imag)):
            far = np.abs(x - y) > tolerance * np.where(np.isfinite(y), np.maximum(size, np.abs(y)), 0) + smallest
            other = (np.isnan(x) != np.isnan(y)) | ((x != y) & ~(np.isfinite(x) & np.isfinite(y)) & ~np.isnan(y))
            wrong = (far & np.isfinite(x) & np.isfinite(y)) | other
            if wrong.any():
                at = np.argmax(wrong)
                return f"element {at} is {a[at]!r} instead of {b[at]!r}"
    return ""


def difference_of_elements(ours, theirs):
    if theirs.dtype.kind == "c":
        return difference_of_complex(ours, theirs)
    if theirs.dtype.kind != "f":
        return "" if np.array_equal(ours, theirs) else f"{ours!r} instead of {theirs!r}"
    with np.errstate(all="ignore"):
        wide = TOLERANCES[theirs.dtype.itemsize]
        a, b = np.atleast_1d(ours).astype("f8"), np.atleast_1d(theirs).astype("f8")
        close = np.isclose(a, b, rtol=wide, atol=np.finfo(theirs.dtype).smallest_normal, equal_nan=True)
        # Which of two zeros of halves is the larger one, docs/numpy.md leaves open.
        if theirs.dtype.itemsize > 2:
            close &= (a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b))
    if close.all():
        return ""
    at = np.argmin(close.ravel())
    return f"element {at} is {a.ravel()[at]!r} instead of {b.ravel()[at]!r}"


def layout(array):
    """Strides of axes with one element, or of nothing, are any."""
    strides = [stride for size, stride in zip(array.shape, array.strides, strict=True) if size > 1 and array.size]
    return array.dtype, array.shape, strides, array.flags.writeable


def difference(ours, theirs):
    if type(ours) is not type(theirs):
        return f"a {type(ours)} instead of a {type(theirs)}"
    if isinstance(theirs, (tuple, list)):
        if len(ours) != len(theirs):
            return f"{len(ours)} items instead of {len(theirs)}"
        return next(filter(None, map(difference, ours, theirs)), "")
    if isinstance(theirs, dict):
        return difference([list(ours), list(ours.values())], [list(theirs), list(theirs.values())])
    if isinstance(theirs, np.ndarray):
        if layout(ours) != layout(theirs):
            return f"{layout(ours)} instead of {layout(theirs)}"
        if theirs.flags.owndata and not ours.flags.owndata:
            return "memory that is not its own"
        return difference_of_elements(ours, theirs)
    if isinstance(theirs, np.generic):
        return difference_of_elements(ours, theirs)
    return "" if ours == theirs or (ours != ours and theirs != theirs) else f"{ours!r} instead of {theirs!r}"


def sharing(result, arguments):
    """By result and argument, whether they have memory in common."""
    arrays = [part for part in (result[1] if isinstance(result[1], (tuple, list)) else [result[1]])]
    return [
        isinstance(part, np.ndarray) and isinstance(each, np.ndarray) and np.shares_memory(part, each)
        for part in arrays
        for each in arguments
    ]


def outcome(function, arguments):
    """What it returns or raises, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = ("returned", function(*arguments))
        except Exception as error:
            result = ("raised", (type(error).__name__, str(error)))
    return result, [(each.category, str(each.message), each.lineno) for each in caught]


def mismatch(function, arguments, calls=2):
    """Empty if plain and compiled code agree in values, types, dtypes, strides, owners of memory, warnings, exceptions and what
    becomes of the arguments."""
    compiled = minidynamo.compile(function)
    for call in range(calls):
        plain, anew = copied(list(arguments)), copied(list(arguments))
        (theirs, their_warnings), (ours, our_warnings) = outcome(function, plain), outcome(compiled, anew)
        found = difference(ours, theirs) or difference(anew, plain)
        if not found and sharing(ours, anew) != sharing(theirs, plain):
            found = f"shares memory with {sharing(ours, anew)} instead of {sharing(theirs, plain)}"
        if not found and our_warnings != their_warnings:
            found = f"warns {our_warnings} instead of {their_warnings}"
        if found:
            return f"call {call}: {found}"
    return ""


def is_captured(function, arguments):
    """Whether the whole of it is one graph, or raises as plain code does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            minidynamo.compile(function, fullgraph=True)(*copied(list(arguments)))
        except minidynamo._dynamo.exc.Unsupported:
            return False
        except Exception:
            return True
    return True
