"""Functions of torch in Python whose bodies cannot be followed, written over torch's own: loaded where torch is."""

from __future__ import annotations

import math

from .imported_torch import torch
from .torch_stand_ins.table import StandIn, decline

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def combine_input_and_mask(op: Any, input: Any, mask: Any, *args: Any) -> Any:
    """Without the class of torch.autograd that each call of torch's defines for masked tensors alone."""
    masked = torch.masked._ops
    if masked.is_masked_tensor(input):
        decline("a masked tensor")
    if mask is None:
        return input
    fill = masked._reduction_identity(op.__name__, input, *args)
    return masked._where(masked._input_mask(input, mask=mask), input, fill)


class _Context:
    """The context of a torch.autograd.Function where nothing is recorded: what is saved there is not used."""

    needs_input_grad: tuple[bool, ...] = ()
    materialize_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        self.saved_for_forward = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        self.materialize_grads = value


def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """torch.autograd.Function.apply while nothing is recorded."""
    if torch.is_grad_enabled() or kwargs:
        decline("an autograd.Function that may be recorded")
    context = _Context()
    context.needs_input_grad = (False,) * len(args)
    if cls.setup_context != torch.autograd.Function.setup_context:
        result = cls.forward(*args)
        cls.setup_context(context, args, result)
    else:
        result = cls.forward(context, *args)
    for part in result if isinstance(result, tuple) else (result,):
        if any(part is given for given in args):
            decline("an autograd.Function that returns its argument")
    return result


def associative_scan(combine_fn: Any, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise") -> Any:
    """Step by step, over a tensor or a tuple or list of them: torch's own maps combine_fn over batches of steps."""
    several = isinstance(xs, (tuple, list))
    leaves = list(xs) if several else [xs]
    if combine_mode != "generic" or not leaves or not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        decline("associative_scan of other than tensors, or of pointwise mode")
    count = leaves[0].shape[dim]
    if count < 2 or any(leaf.shape[dim] != count for leaf in leaves):
        decline("associative_scan of less than two steps, or of other numbers of them")
    places = range(count - 1, -1, -1) if reverse else range(count)
    state = [leaf.select(dim, places[0]) for leaf in leaves]
    results = [[part] for part in state]
    for place in places[1:]:
        step = [leaf.select(dim, place) for leaf in leaves]
        state = combine_fn(type(xs)(state), type(xs)(step)) if several else [combine_fn(state[0], step[0])]
        for parts, part in zip(results, state, strict=True):
            parts.append(part)
    if reverse:
        results = [parts[::-1] for parts in results]
    scanned = [torch.stack(parts).movedim(0, dim) for parts in results]
    return type(xs)(scanned) if several else scanned[0]


def drawn_mask(sizes: tuple[int, ...], strides: tuple[int, ...], dtype: Any, p: float) -> Any:
    """What dropout multiplies by, 0 with probability p, else 1 / (1 - p): drawn as torch's own draws it."""
    return torch.empty_strided(sizes, strides, dtype=dtype).bernoulli_(1 - p).div_(1 - p)


def dropout(input: Any, p: float, train: bool) -> Any:
    """torch.dropout, with the mask from a call in the region."""
    if not train or p == 0 or input.numel() == 0:
        return input
    if not 0 < p <= 1 or not input.is_floating_point():
        decline("dropout of numbers that are no floats, or with a probability outside of (0, 1]")
    if p == 1:
        return input * torch.zeros((), dtype=input.dtype)
    return input * drawn_mask(tuple(input.shape), torch.empty_like(input).stride(), input.dtype, p)


def drawn_numbers(
    name: str, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: Any, *numbers: Any, **named: Any
) -> Any:
    """What the method of that name writes into such a tensor."""
    return getattr(torch.empty_strided(sizes, strides, dtype=dtype), name)(*numbers, **named)


def drawn_in_place(name: str) -> Any:
    """torch.Tensor.NAME, with the numbers from a call in the region."""

    def draw(self: Any, *numbers: Any, generator: Any = None, **named: Any) -> Any:
        if generator is not None or any(isinstance(each, torch.Tensor) for each in (*numbers, *named.values())):
            decline("numbers of another generator, or with parameters in tensors")
        return self.copy_(drawn_numbers(name, tuple(self.shape), self.stride(), self.dtype, *numbers, **named))

    return draw


def _plain(name: str) -> Any:
    """torch's recurrent layers without dropout, which regions compute themselves."""

    def layers(*arguments: Any) -> Any:
        return getattr(torch, name)(*arguments)

    layers.__name__ = name
    return layers


PLAIN_RECURRENT = {name: _plain(name) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")}


def recurrent(plain: Any) -> Any:
    """torch's recurrent layers, with its dropout between two of them."""

    def layers(
        input: Any,
        hx: Any,
        params: Any,
        has_biases: Any,
        num_layers: Any,
        dropout: Any,
        train: Any,
        bidirectional: Any,
        *batch_first: Any,
    ) -> Any:
        # Over packed sequences the flag of biases is in the place of the number of layers.
        if not batch_first or not train or dropout == 0 or num_layers < 2:
            return plain(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, *batch_first)
        input = input.transpose(0, 1) if batch_first[0] else input
        width, states = len(params) // num_layers, 2 if bidirectional else 1
        last = []
        for layer in range(num_layers):
            of_layer = slice(layer * states, (layer + 1) * states)
            begin = hx[of_layer] if isinstance(hx, torch.Tensor) else tuple(each[of_layer] for each in hx)
            own = params[layer * width : (layer + 1) * width]
            input, *ends = plain(input, begin, own, has_biases, 1, 0.0, train, bidirectional, False)
            last.append(ends)
            if layer + 1 < num_layers:
                input = torch.dropout(input, dropout, True)
        output = input.transpose(0, 1) if batch_first[0] else input
        return (output, *(torch.cat(parts) for parts in zip(*last, strict=True)))

    return layers


def drawn_like(draw: Any) -> Any:
    """torch's function of a tensor's sizes and dtype: what it draws has no history."""

    def drawn(
        input: Any,
        *bounds: Any,
        low: Any = None,
        high: Any = None,
        dtype: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Any:
        bounds = (*(() if low is None else (low,)), *bounds, *(() if high is None else (high,)))
        if not input.is_contiguous() or requires_grad or memory_format not in (None, torch.preserve_format):
            decline(f"{draw.__name__}_like of a tensor that is not contiguous, or in another memory format")
        return draw(*bounds, tuple(input.shape), dtype=input.dtype if dtype is None else dtype)

    return drawn


def plain_attention(query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool, scale: Any, gqa: bool) -> Any:
    """torch's without dropout, which regions compute themselves."""
    attend = torch.nn.functional.scaled_dot_product_attention
    return attend(query, key, value, attn_mask, 0.0, is_causal, scale=scale, enable_gqa=gqa)


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    """torch's, whose weights drop out as in its own formula where dropout_p is not 0."""
    if dropout_p == 0:
        return plain_attention(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    if enable_gqa or query.dtype.itemsize < 4 or (is_causal and attn_mask is not None):
        decline("attention with dropout, of 16-bit floats, groups of heads or two masks")
    factor = (query.shape[-1] ** -0.5 if scale is None else scale) ** 0.5
    scores = (query * factor) @ (key * factor).transpose(-2, -1)
    if is_causal:
        attn_mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    if attn_mask is None:
        weights = torch.softmax(scores, -1)
    elif attn_mask.dtype == torch.bool:
        # A row without a key: torch's weights there are 0.
        weights = torch.softmax(scores.masked_fill(~attn_mask, -math.inf), -1)
        weights = weights.masked_fill(~attn_mask.any(-1, keepdim=True), 0.0)
    else:
        weights = torch.softmax(scores + attn_mask, -1)
    return dropout(weights, dropout_p, True) @ value


# Functions of this module that regions call as they are.
CALLED = (drawn_mask, drawn_numbers)

_DRAWN_IN_PLACE = (
    "bernoulli_",
    "cauchy_",
    "exponential_",
    "geometric_",
    "log_normal_",
    "normal_",
    "random_",
    "uniform_",
)

TABLE = (
    StandIn("dropout", dropout, "Rewritten"),
    *(
        StandIn(f"{draw.__name__}_like", drawn_like(draw), "Rewritten")
        for draw in (torch.rand, torch.randn, torch.randint)
    ),
    *(StandIn(f"Tensor.{name}", drawn_in_place(name), "Rewritten") for name in _DRAWN_IN_PLACE),
    StandIn("nn.functional.scaled_dot_product_attention", scaled_dot_product_attention, "Rewritten"),
    *(StandIn(name, recurrent(plain), "Rewritten") for name, plain in PLAIN_RECURRENT.items()),
    StandIn("autograd.Function.apply", apply, "Rewritten"),
    StandIn("_higher_order_ops.associative_scan", associative_scan, "Rewritten"),
    StandIn("masked._ops._combine_input_and_mask", combine_input_and_mask, "Rewritten"),
)
