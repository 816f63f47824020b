"""save() and load(): checkpoints in torch's formats; what reads and writes them is imported when first used."""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = None,
    pickle_protocol: int | None = None,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """Writes an object, such as a state_dict, as a zip checkpoint that torch.load(weights_only=True) reads.

    f                 a path, or a file object that takes bytes
    pickle_module     a module such as `pickle`: then obj is written as a plain pickle by it
    pickle_protocol   2 to 5; 2 if it is left out
    _use_new_zipfile_serialization  False writes the format of before torch 1.6
    dtype, shape, strides, requires_grad and Parameters are kept; tensors that share memory are written once and share
    it again. Whatever `pickle` accepts may be around them; load() reads only what torch's weights_only=True reads.
    Raises what pickling raises, before anything is written.
    """
    from .writing import write

    write(obj, f, pickle_module, pickle_protocol, _use_new_zipfile_serialization, _disable_byteorder_record)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    encoding: str = "utf-8",
) -> Any:
    """Reads a checkpoint of torch (a zip file, or the format of before 1.6), a safetensors file, .npy or .npz.

    f              a path, or a binary file object
    map_location   None or the CPU; a dict or a function, as torch has them, that leads there
    pickle_module  with weights_only=False: reads a plain pickle, which can run any code
    weights_only   False changes nothing without pickle_module: no code of a file is run; serialization.add_safe_globals
                   allows classes
    mmap           True: the tensors of a zip checkpoint lie in the file until they are written; f must be a path
    encoding       of the byte strings of Python 2
    Returns what was saved; a dict of tensors for safetensors and .npz, a tensor for .npy. Raises UnpicklingError for a
    pickle that needs more than is allowed, ValueError or EOFError for a file that is none of these or contradicts
    itself, before its values are read.
    """
    from .reading import read

    return read(f, map_location, pickle_module, weights_only, mmap, encoding)


if _C.frame_evaluation:
    _C._mark_new_call(save, "skipped", "minidynamo.save writes a file")
    _C._mark_new_call(load, "skipped", "minidynamo.load reads a file")
