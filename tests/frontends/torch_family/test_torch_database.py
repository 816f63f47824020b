"""torch's own databases of operators and modules, compiled beside plain: some samples here, all in the exhaustive tests."""

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
import torch_database as database
from node_by_node import node_by_node

ENTRIES, MODULES = database.entries(), database.modules()
# A name and why a sample of float32 breaks the graph.
LISTED = pathlib.Path(__file__).with_name("torch_database_breaks.txt")
BREAKS = dict(line.split("\t") for line in LISTED.read_text().splitlines())
SPARSE = 11


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def in_this_part(name):
    return lambda number: zlib.crc32(f"{name} {number}".encode()) % SPARSE == 0


def check(name, found):
    """Checks that nothing differs, and that nothing breaks whose name is not listed. Returns whether something broke."""
    breaks = False
    for number, outcome in found:
        assert outcome.kind != "different", f"{name} #{number}: {outcome.text}"
        assert outcome.kind != "breaks" or name in BREAKS, f"{name} #{number}: {outcome.text}"
        breaks = breaks or outcome.kind == "breaks"
    return breaks


def differences(name, found):
    return [f"{name} #{number}: {outcome.text}" for number, outcome in found if outcome.kind == "different"]


def test_names_of_the_list():
    assert set(BREAKS) <= {*ENTRIES, *MODULES}
    whole = [name for name, op in ENTRIES.items() if torch.float32 in op.dtypes and name not in BREAKS]
    assert len(whole) >= 370


@pytest.mark.parametrize("name", ENTRIES)
def test_some_samples(name):
    check(name, database.outcomes(ENTRIES[name], "float32", in_this_part(name)))


@pytest.mark.parametrize("name", ENTRIES)
def test_other_dtypes(name):
    """One of the dtypes, drawn by the name."""
    dtype = database.DTYPES[1 + zlib.crc32(name.encode()) % (len(database.DTYPES) - 1)]
    assert not differences(name, database.outcomes(ENTRIES[name], dtype, in_this_part(name + dtype)))


@pytest.mark.parametrize("name", ENTRIES)
def test_dtypes_that_torch_refuses(name):
    with torch.no_grad():
        assert database.accepted_beyond_torch(ENTRIES[name]) == []


# Results of transposed arguments whose strides differ from torch's; docs/torch.md lists them.
OTHER_STRIDES = {
    **dict.fromkeys(
        [f"nn.functional.{name}1d" for name in "conv conv_transpose avg_pool max_pool".split()]
        + [f"nn.functional.adaptive_{kind}_pool1d" for kind in ("avg", "max")]
        + ["nn.functional.interpolate.area"],
        "torch computes them as images, which it takes for channels last",
    ),
    **dict.fromkeys(["native_batch_norm", "_batch_norm_with_update", "nn.functional.batch_norm"], "of three dims"),
    **dict.fromkeys(["__radd__", "__rmul__", "special.xlog1py", "ldexp"], "torch's order of the operands is another"),
    **dict.fromkeys(
        ["einsum", "linalg.solve", "nn.functional.rms_norm", "nn.functional.binary_cross_entropy"], "other steps"
    ),
    **dict.fromkeys(["native_dropout_backward", "nn.functional.linear_cross_entropy.chunked_none"], "other steps"),
    "normal": "as torch's tensors without data say, where the deviations are a tensor",
    "__getitem__": "the order of the dims in memory, by tensors of indices, follows the indexed tensor's",
}


@pytest.mark.parametrize("name", ENTRIES)
def test_strides_of_transposed_arguments(name):
    op = ENTRIES[name]
    if torch.float32 not in op.dtypes or name in database.UNDETERMINED:
        pytest.skip("has no elements of float32 to compare")
    with torch.no_grad():
        found = list(database.other_strides(op))
    assert not found or name in OTHER_STRIDES, found


@pytest.mark.parametrize("name", MODULES)
def test_some_samples_of_modules(name):
    check(name, database.module_outcomes(MODULES[name], only=in_this_part(name)))


# Formulas of ours whose values near poles are noise, and whose strides are ours, if torch computes the steps.
OTHERS_STEPS = ("polygamma", "special.polygamma", "linalg.solve")


@pytest.mark.parametrize("name", [name for name in ENTRIES if not name.startswith(OTHERS_STEPS)])
def test_node_by_node(name):
    assert not differences(name, database.outcomes(ENTRIES[name], "float32", in_this_part(name), node_by_node))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ENTRIES)
def test_all_samples(name):
    assert check(name, database.outcomes(ENTRIES[name], "float32")) == (name in BREAKS)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", database.DTYPES[1:])
@pytest.mark.parametrize("name", ENTRIES)
def test_all_samples_of_other_dtypes(name, dtype):
    assert not differences(name, database.outcomes(ENTRIES[name], dtype))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MODULES)
def test_all_samples_of_modules(name):
    assert check(name, database.module_outcomes(MODULES[name])) == (name in BREAKS)
