"""Writes checkpoints that torch.load(weights_only=True) reads: a pickle of torch's names, and the storages."""

from __future__ import annotations

import codecs
import io
import pickle
from collections import OrderedDict

from .. import _C
from .checkpoints import MAGIC_NUMBER, PROTOCOL_VERSION
from .zip_writing import ALIGNMENT, ZipWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULT_PROTOCOL = 2
# torch has typed storages for the others.
_UNTYPED = tuple(_C._dtypes[name] for name in ("uint16", "uint32", "uint64"))
_FOLDER = "archive"


def write_zip(obj: Any, file: Any, protocol: int, with_byte_order: bool = True) -> None:
    """A zip checkpoint to an object with write(bytes). Errors of pickling are raised before anything is written."""
    storages = _Storages()
    data = io.BytesIO()
    _Pickler(data, protocol, storages).dump(obj)
    writer = ZipWriter(file)
    writer.write(f"{_FOLDER}/data.pkl", data.getvalue())
    writer.write(f"{_FOLDER}/.format_version", b"1")
    writer.write(f"{_FOLDER}/.storage_alignment", str(ALIGNMENT).encode())
    if with_byte_order:
        writer.write(f"{_FOLDER}/byteorder", b"little")
    for storage in storages.found:
        writer.write(f"{_FOLDER}/data/{storage.key}", storage.data())
    writer.write(f"{_FOLDER}/version", b"3\n")
    writer.close()


def write_sequence(obj: Any, file: Any, protocol: int) -> None:
    """The format of before 1.6."""
    storages = _Storages()
    data = io.BytesIO()
    _Pickler(data, protocol, storages, has_views=True).dump(obj)
    system = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": True,
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        file.write(pickle.dumps(part, protocol))
    file.write(data.getvalue())
    file.write(pickle.dumps(sorted(each.key for each in storages.found), protocol))
    for storage in sorted(storages.found, key=lambda each: each.key):
        file.write(storage.named_count().to_bytes(8, "little") + storage.data())


class _Storage:
    """One storage to write, by any tensor over it."""

    def __init__(self, key: str, tensor: Any) -> None:
        self.key = key
        self.dtype = tensor.dtype
        self.count = _elements_of_storage(tensor)
        self._tensor = tensor

    def named_count(self) -> int:
        """What a checkpoint says of the storage: elements, or bytes if it is untyped there."""
        return self.count * (self.dtype._row["size"] if self.dtype in _UNTYPED else 1)

    def data(self) -> bytes:
        whole = self._tensor.as_strided((self.count,), (1,), 0)
        # The state of a pickled tensor: its elements.
        data: bytes = whole.__reduce_ex__(4)[1][1]
        return data


class _Storages:
    def __init__(self) -> None:
        self.found: list[_Storage] = []
        self._known: dict[Any, _Storage] = {}

    def of(self, tensor: Any) -> _Storage:
        begin = tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()
        place = (begin, tensor.dtype)
        storage = self._known.get(place)
        if storage is None or not _C._shares_storage(storage._tensor, tensor):
            storage = _Storage(str(len(self.found)), tensor)
            self.found.append(storage)
            self._known[place] = storage
        return storage


def _elements_of_storage(tensor: Any) -> int:
    """The number of elements of a tensor's storage, which only as_strided() knows: the most that it accepts."""

    def fits(count: int) -> bool:
        try:
            tensor.as_strided((count,), (1,), 0)
        except RuntimeError:
            return False
        return True

    least = tensor.storage_offset() + (tensor.numel() and 1)
    if tensor.is_contiguous():
        least = tensor.storage_offset() + tensor.numel()
    if not fits(least + 1):
        return least
    step = 1
    while fits(least + step):
        least, step = least + step, step * 2
    while step:
        if fits(least + step):
            least += step
        step //= 2
    return least


class _TorchName:
    """A global of torch in a pickle: the name alone is written."""

    def __init__(self, name: str) -> None:
        self.module, _, self.name = name.rpartition(".")

    def __call__(self, *args: object) -> object:
        raise TypeError(f"{self.module}.{self.name} is only a name")


_NAMES: dict[str, _TorchName] = {}


def _torch(name: str) -> _TorchName:
    # One object for each name, so that it is written once.
    return _NAMES.setdefault(name, _TorchName(name))


class _Identity:
    """A storage among the arguments of a tensor: written as a persistent id."""

    def __init__(self, storage: _Storage) -> None:
        self.storage = storage


# The pickler that is written in Python, since the other one imports the module of each global.
_Base: Any = pickle._Pickler


class _Pickler(_Base):  # type: ignore[misc]  # whose stub lacks what subclasses use
    dispatch: dict[Any, Any] = dict(_Base.dispatch)

    def __init__(self, file: Any, protocol: int, storages: _Storages, has_views: bool = False) -> None:
        super().__init__(file, protocol)
        self._storages = storages
        self._has_views = has_views
        self._kept: list[Any] = []

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not _Identity:
            return None
        storage = obj.storage
        name = storage.dtype._row["torch"].replace("Tensor", "Storage")
        if storage.dtype in _UNTYPED:
            name = "ByteStorage" if self._has_views else "storage.UntypedStorage"
        identity = ("storage", _torch(f"torch.{name}"), storage.key, "cpu", storage.named_count())
        return (*identity, None) if self._has_views else identity

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, _C.Tensor):
            return self._tensor(obj)
        if isinstance(obj, _C.Size):
            return _torch("torch.Size"), (tuple(obj),)
        if type(obj) is _C.device:
            return _torch("torch.device"), (obj.type,)
        if type(obj) is bytes and not obj:
            # Otherwise a call of bytes(), which torch does not allow.
            return codecs.encode, ("", "latin1")
        return NotImplemented

    def _tensor(self, tensor: Any) -> Any:
        if _C._is_fake(tensor) or _C._is_recording(tensor):
            raise RuntimeError("a tensor has no values while it is traced")
        from ..nn.parameter import Parameter

        if isinstance(tensor, Parameter):
            data = tensor.detach()
            # The memo knows objects by their address.
            self._kept.append(data)
            return _torch("torch._utils._rebuild_parameter"), (data, tensor.requires_grad, OrderedDict())
        storage = self._storages.of(tensor.detach())
        layout = (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.requires_grad)
        args: tuple[Any, ...] = (_Identity(storage), *layout, OrderedDict())
        if tensor.dtype in _UNTYPED:
            return _torch("torch._utils._rebuild_tensor_v3"), (*args, tensor.dtype)
        return _torch("torch._utils._rebuild_tensor_v2"), args

    def _save_name(self, obj: _TorchName) -> None:
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    dispatch[_TorchName] = _save_name

    def _save_dtype(self, obj: Any) -> None:
        self.save(_torch(f"torch.{str(obj).rpartition('.')[2]}"))

    dispatch[_C.dtype] = _save_dtype
