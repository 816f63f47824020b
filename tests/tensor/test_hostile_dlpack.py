"""DLPack from an incorrect producer: an error that names the field; correct input of the same producer is accepted."""

import ctypes

import pytest

import minidynamo as md


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Array(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    _fields_ = [("array", Array), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("array", Array),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

VALUES = (ctypes.c_float * 8)(*range(8))
ADDRESS = ctypes.addressof(VALUES)
KEPT = []


def capsule(shape=(2, 3), strides=None, dtype=(2, 32, 1), data=ADDRESS, ndim=None, byte_offset=0, versioned=False):
    form = ManagedVersioned(major=1) if versioned else Managed()
    sizes = None if shape is None else (ctypes.c_int64 * max(1, len(shape)))(*shape)
    steps = None if strides is None else (ctypes.c_int64 * max(1, len(strides)))(*strides)
    count = len(shape or ()) if ndim is None else ndim
    form.array = Array(data, Device(1, 0), count, DataType(*dtype), sizes, steps, byte_offset)
    KEPT.append((form, sizes, steps))
    name = b"dltensor_versioned" if versioned else b"dltensor"
    return new_capsule(ctypes.addressof(form), name, None)


LIES = {
    "a negative size": ({"shape": (2, -3)}, r"shape\[1\]"),
    "all sizes negative": ({"shape": (-2, -3)}, r"shape\[0\]"),
    "the least size": ({"shape": (-(2**63),)}, r"shape\[0\]"),
    "no sizes": ({"shape": None, "ndim": 2}, "shape"),
    "a negative ndim": ({"ndim": -1}, "ndim"),
    "an absurd ndim": ({"ndim": 2**31 - 1}, "ndim"),
    "65 dims": ({"shape": (1,) * 65}, "ndim"),
    "no data": ({"data": None}, "data"),
    "no data, with an offset": ({"data": None, "byte_offset": 8}, "data"),
    "too many elements": ({"shape": (2**32, 2**32)}, "shape"),
    "too many bytes": ({"shape": (2**62,)}, "shape"),
    "too many, and none": ({"shape": (2**40, 0, 2**40)}, "shape"),
    "beyond memory": ({"shape": (2**60,)}, "shape"),
    "a huge stride": ({"strides": (2**62, 1)}, "strides"),
    "strides that add up": ({"shape": (3, 3), "strides": (2**61, 2**61)}, "strides"),
    "a negative stride": ({"strides": (-3, 1)}, "strides"),
    "an offset round the end": ({"byte_offset": 2**64 - 8}, "byte_offset"),
    "an offset that is no multiple": ({"byte_offset": 2}, "byte_offset"),
    "data at an odd place": ({"data": ADDRESS + 1}, "data"),
    "an unknown code": ({"dtype": (99, 32, 1)}, "dtype"),
    "float of 24 bits": ({"dtype": (2, 24, 1)}, "dtype"),
    "int of no bits": ({"dtype": (0, 0, 1)}, "dtype"),
    "bool of 32 bits": ({"dtype": (6, 32, 1)}, "dtype"),
    "bfloat of 32 bits": ({"dtype": (4, 32, 1)}, "dtype"),
    "no lanes": ({"dtype": (2, 32, 0)}, "dtype"),
}


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("lie", LIES)
def test_lies(lie, versioned):
    changes, field = LIES[lie]
    made = capsule(**changes, versioned=versioned)
    with pytest.raises(ValueError, match=field):
        md.from_dlpack(made)
    # It was not consumed.
    with pytest.raises(ValueError, match=field):
        md.from_dlpack(made)


RIGHT = {
    "as it is": ({}, [[0, 1, 2], [3, 4, 5]]),
    "strides": ({"strides": (1, 2)}, [[0, 2, 4], [1, 3, 5]]),
    "overlapping": ({"strides": (1, 1)}, [[0, 1, 2], [1, 2, 3]]),
    "the same again and again": ({"shape": (2**50,), "strides": (0,)}, None),
    "a stride that is not read": ({"shape": (1, 3), "strides": (-(2**63), 1)}, [[0, 1, 2]]),
    "an offset": ({"byte_offset": 8}, [[2, 3, 4], [5, 6, 7]]),
    "a scalar": ({"shape": ()}, 0),
    "a scalar without sizes": ({"shape": None, "ndim": 0}, 0),
    "nothing, at no place": ({"shape": (0, 3), "data": None}, []),
    "nothing, with odd strides": ({"shape": (0, 3), "strides": (-5, 2**62)}, []),
    "64 dims": ({"shape": (1,) * 63 + (2,)}, None),
}


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("name", RIGHT)
def test_right_ones(name, versioned):
    changes, values = RIGHT[name]
    tensor = md.from_dlpack(capsule(**changes, versioned=versioned))
    assert values is None or tensor.tolist() == values


@pytest.mark.parametrize("dtype", [(5, 32, 1), (1, 128, 1), (2, 32, 4), (8, 8, 1), (3, 64, 1)])
def test_unsupported_types(dtype):
    with pytest.raises(RuntimeError, match="Unsupported type code"):
        md.from_dlpack(capsule(dtype=dtype))
