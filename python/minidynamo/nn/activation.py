"""Element-wise functions and softmax as modules."""

from .functional import elu, gelu, leaky_relu, log_softmax, relu, sigmoid, silu, softmax, tanh
from .module import Module


class ReLU(Module):
    """max(x, 0). `inplace` is taken and has no effect: the result is a new tensor."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return relu(input)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class GELU(Module):
    """x times the normal distribution's cumulative function; approximate="tanh" for the formula with tanh."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class SiLU(Module):
    """x * sigmoid(x)."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return silu(input)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, input):
        return sigmoid(input)


class Tanh(Module):
    """tanh(x)."""

    def forward(self, input):
        return tanh(input)


class ELU(Module):
    """x where positive, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return elu(input, self.alpha)

    def extra_repr(self):
        return f"alpha={self.alpha}"


class LeakyReLU(Module):
    """x where positive, else negative_slope * x."""

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        return leaky_relu(input, self.negative_slope)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}"


class Softmax(Module):
    """softmax along one dimension."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return softmax(input, dim=self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """log of softmax along one dimension."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return log_softmax(input, dim=self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"
