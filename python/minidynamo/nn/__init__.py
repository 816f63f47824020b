"""The names of torch.nn that minidynamo has."""

from . import functional, parameter
from .activation import ELU, GELU, LeakyReLU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh
from .container import ModuleDict, ModuleList, Sequential
from .linear import Identity, Linear
from .module import Module
from .normalization import Embedding, LayerNorm
from .parameter import Buffer, Parameter

__all__ = [
    "Buffer",
    "ELU",
    "Embedding",
    "GELU",
    "Identity",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "functional",
    "parameter",
]
