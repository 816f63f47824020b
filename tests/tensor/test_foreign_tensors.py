"""Tensors of other libraries: rejected by name as operands, accepted where data is expected."""

import operator

import numpy as np
import pytest

import minidynamo as md
from minidynamo import _C

torch = None
try:
    import torch
except ImportError:
    pass
needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


class Foreign:
    """The interface of another library's tensor: __dlpack__, its own operators, which reject ours, and one number."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.requires_grad = False

    def __dlpack__(self, **keywords):
        return self.tensor.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __index__(self):
        return 1

    def __float__(self):
        return 1.0


def foreign_tensors():
    found = {"foreign": Foreign(md.ones(3)), "foreign, no dims": Foreign(md.tensor(2.0))}
    if torch is not None:
        found |= {"torch": torch.ones(3), "torch, whole": torch.arange(3), "torch, no dims": torch.tensor(2)}
        found |= {"torch parameter": torch.nn.Parameter(torch.ones(3))}
    return found


BINARY = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt le gt ge".split()
IN_PLACE = "iadd isub imul itruediv iand ior ixor ipow".split()
FUNCTIONS = {
    "add": lambda x, t: md.add(x, t),
    "add, first": lambda x, t: md.add(t, x),
    "add method": lambda x, t: x.add(t),
    "add_": lambda x, t: x.add_(t),
    "alpha": lambda x, t: md.add(x, x, alpha=t),
    "sin": lambda x, t: md.sin(t),
    "where": lambda x, t: md.where(x > 0, x, t),
    "where, condition": lambda x, t: md.where(t, x, x),
    "cat": lambda x, t: md.cat([x, t]),
    "stack": lambda x, t: md.stack((t, x)),
    "hstack": lambda x, t: md.hstack([x, t]),
    "max": lambda x, t: md.max(x, t),
    "maximum": lambda x, t: x.maximum(t),
    "clamp": lambda x, t: x.clamp(t),
    "linear": lambda x, t: md.nn.functional.linear(x, t),
    "linear, first": lambda x, t: md.nn.functional.linear(t, x),
    "softmax": lambda x, t: md.nn.functional.softmax(t, 0),
    "pad": lambda x, t: md.nn.functional.pad(t, (1, 1)),
    "layer": lambda x, t: md.nn.Linear(3, 1)(t),
    "mse_loss": lambda x, t: md.nn.functional.mse_loss(x, t),
    "einsum": lambda x, t: md.einsum("i,i->", x, t),
    "copy_": lambda x, t: x.copy_(t),
    "fill_": lambda x, t: x.fill_(t),
    "masked_fill": lambda x, t: x.masked_fill(x > 0, t),
    "masked_fill, mask": lambda x, t: x.masked_fill(t, 1.0),
    "out": lambda x, t: md.add(x, 1, out=t),
    "index_select": lambda x, t: x.index_select(0, t),
    "index": lambda x, t: x[t],
    "index, tuple": lambda x, t: x[t, None],
    "setitem": lambda x, t: x.__setitem__(0, t),
    "setitem, all": lambda x, t: x.__setitem__(slice(None), t),
    "dist": lambda x, t: md.dist(x, t),
    "equal": lambda x, t: md.equal(x, t),
    "allclose": lambda x, t: x.allclose(t),
    "type_as": lambda x, t: x.type_as(t),
    "to": lambda x, t: x.to(t),
    "view_as": lambda x, t: x.view_as(t),
    "Parameter": lambda x, t: md.nn.Parameter(t),
    "zeros_like": lambda x, t: md.zeros_like(t),
    "full": lambda x, t: md.full((2,), t),
}  # fmt: skip


def refused(call, *args):
    with pytest.raises(TypeError) as error:
        call(*args)
    text = str(error.value)
    assert "minidynamo.Tensor" in text and "from_dlpack" in text, text
    return text


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", foreign_tensors())
@pytest.mark.parametrize("sign", BINARY + IN_PLACE)
def test_operators(sign, name, compiled):
    apply, other = getattr(operator, sign), foreign_tensors()[name]
    call = (lambda a, b: apply(a, b)) if not compiled else md.compile(lambda a, b: apply(a, b))
    x = md.ones(3)
    text = refused(call, x, other)
    assert f"{type(other).__module__}.{type(other).__qualname__}" in text
    if sign in BINARY:
        refused(call, other, x)
    assert x.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", foreign_tensors())
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions(function, name, compiled):
    call, other = FUNCTIONS[function], foreign_tensors()[name]
    refused(md.compile(call) if compiled else call, md.ones(3), other)


def test_every_row_rejects_them():
    for row in _C._op_rows():
        if not row["function"] or "Tensor self" not in row["schema"].split(",")[0]:
            continue
        name = row["name"].partition(".")[0]
        with pytest.raises(TypeError):
            getattr(md, name)(Foreign(md.ones(3)))


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_arrays(compiled):
    make = md.compile if compiled else (lambda call: call)
    x, array = md.ones(3), np.full(3, 2.0, dtype=np.float32)
    for name in ("add", "where", "cat", "max", "linear", "einsum", "out"):
        refused(make(FUNCTIONS[name]), x, array)
    # Operators accept arrays, as torch's do.
    for call in (lambda a, b: a + b, lambda a, b: b * a, lambda a, b: a < b):
        for result in (make(call)(x, array), make(call)(array, x)):
            assert type(result) is md.Tensor


def data():
    found = {
        "dims": (Foreign(md.ones(2, 3)), md.float32, [[1.0] * 3] * 2),
        "no dims": (Foreign(md.tensor(2.5)), md.float32, 2.5),
        "whole": (Foreign(md.tensor(3)), md.int64, 3),
        "list": ([Foreign(md.tensor(1.5)), Foreign(md.tensor(2.5))], md.float32, [1.5, 2.5]),
        "nested": ([Foreign(md.ones(2)), Foreign(md.zeros(2))], md.float32, [[1.0, 1.0], [0.0, 0.0]]),
        "strided": (Foreign(md.arange(6).view(2, 3).t()), md.int64, [[0, 3], [1, 4], [2, 5]]),
    }
    if torch is not None:
        found |= {
            "bfloat16": (torch.tensor([1.5, 2.0], dtype=torch.bfloat16), md.bfloat16, [1.5, 2.0]),
            "bool": (torch.tensor([True, False]), md.bool, [True, False]),
            "float16": (torch.ones(1, dtype=torch.float16), md.float16, [1.0]),
            "transposed": (torch.arange(6).view(2, 3).t(), md.int64, [[0, 3], [1, 4], [2, 5]]),
            "steps": (torch.arange(6.0)[::2], md.float32, [0.0, 2.0, 4.0]),
            "grad": (torch.ones(2, requires_grad=True), md.float32, [1.0, 1.0]),
            "parameter": (torch.nn.Parameter(torch.zeros(2)), md.float32, [0.0, 0.0]),
            "numbers": ([torch.tensor(1.5), torch.tensor(2.5)], md.float32, [1.5, 2.5]),
            "empty": (torch.ones(0, 3), md.float32, []),
        }
    return found


@pytest.mark.parametrize("make", [md.tensor, md.as_tensor], ids=["tensor", "as_tensor"])
@pytest.mark.parametrize("name", data())
def test_data(name, make):
    given, dtype, wanted = data()[name]
    for call in (make, md.compile(lambda t: make(t)), md.compile(lambda t: make(t))):
        result = call(given)
        assert type(result) is md.Tensor and result.dtype is dtype and result.tolist() == wanted
        grad = getattr(given, "requires_grad", False) and make is md.as_tensor
        assert result.requires_grad is grad and result.is_leaf
    assert make(given, dtype=md.float64).dtype is md.float64


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_memory_is_shared_or_copied(compiled):
    own = md.zeros(3)
    made = (
        (lambda t: (md.tensor(t), md.as_tensor(t)))
        if not compiled
        else md.compile(lambda t: (md.tensor(t), md.as_tensor(t)))
    )
    for value in (1.0, 2.0):
        own.fill_(value)
        copy, shared = made(Foreign(own))
        assert copy.tolist() == shared.tolist() == [value] * 3
        shared.add_(1)
        assert own.tolist() == [value + 1] * 3 and copy.tolist() == [value] * 3


@needs_torch
@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_state_dicts(dtype, assign):
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).to(getattr(torch, dtype))
    ours = md.nn.Sequential(md.nn.Linear(3, 2), md.nn.BatchNorm1d(2)).to(getattr(md, dtype))
    result = ours.load_state_dict(theirs.state_dict(), assign=assign)
    assert str(result) == repr(result) == "<All keys matched successfully>"
    for name, value in theirs.state_dict().items():
        mine = ours.state_dict()[name]
        assert mine.dtype is getattr(md, str(value.dtype)[6:]) and mine.tolist() == value.tolist()
    assert all(p.requires_grad and type(p) is md.nn.Parameter for p in ours.parameters())
    assert type(ours[0](md.ones(1, 3, dtype=getattr(md, dtype)))) is md.Tensor


def test_results_of_load_state_dict():
    layer = md.nn.Linear(2, 1)
    assert repr(layer.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"
    partly = layer.load_state_dict({"weight": layer.weight, "other": layer.weight}, strict=False)
    assert partly.missing_keys == ["bias"] and partly.unexpected_keys == ["other"]
    assert repr(partly) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=['other'])"
