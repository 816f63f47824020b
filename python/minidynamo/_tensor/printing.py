"""The text of a tensor, in torch's layout. Imported when the first tensor is printed."""

from __future__ import annotations

from math import ceil, isfinite

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Protocol

    class _Format(Protocol):
        width: int

        def __call__(self, value: Any) -> str: ...


_FLOATING_AS_FLOAT32 = (_C._dtypes["float16"], _C._dtypes["bfloat16"])
_DTYPES_LEFT_OUT = (_C._dtypes["int64"], _C._dtypes["bool"])
_INDENT = len("tensor(")


class _PrintOptions:
    precision = 4
    threshold: float = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


_options = _PrintOptions()
_PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": float("inf"), "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed; None leaves a setting unchanged."""
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"set_printoptions(): unknown profile {profile!r}; the profiles are {', '.join(_PROFILES)}")
    chosen = dict(_PROFILES.get(profile, {}))  # type: ignore[arg-type]  # None is not in it
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update((name, value) for name, value in given.items() if value is not None)
    for name, value in chosen.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


class _IntegerFormat:
    """Integers and bools, padded to the longest."""

    def __init__(self, values: Iterable[int]) -> None:
        self.width = max((len(str(value)) for value in values), default=0)

    def __call__(self, value: int) -> str:
        return str(value).rjust(self.width)


class _FloatFormat:
    """Floats: integers without decimals, wide ranges in scientific notation, padded to the longest."""

    def __init__(self, values: Sequence[float]) -> None:
        sizes = [abs(value) for value in values if isfinite(value) and value != 0]
        self.whole = all(size == ceil(size) for size in sizes)
        self.scientific = bool(sizes) and self._spreads(max(sizes), min(sizes))
        if _options.sci_mode is not None:
            self.scientific = _options.sci_mode
        self.width = 0
        # As in torch: only finite non-zero numbers determine the width.
        self.width = max((len(self(value)) for value in values if isfinite(value) and value != 0), default=0)

    def _spreads(self, largest: float, smallest: float) -> bool:
        return largest / smallest > 1000 or largest > 1e8 or (not self.whole and smallest < 1e-4)

    def __call__(self, value: float) -> str:
        if self.scientific:
            text = f"{value:.{_options.precision}e}"
        elif not self.whole:
            text = f"{value:.{_options.precision}f}"
        else:
            text = f"{value:.0f}" + ("." if isfinite(value) else "")
        return text.rjust(self.width)


class _ComplexFormat:
    """The two parts, each as floats are."""

    def __init__(self, values: Sequence[complex]) -> None:
        self.real = _FloatFormat([value.real for value in values])
        self.imag = _FloatFormat([value.imag for value in values])
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip()
        return self.real(value.real) + ("" if imag.startswith(("+", "-")) else "+") + imag + "j"


def _nested(tensor: _C.Tensor, summarise: bool) -> Any:
    """The elements as nested lists; in a summary, an Ellipsis replaces omitted elements."""
    if not summarise:
        return tensor.tolist()
    if tensor.ndim == 0:
        return tensor.item()
    size, edge = len(tensor), _options.edgeitems
    if size <= 2 * edge:
        return [_nested(tensor[i], True) for i in range(size)]
    first = [_nested(tensor[i], True) for i in range(edge)]
    last = [_nested(tensor[i], True) for i in range(size - edge, size)]
    return [*first, ..., *last]


def _leaves(nested: Any) -> Iterator[Any]:
    if isinstance(nested, list):
        for item in nested:
            yield from _leaves(item)
    elif nested is not ...:
        yield nested


def _vector_text(items: list[Any], indent: int, form: _Format) -> str:
    texts = [" ..." if item is ... else form(item) for item in items]
    per_line = max(1, (_options.linewidth - indent) // (form.width + 2))
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested_text(nested: Any, depth: int, indent: int, form: _Format) -> str:
    if depth == 0:
        return form(nested)
    if depth == 1:
        return _vector_text(nested, indent, form)
    parts = ["..." if item is ... else _nested_text(item, depth - 1, indent + 1, form) for item in nested]
    return "[" + ("," + "\n" * (depth - 1) + " " * (indent + 1)).join(parts) + "]"


def _elements_text(tensor: _C.Tensor) -> str:
    if tensor.dtype in _FLOATING_AS_FLOAT32:
        tensor = tensor.float()
    nested = _nested(tensor, tensor.numel() > _options.threshold)
    leaves = list(_leaves(nested))
    is_complex, is_float = tensor.dtype.is_complex, tensor.dtype.is_floating_point
    form: _Format = (_ComplexFormat if is_complex else _FloatFormat if is_float else _IntegerFormat)(leaves)
    return _nested_text(nested, tensor.ndim, _INDENT, form)


def _suffixes(tensor: _C.Tensor) -> Iterator[str]:
    default = _C.get_default_dtype()
    empty = tensor.numel() == 0
    if empty and tensor.ndim != 1:
        yield f"size={tuple(tensor.shape)}"
    wide = "complex128" if default is _C._dtypes["float64"] else "complex64"
    left_out = (default,) if empty else (default, _C._dtypes[wide], *_DTYPES_LEFT_OUT)
    if tensor.dtype not in left_out:
        yield f"dtype={tensor.dtype}"
    node = tensor.grad_fn
    if node is not None:
        yield f"grad_fn=<{type(node).__name__}>"
    elif tensor.requires_grad:
        yield "requires_grad=True"


def tensor_repr(tensor: _C.Tensor) -> str:
    if tensor._is_traced():
        return f"tensor(..., size={tuple(tensor.shape)}, dtype={tensor.dtype})"
    suffixes = list(_suffixes(tensor))
    if tensor.requires_grad:
        tensor = tensor.detach()
    text = "tensor(" + ("[]" if tensor.numel() == 0 else _elements_text(tensor))
    line = len(text) - text.rfind("\n") - 1 + 2
    for suffix in suffixes:
        if line + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * _INDENT + suffix
            line = _INDENT + len(suffix)
        else:
            text += ", " + suffix
            line += len(suffix) + 2
    return text + ")"
