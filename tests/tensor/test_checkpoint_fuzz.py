"""Corrupt checkpoints: good ones with bytes changed, left out, repeated or cut off. Each is read, or refused by an error
that names the file; nothing else happens."""

import io
import pickle
import random

import checkpoint_files as made
from checkpoint_files import call, storage, tensor, text

import minidynamo

REFUSALS = (pickle.UnpicklingError, ValueError, EOFError)

STATE = (
    made.EMPTY_HOOKS
    + b"q\0("
    + text("weight")
    + tensor()
    + text("bias")
    + tensor(storage("1", 3, "HalfStorage"), 1, (2,), (1,))
    + text("mask")
    + tensor(storage("2", 5, "BoolStorage"), 0, (5,), (1,))
    + text("size")
    + call("torch.Size", made.numbers([2, 2]))
    + text("more")
    + b"](K\1G\x3f\xf0\0\0\0\0\0\0N\x88"
    + text("ä")
    + b"e"
    + b"u}"
    + text("_metadata")
    + b"}sb"
)
STORAGES = {"0": made.VALUES, "1": b"\0\x3c" * 3, "2": b"\1\0\1\2\xff"}


def good_files():
    file = io.BytesIO()
    minidynamo.save({"a": minidynamo.ones(2, 3), "b": [minidynamo.nn.Parameter(minidynamo.ones(2)), (1, "x")]}, file)
    old = io.BytesIO()
    minidynamo.save([minidynamo.arange(6).t(), {"a": 2**70}], old, _use_new_zipfile_serialization=False)
    npy = b"\x93NUMPY\1\0\x37\0{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}" + b"\0" * 8
    counts = (("0", 4), ("1", 3), ("2", 5))
    return [
        file.getvalue(),
        old.getvalue(),
        made.zipped(STATE, STORAGES),
        made.sequence(STATE, [(key, count, STORAGES[key]) for key, count in counts]),
        npy,
    ]


GOOD = good_files()
# Bytes that mean much: opcodes, marks of zip files, large numbers.
TELLING = b"\x80\x02(.]})NtqhrjcRbQ\x81\x85\x86usaeXUGJKM\x8a\x8b\x8c\x8d\x94\x93\x95\xff\0\1PK\3\5\6"


def change(data, rng):
    kind = rng.randrange(7)
    at = rng.randrange(len(data))
    if kind <= 1:
        data[at] = rng.choice(TELLING) if kind else rng.randrange(256)
    elif kind == 2:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 3:
        size = rng.choice([2, 4, 8])
        value = rng.choice([0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, len(data), at])
        data[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
    elif kind == 4:
        del data[at : at + rng.randrange(1, 20)]
    elif kind == 5:
        other = rng.randrange(len(data))
        data[at:at] = data[other : other + rng.randrange(1, 40)]
    else:
        del data[at + 1 :]
    return data or bytearray(b"\0")


def visit(value):
    """Reads every element of every tensor."""
    if isinstance(value, minidynamo.Tensor):
        if value.numel() < 10_000:
            repr(value.tolist())
    elif isinstance(value, dict):
        for each in value.values():
            visit(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            visit(each)


def check(seed):
    """Whether the file was read."""
    rng = random.Random(seed)
    data = bytearray(rng.choice(GOOD))
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        data = change(data, rng)
    try:
        visit(minidynamo.load(io.BytesIO(bytes(data))))
    except REFUSALS as error:
        assert "the file" in str(error), error
        return False
    except RuntimeError as error:
        # A storage of another device, as a changed text says.
        assert "restore data location" in str(error) or "CUDA device" in str(error), error
        return False
    return True


def test_the_good_ones():
    for data in GOOD:
        visit(minidynamo.load(io.BytesIO(data)))


def test_changed_files():
    assert 100 < sum(check(seed) for seed in range(2000)) < 1500
