"""Checkpoints that torch wrote and load() reads, and the other way round; errors as torch's."""

import argparse
import io
import pickle
from collections import Counter, OrderedDict

import pytest
from same_as_torch import assert_same

import minidynamo
from minidynamo import serialization

torch = pytest.importorskip("torch")

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 uint16 uint32 uint64 complex64 complex128".split()
FORMATS = {
    "zip": {},
    "before 1.6": {"_use_new_zipfile_serialization": False},
    "protocol 4": {"pickle_protocol": 4},
    "protocol 5": {"pickle_protocol": 5},
}


def everything():
    base = torch.arange(24.0).reshape(4, 6)
    return {
        "dtypes": [torch.tensor([0, 1, 2]).to(getattr(torch, name)) for name in DTYPES],
        "shared": (base, base.t(), base[1:], base[:, 2], base[::2, ::3], base.flatten()[5:5]),
        "expanded": torch.ones(1, 3).expand(4, 3),
        "scalar": torch.tensor(3.0),
        "empty": torch.empty(0, 3),
        "special": torch.tensor([float("nan"), float("inf"), -0.0, 1e-45]),
        "requires grad": torch.ones(2, requires_grad=True),
        "parameters": [torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(1), requires_grad=False)],
        "numbers": [0, -1, 255, 256, 65536, -(2**31), 2**40, -(2**70), 1.5, 1j, True, False, None],
        "texts": ["", "ä€😀", "a" * 300, b"", b"\xff\0", bytearray(b"ab")],
        "containers": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [[]], {}, {1: {2: 3}}, {1, "a"}, set()],
        "torch": [torch.Size((1, 2)), torch.Size(()), torch.float32, torch.uint16, torch.device("cpu")],
        "dicts": [OrderedDict(b=1, a=2), Counter("abca")],
        ("a", 1): 2,
        3: "three",
    }


@pytest.mark.parametrize("form", FORMATS)
def test_there_and_back(form, tmp_path):
    options, value = FORMATS[form], everything()
    path = tmp_path / "theirs.pt"
    torch.save(value, path, **options)
    ours = minidynamo.load(path)
    assert_same(ours, value)
    back = tmp_path / "ours.pt"
    minidynamo.save(ours, back, **options)
    # torch reads the opcodes of later protocols only where code may run.
    theirs = torch.load(back, weights_only="pickle_protocol" not in options)
    assert_same(ours, theirs)
    assert_same(minidynamo.load(back), theirs)
    addresses = {each.untyped_storage().data_ptr() for each in theirs["shared"]}
    assert len(addresses) == 1
    whole, *views = ours["shared"]
    whole.fill_(-1)
    assert all(set(each.flatten().tolist()) <= {-1.0} for each in views)


@pytest.mark.parametrize("form", FORMATS)
def test_every_tensor_of_the_samples_is_one_storage(form):
    file = io.BytesIO()
    value = minidynamo.arange(1000.0)
    minidynamo.save([value, value[:10], value, value.reshape(10, 100).t()], file, **FORMATS[form])
    assert len(file.getvalue()) < 4000 + 2500
    found = torch.load(io.BytesIO(file.getvalue()), weights_only="pickle_protocol" not in FORMATS[form])
    assert found[0] is found[2] and found[1].untyped_storage().nbytes() == 4000


def test_state_dicts(tmp_path):
    theirs = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Flatten())
    theirs.eval()
    ours = minidynamo.nn.Sequential(
        minidynamo.nn.Conv2d(1, 2, 3), minidynamo.nn.BatchNorm2d(2), minidynamo.nn.Flatten()
    ).eval()
    torch.save(theirs.state_dict(), tmp_path / "a.pt")
    state = minidynamo.load(tmp_path / "a.pt")
    assert state._metadata == theirs.state_dict()._metadata
    for assign in (False, True):
        assert str(ours.load_state_dict(state, strict=True, assign=assign)) == "<All keys matched successfully>"
        x = torch.rand(2, 1, 5, 5)
        found = torch.from_numpy(ours(minidynamo.from_numpy(x.numpy())).detach().numpy())
        assert torch.allclose(found, theirs(x), atol=1e-6)  # sums of nine products, some of which cancel
    minidynamo.save(ours.state_dict(), tmp_path / "b.pt")
    theirs.load_state_dict(torch.load(tmp_path / "b.pt", weights_only=True))
    minidynamo.save(state, tmp_path / "c.pt")
    assert torch.load(tmp_path / "c.pt")._metadata == state._metadata
    # Maps of files work from the alignment of records.
    assert_same(state, torch.load(tmp_path / "c.pt", mmap=True))


def test_state_of_an_optimizer(tmp_path):
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.AdamW([weight], lr=0.1)
    weight.sum().backward()
    optimizer.step()
    torch.save({"optimizer": optimizer.state_dict(), "epoch": 3}, tmp_path / "a.pt")
    state = minidynamo.load(tmp_path / "a.pt")
    minidynamo.save(state, tmp_path / "b.pt")
    optimizer.load_state_dict(torch.load(tmp_path / "b.pt")["optimizer"])
    assert_same(state["optimizer"], optimizer.state_dict())


def test_a_parameter_with_attributes(tmp_path):
    weight = torch.nn.Parameter(torch.ones(3))
    weight.group = "experts"
    torch.save(weight, tmp_path / "a.pt")
    found = minidynamo.load(tmp_path / "a.pt")
    assert isinstance(found, minidynamo.nn.Parameter) and found.group == "experts"


def test_mmap(tmp_path):
    value = everything()
    torch.save(value, tmp_path / "a.pt")
    before = (tmp_path / "a.pt").read_bytes()
    ours = minidynamo.load(tmp_path / "a.pt", mmap=True)
    assert_same(ours, value)
    ours["shared"][0].fill_(5)
    assert set(ours["shared"][1].flatten().tolist()) == {5.0}
    assert (tmp_path / "a.pt").read_bytes() == before


# What load() is called with: the same error of torch and of ours.
WRONG = {
    "mmap of a file object": (lambda make: (make(), {"mmap": True})),
    "a pickle module and weights_only": (lambda make: (make(), {"pickle_module": pickle, "weights_only": True})),
    "CUDA": (lambda make: (make(), {"map_location": "cuda"})),
    "CUDA with a number": (lambda make: (make(), {"map_location": "cuda:1"})),
    "a dict that leads to CUDA": (lambda make: (make(), {"map_location": {"cpu": "cuda"}})),
    "a function that leads nowhere": (lambda make: (make(), {"map_location": lambda storage, location: 1 / 0})),
    "a number as a place": (lambda make: (make(), {"map_location": 3})),
    "a number as a file": (lambda make: (3, {})),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls(case):
    def make():
        file = io.BytesIO()
        torch.save({"a": torch.ones(2)}, file)
        file.seek(0)
        return file

    errors = []
    for library in (torch, minidynamo):
        file, options = WRONG[case](make)
        with pytest.raises(Exception) as raised:
            library.load(file, **options)
        errors.append(raised.value)
    theirs, ours = errors
    if case in ("a number as a place", "a function that leads nowhere"):
        # What a function of the user does is reported as that of a file that does not fit.
        assert str(theirs) in str(ours)
        return
    assert type(ours) is type(theirs) and str(ours)[:40] == str(theirs)[:40]


@pytest.mark.parametrize(
    "place", [None, "cpu", b"cpu", "cpu:0", {"cuda:0": "cpu"}, lambda storage, location: storage, lambda *args: None]
)
def test_map_location(place):
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    for each in (place, minidynamo.device("cpu")):
        file.seek(0)
        assert minidynamo.load(file, map_location=each).tolist() == [1.0, 1.0]


REFUSED = {
    "sparse": (lambda: torch.ones(2).to_sparse(), "sparse tensors are not read"),
    "sparse rows": (lambda: torch.ones(2, 2).to_sparse_csr(), "sparse tensors are not read"),
    "meta": (lambda: torch.ones(2, device="meta"), "tensors of the meta device"),
    "conjugated": (lambda: torch.ones(2, dtype=torch.complex64).conj(), "conjugated and negated views"),
    "float8": (lambda: torch.ones(2).to(torch.float8_e4m3fn), "float8_e4m3fn are not supported"),
    "a module": (lambda: torch.nn.Linear(1, 1), "GLOBAL torch.nn.modules.linear.Linear was not an allowed global"),
    "a function": (lambda: len, "GLOBAL len was not an allowed global by default"),
    "a storage": (lambda: torch.ones(2).untyped_storage(), "where only a value can be"),
}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.filterwarnings("ignore:Sparse CSR")
@pytest.mark.parametrize("kind", REFUSED)
def test_refused_with_words(kind, form):
    make, expected = REFUSED[kind]
    file = io.BytesIO()
    torch.save(make(), file, **FORMATS[form])
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=expected):
        minidynamo.load(file)


class Settings:
    def __init__(self, rate):
        self.rate = rate


def test_safe_globals():
    file = io.BytesIO()
    torch.save({"settings": Settings(3), "names": argparse.Namespace(a=1, b=[2])}, file)
    for options in ({}, {"weights_only": True}, {"weights_only": False}):
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError, match=r"safe_globals\(\[.*Settings\]\)"):
            minidynamo.load(file, **options)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="weights_only=False changes nothing here"):
        minidynamo.load(file, weights_only=False)
    with serialization.safe_globals([Settings]):
        assert serialization.get_safe_globals() == [Settings]
        file.seek(0)
        found = minidynamo.load(file)
        assert type(found["settings"]) is Settings and found["settings"].rate == 3
        assert found["names"] == argparse.Namespace(a=1, b=[2])
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([(Settings, f"{__name__}.Settings"), Settings])
    file.seek(0)
    assert minidynamo.load(file)["settings"].rate == 3
    serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def a_function(x):
    return x + 1


def test_allowed_globals_as_values():
    """Functions and classes that are kept, not called."""
    nn = minidynamo.nn
    value = {"functions": [a_function, (a_function,)], "class": Settings, "settings": Settings(a_function)}
    model = nn.TransformerEncoderLayer(4, 2, 8, 0.0)
    parts = [nn.TransformerEncoderLayer, nn.MultiheadAttention, nn.Linear, nn.LayerNorm, nn.Dropout]
    parts += [type(model.self_attn.out_proj), nn.functional.relu]
    for written, allowed in ((value, [a_function, Settings]), (model.eval(), parts)):
        file = io.BytesIO()
        minidynamo.save(written, file)
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
            minidynamo.load(file)
        with serialization.safe_globals(allowed):
            file.seek(0)
            found = minidynamo.load(file)
        if written is value:
            assert found["functions"] == value["functions"] and found["class"] is Settings
            assert found["settings"].rate is a_function
        else:
            x = minidynamo.ones(3, 1, 4)
            assert found.activation is nn.functional.relu and found(x).tolist() == model(x).tolist()


def test_numpy_arrays_are_allowed_by_name():
    numpy = pytest.importorskip("numpy")
    arrays = numpy._core.multiarray if hasattr(numpy, "_core") else numpy.core.multiarray
    allowed = [arrays._reconstruct, arrays.scalar, numpy.ndarray, numpy.dtype]
    for value in (numpy.arange(6.0).reshape(2, 3), numpy.float32(3), numpy.array(["a"])):
        file = io.BytesIO()
        torch.save(value, file)
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError, match="multiarray"):
            minidynamo.load(file)
        with serialization.safe_globals(allowed):
            file.seek(0)
            assert (minidynamo.load(file) == value).all()
    file = io.BytesIO()
    torch.save(numpy.array([None]), file)
    file.seek(0)
    with serialization.safe_globals(allowed), pytest.raises(pickle.UnpicklingError, match="arrays of objects"):
        minidynamo.load(file)


def test_a_whole_module_by_safe_globals():
    nn = minidynamo.nn
    file = io.BytesIO()
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    minidynamo.save(model, file)
    file.seek(0)
    with serialization.safe_globals([nn.Sequential, nn.Linear, nn.ReLU]):
        found = minidynamo.load(file)
    x = minidynamo.ones(1, 2)
    assert found(x).tolist() == model(x).tolist()
