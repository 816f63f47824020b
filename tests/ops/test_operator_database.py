"""torch's operator database, where torch 2.13 is installed: a part of the samples here, all of them in the
exhaustive test."""

import importlib.util
import pathlib
import warnings
import zlib

import pytest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
    pytest.skip("torch and expecttest are not installed", allow_module_level=True)
import torch

if not torch.__version__.startswith("2.13"):
    pytest.skip("the database of another version of torch", allow_module_level=True)
import operator_database as database

# Operators with a sample for which torch's documentation allows other results as well.
OPEN = {
    "linalg.eigh": "eigenvectors are unique up to their signs, and to rotations among those of one eigenvalue",
    "linalg.svd": "singular vectors are unique up to their signs, those of no singular value up to rotations",
    "svd": "as linalg.svd",
}
# Reflected operators whose samples on a number, Tensor.__rsub__(2, x), are not compared; all their other samples are.
# torch documents none of these calls. A type slot rejects them with TypeError, as int.__rsub__(x, 2) does; torch's are
# Python functions, whose bodies determine the outcome: those that call a function of both operands return its result,
# and so do ours.
OPEN_ON_A_NUMBER = {
    "__rsub__": "torch gives NotImplemented: rsub(2, x) takes no number first",
    "__rdiv__": "AttributeError from the inside of torch's: 2 has no method reciprocal()",
}
ENTRIES = dict(database.entries())
COMPARED = sorted(set(ENTRIES) - set(OPEN))
# Only every n-th sample is compared here.
SPARSE = 7
# An operator, and the names of torch that its samples use and that minidynamo does not have.
LISTED = pathlib.Path(__file__).with_name("operator_database_absent.txt")


def listed_absences():
    lines = [line.split("\t") for line in LISTED.read_text().splitlines()]
    return {name: set(why.split(", ")) for name, why in lines}


ABSENT = listed_absences()


def in_this_part(name, dtype, number, sparse=SPARSE):
    return zlib.crc32(f"{name} {dtype} {number}".encode()) % sparse == 0


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_own(why):
    """Whether a reason of absence is specific to the operator: not an unsupported dtype or layout."""
    kind, _, which = why.partition(" ")
    return kind in ("name", "keyword") or which in database.DTYPES


def is_compared(name):
    return lambda sample: name not in OPEN_ON_A_NUMBER or isinstance(sample.input, torch.Tensor)


def check(name, found):
    """Checks that nothing differs, and that everything absent is listed."""
    found = list(found)
    assert not database.differences(found), "\n".join(database.differences(found))
    assert {why for why in database.absences(found) if is_own(why)} <= ABSENT.get(name, set())


def test_at_most_five_are_open():
    assert len({**OPEN, **OPEN_ON_A_NUMBER}) <= 5 and {*OPEN, *OPEN_ON_A_NUMBER} <= set(ENTRIES)


def dtype_of_part(name, way):
    """Each operator is called in each way, with one of the dtypes in each."""
    return ("float32", "int64", "bfloat16")[zlib.crc32(f"{name} {way}".encode()) % 3]


@pytest.mark.parametrize("way", ["function", "compiled", "in_place"])
@pytest.mark.parametrize("name", COMPARED)
def test_some_samples(name, way):
    dtype = dtype_of_part(name, way)
    part = "float32" if way == "function" else way
    only = lambda number: in_this_part(name, dtype + part, number)  # noqa: E731
    check(name, database.outcomes(name, ENTRIES[name], dtype, way, only, is_compared(name)))


# Operators of which the results are not compared under autocast.
OPEN_UNDER_AUTOCAST = {
    "bernoulli": "the numbers of another seed, which may be the same by chance",
    "matrix_exp": "torch gives NaN for 16-bit floats",
    "nn.functional.multi_head_attention_forward": "scores of hundreds, which 16 bits hold in steps of 0.5",
}


@pytest.mark.parametrize("way", ["autocast", "compiled_autocast"])
@pytest.mark.parametrize("name", sorted(set(COMPARED) - set(OPEN_UNDER_AUTOCAST)))
def test_some_samples_under_autocast(name, way):
    """The dtypes and values of operands in float32 and bfloat16, or one of them if compiled."""
    both = ("float32", "bfloat16")
    for dtype in both if way == "autocast" else [both[zlib.crc32(name.encode()) % 2]]:
        part = dtype + way
        only = lambda number, part=part: number == 0 or in_this_part(name, part, number, 4 * SPARSE)  # noqa: E731
        check(name, database.outcomes(name, ENTRIES[name], dtype, way, only, is_compared(name)))


@pytest.mark.parametrize("name", COMPARED)
def test_memory_of_results(name):
    check(name, database.layout_outcomes(name, ENTRIES[name], strides=False))


@pytest.mark.parametrize("name", sorted(name for name, op in ENTRIES.items() if op.error_inputs_func is not None))
def test_wrong_calls(name):
    check(name, database.error_outcomes(name, ENTRIES[name], is_compared(name)))


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", [way for way in database.FORMS if "autocast" not in way])
@pytest.mark.parametrize("dtype", database.DTYPES)
@pytest.mark.parametrize("name", COMPARED)
def test_all_samples(name, dtype, way):
    check(name, database.outcomes(name, ENTRIES[name], dtype, way, compared=is_compared(name)))
