"""What references need besides NumPy, for arrays of float64."""

import math

import numpy

try:
    from scipy.special import erf
except ImportError:
    erf = numpy.vectorize(math.erf, otypes=[float])


def softmax(x, axis):
    e = numpy.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


class Exact:
    """A library for the builders of array code."""

    erf, softmax = staticmethod(erf), staticmethod(softmax)
    exp, log, sqrt, tanh = numpy.exp, numpy.log, numpy.sqrt, numpy.tanh
    maximum, stack = numpy.maximum, numpy.stack
