"""Drawn programs that write to torch's tensors, their views and windows, which may overlap: as in plain torch."""

import importlib.util

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch
from capture.test_captured_writes import run_program
from capture.test_writes_in_place import check_drawn as check_windows


def check_drawn(seed):
    with torch.no_grad():
        check_windows(seed, torch)
        run_program(seed, torch)


@pytest.mark.parametrize("seed", range(0, 400, 50))
def test_drawn_programs(seed):
    for number in range(seed, seed + 50):
        check_drawn(number)
