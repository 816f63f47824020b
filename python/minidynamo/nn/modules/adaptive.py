"""The name of torch.nn.modules.adaptive: the class of minidynamo.nn itself."""

from ..._missing_names import explain_missing as _explain_missing
from ..adaptive_softmax import AdaptiveLogSoftmaxWithLoss

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_explain_missing(__name__)
