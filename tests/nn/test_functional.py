"""nn.functional: every function against torch where it is installed, compiled into one graph, some against NumPy."""

import itertools
import math
import zlib

import numpy as np
import pytest

import minidynamo as md
from minidynamo.nn import functional as F

torch = None
try:
    import torch
except ImportError:
    pass

ERRORS = (TypeError, ValueError, RuntimeError, IndexError, AssertionError)


class T:
    """Describes a tensor: normal numbers of a shape, integers below `below`, or the numbers passed in."""

    def __init__(self, *shape, below=None, values=None, dtype="float32", positive=False):
        self.shape, self.below, self.values, self.dtype, self.positive = shape, below, values, dtype, positive

    def array(self):
        if self.values is not None:
            return np.array(self.values, dtype="float32" if self.dtype == "bfloat16" else self.dtype)
        rng = np.random.default_rng(zlib.crc32(repr((self.shape, self.below)).encode()))
        if self.below is not None:
            return rng.integers(0, self.below, self.shape)
        numbers = rng.standard_normal(self.shape)
        return (np.abs(numbers) * 0.9 % 1 if self.positive else numbers).astype(
            "float64" if self.dtype == "float64" else "float32"
        )

    def make(self, library):
        tensor = library.tensor(self.array())
        return tensor.to(getattr(library, self.dtype)) if self.below is None and self.values is None else tensor


def call(*args, **keywords):
    return args, keywords


X = T(3, 5)
IMAGE, PLANE = T(2, 4, 7, 9), T(4, 7, 9)
LINE, VOLUME = T(2, 4, 11), T(2, 4, 5, 6, 7)
LOGITS, CLASSES = T(6, 5), T(6, below=5)
PROBABLE = T(3, 5, positive=True)
SIGNS = T(values=[1.0, -1.0, 1.0])

GRID = T(2, 3, 5, 2)
SPACE_GRID = T(2, 2, 3, 4, 3)
WHOLE = T(2, 3, 4, 2, below=3)
# Places (4, 2, 2) of which none occurs twice: there torch's threads would race.
APART = [[[8 * i + 4 * j + 2 * k for k in range(2)] for j in range(2)] for i in range(4)]
STEPS = T(7, 3, 5)

POINTWISE = (
    "relu silu hardtanh relu6 hardsigmoid hardswish softplus mish logsigmoid selu celu softsign tanhshrink softshrink"
)
POINTWISE += " hardshrink gelu elu leaky_relu sigmoid tanh"
LOSSES = "mse_loss l1_loss smooth_l1_loss huber_loss"
REDUCTIONS = ("none", "mean", "sum")

ROUGH = T(2, 4, 7, 9, dtype="bfloat16")

SAMPLES = {
    "grid_sample": [
        *(call(IMAGE, GRID, mode, padding, corners) for mode in ("bilinear", "nearest", "bicubic")
          for padding in ("zeros", "border", "reflection") for corners in (True, False)),
        *(call(VOLUME, SPACE_GRID, mode, padding, corners) for mode in ("bilinear", "nearest")
          for padding in ("zeros", "border", "reflection") for corners in (True, False)),
        call(VOLUME, SPACE_GRID, "bicubic", "zeros", True), call(IMAGE, T(3, 3, 5, 2), align_corners=True), call(IMAGE, GRID, "cubic"),
        call(IMAGE, GRID, "nearest", "wrap"), call(IMAGE, SPACE_GRID, align_corners=True), call(IMAGE, T(2, 3, 5, 3), align_corners=True),
        call(T(1, 1, 1, 1), T(1, 3, 5, 2), "bilinear", "reflection", True), call(T(2, 4, 7, 9, dtype="float64"), GRID, align_corners=True),
        call(T(2, 4, 7, 9, dtype="float64"), T(2, 3, 5, 2, dtype="float64"), align_corners=False),
    ],
    "affine_grid": [
        *(call(T(2, 2, 3), (2, 3, 4, 5), corners) for corners in (True, False)), *(call(T(2, 3, 4), (2, 3, 4, 5, 1), corners) for corners in (True, False)),
        call(T(2, 2, 3), (2, 3, 4), True), call(T(2, 3, 3), (2, 3, 4, 5), True), call(T(2, 2, 3), (2, 3, 0, 5), True),
        call(T(2, 2, 3, below=3), (2, 3, 4, 5), True),
    ],
    "multi_margin_loss": [*(call(LOGITS, CLASSES, p, 0.5, reduction=r) for p in (1, 2) for r in REDUCTIONS), call(LOGITS, CLASSES, weight=T(5)),
                          call(T(5), T(values=3, dtype="int64")), call(LOGITS, CLASSES, 3), call(LOGITS, T(3, below=5))],
    "multilabel_margin_loss": [*(call(T(2, 4), T(values=[[3, 0, -1, 1], [-1, 0, 1, 2]], dtype="int64"), reduction=r) for r in REDUCTIONS), call(T(4), T(values=[3, 0, -1, 1], dtype="int64")),
                               call(T(4), T(3, below=2))],
    "multilabel_soft_margin_loss": [*(call(LOGITS, T(6, 5, below=2), reduction=r) for r in REDUCTIONS), call(LOGITS, T(6, 5, below=2), T(5)), call(T(5), T(5, below=2))],
    "triplet_margin_with_distance_loss": [*(call(X, T(3, 5, positive=True), T(1, 5), swap=s) for s in (True, False)), call(X, X, X, margin=-1.0), call(X, X, T(5)), call(X, X, X, reduction="x")],
    "ctc_loss": [
        *(call(STEPS, T(3, 2, below=4), (7, 5, 6), (2, 1, 0), b, r) for r in REDUCTIONS for b in (0, 4)),
        call(STEPS, T(5, below=4), (7, 7, 7), (2, 1, 2)), call(T(7, 5), T(2, below=4), (7,), (2,)), call(STEPS, T(values=[[1, 1, 1], [1, 2, 1], [2, 2, 2]], dtype="int64"), (3, 4, 5), (3, 3, 3), reduction="none"),
        call(STEPS, T(values=[[1, 1, 1], [1, 2, 1], [2, 2, 2]], dtype="int64"), (3, 4, 5), (3, 3, 3), zero_infinity=True), call(STEPS, T(3, 2, below=4), (9, 5, 6), (2, 1, 1)),
        call(STEPS, T(3, 2, below=4), (7, 5, 6), (2, 1, 1), 9), call(STEPS, T(3, 2, below=4), (7, 5), (2, 1, 1)), call(STEPS, T(3, 2, below=4), (7, 5, 6), (3, 1, 1)),
    ],
    "multi_head_attention_forward": [
        call(T(3, 2, 4), T(5, 2, 4), T(5, 2, 4), 4, 2, T(12, 4), T(12), None, None, False, 0.0, T(4, 4), T(4)),
        call(T(3, 2, 4), T(5, 2, 4), T(5, 2, 4), 4, 2, T(12, 4), None, T(1, 1, 4), T(1, 1, 4), True, 0.0, T(4, 4), None, average_attn_weights=False),
        call(T(3, 2, 4), T(5, 2, 6), T(5, 2, 3), 4, 2, None, T(12), None, None, False, 0.0, T(4, 4), T(4), use_separate_proj_weight=True,
             q_proj_weight=T(4, 4), k_proj_weight=T(4, 6), v_proj_weight=T(4, 3), attn_mask=T(3, 5)),
        call(T(3, 2, 4), T(5, 2, 4), T(5, 2, 4), 4, 2, T(12, 4), T(12), None, None, False, 0.0, T(4, 4), T(4), static_k=T(4, 6, 2), static_v=T(4, 6, 2)),
        call(T(3, 2, 4), T(5, 2, 4), T(5, 2, 4), 6, 2, T(12, 4), T(12), None, None, False, 0.0, T(4, 4), T(4)),
        call(T(3, 2, 4), T(5, 2, 4), T(5, 2, 4), 4, 3, T(12, 4), T(12), None, None, False, 0.0, T(4, 4), T(4)),
    ],
    "lp_pool3d": [call(VOLUME, 2.0, 2), call(VOLUME, 1.0, (1, 2, 3), 1)],
    "max_unpool1d": [call(T(2, 3, 4), T(values=[[[0, 2, 5, 7]] * 3] * 2, dtype="int64"), 2), call(T(3, 4), T(values=[[0, 2, 5, 7]] * 3, dtype="int64"), 2, output_size=(9,)), call(T(3, 4), T(values=[[0, 2, 5, 70]] * 3, dtype="int64"), 2),
                     call(T(3, 4), T(values=[[0, 2, 5, 7]] * 3, dtype="int64"), 2, output_size=(90,)), call(T(3, 4), T(3, 3, below=4), 2), call(T(3, 4), T(3, 4), 2)],
    "max_unpool2d": [call(T(2, 3, 4, 2), WHOLE, 2), call(T(2, 3, 4, 2), WHOLE, (2, 3), 2, 1, (2, 3, 7, 3)), call(T(4, 2), T(4, 2, below=3), 2)],
    "max_unpool3d": [
        call(T(2, 3, 4, 2, 2), T(values=[[APART] * 3] * 2, dtype="int64"), 2), call(T(3, 4, 2, 2), T(values=[APART] * 3, dtype="int64"), 2, 1)],
    **dict.fromkeys(POINTWISE.split(), [call(X), call(T(values=[-30.0, -3.0, 0.0, 3.0, 30.0]))]),
    "threshold": [call(X, 0.1, 20.0)],
    "prelu": [call(T(2, 3, 4), T(3)), call(X, T(1)), call(X, T(2))],
    "glu": [call(T(3, 6)), call(T(4, 5), 0), call(X)],
    "softmin": [call(X, 1)],
    "softmax": [call(X, 1), call(X, dim=0)],
    "log_softmax": [call(X, 1)],
    "rrelu": [call(X)],
    **{name: [call(X, T(3, 5, dtype="float32", values=None), reduction=how) for how in REDUCTIONS] for name in LOSSES.split()},
    "binary_cross_entropy": [call(PROBABLE, PROBABLE, reduction=how) for how in REDUCTIONS]
    + [call(PROBABLE, T(values=np.eye(3, 5)), T(5)), call(PROBABLE, T(3))],
    "binary_cross_entropy_with_logits": [call(X, PROBABLE, reduction=how) for how in REDUCTIONS]
    + [call(X, PROBABLE, pos_weight=T(5)), call(X, PROBABLE, T(5)), call(X, T(3))],
    "nll_loss": [call(LOGITS, CLASSES, reduction=how) for how in REDUCTIONS]
    + [call(LOGITS, CLASSES, T(5)), call(LOGITS, CLASSES, ignore_index=1), call(T(2, 3, 4), T(2, 4, below=3)), call(LOGITS, T(3, below=5))],
    "cross_entropy": [call(LOGITS, CLASSES, reduction=how) for how in REDUCTIONS]
    + [
        call(LOGITS, CLASSES, T(5, positive=True)),
        call(LOGITS, CLASSES, ignore_index=1),
        call(LOGITS, CLASSES, label_smoothing=0.2),
        call(LOGITS, CLASSES, T(5, positive=True), label_smoothing=0.2, ignore_index=2),
        call(LOGITS, CLASSES, label_smoothing=0.2, reduction="sum"),
        call(LOGITS, T(6, 5, positive=True)),
        call(LOGITS, T(6, 5, positive=True), label_smoothing=0.1, reduction="none"),
        call(T(2, 3, 4, 5), T(2, 4, 5, below=3)),
        call(T(5), T(values=3, dtype="int64")),
        call(LOGITS, CLASSES, label_smoothing=2.0),
    ],
    "kl_div": [call(X, PROBABLE, reduction=how) for how in (*REDUCTIONS, "batchmean")] + [call(X, X, log_target=True)],
    "cosine_similarity": [call(X, T(1, 5)), call(X, X, 0), call(T(5), T(5), dim=0)],
    "pairwise_distance": [call(X, T(1, 5)), call(X, X, 1.0, keepdim=True)],
    "cosine_embedding_loss": [call(X, T(3, 5, dtype="float32"), SIGNS), call(X, X, SIGNS, margin=0.2, reduction="none")],
    "margin_ranking_loss": [call(T(3), T(1), SIGNS, margin=0.3)],
    "hinge_embedding_loss": [call(T(3), SIGNS)],
    "soft_margin_loss": [call(T(3), SIGNS, reduction="sum")],
    "triplet_margin_loss": [call(X, T(3, 5, positive=True), T(1, 5)), call(X, PROBABLE, X, swap=True)],
    "poisson_nll_loss": [call(X, PROBABLE), call(PROBABLE, T(3, 5, positive=True), log_input=False, full=True)],
    "gaussian_nll_loss": [call(X, PROBABLE, T(3, 5, positive=True)), call(X, PROBABLE, T(3, positive=True), full=True)],
    "batch_norm": [
        call(IMAGE, T(4), T(4, positive=True), T(4), T(4)),
        call(X, T(5), T(5, positive=True)),
        call(IMAGE, None, None, T(4), T(4), True),
        call(IMAGE, None, None),
        call(IMAGE, T(3), T(3, positive=True)),
        call(T(1, 4), None, None, training=True),
        call(ROUGH, T(4), T(4, positive=True), T(4), T(4)),
        call(ROUGH, None, None, T(4), T(4), True),
    ],
    "instance_norm": [call(IMAGE), call(ROUGH, None, None, T(4), T(4)), call(LINE, None, None, T(4), T(4)), call(IMAGE, T(4), T(4, positive=True), use_input_stats=False)],
    "group_norm": [call(IMAGE, 2, T(4), T(4)), call(ROUGH, 2, T(4), T(4)), call(T(2, 4), 4), call(IMAGE, 3)],
    "layer_norm": [call(X, (5,), T(5), T(5)), call(T(3, 5, dtype="bfloat16"), (5,), T(5), T(5)), call(X, (5,), T(5, dtype="bfloat16"))],
    "rms_norm": [call(T(3, 5, dtype="bfloat16"), (5,), T(5)), call(X, (5,)), call(X, (5,), T(5), 1e-3), call(T(2, 3, 4), (3, 4)), call(X, (3,))],
    "normalize": [call(X), call(X, 1.0, 0), call(T(2, 3, 4), dim=-1)],
    "local_response_norm": [call(IMAGE, 3), call(LINE, 2, 0.1, 0.5, 2.0)],
    "scaled_dot_product_attention": [
        call(T(2, 3, 4, 8), T(2, 3, 5, 8), T(2, 3, 5, 6)),
        call(T(2, 4, 8), T(2, 4, 8), T(2, 4, 8), is_causal=True),
        call(T(2, 4, 8), T(2, 5, 8), T(2, 5, 8), T(4, 5)),
        call(T(4, 8), T(5, 8), T(5, 8), T(values=np.tri(4, 5, -1) > 0, dtype="bool")),
        call(T(4, 8), T(5, 8), T(5, 8), scale=0.1),
        call(T(2, 4, 3, 8), T(2, 2, 5, 8), T(2, 2, 5, 8), enable_gqa=True),
        call(T(4, 8), T(5, 8), T(5, 8), T(4, 5), 0.0, True),
    ],
    "bilinear": [call(X, T(3, 4), T(2, 5, 4), T(2))],
    "linear": [call(X, T(2, 5), T(2))],
    "embedding": [call(T(2, 3, below=4), T(4, 5)), call(T(3, below=4), T(4, 5), padding_idx=1)],
    "embedding_bag": [call(T(2, 3, below=4), T(4, 5)), call(T(2, 3, below=4), T(4, 5), mode="max")],
    "one_hot": [call(T(2, 3, below=4), 6), call(T(3, below=4), 2)],
    "pad": [
        call(IMAGE, (1, 1), "reflect", 0), call(IMAGE, (1, 1), "reflect", 1),

        call(X, (1, 2)),
        call(X, (1, 2, 0, 3), "constant", 7.0),
        call(X, (-1, 2, 1, -1)),
        call(LINE, (2, 3), "reflect"),
        call(IMAGE, (1, 2, 3, 4), "reflect"),
        call(PLANE, (1, 2, 3, 4), "replicate"),
        call(IMAGE, (2, 0, 0, 3), "circular"),
        call(VOLUME, (1, 1, 1, 1, 1, 1), "replicate"),
        call(LINE, (11, 0), "reflect"),
        call(X, (1,)),
        call(X, (-3, -3)),
        call(T(2, 3, 4, dtype="float64"), (1, 0, 0, 1, 2, 2)),
    ],
    "max_pool1d": [call(LINE, 3), call(T(4, 11), 3, 2, 1), call(LINE, 2, 1, 0, 3), call(LINE, 20), call(LINE, 3, ceil_mode=True)],
    "max_pool2d": [
        call(IMAGE, 2),
        call(IMAGE, (3, 2), (2, 1), (1, 0)),
        call(PLANE, 3, 2, 1, 2, True),
        call(IMAGE, 2, return_indices=True),
        call(IMAGE, 2, 2, 2),
        call(IMAGE, 0),
        call(T(2, 4, 7, 9, dtype="bfloat16"), 3),
    ],
    "max_pool3d": [call(VOLUME, 2), call(VOLUME, (1, 2, 3), 2, (0, 1, 1), return_indices=True)],
    "avg_pool1d": [call(LINE, 3), call(LINE, 3, 2, 1, True, False)],
    "avg_pool2d": [
        call(IMAGE, 2),
        call(IMAGE, (3, 2), 2, 1),
        call(IMAGE, 3, 2, 1, True, False),
        call(PLANE, 3, 2, 1, True),
        call(IMAGE, 2, divisor_override=3),
        call(IMAGE, 2, divisor_override=0),
        call(T(2, 4, 7, 9, dtype="float64"), 3),
    ],
    "avg_pool3d": [call(VOLUME, 2), call(VOLUME, 3, 2, 1, True, False)],
    "adaptive_avg_pool1d": [call(LINE, 4)],
    "adaptive_avg_pool2d": [call(IMAGE, (3, 2)), call(IMAGE, 1), call(PLANE, (None, 4)), call(IMAGE, (1, 2, 3))],
    "adaptive_avg_pool3d": [call(VOLUME, (2, 3, 1))],
    "adaptive_max_pool1d": [call(LINE, 4)],
    "adaptive_max_pool2d": [call(IMAGE, (3, 2)), call(IMAGE, (3, 2), return_indices=True)],
    "adaptive_max_pool3d": [call(VOLUME, 2)],
    "lp_pool1d": [call(LINE, 2.0, 3)],
    "lp_pool2d": [call(IMAGE, 2.0, 3, 2)],
    "conv1d": [
        call(LINE, T(6, 4, 3), T(6)),
        call(LINE, T(6, 2, 3), None, 2, 1, 2, 2),
        call(T(4, 11), T(6, 4, 3)),
        call(LINE, T(6, 4, 4), padding="same"),
        call(LINE, T(6, 4, 4), padding="valid"),
        call(LINE, T(6, 3, 3)),
        call(LINE, T(6, 4, 30)),
        call(LINE, T(6, 4)),
    ],
    "conv2d": [
        call(IMAGE, T(6, 4, 3, 3), T(6)),
        call(IMAGE, T(6, 4, 3, 2), None, (2, 1), (1, 0), (1, 2)),
        call(IMAGE, T(8, 1, 3, 3), T(8), padding=1, groups=4),
        call(PLANE, T(6, 4, 1, 1), T(6)),
        call(IMAGE, T(6, 4, 3, 4), padding="same", dilation=2),
        call(T(0, 4, 7, 9), T(6, 4, 3, 3)),
        call(T(2, 4, 7, 9, dtype="float64"), T(6, 2, 3, 3, dtype="float64"), T(6, dtype="float64"), groups=2),
        call(IMAGE, T(6, 4, 3, 3), T(5)),
        call(IMAGE, T(6, 4, 3, 3), stride=0),
        call(IMAGE, T(6, 4, 3, 3), padding=-1),
        call(IMAGE, T(6, 4, 3, 3, dtype="float64")),
        call(T(1, 16, 20, 20), T(32, 16, 3, 3), T(32), padding=1),
    ],
    "conv3d": [call(VOLUME, T(6, 4, 3, 3, 3), T(6), padding=1), call(VOLUME, T(2, 2, 2, 3, 1), None, (1, 2, 2), groups=2)],
    "conv_transpose1d": [call(LINE, T(4, 6, 3), T(6)), call(LINE, T(4, 3, 3), None, 2, 1, 1, 2)],
    "conv_transpose2d": [
        call(IMAGE, T(4, 6, 3, 3), T(6)),
        call(IMAGE, T(4, 6, 3, 2), None, (2, 3), 1, (1, 2), 1, 1),
        call(IMAGE, T(4, 2, 3, 3), T(4), 2, 0, 0, 2, 2),
        call(PLANE, T(4, 6, 3, 3)),
        call(T(2, 4, 7, 9, dtype="float64"), T(4, 6, 3, 3, dtype="float64"), None, 2, 1, 1),
        call(IMAGE, T(4, 6, 3, 3), None, 2, 1, 3),
    ],
    "conv_transpose3d": [call(VOLUME, T(4, 2, 2, 3, 1), T(2), 2)],
    "unfold": [call(IMAGE, 3), call(IMAGE, (2, 3), 2, (1, 2), (2, 1)), call(PLANE, 2), call(IMAGE, 20)],
    "fold": [call(T(2, 36, 35), (7, 9), 3), call(T(2, 24, 30), (7, 9), (2, 3), 1, (1, 2), (2, 2)), call(T(2, 36, 9), (7, 9), 3)],
    "interpolate": [
        call(LINE, 5),
        call(IMAGE, scale_factor=2),
        call(IMAGE, (5, 13)),
        call(IMAGE, scale_factor=(1.5, 0.7)),
        call(IMAGE, (5, 13), mode="nearest-exact"),
        call(LINE, 20, mode="linear"),
        call(LINE, 20, mode="linear", align_corners=True),
        call(IMAGE, scale_factor=2, mode="bilinear"),
        call(IMAGE, (3, 20), mode="bilinear", align_corners=True),
        call(IMAGE, scale_factor=(1.5, 0.7), mode="bilinear"),
        call(IMAGE, (10, 20), mode="bicubic"),
        call(IMAGE, (5, 6), mode="bicubic", align_corners=True),
        call(VOLUME, (3, 9, 7), mode="trilinear"),
        call(IMAGE, (3, 4), mode="area"),
        call(IMAGE),
        call(IMAGE, 3, mode="linear"),
        call(IMAGE, 3, align_corners=True),
        call(IMAGE, (1, 2, 3)),
        call(IMAGE, (0, 3)),
        call(T(2, 4, 0, 9), (3, 3), mode="bilinear"),
    ],
    "upsample": [call(IMAGE, scale_factor=2)],
    "upsample_bilinear": [call(IMAGE, scale_factor=2), call(IMAGE, size=(5, 3))],
    "upsample_nearest": [call(IMAGE, scale_factor=2), call(IMAGE, size=(5, 3))],
    "pixel_shuffle": [call(T(2, 8, 3, 4), 2), call(T(2, 7, 3, 4), 2)],
    "pixel_unshuffle": [call(T(2, 2, 6, 4), 2), call(T(2, 2, 5, 4), 2)],
    "channel_shuffle": [call(T(2, 6, 3), 3), call(T(2, 5, 3), 3)],
    **dict.fromkeys(("dropout", "alpha_dropout", "feature_alpha_dropout"), [call(X, 0.3, False), call(X, 0.0, True), call(X, 2.0)]),
    **dict.fromkeys(("dropout1d", "dropout2d", "dropout3d"), [call(T(2, 3, 4), 0.3, False)]),
}  # fmt: skip
RANDOM = {"gumbel_softmax"}
CASES = [(name, number, *sample) for name, samples in SAMPLES.items() for number, sample in enumerate(samples)]


def case_id(case):
    return f"{case[0]}-{case[1]}"


@pytest.fixture(autouse=True)
def fresh():
    md._dynamo.reset()


def outcome(function, args, keywords, library):
    args = [value.make(library) if isinstance(value, T) else value for value in args]
    keywords = {name: value.make(library) if isinstance(value, T) else value for name, value in keywords.items()}
    try:
        result = function(*args, **keywords)
    except ERRORS as error:
        return None, error
    return (list(result) if isinstance(result, tuple) else [result]), None


def numbers(tensor):
    return tensor.detach().to(md.float64 if isinstance(tensor, md.Tensor) else torch.float64).numpy()


def assert_same(a, b, what):
    (results, error), (others, other_error) = a, b
    assert (error is None) == (other_error is None), (what, error, other_error)
    if error is not None:
        return
    for ours, theirs in zip(results, others, strict=True):
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        rough = str(ours.dtype).endswith("bfloat16")
        np.testing.assert_allclose(
            numbers(ours), numbers(theirs), rtol=1e-2 if rough else 3e-5, atol=1e-2 if rough else 2e-5
        )


def test_every_function_has_samples():
    in_place = set(F.in_place.__all__)  # tests/api/torch_names/test_top_level.py
    assert set(F.__all__) - set(SAMPLES) - RANDOM - in_place == set()


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_against_torch(case):
    if torch is None:
        pytest.skip("torch is not installed")
    name, _, args, keywords = case
    ours = outcome(getattr(F, name), args, keywords, md)
    theirs = outcome(getattr(torch.nn.functional, name), args, keywords, torch)
    assert_same(ours, theirs, "torch")
    classes = {type(ours[1]), type(theirs[1])}
    assert len(classes) == 1 or classes == {RuntimeError, NotImplementedError}, (ours[1], theirs[1])


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_one_graph(case):
    name, _, args, keywords = case
    function = getattr(F, name)
    compiled = md.compile(lambda *a, **k: function(*a, **k), fullgraph=True)
    plain = outcome(function, args, keywords, md)
    for _ in range(2):
        assert_same(plain, outcome(compiled, args, keywords, md), "compiled")
    if plain[1] is not None:
        text = str(plain[1])
        assert name in text or "[" in text, text


# ---- NumPy


def numpy_conv2d(x, w, stride, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    n, c, height, width = x.shape
    rows, columns = (height - w.shape[2]) // stride + 1, (width - w.shape[3]) // stride + 1
    out = np.zeros((n, w.shape[0], rows, columns))
    for r, s in itertools.product(range(rows), range(columns)):
        window = x[:, :, r * stride : r * stride + w.shape[2], s * stride : s * stride + w.shape[3]]
        out[:, :, r, s] = np.einsum("nchw,ochw->no", window, w)
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("stride, padding", [(1, 0), (2, 1)])
def test_convolution_is_the_documented_sum(dtype, stride, padding):
    x, w = IMAGE.array().astype("float64"), T(6, 4, 3, 3).array().astype("float64")
    ours = F.conv2d(md.tensor(x).to(getattr(md, dtype)), md.tensor(w).to(getattr(md, dtype)), None, stride, padding)
    assert str(ours.dtype) == f"minidynamo.{dtype}"
    tolerance = {"float64": 1e-12, "float32": 1e-5, "float16": 3e-2, "bfloat16": 2e-1}[dtype]
    expected = numpy_conv2d(x, w, stride, padding)
    np.testing.assert_allclose(ours.double().numpy(), expected, rtol=tolerance, atol=tolerance)


def test_transposed_convolution_is_the_adjoint():
    x, w = md.randn(2, 4, 7, 9, dtype=md.float64), md.randn(6, 4, 3, 3, dtype=md.float64)
    y = F.conv2d(x, w, None, 2, 1)
    z = md.randn(y.shape, dtype=md.float64)
    back = F.conv_transpose2d(z, w, None, 2, 1, (0, 0))
    assert math.isclose(
        (y * z).sum().item(), (x[:, :, : back.shape[2], : back.shape[3]] * back).sum().item(), rel_tol=1e-10
    )


def test_threads_do_not_change_pools_and_convolutions():
    x, w = md.randn(4, 8, 40, 40), md.randn(16, 8, 3, 3, dtype=md.float64)
    before = md.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            md.set_num_threads(threads)
            results.append((F.max_pool2d(x, 3), F.avg_pool2d(x, 3), F.conv2d(x.double(), w)))
    finally:
        md.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        assert md.equal(one, two)


def test_pools_of_nan_and_infinity():
    x = md.tensor([[1.0, math.nan, 3.0, -math.inf, -math.inf, -math.inf]])
    values, indices = F.max_pool1d(x, 3, return_indices=True)
    assert math.isnan(values[0, 0].item()) and indices[0, 0].item() == 1
    assert values[0, 1].item() == -math.inf and indices[0, 1].item() == 3


def test_running_statistics_move():
    x = IMAGE.make(md)
    mean, var = md.zeros(4), md.ones(4)
    F.batch_norm(x, mean, var, training=True, momentum=0.5)
    a = IMAGE.array().astype("float64")
    np.testing.assert_allclose(mean.numpy(), a.mean((0, 2, 3)) * 0.5, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(var.numpy(), 0.5 + a.var((0, 2, 3), ddof=1) * 0.5, rtol=1e-5)


def test_dropout_keeps_the_mean():
    md.manual_seed(3)
    x = md.ones(200, 300)
    y = F.dropout(x, 0.25)
    assert set(y.unique().tolist()) <= {0.0, md.tensor(1 / 0.75).item()}
    assert abs(y.mean().item() - 1) < 0.02
    whole = F.dropout2d(md.ones(20, 30, 4, 4), 0.5)
    assert md.equal(whole.amax((2, 3)), whole.amin((2, 3)))
    assert F.dropout(x, 0.25, training=False) is x


def test_dropout_is_captured_with_the_same_numbers():
    def run(x):
        return F.dropout(x, 0.5) + F.dropout(x, 0.5)

    x = md.ones(50)
    md.manual_seed(5)
    plain = run(x)
    compiled = md.compile(run, fullgraph=True)
    for _ in range(2):
        md.manual_seed(5)
        assert md.equal(compiled(x), plain)


def test_inplace_writes_to_its_argument():
    for name in (
        "relu",
        "silu",
        "elu",
        "leaky_relu",
        "hardtanh",
        "relu6",
        "hardswish",
        "selu",
        "celu",
        "mish",
        "hardsigmoid",
    ):
        md._dynamo.reset()
        x = X.make(md)
        function = getattr(F, name)
        expected = function(x)
        assert function(x, inplace=True) is x and md.equal(x, expected), name
        y = X.make(md)
        md.compile(lambda t, function=function: function(t, inplace=True) * 1, fullgraph=True)(y)
        assert md.allclose(y, expected), name


def test_softmax_without_a_dim_warns_and_takes_torchs():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax"):
        assert md.equal(F.softmax(X.make(md)), F.softmax(X.make(md), 1))


def test_hostile_pools_and_convolutions():
    x = md.ones(1, 1, 4, 4)
    for wrong in (
        lambda: F.max_pool2d(x, 3, 1, 2),
        lambda: F.max_pool2d(x, (1, 2, 3)),
        lambda: F.max_pool2d(md.ones(4), 2),
        lambda: F.avg_pool2d(md.ones(1, 1, 4, 4, dtype=md.int32), 2),
        lambda: F.conv2d(x, md.ones(1, 1, 9, 9)),
        lambda: F.conv2d(x, md.ones(3, 1, 1, 1), groups=2),
        lambda: F.conv2d(x, md.ones(3, 1, 1, 1), groups=0),
        lambda: F.conv_transpose2d(x, md.ones(1, 1, 1, 1), None, 1, 3),
        lambda: F.adaptive_avg_pool2d(x, (-1, 2)),
        lambda: x.unfold(0, 5, 1),
        lambda: x.unfold(2, 2, 0),
    ):
        with pytest.raises(ERRORS, match=r"."):
            wrong()


def test_a_padded_dilated_window_may_miss_the_input():
    assert F.max_pool1d(md.ones(1, 1, 2), 2, 1, 1, 3).tolist() == [[[-math.inf]]]
