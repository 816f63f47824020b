"""save() and load(): what is restored, what is rejected, and that no code of a file is run unless requested."""

import io
import json
import pickle
import struct
import threading
from collections import OrderedDict

import pytest

import minidynamo
from minidynamo import nn, safetensors
from minidynamo._dynamo.exc import Unsupported

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 uint16 uint32 uint64".split()


def there_and_back(value):
    file = io.BytesIO()
    minidynamo.save(value, file)
    file.seek(0)
    return minidynamo.load(file)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
def test_a_tensor(dtype, shape, tmp_path):
    count = 1
    for size in shape:
        count *= size
    tensor = minidynamo.arange(count).reshape(shape).to(getattr(minidynamo, dtype))
    for found in (there_and_back(tensor), through_a_file(tensor, tmp_path / "a.bin")):
        assert type(found) is minidynamo.Tensor
        assert (found.dtype, found.shape, found.tolist()) == (tensor.dtype, tensor.shape, tensor.tolist())


def through_a_file(value, path):
    minidynamo.save(value, path)
    minidynamo.save(value, str(path))
    return minidynamo.load(str(path))


def test_a_tensor_that_is_not_contiguous():
    tensor = minidynamo.arange(12).reshape(3, 4).t()[1:]
    assert there_and_back(tensor).tolist() == tensor.tolist()


def test_special_values():
    tensor = minidynamo.tensor([float("nan"), float("inf"), -0.0, 5e-324], dtype=minidynamo.float64)
    assert repr(there_and_back(tensor).tolist()) == repr(tensor.tolist())


def test_a_dict_keeps_its_order_and_dtypes():
    tensors = {name: minidynamo.ones(3).to(getattr(minidynamo, name)) for name in DTYPES}
    found = there_and_back(tensors)
    assert list(found) == DTYPES
    assert [tensor.dtype for tensor in found.values()] == [tensor.dtype for tensor in tensors.values()]
    assert there_and_back({}) == {}
    assert there_and_back(OrderedDict(a=minidynamo.ones(1)))["a"].tolist() == [1.0]


def test_names_that_json_escapes():
    tensors = {name: minidynamo.ones(1) for name in ('a"b', "a\nb", "ä€😀", "")}
    assert list(there_and_back(tensors)) == list(tensors)


def test_requires_grad_is_kept():
    a, b = minidynamo.ones(2, requires_grad=True), minidynamo.ones(2)
    assert there_and_back(a).requires_grad
    assert [tensor.requires_grad for tensor in there_and_back({"a": a, "b": b}).values()] == [True, False]


def test_state_of_a_module(tmp_path):
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    other = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    minidynamo.save(model.state_dict(), tmp_path / "state")
    other.load_state_dict(minidynamo.load(tmp_path / "state"))
    x = minidynamo.randn(5, 3)
    assert other(x).tolist() == model(x).tolist()


def test_what_cannot_be_pickled_leaves_the_file_as_it_is(tmp_path):
    path = tmp_path / "kept"
    path.write_text("kept")
    for value in (lambda: 3, [minidynamo.ones(1), threading.Lock()], {"a": test_map_location.__code__}):
        with pytest.raises((pickle.PicklingError, TypeError, AttributeError)):
            minidynamo.save(value, path)
    assert path.read_text() == "kept"


WENT_OFF = []


class Bomb:
    def __reduce__(self):
        return explode, (1,)


def explode(number):
    WENT_OFF.append(number)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_read_only_on_request(tmp_path, protocol):
    path = tmp_path / "bomb"
    path.write_bytes(pickle.dumps(Bomb(), protocol=protocol))
    WENT_OFF.clear()
    for options in (
        {},
        {"weights_only": True},
        {"weights_only": False},
        {"weights_only": None},
        {"pickle_module": pickle},
    ):
        with pytest.raises((ValueError, pickle.UnpicklingError), match="weights_only=False and pickle_module=pickle"):
            minidynamo.load(path, **options)
    assert WENT_OFF == []
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        minidynamo.load(path, pickle_module=pickle, weights_only=True)
    assert WENT_OFF == []
    minidynamo.load(path, weights_only=False, pickle_module=pickle)
    assert WENT_OFF == [1]


@pytest.mark.parametrize("protocol", [None, 2, pickle.HIGHEST_PROTOCOL])
def test_any_object_as_a_pickle(tmp_path, protocol):
    value = {"epoch": 3, "state": [minidynamo.ones(2), minidynamo.zeros(1, dtype=minidynamo.int8)]}
    minidynamo.save(value, tmp_path / "a", pickle_module=pickle, pickle_protocol=protocol)
    found = minidynamo.load(tmp_path / "a", weights_only=False, pickle_module=pickle)
    assert found["epoch"] == 3 and [tensor.tolist() for tensor in found["state"]] == [[1.0, 1.0], [0]]


def test_map_location():
    file = io.BytesIO(safetensors.save({"a": minidynamo.ones(1)}))
    for place in (None, "cpu", minidynamo.device("cpu")):
        file.seek(0)
        assert list(minidynamo.load(file, place)) == ["a"]
    file.seek(0)
    with pytest.raises((ValueError, RuntimeError)):
        minidynamo.load(file, "cuda")


def test_bad_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        minidynamo.load(tmp_path / "nothing")
    good = safetensors.save({"a": minidynamo.ones(3)})
    for data in (b"", b"1234567", good[:-1], good + b"x", b"PK\3\4 zip", good[:8] + b"x" + good[9:]):
        (tmp_path / "bad").write_bytes(data)
        with pytest.raises(ValueError, match="bad"):
            minidynamo.load(tmp_path / "bad")
    header = json.dumps({"__metadata__": {"minidynamo.requires_grad": '["b"]'}}).encode()
    with pytest.raises(ValueError):
        minidynamo.load(io.BytesIO(struct.pack("<Q", len(header)) + header))
    with pytest.raises(TypeError, match="not bytes"):
        minidynamo.load(io.StringIO("text"))


def test_a_file_of_ours_is_an_aligned_safetensors_file(tmp_path):
    tensors = {"b": minidynamo.ones(1, dtype=minidynamo.bool), "a": minidynamo.ones(3, dtype=minidynamo.float64)}
    safetensors.save_file(tensors, tmp_path / "a", {"made": "here"})
    assert safetensors.metadata(tmp_path / "a") == {"made": "here"}
    data = (tmp_path / "a").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    assert size % 8 == 0
    header = json.loads(data[8 : 8 + size])
    assert header["a"] == {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]}
    assert header["b"] == {"dtype": "BOOL", "shape": [1], "data_offsets": [24, 25]}
    assert {name: tensor.tolist() for name, tensor in safetensors.load_file(tmp_path / "a").items()} == {
        "b": [True],
        "a": [1.0, 1.0, 1.0],
    }
    for bad in ({"a": 1}, ["text"]):
        with pytest.raises(TypeError, match="metadata"):
            safetensors.save(tensors, bad)


def test_a_bool_is_true_or_false_whatever_the_file_has():
    header = json.dumps({"a": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}).encode()
    tensor = safetensors.load(struct.pack("<Q", len(header)) + header + b"\2\0")["a"]
    assert tensor.tolist() == [True, False] and (~tensor).tolist() == [False, True]


def test_saving_ends_no_sharing_and_keeps_the_tensor_as_it_is():
    tensor = minidynamo.ones(2)
    there_and_back(tensor)
    assert tensor.tolist() == [1.0, 1.0]


@pytest.mark.counts_regions
def test_in_captured_code(tmp_path):
    def function(x, path):
        y = x + 1
        minidynamo.save(y, path)
        return minidynamo.load(path) * 2

    minidynamo._dynamo.reset()
    report = minidynamo._dynamo.explain(function)(minidynamo.ones(2), tmp_path / "a")
    assert [reason.gb_id for reason in report.break_reasons] == ["MD0005", "MD0005"]
    assert minidynamo.compile(function)(minidynamo.ones(2), tmp_path / "a").tolist() == [4.0, 4.0]
    with pytest.raises(Unsupported, match="minidynamo.save writes a file"):
        minidynamo.compile(function, fullgraph=True)(minidynamo.ones(2), tmp_path / "a")
