"""Switches of torch's libraries: those of libraries that are not here keep their values and change nothing."""

from .._missing_names import explain_missing as _explain_missing
from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, quantized

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized"]

for _module in (cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, quantized):
    _explain_missing(_module.__name__)
_explain_missing(__name__)
