"""Random programs behave the same compiled as in eager Python."""

import random

import pytest

from .run import run
from .writer import write_program


def check_seed(seed):
    source = write_program(random.Random(seed))
    try:
        run(source, "onednn" if seed % 4 == 0 else "eager", (0, 0, 1, 3)[seed % 4])
    except BaseException as error:
        error.add_note(f"seed {seed}\n{source}")
        raise


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_programs(start):
    for seed in range(start, start + 20):
        check_seed(seed)
