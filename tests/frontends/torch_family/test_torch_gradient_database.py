"""Gradients of torch's own operators and modules, compiled beside plain: some samples here, all in the exhaustive tests."""

import importlib.util
import warnings
import zlib

import pytest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
    pytest.skip("torch and expecttest are not installed", allow_module_level=True)
import torch

if not torch.__version__.startswith("2.13"):
    pytest.skip("the database of another version of torch", allow_module_level=True)
import torch_database as database
import torch_gradient_database as gradients

ENTRIES, MODULES = database.entries(), database.modules()
SPARSE = 17
# Where gradients differ from torch's, and why.
DIFFERENT = {
    "cdist": "of points without coordinates none arrives, where torch has zeros",
    "cholesky_inverse": "of the triangle that is not read torch has a gradient as well",
    "cholesky_solve": "of the triangle that is not read torch has a gradient as well",
    "native_group_norm": "of no images the result does not require grad",
    "nn.functional.pdist": "of one point the result does not require grad",
    "nn.functional.grid_sample": "none arrives at the grid of mode 'nearest', where torch has zeros",
    "grid_sampler_2d": "none arrives at the grid of mode 'nearest', where torch has zeros",
    "nn.functional.ctc_loss": "torch takes log_probs for results of log_softmax, and has the gradient of that",
    "nn_CTCLoss": "torch takes log_probs for results of log_softmax, and has the gradient of that",
    "linalg.pinv.singular": "of equal singular values",
    "linalg.pinv.hermitian": "of equal singular values",
    "nn_LPPool1d": "of negative numbers, whose roots are NaN",
    "nn_LPPool2d": "of negative numbers, whose roots are NaN",
    "nn_LPPool3d": "of negative numbers, whose roots are NaN",
}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings(), torch.enable_grad():
        warnings.simplefilter("ignore")
        yield


def in_this_part(name):
    return lambda number: zlib.crc32(f"{name} {number} slopes".encode()) % SPARSE == 0


def check(name, found):
    for number, text, _ in found:
        assert not text or name in DIFFERENT, f"{name} #{number}: {text}"


@pytest.mark.parametrize("name", ENTRIES)
def test_some_samples(name):
    check(name, gradients.outcomes(ENTRIES[name], in_this_part(name)))


@pytest.mark.parametrize("name", MODULES)
def test_some_samples_of_modules(name):
    check(name, gradients.module_outcomes(MODULES[name], in_this_part(name)))


def test_names_of_the_list():
    assert set(DIFFERENT) <= {*ENTRIES, *MODULES}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ENTRIES)
def test_all_samples(name):
    check(name, gradients.outcomes(ENTRIES[name]))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MODULES)
def test_all_samples_of_modules(name):
    check(name, gradients.module_outcomes(MODULES[name]))


def test_most_operators_are_recorded():
    """The first sample of each operator that torch differentiates: one node of ours, or torch's own."""
    first = lambda number: number == 0  # noqa: E731
    found = [recorded for op in ENTRIES.values() for _, text, recorded in gradients.outcomes(op, first) if not text]
    assert sum(found) >= 0.7 * len(found)
