"""x.view(dtype): the same bytes as elements of another dtype, as torch's, compiled or not; wrong calls; writes through the view."""

import pytest

import minidynamo as md

torch = pytest.importorskip("torch")

RIGHT = {
    "another kind": lambda m: m.arange(6.0).reshape(2, 3).view(m.int32),
    "by keyword": lambda m: m.arange(6.0).view(dtype=m.int32),
    "narrower": lambda m: m.arange(6.0).reshape(2, 3).view(m.int16),
    "wider": lambda m: m.arange(8.0).reshape(2, 4).view(m.float64),
    "wider of a part": lambda m: m.arange(24.0).reshape(2, 3, 4)[:, ::2].view(m.float64),
    "complex": lambda m: m.arange(6.0).reshape(3, 2).view(m.complex64),
    "parts of complex": lambda m: m.ones(3, dtype=m.complex64).view(m.float32),
    "bytes": lambda m: m.arange(3).view(m.uint8),
    "without dims": lambda m: m.tensor(1.0).view(m.int32),
    "without elements": lambda m: m.ones(0, 4).view(m.float64),
    "transposed": lambda m: m.arange(6.0).reshape(2, 3).t().view(m.int32),
    "behind the start": lambda m: m.arange(9.0)[2:8].view(m.float64),
    "of what needs a gradient": lambda m: m.ones(3, 2).requires_grad_().view(m.float16),
    "the same": lambda m: m.ones(3).view(m.float32),
    "there and back": lambda m: ((m.arange(1.0, 9.0).view(m.int32) >> 23 & 255) - 127, m.ones(2).view(m.int32).view(m.float32)),
    "sizes as before": lambda m: m.ones(2, 3).view(3, 2) + m.ones(6).view((3, -1)),
}  # fmt: skip

WRONG = {
    "no dims": lambda m: m.tensor(1.0).view(m.int16),
    "an odd size": lambda m: m.ones(2, 3).view(m.float64),
    "an odd size without elements": lambda m: m.ones(0, 3).view(m.float64),
    "an odd stride": lambda m: m.ones(2, 5)[:, :4].view(m.float64),
    "an odd offset": lambda m: m.ones(9)[1:].view(m.float64),
    "gaps": lambda m: m.ones(2, 4)[:, ::2].view(m.float64),
    "transposed": lambda m: m.ones(2, 3).t().view(m.int16),
    "a name": lambda m: m.ones(2).view("int32"),
    "both": lambda m: m.ones(2).view(size=(2,), dtype=m.int32),
    "two": lambda m: m.ones(2).view(m.int32, 3),
}


def parts(result):
    flat = result if isinstance(result, tuple) else (result,)
    return [(str(x.dtype).split(".")[1], tuple(x.shape), x.stride(), x.requires_grad, x.tolist()) for x in flat]


@pytest.mark.parametrize("name", RIGHT)
def test_right(name):
    call = RIGHT[name]
    expected = parts(call(torch))
    assert parts(call(md)) == expected
    assert parts(md.compile(call, fullgraph="gradient" not in name)(md)) == expected
    assert parts(md.compile(call)(torch)) == expected


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name):
    call = WRONG[name]
    with pytest.raises((RuntimeError, TypeError)) as expected:
        call(torch)
    for function in (call, md.compile(call)):
        with pytest.raises(expected.type) as found:
            function(md)
        reason = str(expected.value).partition(" to view")[0] if expected.type is RuntimeError else "view()"
        assert reason in str(found.value)


def test_bools_are_not_made_of_bytes():
    with pytest.raises(NotImplementedError, match="bytes as bools"):
        md.ones(2).view(md.bool)


def writes(m, x):
    bits = x.view(m.int32)
    bits[0] = 1065353216
    x.mul_(2)
    bits[1:] += 8388608
    return bits.clone(), x.sum(), bits._version


@pytest.mark.parametrize("offset", [0, 1])
def test_writes_through_a_view(offset):
    results = []
    for m, function in ((torch, writes), (md, writes), (md, md.compile(writes))):
        x = m.arange(1.0, 7.0)
        results.append((*[each.tolist() for each in function(m, x[offset:])[:2]], x.tolist()))
    assert results[1] == results[0] and results[2] == results[0]


def test_offset_is_looked_at_in_each_call():
    function = md.compile(lambda x: x.view(md.float64) + 0)
    whole = md.arange(9.0)
    assert function(whole[:8]).tolist() == whole[:8].view(md.float64).tolist()
    assert function(whole[2:8]).tolist() == whole[2:8].view(md.float64).tolist()
    with pytest.raises(RuntimeError, match="storage_offset"):
        function(whole[1:])
