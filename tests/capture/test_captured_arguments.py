"""Arguments of the wrong kind: compiled code accepts and rejects the same ones as eager code, with the same messages."""

import array
import collections
import decimal
import enum
import fractions
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import minidynamo as md

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))
from op_samples import SAMPLES, UNDETERMINED, cases, realize, variants  # noqa: E402


class Pair(collections.namedtuple("Pair", "a b")):
    pass


class Numbers(list):
    pass


class Sequence:
    def __len__(self):
        return 2

    def __getitem__(self, at):
        return [1, 0][at]


class Whole(enum.IntEnum):
    ONE = 1


class Long(int):
    pass


class Real(float):
    pass


# Created anew for each call, so that an iterator is not exhausted.
VALUES = {
    "deque of ints": lambda: collections.deque([1, 0]),
    "deque of tensors": lambda: collections.deque([md.ones(1), md.ones(1)]),
    "list of ints": lambda: [1, 0],
    "list of tensors": lambda: [md.ones(1), md.ones(1)],
    "tuple of ints": lambda: (1, 0),
    "list subclass": lambda: Numbers([1, 0]),
    "named tuple": lambda: Pair(1, 0),
    "Size": lambda: md.Size([1, 0]),
    "mixed list": lambda: [1, 0.5],
    "list of None": lambda: [None],
    "nested": lambda: [[1], [0]],
    "range": lambda: range(2),
    "set": lambda: {0, 1},
    "frozenset": lambda: frozenset([0, 1]),
    "dict": lambda: {0: 1, 1: 0},
    "keys": lambda: {1: 0, 0: 1}.keys(),
    "generator": lambda: (i for i in (1, 0)),
    "iterator": lambda: iter([1, 0]),
    "zip": lambda: zip([1], [0]),
    "bytes": lambda: b"\1\0",
    "bytearray": lambda: bytearray(b"\1\0"),
    "array": lambda: array.array("q", [1, 0]),
    "memoryview": lambda: memoryview(b"\1\0"),
    "sequence": Sequence,
    "str": lambda: "1",
    "None": lambda: None,
    "True": lambda: True,
    "int": lambda: 1,
    "negative": lambda: -1,
    "large int": lambda: 2**63,
    "huge int": lambda: 2**200,
    "float": lambda: 1.5,
    "nan": lambda: float("nan"),
    "complex": lambda: 1j,
    "Fraction": lambda: fractions.Fraction(1, 2),
    "Decimal": lambda: decimal.Decimal(1),
    "enum": lambda: Whole.ONE,
    "int subclass": lambda: Long(1),
    "float subclass": lambda: Real(1.5),
    "NumPy int": lambda: np.int64(1),
    "NumPy float": lambda: np.float32(1.5),
    "NumPy array": lambda: np.array([1, 0]),
    "tensor": lambda: md.ones(2),
    "tensor without dims": lambda: md.tensor(1),
    "dtype": lambda: md.float64,
    "type": lambda: float,
    "device": lambda: md.device("cpu"),
    "slice": lambda: slice(1),
    "Ellipsis": lambda: ...,
    "object": object,
    "module": lambda: sys,
    "function": lambda: len,
}
# Parts of a text that depend on addresses.
ADDRESS = " at 0x"
ERRORS = Exception


def outcome(call, args, keywords):
    md.manual_seed(3)
    try:
        result = call(*args, **keywords)
    except ERRORS as error:
        return type(error), str(error).partition(ADDRESS)[0]
    parts = result if isinstance(result, (tuple, list)) else [result]
    return [
        (part.dtype, tuple(part.shape), part.requires_grad, [repr(x) for x in part.reshape(-1).tolist()])
        if isinstance(part, md.Tensor)
        else repr(part)
        for part in parts
    ]


def close(a, b):
    """Equal up to rounding: a fused loop rounds once where separate ops round twice."""
    if type(a) is not list or type(b) is not list or len(a) != len(b):
        return a == b
    for x, y in zip(a, b, strict=True):
        if type(x) is not tuple or x[:3] != y[:3]:
            if x != y:
                return False
            continue
        for u, v in zip(x[3], y[3], strict=True):
            if u != v and not (abs(float(u) - float(v)) <= 1e-5 * max(abs(float(u)), 1)):
                return False
    return True


def replaced(case, place, value):
    _, _, args, keywords = case
    given = [value() if place == at else realize(arg, md) for at, arg in enumerate(args)]
    named = {name: value() if place == name else realize(arg, md) for name, arg in keywords.items()}
    return given, named


def calls():
    """(identifier, variant, case, place, name of the value) for one sample of each row: each argument replaced by
    each value."""
    for case in cases(lambda row: row["name"] not in UNDETERMINED):
        row, number, args, keywords = case
        # The sample with the most arguments.
        longest = max(range(len(SAMPLES[row["name"]])), key=lambda n: sum(map(len, SAMPLES[row["name"]][n])))
        if number != longest:
            continue
        for variant, call in variants(row).items():
            for place in [*range(len(args)), *keywords]:
                if variant in ("method", "in_place") and place == 0:
                    continue
                for name in VALUES:
                    yield f"{row['name']}-{variant}-{place}-{name}", call, case, place, name


def check(identifier, call, case, place, name):
    plain = outcome(call, *replaced(case, place, VALUES[name]))
    md._dynamo.reset()
    compiled = md.compile(lambda *args, **keywords: call(*args, **keywords))
    for _ in range(2):
        found = outcome(compiled, *replaced(case, place, VALUES[name]))
        assert close(found, plain), (identifier, found, plain)


SHARES = 12  # of the table, so that each part runs in seconds


def share_of(identifier, shares):
    return zlib.crc32(identifier.encode()) % shares


@pytest.mark.parametrize("share", range(SHARES))
def test_a_part_of_the_table(share):
    for entry in calls():
        if share_of(entry[0], 25 * SHARES) == share:
            check(*entry)


@pytest.mark.exhaustive
@pytest.mark.parametrize("share", range(SHARES))
def test_the_table(share):
    for entry in calls():
        if share_of(entry[0], SHARES) == share:
            check(*entry)


LISTS = [
    "deque of ints",
    "deque of tensors",
    "range",
    "list subclass",
    "named tuple",
    "Size",
    "set",
    "keys",
    "generator",
    "sequence",
    "bytes",
    "NumPy array",
]
MORE = {
    "zeros": lambda v: md.zeros(v),
    "zeros(size=)": lambda v: md.zeros(size=v),
    "empty_like": lambda v: md.zeros(2).new_zeros(v),
    "view": lambda v: md.ones(0).view(v),
    "reshape": lambda v: md.ones(0).reshape(v),
    "expand": lambda v: md.ones(1, 0).expand(v),
    "permute": lambda v: md.ones(2, 3).permute(v),
    "sum": lambda v: md.ones(2, 3).sum(v),
    "flip": lambda v: md.ones(2, 3).flip(v),
    "repeat": lambda v: md.ones(2, 3).repeat(v),
    "split": lambda v: md.ones(1).split(v),
    "roll": lambda v: md.ones(2, 3).roll(v, (0, 1)),
    "cat": lambda v: md.cat(v),
    "stack": lambda v: md.stack(v),
    "hstack": lambda v: md.hstack(v),
    "tile": lambda v: md.ones(2).tile(v),
    "unflatten": lambda v: md.ones(0).unflatten(0, v),
    "movedim": lambda v: md.ones(2, 3).movedim(v, (0, 1)),
    "squeeze": lambda v: md.ones(1, 1).squeeze(v),
    "index": lambda v: md.ones(2, 3)[v],
    "setitem": lambda v: md.ones(2, 3).__setitem__(0, v),
    "out": lambda v: md.max(md.ones(2), 0, out=v),
    "layer_norm": lambda v: md.nn.functional.layer_norm(md.ones(1, 0), v),
    "pad": lambda v: md.nn.functional.pad(md.ones(3), v),
    "conv": lambda v: md.nn.functional.conv2d(md.ones(1, 1, 3, 3), md.ones(1, 1, 2, 2), padding=v),
    "tensor": lambda v: md.tensor(v),
    "size": lambda v: md.ones(2, 3).size(v),
    "broadcast_to": lambda v: md.broadcast_to(md.ones(1, 0), v),
    "tensordot": lambda v: md.tensordot(md.ones(2, 2), md.ones(2, 2), v),
    "linear": lambda v: md.nn.functional.linear(md.ones(1), v),
    "full": lambda v: md.full(v, 1.0),
    "randn": lambda v: md.randn(v),
    "randint": lambda v: md.randint(3, v),
    "meshgrid": lambda v: md.meshgrid(v, indexing="ij"),
    "rot90": lambda v: md.ones(2, 2).rot90(1, v),
    "interpolate": lambda v: md.nn.functional.interpolate(md.ones(1, 1, 2, 2), size=v),
    "max_pool": lambda v: md.nn.functional.max_pool2d(md.ones(1, 1, 3, 3), 2, v),
}


@pytest.mark.parametrize("name", MORE)
@pytest.mark.parametrize("value", LISTS)
def test_lists(name, value):
    call = MORE[name]
    plain = outcome(call, [VALUES[value]()], {})
    inside = md.compile(lambda make: call(make()))
    for compiled, make in ((md.compile(call), VALUES[value]), (inside, lambda: VALUES[value])):
        for _ in range(2):
            assert close(outcome(compiled, [make()], {}), plain)
