"""Results that are new tensors in torch are new here, even if no element has to move; likewise views and identities."""

import pytest

import minidynamo as md

F = md.nn.functional

NEW = {
    "repeat_interleave": (lambda x: x.repeat_interleave(4, dim=1), (1, 1, 2, 2)),
    "repeat_interleave(1)": (lambda x: x.repeat_interleave(1), (3,)),
    "repeat_interleave, no dims": (lambda x: x.repeat_interleave(2), ()),
    "F.unfold": (lambda x: F.unfold(x, 1), (1, 2, 2, 2)),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), (1, 4, 1, 1)),
    "pixel_shuffle(1)": (lambda x: F.pixel_shuffle(x, 1), (1, 4, 2, 2)),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), (1, 1, 2, 2)),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 4), (1, 4, 1, 1)),
    "diff(n=0)": (lambda x: md.diff(x, n=0), (3,)),
    "chain_matmul": (lambda x: md.chain_matmul(x), (2, 2)),
    "take": (lambda x: x.take(md.tensor(0)), (1,)),
    "ravel of steps": (lambda x: x[::2].ravel(), (5,)),
}
VIEWS = {
    "ravel": (lambda x: x.ravel(), (2, 3)),
    "reshape": (lambda x: x.reshape(6), (2, 3)),
    "unflatten": (lambda x: x.unflatten(0, (2, -1)), (6,)),
    "flatten": (lambda x: x.flatten(), (2, 3)),
    "narrow": (lambda x: x.narrow(0, md.tensor(1), 2), (4,)),
}
SAME = {
    "positive": (lambda x: +x, (2,)),
    "md.positive": (lambda x: md.positive(x), (2,)),
    "contiguous": (lambda x: x.contiguous(), (2,)),
    "flatten of one dim": (lambda x: x.flatten(), (2,)),
    "flatten(1)": (lambda x: x.flatten(1), (2, 3)),
    "to": (lambda x: x.to(md.float32), (2,)),
}
forms = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])


@forms
@pytest.mark.parametrize("name", NEW)
def test_new(name, compiled):
    function, shape = NEW[name]
    x = md.zeros(shape)
    y = (md.compile(function) if compiled else function)(x)
    assert y is not x and y.is_contiguous()
    x.add_(1)
    assert not y.any()
    y.mul_(2).add_(3)
    assert x.eq(1).all()


@forms
@pytest.mark.parametrize("name", VIEWS)
def test_views(name, compiled):
    function, shape = VIEWS[name]
    x = md.zeros(shape)
    y = (md.compile(function) if compiled else function)(x)
    assert y is not x
    y.add_(1)
    assert x.sum() == y.numel()


@forms
@pytest.mark.parametrize("name", SAME)
def test_the_argument_itself(name, compiled):
    function, shape = SAME[name]
    x = md.zeros(shape)
    assert (md.compile(function) if compiled else function)(x) is x


@forms
def test_expanded_tensors_are_filled(compiled):
    for write, element in ((lambda x: x.zero_(), 0.0), (lambda x: x.fill_(3), 3.0)):
        x = md.ones(1).expand(3)
        assert (md.compile(write) if compiled else write)(x).tolist() == [element] * 3
    for write in (lambda x: x.add_(1), lambda x: x.copy_(md.ones(3)), lambda x: x.clamp_(0, 1)):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            (md.compile(write) if compiled else write)(md.ones(1).expand(3))
