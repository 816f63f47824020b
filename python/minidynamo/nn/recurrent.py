"""Recurrent layers and cells. Their parameters have torch's names, order and layouts."""

from __future__ import annotations

import math
import warnings
from itertools import groupby
from typing import Any

import minidynamo

from .._C import Tensor
from .._composites.autocast import cast, is_autocasting
from .._composites.registry import prims
from .functional import dropout, linear
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence


def _parameter(shape: tuple[int, ...], bound: float, dtype: minidynamo.dtype | None) -> Parameter:
    return Parameter(minidynamo.empty(*shape, dtype=dtype).uniform_(-bound, bound))


def _layer(
    projected: Tensor,
    hidden: Tensor,
    cell: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    kind: str,
    backward: bool,
    projection: Tensor | None = None,
    in_one: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """One layer in one direction: (results, last state, last cell). in_one: torch has one operation for it."""
    if not is_autocasting():
        return prims.recurrent_layer(projected, hidden, cell, weight, bias, kind, backward, projection)
    # The gates are in autocast's dtype; a state that is carried on beside them has the wider of its own and that.
    dtype = low = minidynamo.get_autocast_dtype("cpu")
    if kind == "gru":
        dtype = minidynamo.promote_types(hidden.dtype, low)
    elif cell is not None and (projection is not None or not in_one):
        dtype = minidynamo.promote_types(cell.dtype, low)
    given = (projected, hidden, cell, weight, bias)
    results, state, last_cell = prims.recurrent_layer(
        *[cast(each, dtype) for each in given], kind, backward, cast(projection, dtype)
    )
    if projection is not None:
        results, state = results.to(low), state.to(low)
    return results, state, last_cell


_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _spans(sizes: list[int]) -> list[tuple[int, int]]:
    """(number of steps, sequences that have them) for each run of equal sizes."""
    return [(len(list(run)), size) for size, run in groupby(sizes)]


def _in_order(state: Tensor, input: PackedSequence) -> Tensor:
    """States in the order of the batch."""
    return state if input.unsorted_indices is None else state.index_select(1, input.unsorted_indices)


class RNNBase(Module):
    """Layers over (L, N, H_in), with batch_first (N, L, H_in), or (L, H_in) without a batch.

    Of layer k: weight_ih_lk (gates * hidden, input), weight_hh_lk (gates * hidden, hidden), bias_ih_lk, bias_hh_lk;
    of the reverse direction with the suffix _reverse. All start uniform in +-1/sqrt(hidden_size).
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__()
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode = mode
        self.gates = _GATES[mode]
        self.has_cell = mode == "LSTM"
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if proj_size > 0 and not self.has_cell:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers"
                f" greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=3,
            )
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        bound = 1.0 / math.sqrt(hidden_size)
        width = self.gates * hidden_size
        for layer in range(num_layers):
            for suffix in self._suffixes(layer):
                into = input_size if layer == 0 else self._state_size() * (2 if bidirectional else 1)
                self.register_parameter(f"weight_ih_{suffix}", _parameter((width, into), bound, dtype))
                self.register_parameter(f"weight_hh_{suffix}", _parameter((width, self._state_size()), bound, dtype))
                if bias:
                    self.register_parameter(f"bias_ih_{suffix}", _parameter((width,), bound, dtype))
                    self.register_parameter(f"bias_hh_{suffix}", _parameter((width,), bound, dtype))
                if proj_size > 0:
                    self.register_parameter(f"weight_hr_{suffix}", _parameter((proj_size, hidden_size), bound, dtype))

    def _state_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _suffixes(self, layer: int) -> tuple[str, ...]:
        return (f"l{layer}", f"l{layer}_reverse") if self.bidirectional else (f"l{layer}",)

    def flatten_parameters(self) -> None:
        """Does nothing: parameters stay where they are."""

    def reset_parameters(self) -> None:
        """Redraws all parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        with minidynamo.no_grad():
            for parameter in self.parameters():
                parameter.uniform_(-bound, bound)

    def _checked(self, input: Tensor) -> tuple[Tensor, bool]:
        """(L, N, H_in), and whether the batch was added."""
        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        if input.dim() == 2:
            return input.unsqueeze(1), True
        return (input.transpose(0, 1) if self.batch_first else input), False

    def _state(self, state: Tensor | None, input: Tensor, added: bool, width: int) -> Tensor:
        count = self.num_layers * (2 if self.bidirectional else 1)
        shape = (count, input.shape[1], width)
        if state is None:
            return input.new_zeros(shape)
        if added:
            if state.dim() != 2:
                raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {state.dim()}-D tensor")
            state = state.unsqueeze(1)
        if tuple(state.shape) != tuple(shape):
            raise RuntimeError(f"Expected hidden size {tuple(shape)}, got {list(state.shape)}")
        return state

    def _run_packed(
        self, kind: str, input: PackedSequence, hidden: Tensor, cell: Tensor | None
    ) -> tuple[PackedSequence, Tensor, Tensor]:
        """As _run, of sequences each with its own length."""
        data, spans = input.data, _spans(input.batch_sizes.tolist())
        states, cells = [], []
        number = 0
        for layer in range(self.num_layers):
            outputs = []
            for suffix in self._suffixes(layer):
                output, state, last_cell = self._packed_direction(
                    kind, suffix, data, spans, hidden[number], None if cell is None else cell[number]
                )
                outputs.append(output)
                states.append(state)
                cells.append(last_cell)
                number += 1
            data = minidynamo.cat(outputs, 1) if self.bidirectional else outputs[0]
            if self.dropout > 0 and layer + 1 < self.num_layers:
                data = dropout(data, self.dropout, self.training)
        return input._of(data), minidynamo.stack(states), minidynamo.stack(cells)

    def _packed_direction(
        self, kind: str, suffix: str, data: Tensor, spans: list[tuple[int, int]], hidden: Tensor, cell: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One layer in one direction: spans of steps of equally many sequences, the states of which go on."""
        backward = suffix.endswith("_reverse")
        bias_ih = getattr(self, f"bias_ih_{suffix}") if self.bias else None
        bias_hh = getattr(self, f"bias_hh_{suffix}") if self.bias else None
        steps = linear(data, getattr(self, f"weight_ih_{suffix}"), bias_ih)
        parts = list(zip(spans, steps.split([steps_in * size for steps_in, size in spans])))
        results = []
        for (length, size), part in reversed(parts) if backward else parts:
            output, state, last_cell = _layer(
                part.reshape(length, size, -1),
                hidden[:size],
                None if cell is None else cell[:size],
                getattr(self, f"weight_hh_{suffix}"),
                bias_hh,
                kind,
                backward,
                getattr(self, f"weight_hr_{suffix}") if self.proj_size > 0 else None,
            )
            results.append(output.reshape(length * size, -1))
            hidden = minidynamo.cat([state, hidden[size:]])
            cell = None if cell is None else minidynamo.cat([last_cell, cell[size:]])
        if backward:
            results.reverse()
        return minidynamo.cat(results), hidden, hidden if cell is None else cell

    def _packed_state(self, state: Tensor | None, input: PackedSequence, width: int) -> Tensor:
        """The states in the order of the packed sequences."""
        count = self.num_layers * (2 if self.bidirectional else 1)
        shape = (count, int(input.batch_sizes[0]), width)
        if input.data.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.data.shape[-1]}"
            )
        if state is None:
            return input.data.new_zeros(shape)
        if tuple(state.shape) != shape:
            raise RuntimeError(f"Expected hidden size {shape}, got {list(state.shape)}")
        return state if input.sorted_indices is None else state.index_select(1, input.sorted_indices)

    def _run(self, kind: str, input: Tensor, hidden: Tensor, cell: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """All layers: results (L, N, D * H), last states and cells (layers * D, N, H)."""
        states, cells = [], []
        number = 0
        for layer in range(self.num_layers):
            outputs = []
            for suffix in self._suffixes(layer):
                bias_ih = getattr(self, f"bias_ih_{suffix}") if self.bias else None
                bias_hh = getattr(self, f"bias_hh_{suffix}") if self.bias else None
                output, state, last_cell = _layer(
                    linear(input, getattr(self, f"weight_ih_{suffix}"), bias_ih),
                    hidden[number],
                    None if cell is None else cell[number],
                    getattr(self, f"weight_hh_{suffix}"),
                    bias_hh,
                    kind,
                    suffix.endswith("_reverse"),
                    getattr(self, f"weight_hr_{suffix}") if self.proj_size > 0 else None,
                    in_one=True,
                )
                outputs.append(output)
                states.append(state)
                cells.append(last_cell)
                number += 1
            input = minidynamo.cat(outputs, 2) if self.bidirectional else outputs[0]
            if self.dropout > 0 and layer + 1 < self.num_layers:
                input = dropout(input, self.dropout, self.training)
        return input, minidynamo.stack(states), minidynamo.stack(cells)

    def _finished(self, output: Tensor, added: bool) -> Tensor:
        if added:
            return output.squeeze(1)
        return output.transpose(0, 1) if self.batch_first else output

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


class LSTM(RNNBase):
    """Long short-term memory: (output, (h_n, c_n)) of (input, (h_0, c_0)); states are zero when left out.

    input may be a PackedSequence, as for GRU and RNN: then output is one, too. With proj_size the
    hidden state is weight_hr_lk (proj_size, hidden_size) times the cell's output.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        sizes = (input_size, hidden_size, num_layers)
        super().__init__(
            "LSTM", *sizes, bias, batch_first, dropout, bidirectional, proj_size, device=device, dtype=dtype
        )

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        if isinstance(input, PackedSequence):
            hidden = self._packed_state(None if hx is None else hx[0], input, self._state_size())
            cell = self._packed_state(None if hx is None else hx[1], input, self.hidden_size)
            packed, hidden, cell = self._run_packed("lstm", input, hidden, cell)
            return packed, (_in_order(hidden, input), _in_order(cell, input))
        steps, added = self._checked(input)
        hidden = self._state(None if hx is None else hx[0], steps, added, self._state_size())
        cell = self._state(None if hx is None else hx[1], steps, added, self.hidden_size)
        output, hidden, cell = self._run("lstm", steps, hidden, cell)
        if added:
            hidden, cell = hidden.squeeze(1), cell.squeeze(1)
        return self._finished(output, added), (hidden, cell)


class _WithoutCell(RNNBase):
    kind = ""

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        if isinstance(input, PackedSequence):
            hidden = self._packed_state(hx, input, self.hidden_size)
            packed, hidden, _ = self._run_packed(self.kind, input, hidden, None)
            return packed, _in_order(hidden, input)
        steps, added = self._checked(input)
        output, hidden, _ = self._run(self.kind, steps, self._state(hx, steps, added, self.hidden_size), None)
        return self._finished(output, added), hidden.squeeze(1) if added else hidden


class GRU(_WithoutCell):
    """Gated recurrent units: (output, h_n) of (input, h_0); the state is zero when left out."""

    kind = "gru"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        sizes = (input_size, hidden_size, num_layers)
        super().__init__(
            "GRU", *sizes, bias, batch_first, dropout, bidirectional, proj_size, device=device, dtype=dtype
        )


class RNN(_WithoutCell):
    """Elman's network, tanh or relu: (output, h_n) of (input, h_0); the state is zero when left out."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        sizes = (input_size, hidden_size, num_layers)
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, *sizes, bias, batch_first, dropout, bidirectional, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity
        self.kind = nonlinearity


class RNNCellBase(Module):
    """One step of (N, H_in) or (H_in)."""

    gates = 1
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        bound = 1.0 / math.sqrt(hidden_size) if hidden_size > 0 else 0.0
        width = self.gates * hidden_size
        self.weight_ih = _parameter((width, input_size), bound, dtype)
        self.weight_hh = _parameter((width, hidden_size), bound, dtype)
        self.register_parameter("bias_ih", _parameter((width,), bound, dtype) if bias else None)
        self.register_parameter("bias_hh", _parameter((width,), bound, dtype) if bias else None)

    def _step(self, kind: str, input: Tensor, hidden: Tensor | None, cell: Tensor | None) -> tuple[Tensor, Tensor]:
        if input.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        rows = input if input.dim() == 2 else input.unsqueeze(0)
        zeros = rows.new_zeros(rows.shape[0], self.hidden_size)
        hidden = zeros if hidden is None else hidden if input.dim() == 2 else hidden.unsqueeze(0)
        if kind == "lstm":
            cell = zeros if cell is None else cell if input.dim() == 2 else cell.unsqueeze(0)
        projected = linear(rows, self.weight_ih, self.bias_ih).unsqueeze(0)
        _, state, last_cell = _layer(projected, hidden, cell, self.weight_hh, self.bias_hh, kind, False)
        return (state, last_cell) if input.dim() == 2 else (state.squeeze(0), last_cell.squeeze(0))

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        return text if self.bias is True else f"{text}, bias={self.bias}"


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (h, c) of (input, (h_0, c_0))."""

    gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return self._step("lstm", input, None if hx is None else hx[0], None if hx is None else hx[1])


class GRUCell(RNNCellBase):
    """One step of a GRU."""

    gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("gru", input, hx, None)[0]


class RNNCell(RNNCellBase):
    """One step of an RNN."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: minidynamo.device | str | None = None,
        dtype: minidynamo.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(self.nonlinearity, input, hx, None)[0]

    def extra_repr(self) -> str:
        text = super().extra_repr()
        return text if self.nonlinearity == "tanh" else f"{text}, nonlinearity={self.nonlinearity}"
