"""The names of torch.distributed.checkpoint.filesystem."""

from ..._missing_names import explain_missing as _explain_missing
from . import FileSystemReader, FileSystemWriter

__all__ = ["FileSystemReader", "FileSystemWriter"]

_explain_missing(__name__)
