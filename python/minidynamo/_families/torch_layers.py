"""What stands in for torch's fused layers: recurrent ones, and attention on its inference path."""

from __future__ import annotations

import minidynamo

from .._C import Tensor
from .._composites.registry import prims
from ..nn import functional
from .torch_stand_ins.table import decline, in_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any


def stand_ins() -> Iterator[tuple[str, Callable[..., Any]]]:
    """(name in torch or torch._C._nn, our function)"""
    for name in _ACTIVATIONS:
        yield f"{name}_", in_place(getattr(functional, name))
    yield "dropout_", dropout_in_place
    yield "feature_dropout_", dropout_in_place
    yield "alpha_dropout_", dropout_in_place
    yield "feature_alpha_dropout_", dropout_in_place
    yield "lstm_cell", lstm_cell
    yield "gru_cell", _step_without_cell("gru")
    yield "rnn_tanh_cell", _step_without_cell("tanh")
    yield "rnn_relu_cell", _step_without_cell("relu")
    yield "_native_multi_head_attention", native_multi_head_attention
    yield "_transformer_encoder_layer_fwd", transformer_encoder_layer_fwd
    yield "_weight_norm", weight_norm


# ---- activations

_ACTIVATIONS = "celu elu hardsigmoid hardswish hardtanh leaky_relu mish relu6 selu silu threshold".split()


def attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Any, is_causal: bool, scale: Any, gqa: bool
) -> Tensor:
    return minidynamo.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask, 0.0, is_causal, scale, gqa
    )


def dropout_in_place(input: Tensor, p: float, train: bool) -> Tensor:
    if train and p != 0:
        decline("dropout, whose random numbers are torch's")
    return input


# ---- recurrent layers, without dropout between them: torch_rewrites.py has that


def _refuse_packed(batch_sizes: Any) -> None:
    if isinstance(batch_sizes, Tensor):
        decline("a recurrent layer over packed sequences")


def _layers(
    kind: str,
    input: Tensor,
    hidden: Tensor,
    cell: Tensor | None,
    params: Sequence[Tensor],
    has_biases: bool,
    has_projection: bool,
    num_layers: int,
    bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Over (L, N, H_in): results (L, N, D * H), last states and cells (layers * D, N, H)."""
    states, cells = [], []
    directions = 2 if bidirectional else 1
    width = (4 if has_biases else 2) + has_projection
    if len(params) != width * num_layers * directions:
        decline("a recurrent layer with another number of parameters")
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            own = params[number * width : (number + 1) * width]
            output, state, last_cell = prims.recurrent_layer(
                functional.linear(input, own[0], own[2] if has_biases else None),
                hidden[number],
                None if cell is None else cell[number],
                own[1],
                own[3] if has_biases else None,
                kind,
                direction == 1,
                own[-1] if has_projection else None,
            )
            outputs.append(output)
            states.append(state)
            cells.append(last_cell)
        input = minidynamo.cat(outputs, 2) if bidirectional else outputs[0]
    return input, minidynamo.stack(states), minidynamo.stack(cells)


def lstm(
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    _refuse_packed(hx)
    hidden, cell = hx
    steps = input.transpose(0, 1) if batch_first else input
    has_projection = hidden.shape[2] != cell.shape[2]
    output, hidden, cell = _layers(
        "lstm", steps, hidden, cell, params, has_biases, has_projection, num_layers, bidirectional
    )
    return output.transpose(0, 1) if batch_first else output, hidden, cell


def _without_cell(kind: str) -> Callable[..., tuple[Tensor, Tensor]]:
    def layers(
        input: Tensor,
        hx: Tensor,
        params: Any,
        has_biases: Any,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool = False,
    ) -> tuple[Tensor, Tensor]:
        _refuse_packed(params)
        steps = input.transpose(0, 1) if batch_first else input
        output, hidden, _ = _layers(kind, steps, hx, None, params, has_biases, False, num_layers, bidirectional)
        return output.transpose(0, 1) if batch_first else output, hidden

    return layers


RECURRENT = {
    "lstm": lstm,
    "gru": _without_cell("gru"),
    "rnn_tanh": _without_cell("tanh"),
    "rnn_relu": _without_cell("relu"),
}


def _cell(
    kind: str,
    input: Tensor,
    hidden: Tensor,
    cell: Tensor | None,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> tuple[Tensor, Tensor]:
    projected = functional.linear(input, w_ih, b_ih).unsqueeze(0)
    _, state, last_cell = prims.recurrent_layer(projected, hidden, cell, w_hh, b_hh, kind, False)
    return state, last_cell


def lstm_cell(
    input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    return _cell("lstm", input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh)


def _step_without_cell(kind: str) -> Callable[..., Tensor]:
    def step(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Tensor:
        return _cell(kind, input, hx, None, w_ih, w_hh, b_ih, b_hh)[0]

    return step


# ---- attention


def _weights(scores: Tensor, mask: Tensor | None, mask_type: int | None) -> Tensor:
    """softmax over what the mask leaves: of the query (0: L, L), the keys (1: N, L) or all (2: N, heads, L, L)."""
    if mask is None:
        return scores.softmax(-1)
    if mask_type not in (0, 1, 2):
        decline("attention with a mask of another type")
    mask = mask.to(minidynamo.bool)  # torch takes each number but 0, such as -inf, as True
    if mask_type == 1:
        mask = mask[:, None, None, :]
    # A row without any key is NaN, as in torch.
    return scores.masked_fill(mask, float("-inf")).softmax(-1)


def native_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    if query is not key or key is not value:
        decline("attention of more than one tensor")
    if query.dim() != 3 or query.shape[2] != embed_dim or embed_dim % num_head != 0:
        decline("attention over another shape")
    count, length, _ = query.shape
    size = embed_dim // num_head
    parts = functional.linear(query, qkv_weight, qkv_bias).reshape(count, length, 3, num_head, size)
    heads = parts.permute(2, 0, 3, 1, 4)
    weights = _weights((heads[0] * size**-0.5) @ heads[1].transpose(-1, -2), mask, mask_type)
    joined = (weights @ heads[2]).transpose(1, 2).reshape(count, length, embed_dim)
    output = functional.linear(joined, proj_weight, proj_bias)
    if not need_weights:
        return output, None
    return output, weights.mean(1) if average_attn_weights else weights


def transformer_encoder_layer_fwd(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return functional.layer_norm(x, (embed_dim,), weight, bias, eps)

    def attention(x: Tensor) -> Tensor:
        return native_multi_head_attention(
            x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type
        )[0]

    def feed_forward(x: Tensor) -> Tensor:
        inner = functional.linear(x, ffn_weight_1, ffn_bias_1)
        active = functional.gelu(inner) if use_gelu else functional.relu(inner)
        return functional.linear(active, ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = src + attention(norm(src, norm_weight_1, norm_bias_1))
        return x + feed_forward(norm(x, norm_weight_2, norm_bias_2))
    x = norm(src + attention(src), norm_weight_1, norm_bias_1)
    return norm(x + feed_forward(x), norm_weight_2, norm_bias_2)


# ---- parametrizations


def weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    if dim == -1:
        return v * (g / v.norm())
    others = [each for each in range(v.dim()) if each != dim % v.dim()]
    return v * (g / v.norm(2, others, True))
