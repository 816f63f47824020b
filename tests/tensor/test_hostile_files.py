"""load() and safetensors on other files: rejected early, without waiting or filling memory."""

import io
import json
import os
import pickle
import socket
import struct
import subprocess
import sys
import threading

import pytest

import minidynamo
from minidynamo import safetensors

GOOD = safetensors.save({"a": minidynamo.arange(6.0).reshape(2, 3), "b": minidynamo.ones(1, dtype=minidynamo.bool)})
MIB = 1 << 20


def with_header(text, values=b"", size=None):
    return struct.pack("<Q", len(text) if size is None else size) + text + values


def header(**entries):
    return json.dumps(entries).encode()


def entry(begin, end, shape, dtype="U8"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


# The beginnings of files; each is followed by zeros up to 3 GiB.
JUNK = {
    "zeros": b"",
    "ones": b"\xff" * 4096,
    "text": b"once upon a time " * 100,
    "a zip": b"PK\3\4",
    "a pickle": pickle.dumps({"a": 1}),
    "a header as large as can be": with_header(b"{", size=99_999_999),
    "a header that is too large": with_header(b"{", size=100_000_001),
    "a header that begins well": with_header(b'{"a": {"dtype": "U8", ' + b'"x": "y", ' * 1000, size=90_000_000),
    "a header of one long name": with_header(b'{"' + b"a" * 200_000, size=90_000_000),
    "a header that is no UTF-8": with_header(b'{"\xff', size=90_000_000),
    "a header of braces": with_header(b'{"a":' * 200_000, size=90_000_000),
    "fewer values than there are": with_header(header(a=entry(0, 100, [100]))),
    "more values than there are": with_header(header(a=entry(0, 1 << 40, [1 << 40]))),
    "a hole": with_header(header(a=entry(8, 16, [8]))),
    "an overlap": with_header(header(a=entry(0, 8, [8]), b=entry(4, 12, [8]))),
}


class Counting(io.RawIOBase):
    """A file object of unknown size that counts how much is read."""

    def __init__(self, file):
        self.file = file
        self.count = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self.file.read(len(buffer))
        buffer[: len(data)] = data
        self.count += len(data)
        return len(data)


@pytest.fixture
def sparse(tmp_path):
    def make(beginning, size=3 << 30):
        path = tmp_path / "junk"
        with open(path, "wb") as file:
            file.write(beginning)
            file.truncate(size)
        return path

    return make


def bytes_read(call):
    """The number of bytes that this process reads from files in a call that raises."""

    def count():
        with open("/proc/self/io") as file:
            return int(file.readline().split()[1])

    before = count()
    with pytest.raises((ValueError, pickle.UnpicklingError)):
        call()
    return count() - before


WAYS = {
    "load": lambda path: minidynamo.load(path),
    "load_file": lambda path: safetensors.load_file(path),
    "load of an open file": lambda path: minidynamo.load(open(path, "rb")),
    "load of an unbuffered file": lambda path: minidynamo.load(open(path, "rb", buffering=0)),
    "load of a stream": lambda path: minidynamo.load(Counting(open(path, "rb"))),
    "load of a buffered stream": lambda path: minidynamo.load(io.BufferedReader(Counting(open(path, "rb")))),
}


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="reads /proc")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", JUNK)
def test_junk_is_refused_within_a_mebibyte(kind, way, sparse):
    path = sparse(JUNK[kind])
    if kind in ("more values than there are", "fewer values than there are") and "stream" in way:
        pytest.skip("only reading tells how much there is")
    # The counting itself reads a little.
    assert bytes_read(lambda: WAYS[way](path)) <= MIB + 4096


@pytest.mark.parametrize("load", [minidynamo.load, safetensors.load_file, safetensors.metadata])
def test_irregular_files(load, tmp_path):
    fifo, place = tmp_path / "fifo", tmp_path / "socket"
    os.mkfifo(fifo)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(place))
    cases = {"/dev/zero": "character device", "/dev/null": "character device", fifo: "FIFO", place: "socket"}
    os.symlink("/dev/zero", tmp_path / "link")
    cases[tmp_path / "link"] = "character device"
    for path, kind in cases.items():
        with pytest.raises(ValueError, match=f"is a {kind}, not a regular file"):
            load(path)
    with pytest.raises(ValueError, match="FIFO"):
        minidynamo.load(fifo, weights_only=False)
    listening.close()
    with pytest.raises(IsADirectoryError):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


def test_endless_file_objects():
    with open("/dev/zero", "rb") as zero:
        counting = Counting(zero)
        with pytest.raises(ValueError):
            minidynamo.load(counting)
        assert counting.count <= MIB
        with pytest.raises(ValueError):
            minidynamo.load(zero)


def test_memory_stays(sparse):
    path = sparse(JUNK["zeros"])
    program = """
import pickle, resource, sys
import minidynamo as md
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
for options in ({}, {"weights_only": False}, {"weights_only": False, "pickle_module": pickle}):
    try:
        md.load(sys.argv[1], **options)
    except Exception as error:
        print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["ValueError", "ValueError", "UnpicklingError"], done.stderr


def is_right(state):
    return state["a"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and state["b"].tolist() == [True]


def test_valid_files(tmp_path):
    path = tmp_path / "good"
    path.write_bytes(GOOD)
    for way in WAYS.values():
        assert is_right(way(path))
    assert is_right(minidynamo.load(io.BytesIO(GOOD))) and is_right(safetensors.load(GOOD))
    assert is_right(safetensors.load(bytearray(GOOD))) and is_right(safetensors.load(memoryview(GOOD)))
    # From the current position of the file object.
    file = io.BytesIO(b"before" + GOOD)
    file.seek(6)
    assert is_right(minidynamo.load(file)) and file.read() == b""
    # A pipe has no size, and returns the bytes available at the time.
    read, write = os.pipe()
    with os.fdopen(read, "rb") as source, os.fdopen(write, "wb", buffering=0) as sink:

        def feed():
            for at in range(0, len(GOOD), 7):
                sink.write(GOOD[at : at + 7])
            sink.close()

        thread = threading.Thread(target=feed)
        thread.start()
        assert is_right(minidynamo.load(source))
        thread.join()


def test_a_large_header_is_read(tmp_path):
    names = {f"layer.{i}.{'weight' * 5}": minidynamo.full((1,), float(i)) for i in range(12_000)}
    safetensors.save_file(names, tmp_path / "many")
    assert (tmp_path / "many").stat().st_size > 1.1 * MIB
    found = minidynamo.load(tmp_path / "many")
    assert list(found) == list(names) and all(found[name].item() == tensor.item() for name, tensor in names.items())


def test_cut_off_anywhere(tmp_path):
    for end in range(len(GOOD)):
        for make in (io.BytesIO, lambda data: Counting(io.BytesIO(data))):
            with pytest.raises(ValueError):
                minidynamo.load(make(GOOD[:end]))
    for make in (io.BytesIO, lambda data: Counting(io.BytesIO(data))):
        with pytest.raises(ValueError):
            minidynamo.load(make(GOOD + b"x"))


@pytest.mark.parametrize("make", [io.BytesIO, lambda data: Counting(io.BytesIO(data))], ids=["seekable", "stream"])
def test_a_pickle_from_a_file_object(make):
    value = {"words": ["a"] * 1000, "number": 3}
    assert minidynamo.load(make(pickle.dumps(value)), weights_only=False, pickle_module=pickle) == value
    assert minidynamo.load(make(pickle.dumps(value, 0)), weights_only=False, pickle_module=pickle) == value
    with pytest.raises((ValueError, pickle.UnpicklingError)):
        minidynamo.load(make(pickle.dumps(value)))
    assert minidynamo.load(make(pickle.dumps(3)), weights_only=False, pickle_module=pickle) == 3


STATES = {
    "None": None,
    "a number": 3,
    "a list": [("weight", 1)],
    "text": "weight",
    "a tensor": minidynamo.ones(2),
    "a module": minidynamo.nn.Linear(2, 2),
}


@pytest.mark.parametrize("kind", STATES)
def test_a_state_that_is_not_a_dict(kind):
    layer = minidynamo.nn.Linear(2, 2)
    before = layer.weight.tolist()
    for strict in (True, False):
        with pytest.raises(TypeError, match=r"^Expected state_dict to be dict-like, got <class '"):
            layer.load_state_dict(STATES[kind], strict=strict)
    assert layer.weight.tolist() == before


@pytest.mark.parametrize("value", [None, 3, "text", [[1.0, 2.0], [3.0, 4.0]], object()], ids=lambda v: type(v).__name__)
def test_a_state_of_junk(value):
    layer = minidynamo.nn.Linear(2, 2)
    before = layer.weight.tolist()
    for strict in (True, False):
        with pytest.raises(RuntimeError, match="weight"):
            layer.load_state_dict({"weight": value, "bias": minidynamo.ones(2)}, strict=strict)
    with pytest.raises(RuntimeError, match="Unexpected key"):
        layer.load_state_dict({**layer.state_dict(), 3: value})
    assert layer.weight.tolist() == before
