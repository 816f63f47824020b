"""torch's operator database, where torch 2.13 is installed: a part of the samples here, all of them in the exhaustive test."""

import importlib.util
import warnings
import zlib

import pytest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
    pytest.skip("torch and expecttest are not installed", allow_module_level=True)
import torch

if not torch.__version__.startswith("2.13"):
    pytest.skip("the database of another version of torch", allow_module_level=True)
import operator_database as database

# Operators with a sample whose result is another one that torch's documentation allows just as well.
OPEN = {
    "linalg.eigh": "eigenvectors are unique up to their signs, and to rotations among those of one eigenvalue",
    "linalg.svd": "singular vectors are unique up to their signs, those of no singular value up to rotations",
    "svd": "as linalg.svd",
}
ENTRIES = dict(database.entries())
# Of samples, each how many-th is compared here.
SPARSE = 7


def in_this_part(name, dtype, number):
    return zlib.crc32(f"{name} {dtype} {number}".encode()) % SPARSE == 0


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def compare(way, name, *args, **keywords):
    try:
        _, found = way(name, ENTRIES[name], *args, **keywords)
    except database.Missing:
        return
    assert not found, "\n".join(found)


def test_at_most_five_are_open():
    assert len(OPEN) <= 5 and set(OPEN) <= set(ENTRIES)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("name", sorted(set(ENTRIES) - set(OPEN)))
def test_some_samples(name, dtype):
    compare(database.differences, name, dtype, only=lambda number: in_this_part(name, dtype, number))


@pytest.mark.parametrize("name", sorted(set(ENTRIES) - set(OPEN)))
def test_memory_of_results(name):
    compare(database.layout_differences, name, "float32", strides=False)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", database.DTYPES)
@pytest.mark.parametrize("name", sorted(set(ENTRIES) - set(OPEN)))
def test_all_samples(name, dtype):
    compare(database.differences, name, dtype)
