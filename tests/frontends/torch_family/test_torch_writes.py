"""Drawn programs that write to torch's tensors, their views and windows, which may overlap: as in plain torch."""

import importlib.util
import math

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch
from capture.test_captured_writes import run_program
from capture.test_writes_in_place import check_drawn as check_windows

import minidynamo


def agree(one, other):
    """Up to the rounding of sums, which torch adds in another order."""
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(agree, one, other))
    return math.isclose(one, other, rel_tol=1e-12) if isinstance(one, float) else one == other


def check_drawn(seed):
    with torch.no_grad():
        check_windows(seed, torch, agree)
        run_program(seed, torch)


@pytest.mark.parametrize("seed", range(0, 400, 50))
def test_drawn_programs(seed):
    for number in range(seed, seed + 50):
        check_drawn(number)


def overlapping(name, x):
    column = x[:, 1]
    if name == "lerp_":
        return x.lerp_(column, 0.4)
    return getattr(x, name)(column, column)


@pytest.mark.parametrize("name", ["addcmul_", "addcdiv_", "lerp_"])
def test_in_place_functions_of_several_operands_beside_views(name):
    """Where an operand is a view of what is written, the order of reads and writes is torch's."""
    found = []
    for call in (overlapping, minidynamo.compile(overlapping)):
        torch.manual_seed(0)
        x = torch.randn(5, 5, dtype=torch.float64) + 3
        call(name, x)
        found.append(x)
    assert torch.equal(*found)
