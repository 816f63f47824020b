"""The operators by namespace, by the path that older programs import; and the class of one, for isinstance."""

from ._missing_names import explain_missing as _explain_missing
from .library.custom_op import CustomOpDef as OpOverload
from .library.custom_op import CustomOpDef as OpOverloadPacket
from .library.custom_op import ops

__all__ = ["OpOverload", "OpOverloadPacket", "ops"]

_explain_missing(__name__)
