"""Around the package: data, checkpoint, model_zoo, and cpp_extension, which compiles C++ functions over tensors."""

from .._missing_names import explain_missing as _explain_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import _pytree as _pytree
    from . import checkpoint as checkpoint
    from . import cpp_extension as cpp_extension
    from . import data as data
    from . import hooks as hooks
    from . import model_zoo as model_zoo

__all__ = ["checkpoint", "cpp_extension", "data", "hooks", "model_zoo"]

_explain_missing(__name__, ("_pytree", "checkpoint", "cpp_extension", "data", "dlpack", "hooks", "model_zoo"))
