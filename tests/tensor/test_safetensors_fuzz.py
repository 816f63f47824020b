"""Corrupt safetensors files: a valid one, changed at random. Each is read, or raises ValueError; nothing else happens."""

import json
import random
import struct
import tempfile
from pathlib import Path

from minidynamo import safetensors

DTYPES = ("F32", "F64", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL", "F8_E4M3", "C64", "", None, 3)
NUMBERS = (0, 1, -1, 3, 4, 8, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), 1.5, None, "8", True, [])


def good(rng):
    """A header and its bytes."""
    header, at = {}, 0
    for number in range(rng.randrange(4)):
        shape = [rng.randrange(4) for _ in range(rng.randrange(4))]
        size = 4
        for extent in shape:
            size *= extent
        header[f"t{number}"] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    if rng.random() < 0.3:
        header["__metadata__"] = {"key": "value"}
    return header, rng.randbytes(at)


def change_header(header, rng):
    if not header:
        return
    name = rng.choice(list(header))
    entry = header[name]
    if not isinstance(entry, dict) or not entry:
        return
    kind = rng.randrange(9)
    if kind == 0:
        header[name] = rng.choice(NUMBERS)
    elif kind == 1:
        entry[rng.choice(["dtype", "shape", "data_offsets", "key", "extra"])] = rng.choice(NUMBERS)
    elif kind == 2:
        entry["dtype"] = rng.choice(DTYPES)
    elif kind == 3 and isinstance(entry.get("shape"), list) and entry["shape"]:
        entry["shape"][rng.randrange(len(entry["shape"]))] = rng.choice(NUMBERS)
    elif kind == 4 and isinstance(entry.get("data_offsets"), list) and len(entry["data_offsets"]) == 2:
        entry["data_offsets"][rng.randrange(2)] = rng.choice(NUMBERS)
    elif kind == 5:
        entry.pop(rng.choice(list(entry)), None)
    elif kind == 6 and "shape" in entry:
        entry["shape"] = [rng.choice(NUMBERS) for _ in range(rng.randrange(70))]
    elif kind == 7:
        header[rng.choice(["", "\\ud800", "x" * 1000, "__metadata__"])] = dict(entry)
    else:
        header["again"] = entry


def packed(rng):
    header, values = good(rng)
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        change_header(header, rng)
    text = json.dumps(header).encode() + b" " * rng.randrange(3)
    length = (
        len(text) if rng.random() < 0.85 else rng.choice([0, 1, len(text) - 1, len(text) + 1, 2**32, 2**63, 2**64 - 1])
    )
    data = bytearray(struct.pack("<Q", length) + text + values)
    change = rng.random()
    if change < 0.2 and data:
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
    elif change < 0.3:
        data = data[: rng.randrange(len(data) + 1)]
    elif change < 0.35:
        data += rng.randbytes(rng.randrange(20))
    elif change < 0.4:
        data = bytearray(struct.pack("<Q", 2000)) + b"[" * 1000 + b"]" * 1000
    return bytes(data)


def read(data, path):
    """The tensors of a file by each way, or None if it is rejected."""
    path.write_bytes(data)
    results = []
    for load in (lambda: safetensors.load(data), lambda: safetensors.load_file(path)):
        try:
            results.append(load())
        except ValueError as error:
            assert str(error)
            results.append(None)
    return results


def run(count, seed, path):
    rng = random.Random(seed)
    accepted = 0
    for number in range(count):
        data = packed(rng)
        from_bytes, from_file = read(data, path)
        assert (from_bytes is None) == (from_file is None), (number, data)
        if from_bytes is None:
            continue
        accepted += 1
        for name, tensor in from_bytes.items():
            assert tensor.shape == from_file[name].shape
            if tensor.numel() == 0:
                continue  # whose sizes may be anything
            # Every element is read, and the two ways agree: compared as text, since NaN is not equal to itself.
            assert repr(tensor.tolist()) == repr(from_file[name].tolist()), (number, name, data)
    return accepted


def test_changed_files(tmp_path):
    accepted = run(1500, 1, tmp_path / "a.safetensors")
    assert 100 < accepted < 1400


def run_drawn(count, seed):
    with tempfile.TemporaryDirectory() as folder:
        run(count, seed, Path(folder) / "a.safetensors")
