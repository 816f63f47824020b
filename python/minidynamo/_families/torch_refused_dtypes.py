"""The dtypes of their first tensor for which torch's functions raise, on the CPU, and ours compute a result.

From torch 2.13's operator database, which tests/frontends compares with. Calls with them are left to torch.
"""

from __future__ import annotations

_INTEGERS = "int8 int16 int32 int64"
_BY_DTYPES = {
    "bool": "addcmul bucketize index_reduce isin kthvalue median nanmedian scatter_reduce trace trapezoid trapz",
    "bool float16 bfloat16": "vander",
    f"uint8 {_INTEGERS}": "batch_norm binary_cross_entropy gaussian_nll_loss hinge_embedding_loss huber_loss kl_div"
    " logsigmoid log_sigmoid max_pool1d mse_loss multilabel_soft_margin_loss"
    " native_batch_norm nll_loss smooth_l1_loss soft_margin_loss unfold",
    f"uint8 {_INTEGERS} float16 bfloat16": "multi_margin_loss multilabel_margin_loss",
    f"bool uint8 {_INTEGERS}": "glu hardsigmoid hardswish logaddexp logaddexp2 max_unpool1d max_unpool2d"
    " max_unpool3d prelu renorm rms_norm rrelu",
    f"bool {_INTEGERS}": "interpolate upsample_nearest",
    "bool uint8 int8 int16 int32": "local_response_norm",
    "float16 bfloat16": "avg_pool3d cdist ctc_loss matrix_rank zeta ndtri log_ndtr erfcx bessel_j0 bessel_j1 bessel_y0"
    " bessel_y1 modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0"
    " scaled_modified_bessel_k1 spherical_bessel_j0",
    f"bool uint8 {_INTEGERS} float16 bfloat16": "pdist",
}
_FUNCTIONS_ONLY = {"unfold"}  # not the method of this name
_RESULTS = {"cumprod": ["bool"], "cumsum": ["bool"]}  # dtype=
_REFUSED = {name: dtypes.split() for dtypes, names in _BY_DTYPES.items() for name in names.split()}


def refused(name: str, method: bool) -> list[str]:
    """Of the first tensor of a function or method."""
    return [] if method and name in _FUNCTIONS_ONLY else _REFUSED.get(name.rstrip("_").removeprefix("special_"), [])


def refused_results(name: str) -> list[str]:
    """Of an argument `dtype`."""
    return _RESULTS.get(name.rstrip("_"), [])
