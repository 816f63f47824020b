"""The names of torch.nn.modules.rnn: the classes of minidynamo.nn themselves."""

from ..._missing_names import explain_missing as _explain_missing
from ..module import Module as Module
from ..recurrent import (
    GRU,
    LSTM,
    RNN,
    GRUCell,
    LSTMCell,
    RNNBase,
    RNNCell,
    RNNCellBase,
)

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_explain_missing(__name__)
