"""finfo and iinfo: the limits of a dtype; its kind of number."""

from __future__ import annotations

from math import floor, log10

from .. import _C

_ROWS = {name: dtype._row for name, dtype in _C._dtypes.items()}


def _limits(size: int, digits: int, exponent_bits: int) -> tuple[int, float, float, float, int]:
    """Bits, eps, largest, smallest normal and decimal precision of a floating dtype."""
    largest_exponent = 2 ** (exponent_bits - 1) - 1
    eps = 2.0 ** (1 - digits)
    largest = (2 - eps) * 2.0**largest_exponent
    return 8 * size, eps, largest, 2.0 ** (1 - largest_exponent), floor((digits - 1) * log10(2))


_FLOATS = {
    name: _limits(row["size"], row["digits"], row["exponent_bits"])
    for name, row in _ROWS.items()
    if row["exponent_bits"] and not name.startswith("complex")
}
_INTEGERS = tuple(name for name, row in _ROWS.items() if not row["exponent_bits"] and name != "bool")


# Of complex numbers the limits are those of their parts.
_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}

# Of dtypes that no tensor has: bits, eps, largest, smallest normal, digits.
_NAMED_FLOATS = {
    "float8_e4m3fn": (8, 0.125, 448.0, 0.015625, 0),
    "float8_e4m3fnuz": (8, 0.125, 240.0, 0.0078125, 0),
    "float8_e5m2": (8, 0.25, 57344.0, 6.103515625e-05, 0),
    "float8_e5m2fnuz": (8, 0.125, 57344.0, 3.0517578125e-05, 0),
    "float8_e8m0fnu": (8, 1.0, 2.0**127, 2.0**-127, 0),
}
_UNSIGNED_FLOATS = ("float8_e8m0fnu",)


def _name(function: str, dtype: object) -> str:
    if not isinstance(dtype, _C.dtype):
        raise TypeError(f"{function}(): argument 'type' must be minidynamo.dtype, not {type(dtype).__name__}")
    return repr(dtype).rpartition(".")[2]


def kind_of(dtype: _C.dtype) -> int:
    """0 for bool, 1 for integers, 2 for floats, 3 for complex numbers: promotion takes the larger one."""
    if dtype.is_complex:
        return 3
    return 2 if dtype.is_floating_point else 0 if dtype is _C._dtypes["bool"] else 1


class finfo:
    """The limits of a floating dtype, by default of the default dtype."""

    def __init__(self, type: _C.dtype | None = None) -> None:
        self.dtype = _name("finfo", _C.get_default_dtype() if type is None else type)
        self.dtype = _PARTS.get(self.dtype, self.dtype)
        limits = _FLOATS.get(self.dtype) or _NAMED_FLOATS.get(self.dtype)
        if limits is None:
            raise TypeError(f"finfo() takes a floating-point dtype, not {self.dtype}: use iinfo")
        self.bits, self.eps, self.max, self.smallest_normal, digits = limits
        self.min = self.smallest_normal if self.dtype in _UNSIGNED_FLOATS else -self.max
        self.tiny = self.smallest_normal
        self.resolution = 10.0**-digits

    def __repr__(self) -> str:
        values = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):.6g}' for name in values)}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, type: _C.dtype) -> None:
        self.dtype = _name("iinfo", type)
        if self.dtype not in _INTEGERS:
            raise TypeError(f"iinfo() takes an integer dtype, not {self.dtype}")
        self.bits = type.itemsize * 8
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -(self.max + 1) if type.is_signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
