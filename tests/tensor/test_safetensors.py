import json
import struct
from pathlib import Path

import pytest

import minidynamo
from minidynamo import safetensors

DIGITS = Path(__file__).parents[2] / "examples" / "digits" / "weights.safetensors"


def pack(header, values=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + values


def entry(dtype="F32", shape=(2,), data_offsets=(0, 8), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(data_offsets), **more}


VALUES = {
    "BOOL": ("?", [True, False, True], "bool"),
    "U8": ("B", [0, 128, 255], "uint8"),
    "I8": ("b", [-128, 0, 127], "int8"),
    "I16": ("h", [-32768, 1, 32767], "int16"),
    "I32": ("i", [-(2**31), 1, 2**31 - 1], "int32"),
    "I64": ("q", [-(2**63), 1, 2**63 - 1], "int64"),
    "U16": ("H", [0, 1, 65535], "uint16"),
    "U32": ("I", [0, 1, 2**32 - 1], "uint32"),
    "U64": ("Q", [0, 2**63, 2**64 - 1], "uint64"),
    "F16": ("e", [0.5, -2.0, 65504.0], "float16"),
    "F32": ("f", [0.5, -2.0, 2.0**100], "float32"),
    "F64": ("d", [0.1, -2.0, 1e300], "float64"),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_of_each_dtype(name):
    code, values, dtype = VALUES[name]
    block = struct.pack(f"<3{code}", *values)
    tensors = safetensors.load(pack({"a": entry(name, [3], [0, len(block)])}, block))
    assert list(tensors) == ["a"]
    assert tensors["a"].dtype == getattr(minidynamo, dtype)
    assert tensors["a"].tolist() == values


def test_bfloat16_is_the_upper_half_of_a_float():
    block = struct.pack("<2H", 0x3F80, 0xC000)
    tensor = safetensors.load(pack({"a": entry("BF16", [2], [0, 4])}, block))["a"]
    assert tensor.dtype == minidynamo.bfloat16
    assert tensor.tolist() == [1.0, -2.0]


def test_shapes_order_and_metadata(tmp_path):
    header = {
        "__metadata__": {"made": "here"},
        "second": entry("F32", [2, 3], [4, 28]),
        "first": entry("F32", [], [0, 4]),
        "empty": entry("F32", [0, 3], [28, 28]),
    }
    path = tmp_path / "a.safetensors"
    path.write_bytes(pack(header, struct.pack("<7f", *range(7))))
    tensors = safetensors.load_file(path)
    assert {name: tuple(tensor.shape) for name, tensor in tensors.items()} == {
        "second": (2, 3),
        "first": (),
        "empty": (0, 3),
    }
    assert tensors["second"].tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert tensors["first"].item() == 0.0
    assert safetensors.metadata(path) == {"made": "here"}


def test_the_weights_of_the_example():
    shapes = {name: tuple(tensor.shape) for name, tensor in safetensors.load_file(DIGITS).items()}
    assert shapes["layers.0.weight"] == (64, 64)
    assert shapes["layers.2.bias"] == (10,)
    assert len(shapes) == 6


BAD = {
    "empty file": (b"", "shorter than the length"),
    "seven bytes": (b"\0" * 7, "shorter than the length"),
    "header past the end": (pack({}, length=3), "a header of 3 bytes in a file of 10"),
    "huge header": (pack({}, length=2**64 - 1), "a header of 18446744073709551615 bytes"),
    "empty header": (pack(b""), "not valid JSON"),
    "not JSON": (pack(b"{]"), "not valid JSON"),
    "not UTF-8": (pack(b'{"\xff": 1}'), "not valid JSON"),
    "deep JSON": (pack(b"[" * 100_000), "not valid JSON"),
    "long number": (pack(b'{"a": ' + b"9" * 10_000 + b"}"), "not valid JSON"),
    "key twice": (pack(b'{"a": 1, "a": 2}'), "a key occurs twice"),
    "a list": (pack([]), "must be a JSON object"),
    "metadata not strings": (pack({"__metadata__": {"a": 1}}), "map strings to strings"),
    "entry not an object": (pack({"a": 3}), "must have dtype, shape and data_offsets"),
    "entry without shape": (pack({"a": {"dtype": "F32", "data_offsets": [0, 0]}}), "must have dtype"),
    "entry with more": (pack({"a": entry(strides=[1])}, b"\0" * 8), "nothing else"),
    "unknown dtype": (pack({"a": entry("F8_E4M3")}, b"\0" * 8), "dtype 'F8_E4M3' is not supported"),
    "dtype not a string": (pack({"a": entry(["F32"])}, b"\0" * 8), "is not supported"),
    "negative size": (pack({"a": entry(shape=[-2])}, b"\0" * 8), "a list of at most 64 sizes"),
    "size not whole": (pack({"a": entry(shape=[2.0])}, b"\0" * 8), "a list of at most 64 sizes"),
    "size is a bool": (pack({"a": entry(shape=[True, 2])}, b"\0" * 8), "a list of at most 64 sizes"),
    "too many dimensions": (pack({"a": entry(shape=[1] * 65)}, b"\0" * 4), "a list of at most 64 sizes"),
    "one offset": (pack({"a": entry(data_offsets=[0])}, b"\0" * 8), "data_offsets must be two sizes"),
    "negative offset": (pack({"a": entry(data_offsets=[-8, 0])}, b"\0" * 8), "data_offsets must be two sizes"),
    "offsets swapped": (pack({"a": entry(data_offsets=[8, 0])}, b"\0" * 8), "takes 8 bytes"),
    "offsets too near": (pack({"a": entry(data_offsets=[0, 4])}, b"\0" * 4), "takes 8 bytes"),
    "overflowing shape": (pack({"a": entry(shape=[2**62, 8], data_offsets=[0, 0])}), "is too large"),
    "overflow hidden by a zero": (pack({"a": entry(shape=[0, 2**62, 8], data_offsets=[0, 0])}), "is too large"),
    "block past the end": (pack({"a": entry()}, b"\0" * 7), "lies at bytes 0 to 8"),
    "hole": (pack({"a": entry(data_offsets=[4, 12])}, b"\0" * 12), "lies at bytes 4 to 12"),
    "overlap": (pack({"a": entry(), "b": entry(data_offsets=[4, 12])}, b"\0" * 12), "lies at bytes 4 to 12"),
    "values left over": (pack({"a": entry()}, b"\0" * 9), "has 9 bytes of values, its header names 8"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_a_value_error(case, tmp_path):
    data, message = BAD[case]
    with pytest.raises(ValueError, match=message.replace("[", r"\[")):
        safetensors.load(data)
    path = tmp_path / "bad.safetensors"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"bad\.safetensors"):
        safetensors.load_file(path)


@pytest.mark.parametrize("position", range(0, 120, 3))
def test_a_flipped_byte_is_read_or_refused(position):
    data = bytearray(pack({"a": entry(), "b": entry(data_offsets=[8, 16])}, b"\0" * 16))
    data[position % len(data)] ^= 0x15
    try:
        tensors = safetensors.load(bytes(data))
    except ValueError:
        return
    assert all(tensor.numel() >= 0 for tensor in tensors.values())


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        safetensors.load_file(tmp_path / "none.safetensors")


@pytest.mark.parametrize("name", minidynamo._C._dtypes)
def test_each_dtype_is_written_and_read_or_refused(name):
    dtype = minidynamo._C._dtypes[name]
    tensor = minidynamo.tensor([0, 1, 1]).to(dtype)
    if dtype._row["safetensors"] is None:
        with pytest.raises(TypeError, match="no name for the dtype of 'a', minidynamo." + name):
            safetensors.save({"a": tensor})
        return
    (read,) = safetensors.load(safetensors.save({"a": tensor})).values()
    assert read.dtype is dtype and read.tolist() == tensor.tolist()
