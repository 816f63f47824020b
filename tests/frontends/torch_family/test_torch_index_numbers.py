"""x[t] of a tensor without dims is x[int(t)]: values, views, versions and errors as torch's, without a break where nothing is recorded."""

import pytest

import minidynamo
from minidynamo import _C

torch = pytest.importorskip("torch")


def stored(x, t):
    x[t] = 5.0
    return x + 1


def stored_tensor(x, t):
    x[t] = x[0] * 2


def added_in_place(x, t):
    x[t].add_(1)


PROGRAMS = {
    "read": lambda x, t: x[t] * 2,
    "view": lambda x, t: x[t],
    "of a list of keys": lambda x, t: (x[:, t.clamp(0, 2)], x[None, t], x[t, ..., 0], x[t, t.clamp(0, 2)]),
    "computed": lambda x, t: x[x.sum((1, 2)).argmax()],
    "beside indices": lambda x, t: x[t, torch.tensor([0, 2])],
    "narrow": lambda x, t: x[t.int()] + x[t.to(torch.int8)],
    "in a loop": lambda x, t: sum(x[at] for at in torch.arange(3)),
    "stored": stored,
    "stored tensor": stored_tensor,
    "added in place": added_in_place,
    "bytes": lambda x, t: x[t.to(torch.uint8)],
    "truth": lambda x, t: x[t > 0],
}
# Masks, whose size is data.
BREAKS = {"bytes", "truth"}
WRITES = {"stored", "stored tensor", "added in place"}
NUMBERS = (1, 3, -1, 0, 7, 2)


def observed(function, number, has_history):
    x, t = torch.arange(24.0).view(4, 3, 2).requires_grad_(has_history), torch.tensor(number)
    try:
        result, error = function(x, t), None
    except Exception as raised:
        result, error = (), (type(raised), str(raised))
    parts = [each for each in (result if isinstance(result, tuple) else (result,)) if isinstance(each, torch.Tensor)]
    facts = [(each.stride(), each.storage_offset(), each._base is x, each.requires_grad) for each in parts]
    if has_history and parts:
        sum(each.sin().sum() for each in parts).backward()
    return [*parts, x, x.grad], (facts, x._version, error)


def check(compiled, function, number, has_history):
    ours, theirs = (observed(each, number, has_history) for each in (compiled, function))
    assert ours[1] == theirs[1]
    torch.testing.assert_close(ours[0], theirs[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_a_history(name):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(PROGRAMS[name])
    with torch.no_grad():
        for number in NUMBERS:
            found = _C.record_breaks(lambda: check(compiled, PROGRAMS[name], number, False))  # noqa: B023
            assert name in BREAKS or found == []


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in WRITES])
def test_with_a_history(name):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(PROGRAMS[name])
    for number in NUMBERS:
        check(compiled, PROGRAMS[name], number, True)
