"""How much memory of the process grows, for tests of what is kept."""

import gc
import sys

import pytest

needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc here")
MEGABYTE = 1 << 20


def resident():
    """Bytes of memory that this process uses."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def settled_growth(step, rounds, warm_up, turns=3):
    """The least growth of the turns, after a warm-up has filled the allocators' pools: what is kept of each round is
    there every time, what other tests have left to the allocators is not."""
    for number in range(warm_up):
        step(number)
    growths = []
    while len(growths) < turns and (not growths or growths[-1] >= MEGABYTE):
        gc.collect()
        before = resident()
        for number in range(warm_up, warm_up + rounds):
            step(number)
        gc.collect()
        growths.append(resident() - before)
    return min(growths)
