"""Conversions between NumPy's arrays, our tensors and torch's, and operations on two of them: as plain code in values, types,
shared memory and exceptions."""

import importlib.util
import warnings

import numpy as np
import pytest

import minidynamo

torch = pytest.importorskip("torch") if importlib.util.find_spec("torch") else None

MAKE = {
    "n": lambda: np.array([1.0, 2.0, 3.0]),
    "o": lambda: minidynamo.tensor([1.0, 2.0, 0.0]),
    "t": lambda: torch.tensor([1.0, 2.0, 0.0]),
}


def written_through_tensor(x):
    t = minidynamo.from_numpy(x)
    t.add_(1)
    return x, t


def written_through_a_result(x):
    t = minidynamo.from_numpy(x * 2)
    a = t.numpy()
    a[0] = 7
    return a, t


def written_through_array(t):
    a = t.numpy()
    a += 1
    return a, t


def written_through_asarray(t):
    a = np.asarray(t)
    a[0] = 9
    return a, t * 2


def torch_written_through_array(x):
    t = torch.from_numpy(x)
    t += 1
    return x, t


def array_stored(x, t):
    t[0] = x[1]
    return t


def tensor_stored(x, t):
    x[0] = t[1]
    return x


def stored_at(key):
    def store(x, t):
        t[key(x)] = 5
        u = t.reshape(1, 3) * 2
        u[:, key(x)] = t[key(x)]
        return t, u

    return store


# By name: from an array of three numbers, an array that tensors are indexed by.
KEYS = {
    "int64": lambda x: x.astype(np.int64) % 3,
    "int32": lambda x: x.astype(np.int32) % 3,
    "two dims": lambda x: x.astype(np.int64).reshape(1, 3) % 3,
    "negative": lambda x: -1 - x.astype(np.int64) % 3,
    "mask": lambda x: x > 1,
    "strides": lambda x: np.arange(6)[::2] % 3,
}
# The same, where the index is left to the library.
OTHER_KEYS = {
    "uint8": lambda x: x.astype(np.uint8) % 3,
    "floats": lambda x: x,
    "no dims": lambda x: np.array(1),
    "scalar": lambda x: x.astype(np.int64)[0],
    "outside": lambda x: x.astype(np.int64) + 7,
    "read-only": lambda x: np.broadcast_to(np.int64(1), (3,)),
    "reversed": lambda x: np.arange(3)[::-1],
}


# By name: the function, and of which library its arguments are.
CALLS = {
    "from_numpy": (lambda x: minidynamo.from_numpy(x) * 2, "n"),
    "numpy": (lambda t: t.numpy() * 2, "o"),
    "asarray": (lambda t: np.asarray(t) + 1, "o"),
    "array": (lambda t: np.array(t) + 1, "o"),
    "there and back": (lambda t: (minidynamo.from_numpy(t.numpy() * 2) + t).numpy(), "o"),
    "tensor": (lambda x: minidynamo.tensor(x * 2) + 1, "n"),
    "tensor of scalars": (lambda x: minidynamo.tensor([x[0], x[1]]), "n"),
    "dlpack": (lambda x: minidynamo.from_dlpack(x) + 1, "n"),
    "dlpack back": (lambda t: np.from_dlpack(t) + 1, "o"),
    "item": (lambda x, t: x * t.sum().item(), "no"),
    "item back": (lambda x, t: t * x.sum().item(), "no"),
    "numpy of a gradient": (lambda t: t.requires_grad_().numpy(), "o"),
    "numpy of bfloat16": (lambda t: t.bfloat16().numpy(), "o"),
    "strides": (lambda t: t.reshape(3, 1).t().numpy().strides, "o"),
    "read-only": (lambda x: minidynamo.from_numpy(np.broadcast_to(x, (2, 3))) + 1, "n"),
    "negative strides": (lambda x: minidynamo.from_numpy(x[::-1]), "n"),
    "array and tensor": (lambda x, t: x + t, "no"),
    "tensor and array": (lambda x, t: t + x, "no"),
    "ufunc": (lambda x, t: np.add(x, t), "no"),
    "product": (lambda x, t: x @ t, "no"),
    "comparison": (lambda x, t: x < t, "no"),
    "tensor and element": (lambda x, t: t * x[0], "no"),
    "tensor and scalar": (lambda x, t: t * x.sum(), "no"),
    "scalar and tensor": (lambda x, t: x.sum() * t, "no"),
    "sum of a tensor": (lambda t: np.sum(t), "o"),
    "exp of a tensor": (lambda t: np.exp(t), "o"),
    "our exp of an array": (lambda x: minidynamo.exp(x), "n"),
    "stack": (lambda x, t: np.stack([x, t]), "no"),
    "cat": (lambda x, t: minidynamo.cat([x, t]), "no"),
    "where": (lambda x, t: np.where(t > 1, x, 0.0), "no"),
    "array at a tensor": (lambda x, t: x[t.long()], "no"),
    "tensor at an array": (lambda x, t: t[x.astype(int)], "no"),
    "out": (lambda x, t: np.add(x, x, out=t), "no"),
    "torch.from_numpy": (lambda x: torch.from_numpy(x) * 2, "n"),
    "torch.tensor": (lambda x: torch.tensor(x) + 1, "n"),
    "torch.as_tensor": (lambda x: torch.as_tensor(x * 2) + 1, "n"),
    "torch's numpy": (lambda t: t.numpy() * 2, "t"),
    "asarray of torch's": (lambda t: np.asarray(t) + 1, "t"),
    "array and torch's": (lambda x, t: x + t, "nt"),
    "torch's and array": (lambda x, t: t + x, "nt"),
    "torch.add": (lambda x, t: torch.add(t, x), "nt"),
    "ufunc of torch's": (lambda x, t: np.add(x, t), "nt"),
    "sum of torch's": (lambda t: np.sum(t), "t"),
    "exp of torch's": (lambda t: np.exp(t), "t"),
    "torch.stack": (lambda x, t: torch.stack([t, x]), "nt"),
    "torch's numpy of a gradient": (lambda t: t.requires_grad_().numpy(), "t"),
    "ours and torch's": (lambda o, t: o + t, "ot"),
    "torch written through an array": (torch_written_through_array, "n"),
    "written through torch's array": (written_through_array, "t"),
    "written through torch's asarray": (written_through_asarray, "t"),
    "array stored": (array_stored, "no"),
    "array stored in torch's": (array_stored, "nt"),
    "tensor stored": (tensor_stored, "no"),
    "written through tensor": (written_through_tensor, "n"),
    "written through a result": (written_through_a_result, "n"),
    "written through array": (written_through_array, "o"),
    "written through asarray": (written_through_asarray, "o"),
    **{
        f"tensor at {n}": (lambda x, t, key=k: (t[key(x)], (t.reshape(1, 3) * 2)[:, key(x)]), "no")
        for n, k in (KEYS | OTHER_KEYS).items()
    },
    **{
        f"torch's at {n}": (lambda x, t, key=k: (t[key(x)], (t.reshape(1, 3) * 2)[:, key(x)]), "nt")
        for n, k in (KEYS | OTHER_KEYS).items()
    },
    **{f"stored at {n}": (stored_at(k), "no") for n, k in (KEYS | OTHER_KEYS).items()},
    **{f"stored in torch's at {n}": (stored_at(k), "nt") for n, k in (KEYS | OTHER_KEYS).items()},
}


def shown(value):
    if isinstance(value, (tuple, list)):
        return [shown(each) for each in value]
    return (type(value), str(value.dtype), value.tolist()) if hasattr(value, "tolist") else value


def outcome(function, arguments):
    try:
        result = shown(function(*arguments))
    except Exception as error:
        result = type(error), str(error)
    return result, [shown(each) for each in arguments]


@pytest.mark.parametrize("name", CALLS)
def test_as_plain_code(name):
    function, libraries = CALLS[name]
    if torch is None and ("t" in libraries or "torch" in name):
        pytest.skip("torch is not installed")
    compiled = minidynamo.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(function, [MAKE[library]() for library in libraries])
        for _ in range(2):
            assert outcome(compiled, [MAKE[library]() for library in libraries]) == expected


@pytest.mark.parametrize("name", KEYS)
def test_index_in_one_graph(name):
    key = KEYS[name]
    explained = minidynamo._dynamo.explain(lambda x, t: (t * 2)[key(x)] + 1)(MAKE["n"](), MAKE["o"]())
    if name == "mask":
        assert [reason.title for reason in explained.break_reasons] == [
            "Operation whose result's shape depends on data"
        ]
    else:
        assert (explained.graph_break_count, explained.graph_count) == (0, 1)
