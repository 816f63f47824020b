"""Drawn programs that write to windows of torch's tensors, which may overlap: as in plain torch."""

import importlib.util

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch
from capture.test_writes_in_place import check_drawn as check_program


def check_drawn(seed):
    with torch.no_grad():
        check_program(seed, torch)


@pytest.mark.parametrize("seed", range(0, 400, 50))
def test_drawn_programs(seed):
    for number in range(seed, seed + 50):
        check_drawn(number)
