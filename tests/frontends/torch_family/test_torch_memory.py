"""Memory over many calls and many models of torch: none is kept."""

import importlib.util

import pytest
from resident_memory import MEGABYTE, needs_proc, settled_growth

if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed: its tensors are not tried", allow_module_level=True)
import torch
from torch import nn

import minidynamo

pytestmark = [needs_proc, pytest.mark.usefixtures("without_gradients")]


def model():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).eval()


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("way", ["one_size", "drawn_sizes", "written"])
def test_calls(way, count):
    def write(x):
        x[1:].mul_(2)
        return x.sum(0, keepdim=True)

    compiled = minidynamo.compile(write if way == "written" else model())

    def step(number):
        compiled(torch.ones(4 if way != "drawn_sizes" else 1 + number % 200, 16))

    assert settled_growth(step, count, 1_000) < 2 * MEGABYTE


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("freeze", [False, True])
def test_models_compiled_and_dropped(freeze, count):
    x = torch.ones(4, 16)

    def step(number):
        compiled = minidynamo.compile(model(), options={"freeze": freeze})
        assert compiled(x).shape == compiled(x).shape == (4, 4)

    # They would take 12 kB each if they were kept.
    assert settled_growth(step, count, 200) < 2 * MEGABYTE
