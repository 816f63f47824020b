"""torch's functions of lists of tensors, compiled: values, versions and what is returned as plain, without a break."""

import copy

import pytest

import minidynamo

torch = pytest.importorskip("torch")

counters = minidynamo._dynamo.utils.counters
NAMES = [name for name in dir(torch) if name.startswith("_foreach_")]
# Without a method of tensors of that name.
LEFT = {"_foreach_powsum"}


def drawn(count=3):
    generator = torch.Generator().manual_seed(count)
    return [torch.rand(2, 2, generator=generator) + 0.1 for _ in range(count)]


SHARED = {"a number": lambda: (0.5,), "a tensor each": lambda: (drawn(),), "a number each": lambda: ([0.1, 0.5, 2.0],)}
FACTORS = {
    "alone": lambda: (drawn(), drawn()),
    "one factor": lambda: (drawn(), drawn(), 0.5),
    "a factor each": lambda: (drawn(), drawn(), [0.1, 0.5, 2.0]),
}
ALONE = {"alone": lambda: ()}
OPERANDS = {
    **dict.fromkeys("add sub mul div pow clamp_min clamp_max maximum minimum".split(), SHARED),
    **dict.fromkeys(("addcmul", "addcdiv"), FACTORS),
    "lerp": {f"{name}, weighted": lambda given=given: (drawn(), *given()) for name, given in SHARED.items()},
    "copy": {"a tensor each": lambda: (drawn(),)},
    "mm": {"a tensor each": lambda: (drawn(),)},
    "norm": ALONE | {"another order": lambda: (1,)},
}
CASES = [
    (name, case)
    for name in NAMES
    if name not in LEFT
    for case in OPERANDS.get(name.removeprefix("_foreach_").rstrip("_"), ALONE)
]


def outcome(call, name, operands):
    tensors = drawn()
    result = call(tensors, *operands)
    return tensors, result, result is tensors, type(result), [each._version for each in tensors]


@pytest.mark.parametrize(("name", "case"), CASES)
@pytest.mark.counts_regions
def test_as_plain(name, case):
    minidynamo._dynamo.reset()
    operands = OPERANDS.get(name.removeprefix("_foreach_").rstrip("_"), ALONE)[case]()
    function = getattr(torch, name)
    expected = outcome(function, name, copy.deepcopy(operands))
    found = outcome(minidynamo.compile(lambda *args: function(*args), fullgraph=True), name, operands)
    assert found[2:] == expected[2:]
    for ours, theirs in zip(found[:2], expected[:2], strict=True):
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6, equal_nan=True)


REFUSED = {
    "no tensors": lambda: torch._foreach_add([], 1),
    "other lengths": lambda: torch._foreach_mul(drawn(), drawn(2)),
    "a bound of text": lambda: torch._foreach_clamp_min_(drawn(), "a"),
    "a narrower norm": lambda: torch._foreach_norm([torch.ones(2, dtype=torch.float64)], 2, torch.float32),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_torchs(name):
    with pytest.raises(Exception) as expected:
        REFUSED[name]()
    with pytest.raises(type(expected.value)) as found:
        minidynamo.compile(REFUSED[name])()
    assert str(found.value) == str(expected.value)
