"""Checkpoints that lie: each is refused by an error that names the file and what is wrong, without harm."""

import io
import os
import pickle
import struct
import subprocess
import sys
import zipfile

import checkpoint_files as made
import pytest
from checkpoint_files import call, name, number, sequence, storage, tensor, text, zipped

import minidynamo

REFUSALS = (pickle.UnpicklingError, ValueError, EOFError)

GOOD = zipped(tensor())
GOOD_SEQUENCE = sequence(tensor())


def changed(data, old, new):
    assert data.count(old) >= 1
    return data.replace(old, new)


def zip_records(*records):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for record, data in records:
            archive.writestr(record, data)
    return file.getvalue()


def central(data, at, value, size=4):
    """With a number of the first entry of the directory replaced."""
    begin = data.rfind(b"PK\5\6")
    (place,) = struct.unpack_from("<I", data, begin + 16)
    return data[: place + at] + value.to_bytes(size, "little") + data[place + at + size :]


def ending(data, at, value, size=4):
    begin = data.rfind(b"PK\5\6") + at
    return data[:begin] + value.to_bytes(size, "little") + data[begin + size :]


def view(key, offset, count):
    return b"(" + text(key) + number(offset) + number(count) + b"t"


SHARED_TUPLES = b")" + b"q\0h\0\x86" * 60

# What is wrong: the file, and a part of the error's text.
LIES = {
    # The pickle.
    "an unknown opcode": (zipped(b"i"), "Unsupported operand 105"),
    "an unknown global": (
        zipped(name("os", "system") + text("true") + b"\x85R"),
        "Unsupported global: GLOBAL os.system",
    ),
    "eval": (zipped(name("builtins", "eval") + text("1") + b"\x85R"), "Unsupported global: GLOBAL eval"),
    "a private global of torch": (zipped(name("torch", "hub.load")), "Unsupported global: GLOBAL torch.hub.load"),
    "a global with a long name": (zipped(b"c" + b"a" * 100_000 + b"\nb\n"), "no newline ends the name"),
    "a call of a str": (zipped(text("a") + b")R"), "unrecognized function str"),
    "a call without a tuple": (zipped(name("collections", "OrderedDict") + b"]R"), "not a tuple of arguments"),
    "a call of a dtype": (zipped(name("torch", "float32") + b")R"), "unrecognized function dtype"),
    "__new__ of a function": (zipped(name("torch._utils", "_rebuild_tensor") + b")\x81"), "unrecognized class"),
    "a class as a value": (zipped(name("collections", "OrderedDict")), "where only a value can be"),
    "a storage as a value": (zipped(storage()), "where only a value can be"),
    "an empty stack": (zipped(b""), "does not hold one object"),
    "two objects": (zipped(b"NN"), "does not hold one object"),
    "a mark that was never set": (zipped(b"t"), "a mark that it did not set"),
    "append to nothing": (zipped(b"Na"), "an empty stack"),
    "append to a dict": (zipped(b"}Na"), "Can only append to lists"),
    "items of a list": (zipped(b"]NNs"), "Can only set items of dicts"),
    "an odd number of items": (zipped(b"}(Nu"), "odd number"),
    "a missing memo": (zipped(b"h\7"), "Memo value not found at index 7"),
    "a list as a key": (zipped(b"}]Ns"), "unhashable type list"),
    "a key that takes years to hash": (zipped(b"}" + SHARED_TUPLES + b"Ns"), "a key of more than"),
    "a key in a set that takes years": (zipped(call("__builtin__.set", b"]" + SHARED_TUPLES + b"a")), "a key of more"),
    "keys that collide": (zipped(b"}" + number(2**61 - 1) + b"Ns"), "a key that is a number above"),
    "a protocol of the future": (zipped(b"\x80\x09N"), "protocol: 9"),
    "a list that contains itself": (zipped(b"]q\0h\0a"), "a list contains itself"),
    "a dict that contains itself": (zipped(b"}q\0" + text("a") + b"h\0s"), "a dict contains itself"),
    "a circle of two": (zipped(b"]q\0]q\1h\0aa"), "contains itself"),
    "nested lists": (zipped(b"]" * 100_000 + b"a" * 99_999), "nested more than 1000 deep"),
    "nested tuples": (zipped(b")" + b"\x85" * 100_000), "nested more than 1000 deep"),
    "nested marks": (zipped(b"(" * 100_000), "does not hold one object"),
    "a str longer than the file": (zipped(b"X\xff\xff\xff\xffabc"), "truncated"),
    "a str of 2**62 bytes": (zipped(b"\x8d" + (2**62).to_bytes(8, "little")), "truncated"),
    "a frame longer than the file": (zipped(b"\x95" + (2**62).to_bytes(8, "little") + b"N"), "a frame is longer"),
    "a huge int": (zipped(b"\x8b\xff\xff\xff\x7f"), "an int of 2147483647 bytes"),
    "a str that is no UTF-8": (zipped(b"X\1\0\0\0\xff"), "decode"),
    "a huge bytearray": (zipped(call("__builtin__.bytearray", number(2**40))), "a int in place of a bytes"),
    "bytes in another encoding": (zipped(call("_codecs.encode", text("a"), text("rot13"))), "with the encoding"),
    "a complex of texts": (zipped(call("__builtin__.complex", text("1"), text("2"))), "a str in place of a float"),
    "a Size of texts": (zipped(call("torch.Size", text("12"))), "in place of a tuple"),
    "the state of a list": (zipped(b"]}b"), "Can only build"),
    "a state that hides a method": (
        zipped(made.EMPTY_HOOKS + b"}" + text("items") + b"Nsb"),
        "would replace its 'items'",
    ),
    "a Namespace of a number": (zipped(name("argparse", "Namespace") + b")\x81K\1b"), "not a dict of names"),
    # Storages and tensors.
    "a storage without a record": (zipped(tensor(storage("1"))), "no record 'archive/data/1'"),
    "a storage out of the folder": (zipped(tensor(storage("../data.pkl"))), "no record 'archive/data/../data.pkl'"),
    "a storage larger than its record": (zipped(tensor(storage(count=5))), "5 elements of FloatStorage has 16 bytes"),
    "a storage smaller than its record": (zipped(tensor(storage(count=3))), "3 elements of FloatStorage has 16 bytes"),
    "a storage of 2**62 elements": (zipped(tensor(storage(count=2**62))), "has 16 bytes"),
    "a storage of 2**70 elements": (zipped(tensor(storage(count=2**70))), "storage '0' of 11805916207174"),
    "a storage of -4 elements": (zipped(tensor(storage(count=-4))), "storage '0' of -4"),
    "a storage of two kinds": (zipped(b"(" + tensor() + tensor(storage(kind="IntStorage")) + b"t"), "of two kinds"),
    "a storage of a str": (zipped(tensor(text("abc"))), "over a str, not a storage"),
    "a persistent id of a module": (zipped(b"(" + text("module") + b"tQ"), "the source of a module"),
    "a persistent id of a number": (zipped(b"K\1Q"), "not of a storage"),
    "a short persistent id": (zipped(b"(" + text("storage") + b"tQ"), "has 1 parts"),
    "a size beyond the storage": (zipped(tensor(size=(2, 3))), "out of bounds for storage of size 16"),
    "an offset beyond the storage": (zipped(tensor(offset=1)), "out of bounds for storage of size 16"),
    "a stride beyond the storage": (zipped(tensor(stride=(3, 1))), "out of bounds for storage of size 16"),
    "a negative offset": (zipped(tensor(offset=-1)), "storage_offset of a tensor has -1"),
    "a negative size": (zipped(tensor(size=(-2, 2))), "size of a tensor has -2"),
    "a negative stride": (zipped(tensor(stride=(-2, 1))), "stride of a tensor has -2"),
    "a size that overflows": (zipped(tensor(size=(2**62, 2**62), stride=(0, 0))), "too large"),
    "an offset that overflows": (zipped(tensor(offset=2**63)), "storage_offset of a tensor has 9223372036854775808"),
    "strides that overflow": (zipped(tensor(stride=(2**62, 2**62))), "out of bounds"),
    "more strides than sizes": (zipped(tensor(stride=(2, 1, 1))), "2 sizes and 3 strides"),
    "a thousand dimensions": (zipped(tensor(size=[1] * 1000, stride=[1] * 1000)), "at most 64"),
    "hooks": (zipped(tensor(hooks=b"}K\1Ns")), "backward hooks are code"),
    "requires_grad of a number": (zipped(tensor(requires_grad=b"K\1")), "in place of requires_grad"),
    "integers that require grad": (
        zipped(tensor(storage(kind="IntStorage"), requires_grad=b"\x88")),
        "cannot require grad",
    ),
    "a Parameter of a list": (
        zipped(call("torch._utils._rebuild_parameter", b"]", b"\x88", b"}")),
        "Parameter of a list",
    ),
    "too few arguments": (zipped(call("torch._utils._rebuild_tensor_v2")), "does not accept its arguments"),
    "attributes that hide methods": (
        zipped(
            call("torch._utils._rebuild_parameter_with_state", tensor(), b"\x88", b"}", b"}" + text("shape") + b"Ns")
        ),
        "would replace its 'shape'",
    ),
    "sparse": (zipped(name("torch._utils", "_rebuild_sparse_tensor")), "sparse tensors are not read"),
    "quantized": (zipped(name("torch._utils", "_rebuild_qtensor")), "quantized tensors are not read"),
    "float8": (zipped(name("torch", "float8_e4m3fn")), "float8_e4m3fn are not supported"),
    # The zip file.
    "a compressed record": (zipped(tensor(), compression=zipfile.ZIP_DEFLATED), "compressed"),
    "a record larger than the file": (central(central(GOOD, 20, 2**31), 24, 2**31), "overlaps what follows"),
    "a record of two sizes": (central(GOOD, 24, 2**31), "compressed"),
    "a record that begins behind the file": (central(GOOD, 42, 2**31), "overlaps what follows"),
    "a record that overlaps another": (central(GOOD, 42, 70), "overlaps what follows|is not that of the directory"),
    "an encrypted record": (central(GOOD, 8, 1, 2), "encrypted"),
    "a directory larger than the file": (ending(GOOD, 12, 2**31), "does not fit into the file"),
    "a directory behind the file": (ending(GOOD, 16, 2**31), "does not fit into the file"),
    "too many entries": (ending(GOOD, 10, 60_000, 2), "does not fit into the file"),
    "too few entries": (ending(GOOD, 10, 1, 2), "larger than its entries"),
    "several parts": (ending(GOOD, 4, 1, 2), "several parts"),
    "a local header of another name": (
        changed(GOOD[:100], b"archive/data.pkl", b"archive/dbtb.pkl") + GOOD[100:],
        "is not that of the directory",
    ),
    "a byte order of the future": (zipped(tensor(), order=b"middle"), "Unknown endianness type"),
    "a TorchScript archive": (zipped(tensor(), more=[("archive/constants.pkl", b"")]), "TorchScript"),
    "two pickles": (zipped(tensor(), more=[("other/data.pkl", b"N.")]), "2 records FOLDER/data.pkl"),
    "no pickle": (zip_records(("a/b", b"c")), "0 records FOLDER/data.pkl"),
    "an absolute name": (zipped(tensor(), more=[("//etc/passwd", b"")]), "leads out of the file"),
    "a name with ..": (zipped(tensor(), more=[("archive/../../a", b"")]), "leads out of the file"),
    # The format of before 1.6.
    "another magic number": (sequence(tensor(), magic=3), "a plain pickle"),
    "another version": (sequence(tensor(), version=1002), "Invalid protocol version: 1002"),
    "no system": (sequence(tensor(), system=[]), "not a dict"),
    "a storage with another count": (sequence(tensor(), [("0", 5, made.VALUES)]), "4 elements has 5 in the file"),
    "a key that nothing uses": (sequence(tensor(), [("0", 4, made.VALUES), ("1", 4, made.VALUES)]), "nothing uses it"),
    "a key twice": (sequence(tensor(), keys=["0", "0"]), "twice"),
    "no key": (sequence(tensor(), keys=[]), "is not in the file"),
    "keys that are a str": (sequence(tensor(), keys="0"), "not a list"),
    "a storage of 2**40 elements": (sequence(tensor(storage(count=2**40)), [("0", 2**40, b"")]), "truncated"),
    "a view beyond its storage": (
        sequence(tensor(storage(parts=view("1", 2, 4)))),
        "beyond its 4 elements",
    ),
    "a view of texts": (sequence(tensor(storage(parts=text("view")))), "not a key, an offset and a size"),
    "an unknown global before 1.6": (sequence(name("os", "system")), "Unsupported global: GLOBAL os.system"),
    # Others.
    "nothing": (b"", "Ran out of input"),
    "a tar archive": (b"sys_info".ljust(257, b"\0") + b"ustar\x0000" + bytes(1000), "a tar archive"),
    "a plain pickle": (pickle.dumps({"a": 1}), "a plain pickle"),
    "a pickle of protocol 0": (pickle.dumps({"a": 1}, 0), "another pickle"),
    "text": (b"once upon a time", "not a checkpoint"),
}


@pytest.mark.parametrize("lie", LIES)
def test_it_is_refused(lie, tmp_path):
    data, expected = LIES[lie]
    path = tmp_path / "bad.pt"
    path.write_bytes(data)
    with pytest.raises(REFUSALS, match=r"bad\.pt") as refused:
        minidynamo.load(path)
    assert any(part in str(refused.value) for part in expected.split("|")), str(refused.value)
    with pytest.raises(REFUSALS, match="the file"):
        minidynamo.load(io.BytesIO(data))


def test_more_containers_than_any_checkpoint_has(monkeypatch):
    monkeypatch.setattr("minidynamo._serialization.pickle_machine._MOST_CONTAINERS", 1000)
    with pytest.raises(pickle.UnpicklingError, match="more than 1000 containers"):
        minidynamo.load(io.BytesIO(zipped(b"(" + b"}" * 1001 + b"t")))


def test_a_record_twice():
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = zipped(tensor(), more=[("archive/version", b"3")])
    with pytest.raises(ValueError, match="record 'archive/version' occurs twice"):
        minidynamo.load(io.BytesIO(data))


@pytest.mark.parametrize("data", [GOOD, GOOD_SEQUENCE], ids=["zip", "sequence"])
def test_the_right_ones_are_read(data):
    assert minidynamo.load(io.BytesIO(data)).tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("data", [GOOD, GOOD_SEQUENCE], ids=["zip", "sequence"])
def test_cut_off_anywhere(data):
    for end in range(len(data)):
        with pytest.raises(REFUSALS, match="the file"):
            minidynamo.load(io.BytesIO(data[:end]))


def test_the_other_byte_order():
    swapped = struct.pack(">4f", 1, 2, 3, 4)
    big = zipped(tensor(), {"0": swapped}, order=b"big")
    assert minidynamo.load(io.BytesIO(big)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    old = sequence(tensor(), [("0", 4, swapped)], system={**made.SYSTEM, "little_endian": False})
    assert minidynamo.load(io.BytesIO(old)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    # Files of before the record have none.
    assert minidynamo.load(io.BytesIO(zipped(tensor(), order=None))).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_views_of_the_format_before_1_6():
    body = b"(" + tensor() + tensor(storage(parts=view("1", 2, 2)), size=(2,), stride=(1,)) + b"t"
    whole, part = minidynamo.load(io.BytesIO(sequence(body)))
    part.fill_(7)
    assert whole.tolist() == [[1.0, 2.0], [7.0, 7.0]]


def test_a_tensor_expanded_to_any_size_takes_no_memory():
    found = minidynamo.load(io.BytesIO(zipped(tensor(size=(2**40,), stride=(0,)))))
    assert found.shape == (2**40,) and found.stride() == (0,)


JUNK = {
    "a zip without a directory": b"PK\3\4" + b"\0" * 4096,
    "a zip of opcodes": b"PK\3\4" + b"}" * 4096,
    "a sequence that stops": GOOD_SEQUENCE[:60],
    "a sequence of a huge storage": sequence(tensor(storage(count=2**29)), [("0", 2**28, b"")]),
    "a sequence without keys": GOOD_SEQUENCE[: GOOD_SEQUENCE.index(b"]q")],
    "a plain pickle": b"\x80\x04",
    "a .npy file": b"\x93NUMPY\1\0\x10\0" + b"{" * 16,
}


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="reads /proc")
@pytest.mark.parametrize("kind", JUNK)
def test_three_gigabytes_of_junk_are_refused_within_a_mebibyte(kind, tmp_path):
    path = tmp_path / "junk.pt"
    with open(path, "wb") as file:
        file.write(JUNK[kind])
        file.truncate(3 << 30)
    program = """
import resource, sys
import minidynamo
from minidynamo._serialization import reading
def count():
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
before = count()
try:
    minidynamo.load(sys.argv[1])
except Exception as error:
    print(count() - before, type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    read, kind_of_error, *said = done.stdout.split()
    assert int(read) <= (1 << 20) + 4096, done.stdout
    assert kind_of_error in ("UnpicklingError", "ValueError", "EOFError") and "junk.pt" in " ".join(said), done.stdout


def test_files_that_cannot_be_sought():
    class Stream(io.RawIOBase):
        def __init__(self, data):
            self.file = io.BytesIO(data)

        def readable(self):
            return True

        def readinto(self, buffer):
            return self.file.readinto(buffer)

    with pytest.raises(ValueError, match="seekable"):
        minidynamo.load(Stream(GOOD))
    with pytest.raises(AttributeError, match="'int' object has no attribute 'seek'"):
        minidynamo.load(3)
