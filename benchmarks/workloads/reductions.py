"""Reductions of each row of a matrix, and what normalises by them."""

import numpy

from .table import Row

COLUMNS = 1024
ROW_COUNTS = (256, 4096)
CURVE = (16, 64, 1024)
EPSILON = 1e-5


def softmax_torch(torch):
    def f(x):
        return torch.softmax(x, dim=-1)

    return f


def softmax_array(library):
    def f(x):
        e = library.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    return f


def softmax_jax(jnp):
    return jnp.nn.softmax


def softmax_mlx(mx):
    def f(x):
        return mx.softmax(x, axis=-1)

    return f


def softmax_numba(jit):
    from numba import prange

    @jit
    def f(x):
        result = numpy.empty_like(x)
        for i in prange(x.shape[0]):
            largest = x[i].max()
            total = x.dtype.type(0)
            for j in range(x.shape[1]):
                result[i, j] = numpy.exp(x[i, j] - largest)
                total += result[i, j]
            for j in range(x.shape[1]):
                result[i, j] /= total
        return result

    return f


def layer_norm_torch(torch):
    layer_norm = torch.nn.functional.layer_norm

    def f(x, weight, bias):
        return layer_norm(x, (COLUMNS,), weight, bias, EPSILON)

    return f


def layer_norm_array(library):
    def f(x, weight, bias):
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred * centred).mean(axis=-1, keepdims=True)
        return centred / library.sqrt(variance + EPSILON) * weight + bias

    return f


def layer_norm_mlx(mx):
    def f(x, weight, bias):
        return mx.fast.layer_norm(x, weight, bias, EPSILON)

    return f


def layer_norm_numba(jit):
    from numba import prange

    @jit
    def f(x, weight, bias):
        result = numpy.empty_like(x)
        number = x.dtype.type
        for i in prange(x.shape[0]):
            total = number(0)
            squares = number(0)
            for j in range(x.shape[1]):
                total += x[i, j]
            mean = total / number(x.shape[1])
            for j in range(x.shape[1]):
                squares += (x[i, j] - mean) * (x[i, j] - mean)
            scale = number(1) / numpy.sqrt(squares / number(x.shape[1]) + number(EPSILON))
            for j in range(x.shape[1]):
                result[i, j] = (x[i, j] - mean) * scale * weight[j] + bias[j]
        return result

    return f


def rms_norm_torch(torch):
    def f(x, weight):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON) * weight

    return f


def rms_norm_array(library):
    def f(x, weight):
        return x / library.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * weight

    return f


def rms_norm_mlx(mx):
    def f(x, weight):
        return mx.fast.rms_norm(x, weight, EPSILON)

    return f


def rms_norm_numba(jit):
    from numba import prange

    @jit
    def f(x, weight):
        result = numpy.empty_like(x)
        number = x.dtype.type
        for i in prange(x.shape[0]):
            squares = number(0)
            for j in range(x.shape[1]):
                squares += x[i, j] * x[i, j]
            scale = number(1) / numpy.sqrt(squares / number(x.shape[1]) + number(EPSILON))
            for j in range(x.shape[1]):
                result[i, j] = x[i, j] * scale * weight[j]
        return result

    return f


def logsumexp_torch(torch):
    def f(x):
        return torch.logsumexp(x, dim=-1)

    return f


def logsumexp_array(library):
    def f(x):
        largest = x.max(axis=-1, keepdims=True)
        return largest[:, 0] + library.log(library.exp(x - largest).sum(axis=-1))

    return f


def logsumexp_jax(jnp):
    def f(x):
        return jnp.scipy.special.logsumexp(x, axis=-1)

    return f


def logsumexp_mlx(mx):
    def f(x):
        return mx.logsumexp(x, axis=-1)

    return f


def logsumexp_numba(jit):
    from numba import prange

    @jit
    def f(x):
        result = numpy.empty(x.shape[0], x.dtype)
        for i in prange(x.shape[0]):
            largest = x[i].max()
            total = x.dtype.type(0)
            for j in range(x.shape[1]):
                total += numpy.exp(x[i, j] - largest)
            result[i] = largest + numpy.log(total)
        return result

    return f


def standardise_torch(torch):
    def f(x):
        return (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)

    return f


def standardise_array(library):
    def f(x):
        return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, ddof=1, keepdims=True)

    return f


def standardise_mlx(mx):
    def f(x):
        return (x - mx.mean(x, axis=-1, keepdims=True)) / mx.std(x, axis=-1, keepdims=True, ddof=1)

    return f


def standardise_numba(jit):
    from numba import prange

    @jit
    def f(x):
        result = numpy.empty_like(x)
        number = x.dtype.type
        for i in prange(x.shape[0]):
            total = number(0)
            squares = number(0)
            for j in range(x.shape[1]):
                total += x[i, j]
            mean = total / number(x.shape[1])
            for j in range(x.shape[1]):
                squares += (x[i, j] - mean) * (x[i, j] - mean)
            scale = number(1) / numpy.sqrt(squares / number(x.shape[1] - 1))
            for j in range(x.shape[1]):
                result[i, j] = (x[i, j] - mean) * scale
        return result

    return f


def forms(torch, array, numba, mlx, jax=None):
    return {"torch": torch, "numpy": array, "jax": jax or array, "mlx": mlx, "numba": numba}


# The number of vectors of the columns' length that it takes besides the matrix, its reference and its forms.
FAMILIES = {
    "softmax": (
        0,
        softmax_array(numpy),
        forms(softmax_torch, softmax_array, softmax_numba, softmax_mlx, softmax_jax),
    ),
    "layer norm": (
        2,
        layer_norm_array(numpy),
        forms(layer_norm_torch, layer_norm_array, layer_norm_numba, layer_norm_mlx),
    ),
    "RMS norm": (1, rms_norm_array(numpy), forms(rms_norm_torch, rms_norm_array, rms_norm_numba, rms_norm_mlx)),
    "logsumexp": (
        0,
        logsumexp_array(numpy),
        forms(logsumexp_torch, logsumexp_array, logsumexp_numba, logsumexp_mlx, logsumexp_jax),
    ),
    "standardise": (
        0,
        standardise_array(numpy),
        forms(standardise_torch, standardise_array, standardise_numba, standardise_mlx),
    ),
}


def matrix(count, vectors):
    return lambda rng: [
        rng.standard_normal((count, COLUMNS)),
        *(1 + 0.1 * rng.standard_normal(COLUMNS) for _ in range(vectors)),
    ]


def row(family, count, dtype="float32", is_curve=False):
    vectors, reference, every = FAMILIES[family]
    return Row(
        family,
        f"{count}x{COLUMNS}",
        dtype,
        "row reductions",
        matrix(count, vectors),
        reference,
        every,
        size=float(count * COLUMNS),
        is_headline=family in ("softmax", "layer norm") and count == 256,
        is_curve=is_curve,
    )


ROWS = [
    *(row(family, count) for family in FAMILIES for count in ROW_COUNTS),
    *(row(family, count, is_curve=True) for family in ("softmax", "layer norm") for count in CURVE),
]
