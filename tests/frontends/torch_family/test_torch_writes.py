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
from minidynamo import _C


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


def row(y, x):
    y[0] *= 3


def rows_by_step(y, x):
    y[::2] += x[0]


def column_of_view(y, x):
    y.t()[1] -= x[:, 1]


def element(y, x):
    y[1, 2] /= 4


def known_mask(y, x):
    y[[True, False, True]] *= 2


def itself(y, x):
    y[1:] = y[1:]
    y.copy_(y)


def twice(y, x):
    part = y[1:]
    part *= 2
    y[1:] = part
    part += 1


OPERATIONS = [row, rows_by_step, column_of_view, element, known_mask, itself, twice]


@pytest.mark.parametrize("write", OPERATIONS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("grad", [False, True], ids=["no grad", "grad"])
@pytest.mark.parametrize("where", ["computed", "input"])
def test_operations_on_parts_in_place(write, grad, where):
    """`y[i] op= z` is an operation in place on a view, and then a store of the view into its own place."""

    def computed(x):
        y = x * 2
        write(y, x)
        return y.sin(), y

    def written(x):
        write(x, x + 1)
        return x.sin(), x

    def run(function):
        x = torch.arange(9.0, dtype=torch.float64).view(3, 3).requires_grad_(grad and where == "computed")
        result, y = function(x)
        gradients = torch.autograd.grad(result.sum(), x) if result.requires_grad else ()
        return [x, y, result, *gradients, x._version, y._version]

    function = computed if where == "computed" else written
    minidynamo._dynamo.reset()  # a site's breaks are recorded once
    with torch.set_grad_enabled(grad):
        found, expected = [], run(function)
        breaks = _C.record_breaks(lambda: found.extend(run(minidynamo.compile(function))))
    assert breaks == []
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-14, atol=0)
