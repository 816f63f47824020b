"""finfo and iinfo: the limits of a dtype."""

from .. import _C

# bits, eps, largest, smallest normal, decimal digits that survive
_FLOATS = {
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 3),
    "bfloat16": (16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 2),
    "float32": (32, 2.0**-23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 6),
    "float64": (64, 2.0**-52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 15),
}
_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def _name(function, dtype):
    if not isinstance(dtype, _C.dtype):
        raise TypeError(f"{function}(): argument 'type' must be minidynamo.dtype, not {type(dtype).__name__}")
    return repr(dtype).rpartition(".")[2]


class finfo:
    """The limits of a floating dtype; left out: of the default one."""

    def __init__(self, type=None):
        self.dtype = _name("finfo", _C.get_default_dtype() if type is None else type)
        if self.dtype not in _FLOATS:
            raise TypeError(f"finfo() takes a floating-point dtype, not {self.dtype}: use iinfo")
        self.bits, self.eps, self.max, self.smallest_normal, digits = _FLOATS[self.dtype]
        self.min = -self.max
        self.tiny = self.smallest_normal
        self.resolution = 10.0**-digits

    def __repr__(self):
        values = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{name}={getattr(self, name):.6g}' for name in values)}, dtype={self.dtype})"


class iinfo:
    """The limits of an integer dtype."""

    def __init__(self, type):
        self.dtype = _name("iinfo", type)
        if self.dtype not in _INTEGERS:
            raise TypeError(f"iinfo() takes an integer dtype, not {self.dtype}")
        self.bits = type.itemsize * 8
        self.max = 2 ** (self.bits - type.is_signed) - 1
        self.min = -(self.max + 1) if type.is_signed else 0

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
