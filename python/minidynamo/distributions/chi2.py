"""The name of torch.distributions.chi2: the class of minidynamo.distributions itself."""

from .._missing_names import explain_missing as _explain_missing
from .gamma import Chi2

__all__ = ["Chi2"]

_explain_missing(__name__)
