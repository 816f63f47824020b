"""Writes to tensors with several elements at one address: rejected where torch rejects them, eager and compiled."""

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")


def ones(lib, x):
    return lib.ones(x.shape)


def places(lib, x):
    return lib.zeros(x.shape, dtype=lib.int64)


WRITES = {
    "add_": lambda lib, x: x.add_(1),
    "add_(tensor)": lambda lib, x: x.add_(ones(lib, x)),
    "+=": lambda lib, x: x.__iadd__(1),
    "div_": lambda lib, x: x.div_(2),
    "pow_": lambda lib, x: x.pow_(2),
    "remainder_": lambda lib, x: x.remainder_(2),
    "atan2_": lambda lib, x: x.atan2_(ones(lib, x)),
    "fill_": lambda lib, x: x.fill_(3),
    "zero_": lambda lib, x: x.zero_(),
    "copy_": lambda lib, x: x.copy_(ones(lib, x)),
    "copy_(one)": lambda lib, x: x.copy_(lib.ones(1)),
    "clamp_": lambda lib, x: x.clamp_(0, 1),
    "lerp_": lambda lib, x: x.lerp_(ones(lib, x), 0.5),
    "addcmul_": lambda lib, x: x.addcmul_(ones(lib, x), ones(lib, x)),
    "addcdiv_": lambda lib, x: x.addcdiv_(ones(lib, x), ones(lib, x)),
    "index_add_": lambda lib, x: x.index_add_(0, lib.tensor([0]), lib.ones(x[:1].shape)),
    "index_copy_": lambda lib, x: x.index_copy_(0, lib.tensor([0]), lib.ones(x[:1].shape)),
    "scatter_": lambda lib, x: x.scatter_(0, places(lib, x), 2),
    "scatter_(tensor)": lambda lib, x: x.scatter_(0, places(lib, x), ones(lib, x)),
    "scatter_add_": lambda lib, x: x.scatter_add_(0, places(lib, x), ones(lib, x)),
    "x[0] = 2": lambda lib, x: x.__setitem__(0, 2),
    "x[:] = 2.0": lambda lib, x: x.__setitem__(slice(None), 2.0),
    "x[0] = tensor": lambda lib, x: x.__setitem__(0, lib.tensor(2.0)),
    "x[:] = tensor": lambda lib, x: x.__setitem__(slice(None), ones(lib, x)),
    "x[...] = True": lambda lib, x: x.__setitem__(..., True),
    "cumsum_": lambda lib, x: x.cumsum_(0),
    "relu_": lambda lib, x: x.relu_(),
    "exp_": lambda lib, x: x.exp_(),
    "round_": lambda lib, x: x.round_(),
    "eq_": lambda lib, x: x.eq_(1),
    "logical_not_": lambda lib, x: x.logical_not_(),
    "hypot_": lambda lib, x: x.hypot_(ones(lib, x)),
    "copysign_": lambda lib, x: x.copysign_(-1.0),
    "uniform_": lambda lib, x: x.uniform_(),
    "normal_": lambda lib, x: x.normal_(),
    "F.relu": lambda lib, x: lib.nn.functional.relu(x, True),
    "F.relu6": lambda lib, x: lib.nn.functional.relu6(x, True),
    "F.elu": lambda lib, x: lib.nn.functional.elu(x, 1.0, True),
    "F.silu": lambda lib, x: lib.nn.functional.silu(x, True),
    "F.hardtanh": lambda lib, x: lib.nn.functional.hardtanh(x, -1.0, 1.0, True),
    "add(out)": lambda lib, x: lib.add(ones(lib, x), 1, out=x),
    "exp(out)": lambda lib, x: lib.exp(ones(lib, x), out=x),
    "cat(out)": lambda lib, x: lib.cat([ones(lib, x)], out=x),
    "index_select(out)": lambda lib, x: lib.index_select(ones(lib, x), 0, lib.arange(x.shape[0]), out=x),
    "gather(out)": lambda lib, x: lib.gather(ones(lib, x), 0, places(lib, x), out=x),
    "softmax(out)": lambda lib, x: lib.softmax(ones(lib, x), 0, out=x),
    "masked_select(out)": lambda lib, x: lib.masked_select(ones(lib, x), ones(lib, x) > 0, out=x),
}
# torch accepts these with a deprecation warning: which of the writes to one address wins is unspecified.
REFUSED_HERE = {
    "masked_fill_": lambda lib, x: x.masked_fill_(ones(lib, x) > 0, 2),
    "index_fill_": lambda lib, x: x.index_fill_(0, lib.tensor([0]), 2),
    "x[index] = 2": lambda lib, x: x.__setitem__(lib.tensor([0]), 2.0),
    "x[mask] = 2": lambda lib, x: x.__setitem__(ones(lib, x) > 0, 2.0),
}
TARGETS = {
    "expanded": lambda lib: lib.ones(1).expand(3),
    "expanded rows": lambda lib: lib.ones(3, 1).expand(3, 3),
    "expanded columns": lambda lib: lib.ones(1, 3).expand(3, 3),
    "expanded stack": lambda lib: lib.ones(1, 2, 2).expand(2, 2, 2),
    "overlapping": lambda lib: lib.ones(9).as_strided((3, 3), (1, 1)),
    "one element": lambda lib: lib.ones(1).as_strided((1,), (0,)),
    "no elements": lambda lib: lib.ones(1, 0).expand(3, 0),
}


def outcome(lib, write, make):
    x = make(lib)
    try:
        write(lib, x)
    except (RuntimeError, TypeError, IndexError) as error:
        return type(error).__name__
    return "taken"


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", WRITES)
def test_as_torch(name, compiled):
    write = WRITES[name]
    for target, make in TARGETS.items():
        md._dynamo.reset()
        ours = md.compile(write) if compiled else write
        assert outcome(md, ours, make) == outcome(torch, write, make), target


@pytest.mark.filterwarnings("ignore:Use of")
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", REFUSED_HERE)
def test_refused_where_torch_warns(name, compiled):
    write = REFUSED_HERE[name]
    for target in ("expanded", "expanded rows", "expanded columns", "expanded stack"):
        md._dynamo.reset()
        with pytest.raises(RuntimeError, match="single memory location"):
            (md.compile(write) if compiled else write)(md, TARGETS[target](md))
