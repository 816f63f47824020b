"""Gradients of torch's operator database: some samples of each operator here, all of them in the exhaustive test."""

import importlib.util
import warnings
import zlib
from pathlib import Path

import pytest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
    pytest.skip("torch and expecttest are not installed", allow_module_level=True)
import torch

if not torch.__version__.startswith("2.13"):
    pytest.skip("the database of another version of torch", allow_module_level=True)
import operator_gradients as database

# Operators of which some gradients are not torch's, with the reason.
OPEN = {
    "linalg.pinv.singular": "here through the singular value decomposition, which has no derivative at equal singular values",
    "as_strided.partial_views": "gradients of elements beyond the tensor that it was called on are refused",
    "as_strided_scatter": "torch has gradients of the elements that src replaces, none of the others",
    "index_reduce.prod": "second derivatives differ where factors are zero",
    "scatter_reduce.prod": "as index_reduce.prod",
    "i0": "second derivative at 0",
    "linalg.norm": "second derivatives at 0 and of empty tensors are finite here, NaN in torch",
    "linalg.norm.subgradients_at_zero": "as linalg.norm",
    "cdist": "of p = 0 nothing flows; torch has zeros",
    "nn.functional.multi_margin_loss": "a 0-d input is refused",
    "nn.functional.instance_norm": "running statistics that require grad are written from detached values",
}
ENTRIES = {name: op for name, op in database.entries() if name not in OPEN}
# Every n-th sample is compared here, and the first.
SPARSE = 12


def in_this_part(name, dtype, number):
    return number == 0 or zlib.crc32(f"{name} {dtype} {number}".encode()) % SPARSE == 0


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check(found):
    different = [each.text for each in found if each.kind == "different"]
    assert not different, "\n".join(different)


# Entries of which a sample differs: operators without a derivative, and those named in docs/training.md.
LEFT = (Path(__file__).parent / "operator_gradients_left.txt").read_text().split()


def marked(names):
    left = pytest.mark.xfail(reason="in operator_gradients_left.txt", strict=False)
    return [pytest.param(name, marks=left if name in LEFT else ()) for name in names]


def test_what_is_left_exists():
    assert set(LEFT) <= set(ENTRIES) and len(LEFT) == len(set(LEFT))


@pytest.mark.parametrize("name", marked(ENTRIES))
def test_some_samples(name):
    check(database.outcomes(name, ENTRIES[name], "float64", lambda number: in_this_part(name, "float64", number)))


@pytest.mark.parametrize("name", marked(ENTRIES))
def test_samples_in_one_function(name):
    """The call, its gradients and theirs, compiled as one function."""
    check(database.outcomes(name, ENTRIES[name], only=lambda number: number == 0, is_captured=True))


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", marked(ENTRIES))
def test_all_samples(name, dtype):
    check(database.outcomes(name, ENTRIES[name], dtype))
