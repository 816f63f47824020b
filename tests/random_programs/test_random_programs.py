"""Random programs give compiled what they give as plain Python."""

import random

import pytest

from minidynamo._dynamo import config

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


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(1000, 21000, 250))
def test_many_programs(start):
    for seed in range(start, start + 250):
        check_seed(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(100_000, 120_000, 250))
def test_many_checked_programs(start):
    """What each region gives is compared with plain Python where it ends, not only what the program shows of it."""
    with config.patch(check_captures=10):
        for seed in range(start, start + 250):
            check_seed(seed)
