"""Event files for TensorBoard, of scalars, histograms, images and texts. Needs the package `tensorboard`."""

try:
    import tensorboard  # noqa: F401
except ImportError as error:
    raise ImportError("minidynamo.utils.tensorboard needs the package tensorboard: pip install tensorboard") from error

from ..._missing_names import explain_missing as _explain_missing
from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]

_explain_missing(__name__)
