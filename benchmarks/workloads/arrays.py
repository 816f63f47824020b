"""Other code over arrays: distance matrices by broadcasting, running sums, gathering and scattering."""

import numpy

from .table import Row, array_forms

NODES, EDGES, FEATURES = 10_000, 100_000, 64
WORDS, WIDTH = 10_000, 256
BINS, SAMPLES = 1_000, 1_000_000
WINDOW = 50


def distances_torch(torch):
    def f(x, y):
        difference = x[:, None, :] - y[None, :, :]
        return torch.sqrt((difference * difference).sum(-1))

    return f


def distances_array(library):
    def f(x, y):
        difference = x[:, None, :] - y[None, :, :]
        return library.sqrt((difference * difference).sum(axis=-1))

    return f


def distances_numba(jit):
    from numba import prange

    @jit
    def f(x, y):
        result = numpy.empty((x.shape[0], y.shape[0]), x.dtype)
        for i in prange(x.shape[0]):
            for j in range(y.shape[0]):
                total = x.dtype.type(0)
                for k in range(x.shape[1]):
                    total += (x[i, k] - y[j, k]) * (x[i, k] - y[j, k])
                result[i, j] = numpy.sqrt(total)
        return result

    return f


def running_sum_torch(torch):
    def f(x):
        return torch.cumsum(x, -1)

    return f


def running_sum_array(library):
    def f(x):
        return library.cumsum(x, axis=-1)

    return f


def running_sum_numba(jit):
    from numba import prange

    @jit
    def f(x):
        result = numpy.empty_like(x)
        for i in prange(x.shape[0]):
            total = x.dtype.type(0)
            for j in range(x.shape[1]):
                total += x[i, j]
                result[i, j] = total
        return result

    return f


def moving_mean_torch(torch):
    def f(x):
        total = torch.cumsum(x, 0)
        return (total[WINDOW:] - total[:-WINDOW]) / WINDOW

    return f


def moving_mean_array(library):
    def f(x):
        total = library.cumsum(x, axis=0)
        return (total[WINDOW:] - total[:-WINDOW]) / WINDOW

    return f


def moving_mean_numba(jit):
    @jit
    def f(x):
        total = numpy.cumsum(x)
        return (total[WINDOW:] - total[:-WINDOW]) / WINDOW

    return f


def bag_torch(torch):
    def f(table, words):
        return table[words].mean(1)

    return f


def bag_array(library):
    def f(table, words):
        return table[words].mean(axis=1)

    return f


def bag_numba(jit):
    from numba import prange

    @jit
    def f(table, words):
        result = numpy.zeros((words.shape[0], table.shape[1]), table.dtype)
        for i in prange(words.shape[0]):
            for j in range(words.shape[1]):
                for k in range(table.shape[1]):
                    result[i, k] += table[words[i, j], k]
            for k in range(table.shape[1]):
                result[i, k] /= table.dtype.type(words.shape[1])
        return result

    return f


def messages_torch(torch):
    def f(x, weight, source, target):
        return torch.zeros_like(x).index_add(0, target, x[source] * weight[:, None])

    return f


def messages_numpy(library):
    def f(x, weight, source, target):
        result = numpy.zeros_like(x)
        numpy.add.at(result, target, x[source] * weight[:, None])
        return result

    return f


def messages_at(library):
    def f(x, weight, source, target):
        return library.zeros_like(x).at[target].add(x[source] * weight[:, None])

    return f


def messages_numba(jit):
    @jit
    def f(x, weight, source, target):
        result = numpy.zeros_like(x)
        for e in range(source.size):
            for k in range(x.shape[1]):
                result[target[e], k] += x[source[e], k] * weight[e]
        return result

    return f


def histogram_torch(torch):
    def f(index, weight):
        return torch.zeros(BINS, dtype=weight.dtype).scatter_add(0, index, weight)

    return f


def histogram_numpy(library):
    def f(index, weight):
        return numpy.bincount(index, weight, BINS)

    return f


def histogram_at(library):
    def f(index, weight):
        return library.zeros(BINS, dtype=weight.dtype).at[index].add(weight)

    return f


def histogram_numba(jit):
    @jit
    def f(index, weight):
        result = numpy.zeros(BINS, weight.dtype)
        for i in range(index.size):
            result[index[i]] += weight[i]
        return result

    return f


def gather(library):
    def f(x, index):
        return x[index]

    return f


def gather_numba(jit):
    from numba import prange

    @jit
    def f(x, index):
        result = numpy.empty(index.size, x.dtype)
        for i in prange(index.size):
            result[i] = x[index[i]]
        return result

    return f


def distances_row(count, width):
    return Row(
        "distance matrix",
        f"{count}x{count}x{width}",
        "float32",
        "distances",
        lambda rng: [rng.standard_normal((count, width)), rng.standard_normal((count, width))],
        distances_array(numpy),
        {
            "torch": distances_torch,
            **array_forms(distances_array, "numpy", "jax", "mlx"),
            "numba": distances_numba,
        },
    )


ROWS = [
    distances_row(1000, 3),
    distances_row(512, 32),
    Row(
        "cumsum",
        "4096x1024",
        "float32",
        "scans",
        lambda rng: [rng.standard_normal((4096, 1024))],
        running_sum_array(numpy),
        {
            "torch": running_sum_torch,
            **array_forms(running_sum_array, "numpy", "jax", "mlx"),
            "numba": running_sum_numba,
        },
    ),
    Row(
        "moving mean by cumsum",
        "10^6",
        "float64",
        "scans",
        lambda rng: [rng.standard_normal(10**6)],
        moving_mean_array(numpy),
        {
            "torch": moving_mean_torch,
            **array_forms(moving_mean_array, "numpy", "jax", "mlx"),
            "numba": moving_mean_numba,
        },
        tolerance=1e-10,
    ),
    Row(
        "mean of gathered rows",
        f"{WORDS}x{WIDTH}, 64x32",
        "float32",
        "gather and scatter",
        lambda rng: [rng.standard_normal((WORDS, WIDTH)), rng.integers(0, WORDS, (64, 32))],
        bag_array(numpy),
        {"torch": bag_torch, **array_forms(bag_array, "numpy", "jax", "mlx"), "numba": bag_numba},
        moved=64 * 32 * (4.0 * WIDTH + 8) + 64 * 4.0 * WIDTH,
    ),
    Row(
        "gather",
        "10^6",
        "float32",
        "gather and scatter",
        lambda rng: [rng.standard_normal(10**6), rng.permutation(10**6)],
        gather(numpy),
        {**array_forms(gather), "numba": gather_numba},
    ),
    Row(
        "messages along edges",
        f"{NODES}x{FEATURES}, {EDGES} edges",
        "float32",
        "gather and scatter",
        lambda rng: [
            rng.standard_normal((NODES, FEATURES)),
            rng.standard_normal(EDGES),
            rng.integers(0, NODES, EDGES),
            rng.integers(0, NODES, EDGES),
        ],
        messages_numpy(numpy),
        {
            "torch": messages_torch,
            "numpy": messages_numpy,
            **array_forms(messages_at, "jax", "mlx"),
            "numba": messages_numba,
        },
    ),
    Row(
        "weighted histogram",
        f"10^6 into {BINS}",
        "float32",
        "gather and scatter",
        lambda rng: [rng.integers(0, BINS, SAMPLES), rng.random(SAMPLES)],
        histogram_numpy(numpy),
        {
            "torch": histogram_torch,
            "numpy": histogram_numpy,
            **array_forms(histogram_at, "jax", "mlx"),
            "numba": histogram_numba,
        },
        tolerance=1e-4,
    ),
]
