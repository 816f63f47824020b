"""What a size that no call had before costs: python benchmarks/engine_rows/sizes.py [--rows TEXT] [--rounds N]

Each row calls one function with sizes in random order: a call of the size before, the first call of a size, more calls
of the same size. torch eager, which makes nothing for a size, is called with each size too. Reported are medians over
the sizes, and how the first call compares with what it may take: 1.2 times a seen size and 5 us; a decoder 1.05 times.
One thread, in its own processor time.
"""

import argparse
import random
import statistics
import time
from dataclasses import dataclass

SIZES = 60
AGAIN = 3  # calls of a seen size


@dataclass
class Row:
    """make: the arguments for a size. contenders: library -> the function. most: the times of a seen call, and the
    microseconds beside, that a new size may take."""

    name: str
    function: object  # of a library
    make: object  # of a library and a size
    sizes: tuple
    most: tuple = (1.2, 5)

    @property
    def contenders(self):
        import torch

        import minidynamo

        return {"minidynamo": (self, minidynamo), "torch": (self, torch)}


def _pointwise(lib):
    return lambda x: (x * 2 + 1).relu()


def _normalise(lib):
    return lambda x: lib.nn.functional.layer_norm(x, (64,))


def _rows(lib):
    return lambda x: lib.softmax(x * 2, -1)


def _attention(lib):
    def attention(q, k, v):
        return lib.softmax(q @ k.transpose(-1, -2) * 0.125, -1) @ v

    return attention


def _linear(lib):
    weight, bias = lib.ones(256, 256), lib.ones(256)
    return lambda x: lib.nn.functional.linear(x, weight, bias).relu()


def _convolution(lib):
    weight = lib.ones(16, 8, 3, 3)
    return lambda x: lib.nn.functional.conv2d(x, weight, None, 1, 1).relu()


def _decoder(lib, width=256, heads=4, layers=4):
    functional = lib.nn.functional
    each = width // heads
    weights = [
        [lib.rand(rows, columns) / width for rows, columns in shapes]
        for shapes in [((3 * width, width), (width, width), (4 * width, width))] * layers
    ]
    back = [lib.rand(width, 4 * width) / width for _ in range(layers)]

    def step(x, cache):
        kept = []
        for (into, out, up), down, (keys, values) in zip(weights, back, cache):
            q, k, v = functional.linear(functional.layer_norm(x, (width,)), into).view(1, 1, 3, heads, each).unbind(2)
            keys, values = lib.cat([keys, k.transpose(1, 2)], 2), lib.cat([values, v.transpose(1, 2)], 2)
            kept.append((keys, values))
            scores = lib.softmax(q.transpose(1, 2) @ keys.transpose(-1, -2) * each**-0.5, -1)
            x = x + functional.linear((scores @ values).transpose(1, 2).reshape(1, 1, width), out)
            x = x + functional.linear(functional.gelu(functional.linear(functional.layer_norm(x, (width,)), up)), down)
        return x, kept

    return step


def _cache(lib, length, width=256, heads=4, layers=4):
    return [tuple(lib.ones(1, heads, length, width // heads) for _ in range(2)) for _ in range(layers)]


def _several(lib, *shape):
    return tuple(lib.ones(*shape) for _ in range(3))


_SMALL = tuple(range(3, 400))
ROWS = [
    Row("pointwise", _pointwise, lambda lib, n: (lib.ones(n),), _SMALL),
    Row("pointwise, 1 MB", _pointwise, lambda lib, n: (lib.ones(250_000 + n),), _SMALL),
    Row("layer norm", _normalise, lambda lib, n: (lib.ones(n, 64),), _SMALL),
    Row("softmax", _rows, lambda lib, n: (lib.ones(8, n),), _SMALL),
    Row("product", lambda lib: lambda x: x @ x.T, lambda lib, n: (lib.ones(n, 64),), _SMALL),
    Row("linear", _linear, lambda lib, n: (lib.ones(n, 256),), _SMALL),
    Row("attention", _attention, lambda lib, n: _several(lib, 1, 4, n, 64), _SMALL),
    Row("convolution", _convolution, lambda lib, n: (lib.ones(1, 8, n, 20),), _SMALL),
    Row("decode step", _decoder, lambda lib, n: (lib.ones(1, 1, 256), _cache(lib, n)), _SMALL, (1.05, 0)),
]


def microseconds(call, arguments):
    begin = time.thread_time_ns()
    call(*arguments)
    return (time.thread_time_ns() - begin) / 1e3


def measure(row, seed):
    """Medians of a new size, a seen one, and torch's."""
    import torch

    import minidynamo

    sizes = random.Random(seed).sample(row.sizes, SIZES)
    compiled, eager = minidynamo.compile(row.function(minidynamo), dynamic=True), row.function(torch)
    times = {"new": [], "seen": [], "torch": []}
    with minidynamo.no_grad(), torch.no_grad():
        before = row.make(minidynamo, sizes[-1])
        for i, n in enumerate(sizes):
            ours, theirs = row.make(minidynamo, n), row.make(torch, n)
            times["torch"] += [microseconds(eager, theirs) for _ in range(AGAIN)]
            compiled(*before)  # so that both find their operands where a call of another size leaves them
            first = microseconds(compiled, ours)
            again = [microseconds(compiled, ours) for _ in range(AGAIN)]
            before = ours
            if i < 3:  # captures
                continue
            times["new"].append(first)
            times["seen"] += again
    return {name: statistics.median(values) for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    import torch

    import minidynamo

    torch.set_num_threads(1)
    minidynamo.set_num_threads(1)
    print("| row | seen, us | new, us | may take | new / may take | torch / seen | torch / new |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in ROWS:
        if options.rows not in row.name:
            continue
        rounds = [measure(row, seed) for seed in range(options.rounds)]
        best = {name: min(times[name] for times in rounds) for name in rounds[0]}
        times, beside = row.most
        most = times * best["seen"] + beside
        print(
            f"| {row.name} | {best['seen']:.1f} | {best['new']:.1f} | {most:.1f} | {best['new'] / most:.2f} | "
            f"{best['torch'] / best['seen']:.2f} | {best['torch'] / best['new']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
