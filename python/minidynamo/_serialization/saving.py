"""save() and load(): tensors and flat dicts of tensors as safetensors files; pickles only on request."""

from __future__ import annotations

import os

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# In the metadata of a file: the name of a single tensor, and the list of tensors that require grad.
_ALONE = "minidynamo.tensor"
_REQUIRE_GRAD = "minidynamo.requires_grad"


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int | None = None) -> None:
    """Writes a tensor, or a dict of str to tensors such as a state_dict, as a safetensors file.

    f              a path, or a file object that takes bytes
    pickle_module  a module such as `pickle`: then any object is written, as a pickle of this protocol
    dtype, shape, elements and requires_grad are kept; sharing of memory is not. Raises TypeError for other
    objects, before anything is written.
    """
    if pickle_module is not None:
        data = pickle_module.dumps(obj, protocol=pickle_protocol)
    else:
        data = _packed(obj)
    if hasattr(f, "write"):
        f.write(data)
        return
    with open(f, "wb") as file:
        file.write(data)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: object = None,
) -> Any:
    """Reads what save() wrote: a tensor, or a dict of them; also any other safetensors file, as a dict.

    f              a path, or a binary file object
    map_location   None or the CPU, the only device
    weights_only   False: a pickle is read too, which can run any code, by pickle_module or `pickle`; None is True
    mmap           accepted for torch's signature; the file is always read into memory
    Raises ValueError for a file that is neither, or is a pickle and weights_only is not False, and for anything but a
    regular file; such a file is refused before its values are read.
    """
    if map_location is not None and _C.device(map_location) != _C.device("cpu"):
        raise ValueError(f"load(): map_location must be None or the CPU, not {map_location!r}")
    from .file_reading import open_regular

    if hasattr(f, "read"):
        return _unpacked(f, getattr(f, "name", "the file"), pickle_module, weights_only)
    try:
        file = open_regular(f)
    except ValueError as error:
        raise ValueError(f"load(): {error}") from None
    with file:
        return _unpacked(file, os.fspath(f), pickle_module, weights_only)


def _packed(obj: Any) -> bytes:
    import json

    from .. import safetensors

    alone = isinstance(obj, _C.Tensor)
    if not alone and not isinstance(obj, dict):
        raise TypeError(
            f"save() writes a tensor or a dict of str to tensors, not {type(obj).__name__}; "
            "save(..., pickle_module=pickle) writes any object"
        )
    tensors = {_ALONE: obj} if alone else obj
    metadata = {_ALONE: "1"} if alone else {}
    requiring = [name for name, tensor in tensors.items() if isinstance(tensor, _C.Tensor) and tensor.requires_grad]
    if requiring:
        metadata[_REQUIRE_GRAD] = json.dumps(requiring)
    try:
        return safetensors.save(tensors, metadata)
    except TypeError as error:
        raise TypeError(f"save(): {error}; save(..., pickle_module=pickle) writes any object") from None


def _unpacked(file: Any, name: str, pickle_module: Any, weights_only: bool | None) -> Any:
    import json

    from .. import safetensors
    from .file_reading import Source

    source = Source(file, name)
    start = source.read(safetensors.LOOK)
    if not safetensors.looks_like(start, source.left):
        return _unpickled(source.from_start(start), start, name, pickle_module, weights_only)
    try:
        tensors, metadata = safetensors.read(source, start)
        requiring = json.loads(metadata.get(_REQUIRE_GRAD, "[]"))
        for each in requiring:
            tensors[each].requires_grad_()
        return tensors[_ALONE] if _ALONE in metadata else tensors
    except (ValueError, LookupError, TypeError, RuntimeError) as error:
        raise ValueError(f"load(): {name!r}: {error}") from None


def _unpickled(file: Any, start: bytes, name: str, pickle_module: Any, weights_only: bool | None) -> Any:
    if weights_only is None or weights_only:
        kind = "a zip file, as torch writes it" if start.startswith(b"PK") else "not a safetensors file"
        raise ValueError(
            f"load(): {name!r} is {kind}; a pickle is read only with weights_only=False, and can run any code"
        )
    if pickle_module is None:
        import pickle as pickle_module
    return pickle_module.load(file)


if _C.frame_evaluation:
    _C._mark_new_call(save, "skipped", "minidynamo.save writes a file")
    _C._mark_new_call(load, "skipped", "minidynamo.load reads a file")
