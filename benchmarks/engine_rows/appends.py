"""Caches that grow by cat: python benchmarks/engine_rows/appends.py [--rows TEXT] [--rounds N]

Each call grows a cache from 1 position to TOKENS, one at a time, as each library makes it: uncompiled by torch and
minidynamo, and compiled. Reported are the microseconds of a token, and how often memory was made for a cache. A decoder
takes each step once with a length that no step had before, and some times again: what the first one costs beside those.
"""

import statistics
from dataclasses import dataclass

import sizes
from sections import OURS, Figure, Section, run_alone
from sections import Row as Case

TOKENS = 1000
MOST_ROOMS = TOKENS.bit_length()  # memory doubles
MOST_NEW = 1.05  # times a step of the length before
AGAIN = 3


@dataclass
class Row(Case):
    seconds: float = 0.0  # a call grows a whole cache

    def begin(self, calls):
        """How often memory was made for a cache whose step is compiled."""
        if OURS not in calls:
            return {}
        from minidynamo import _C

        if not hasattr(_C, "room_counts"):  # an earlier build
            return {}
        calls[OURS]()
        before = _C.room_counts()["made"]
        calls[OURS]()
        return {OURS: {"rooms": _C.room_counts()["made"] - before}}


class Cache:
    pass


@dataclass
class Steps(Case):
    """calls: name -> a function that takes a step from caches and returns the grown ones, and the first caches."""

    def sample(self, calls):
        return {name: self.measure(*call) for name, call in calls.items()}

    def measure(self, step, caches):
        """Medians of the steps of a decoder, without those that capture."""
        begin, new, seen = TOKENS // 10, [], []
        for i in range(TOKENS // 2):
            times = []
            for _ in range(1 + AGAIN):
                grown = None  # so that each step has the room behind the caches
                start = self.clock()
                grown = step(caches)
                times.append(self.clock() - start)
            if i >= begin:
                new.append(times[0])
                seen += times[1:]
            caches = grown
        return {"seconds": statistics.median(new), "seen": statistics.median(seen)}


def decoder():
    def ours():
        import minidynamo

        minidynamo.set_num_threads(1)
        x, step = minidynamo.ones(1, 1, 256), sizes.decoder(minidynamo)
        step = minidynamo.compile(minidynamo.no_grad()(step), dynamic=True)
        return lambda caches: step(x, caches)[1], sizes.cache(minidynamo, 1)

    return Steps("decoder of 4 layers", {OURS: ours})


def step_of(lib, dim, reads):
    def append(cache, x):
        cache.k = lib.cat([cache.k, x], dim)

    def attend(cache, x):
        cache.k = lib.cat([cache.k, x], dim)
        return lib.softmax(x @ cache.k.transpose(-1, -2), -1) @ cache.k

    return attend if reads else append


def row(name, shape, dim, reads=False):
    """shape: of what a token adds; reads: the step reads the cache, as attention does."""

    def growing(lib, step):
        x = lib.ones(*shape)

        def grow():
            cache = Cache()
            cache.k = x
            for _ in range(TOKENS):
                step(cache, x)
            return cache.k

        return grow

    def ours(compiles):
        import minidynamo

        minidynamo.set_num_threads(1)
        step = step_of(minidynamo, dim, reads)
        return growing(minidynamo, minidynamo.compile(step, dynamic=True) if compiles else step)

    def theirs():
        import torch

        torch.set_num_threads(1)
        return growing(torch, step_of(torch, dim, reads))

    return Row(name, {OURS: lambda: ours(True), "eager": lambda: ours(False), "torch": theirs})


ROWS = [
    row("cache of 4 heads of 64", (1, 4, 1, 64), 2),
    row("cache of 4 heads of 64, attention", (1, 4, 1, 64), 2, True),
    row("cache of 16 heads of 128", (1, 16, 1, 128), 2),
    row("rows of 256", (1, 256), 0),
    decoder(),
]


def figures(row, times):
    if "seen" in times.rounds[0][OURS]:
        new, seen = times.least(OURS), times.least(OURS, "seen")
        yield Figure("us, a step of a new length", 1e6 * new)
        yield Figure("new / seen", new / seen, MOST_NEW, True)
        return
    yield from (
        Figure(f"us a token, {name}", 1e6 * times.least(name) / TOKENS)
        for name in (OURS, "eager", "torch")
        if times.has(name)
    )
    if "rooms" in times.once.get(OURS, {}):
        yield Figure("copies of the cache", times.once[OURS]["rooms"], MOST_ROOMS, True)
    if times.has("torch"):
        yield Figure("torch / ours", times.least("torch") / times.least(OURS))


SECTION = Section(lambda threads: ROWS, figures)

if __name__ == "__main__":
    run_alone(__file__)
