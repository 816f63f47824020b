"""What a size that no call had before costs: python benchmarks/engine_rows/sizes.py [--rows TEXT] [--rounds N]

Each row calls one function with sizes in random order: the first call of a size, and more of it, each behind a call of
the size before. torch eager, which makes nothing for a size, is called with each size too. Reported are medians over
the sizes, and how the first call compares with what it may take: 1.2 times a seen size and 5 us; a convolution may make
a primitive of oneDNN (appends.py has a decoder whose caches grow step by step). One thread, in its own processor time.
The operands have been read, and memory for results of the size has been made, by an uncompiled call, so that caches and
page faults are the same for both.
"""

import random
import statistics
import time
from dataclasses import dataclass

from sections import OURS, Figure, Section, run_alone
from sections import Row as Case

SIZES = 60
AGAIN = 3  # calls of a seen size
PRIMITIVE = 300  # us; oneDNN takes as long and more to make one


@dataclass
class Row(Case):
    """make: the arguments for a library and a size. most: the times of a seen call, and the microseconds beside, that a
    new size may take. calls: name -> the function, the same uncompiled, its library."""

    make: object = None
    sizes: tuple = ()
    most: tuple = (1.2, 5)
    seed: int = 0

    def sample(self, calls):
        self.seed += 1
        sizes = random.Random(self.seed).sample(self.sizes, SIZES)
        return {name: self.measure(name, *call, sizes) for name, call in calls.items()}

    def measure(self, name, function, uncompiled, library, sizes):
        """Medians over the sizes."""
        if name == OURS:
            library._dynamo.reset()
        with library.no_grad():
            before = self.make(library, sizes[-1])
            new, seen = [], []
            for n in sizes:
                arguments = self.make(library, n)
                uncompiled(*arguments)
                first, *again = (self.behind(function, before, arguments) for _ in range(1 + AGAIN))
                new.append(first)
                seen += again
                before = arguments
        captures = 3  # of the first sizes
        return {"new": statistics.median(new[captures:]), "seen": statistics.median(seen[captures * AGAIN :])}

    def behind(self, function, before, arguments):
        """Microseconds of a call behind one of another size."""
        function(*before)
        return microseconds(function, arguments)


def row(name, function, make, sizes, most=(1.2, 5)):
    """function: of a library, returns the function to be timed."""

    def ours():
        import minidynamo

        minidynamo.set_num_threads(1)
        uncompiled = function(minidynamo)
        return minidynamo.compile(uncompiled, dynamic=True), uncompiled, minidynamo

    def theirs():
        import torch

        torch.set_num_threads(1)
        uncompiled = function(torch)
        return uncompiled, uncompiled, torch

    return Row(name, {OURS: ours, "torch": theirs}, make=make, sizes=sizes, most=most)


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


def decoder(lib, width=256, heads=4, layers=4):
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


def cache(lib, length, width=256, heads=4, layers=4):
    return [tuple(lib.ones(1, heads, length, width // heads) for _ in range(2)) for _ in range(layers)]


def _several(lib, *shape):
    return tuple(lib.ones(*shape) for _ in range(3))


_SMALL = tuple(range(3, 400))
FUNCTIONS = [
    row("pointwise", _pointwise, lambda lib, n: (lib.ones(n),), _SMALL),
    row("pointwise, 1 MB", _pointwise, lambda lib, n: (lib.ones(250_000 + n),), _SMALL),
    row("layer norm", _normalise, lambda lib, n: (lib.ones(n, 64),), _SMALL),
    row("softmax", _rows, lambda lib, n: (lib.ones(8, n),), _SMALL),
    row("product", lambda lib: lambda x: x @ x.T, lambda lib, n: (lib.ones(n, 64),), _SMALL),
    row("linear", _linear, lambda lib, n: (lib.ones(n, 256),), _SMALL),
    row("attention", _attention, lambda lib, n: _several(lib, 1, 4, n, 64), _SMALL),
    row("convolution", _convolution, lambda lib, n: (lib.ones(1, 8, n, 20),), _SMALL, (1.2, 5 + PRIMITIVE)),
    row("decode step", decoder, lambda lib, n: (lib.ones(1, 1, 256), cache(lib, n)), _SMALL),
]


def microseconds(call, arguments):
    begin = time.thread_time_ns()
    call(*arguments)
    return (time.thread_time_ns() - begin) / 1e3


def figures(row, times):
    ratio, beside = MOST[row]
    new, seen = times.least(OURS, "new"), times.least(OURS, "seen")
    yield Figure("us, a seen size", seen)
    yield Figure("us, a new size", new)
    yield Figure("new / what it may take", new / (ratio * seen + beside), 1.0, True)
    if times.has("torch"):
        torch = times.least("torch", "seen")
        yield Figure("torch / ours, seen", torch / seen)
        yield Figure("torch / ours, new", torch / new)


MOST = {each.name: each.most for each in FUNCTIONS}
SECTION = Section(lambda threads: FUNCTIONS, figures, ours=(OURS, "new"), rounds=3)

if __name__ == "__main__":
    run_alone(__file__)
