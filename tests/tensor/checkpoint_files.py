"""Checkpoints byte by byte: zip files, pickles and their parts, right ones and those that lie."""

import io
import pickle
import struct
import zipfile

MAGIC = 0x1950A86A20F9469CFC6C
SYSTEM = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}


def text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value):
    size = value.bit_length() // 8 + 1
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def numbers(values):
    return b"(" + b"".join(map(number, values)) + b"t"


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def storage(key="0", count=4, kind="FloatStorage", location="cpu", parts=b""):
    return b"(" + text("storage") + name("torch", kind) + text(key) + text(location) + number(count) + parts + b"tQ"


def call(function, *args):
    return name(*function.rsplit(".", 1)) + b"(" + b"".join(args) + b"tR"


EMPTY_HOOKS = b"ccollections\nOrderedDict\n)R"


def tensor(stored=None, offset=0, size=(2, 2), stride=(2, 1), requires_grad=b"\x89", hooks=EMPTY_HOOKS):
    stored = storage() if stored is None else stored
    args = (stored, number(offset), numbers(size), numbers(stride), requires_grad, hooks)
    return call("torch._utils._rebuild_tensor_v2", *args)


def pickled(body):
    return b"\x80\x02" + body + b"."


VALUES = struct.pack("<4f", 1, 2, 3, 4)


def zipped(body, storages=None, order=b"little", root="archive", more=(), compression=zipfile.ZIP_STORED):
    """A zip checkpoint: the body of its pickle, and its storages by their keys."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as archive:
        archive.writestr(f"{root}/data.pkl", pickled(body))
        if order is not None:
            archive.writestr(f"{root}/byteorder", order)
        for key, data in ({"0": VALUES} if storages is None else storages).items():
            archive.writestr(f"{root}/data/{key}", data)
        archive.writestr(f"{root}/version", "3\n")
        for record, data in more:
            archive.writestr(record, data)
    return file.getvalue()


def sequence(body, storages=(("0", 4, VALUES),), magic=MAGIC, version=1001, system=SYSTEM, keys=None):
    """A checkpoint of the format before 1.6: the body of its pickle, and (key, count, bytes) of its storages."""
    parts = [pickle.dumps(each, 2) for each in (magic, version, system)]
    parts.append(pickled(body))
    parts.append(pickle.dumps([key for key, _, _ in storages] if keys is None else keys, 2))
    order = "little" if type(system) is not dict or system.get("little_endian", True) else "big"
    parts.extend(count.to_bytes(8, order) + data for _, count, data in storages)
    return b"".join(parts)
