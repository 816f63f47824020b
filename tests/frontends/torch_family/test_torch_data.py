"""Writes to `x.data`, which neither the versions nor the histories of torch see, in compiled functions: values,
gradients and versions as plain."""

import pytest

import minidynamo

torch = pytest.importorskip("torch")

counters = minidynamo._dynamo.utils.counters


def clipped_step(w, x):
    loss = (x @ w).square().sum()
    loss.backward()
    w.grad.data.clamp_(-0.5, 0.5)
    w.data.sub_(w.grad.data, alpha=0.1)
    return loss


def averaged(w, x):
    x.data.copy_(w.data * 0.1 + x.data * 0.9)
    return w.data + 1


def kept(w, x):
    seen = w.data
    seen.mul_(2)
    return seen, w.data


def part(w, x):
    w.data[0].zero_()
    w.data[1:, :1] += 1
    return w.data.sum()


def computed(w, x):
    y = x * 2
    y.data.add_(1)
    y.mul_(3)
    return y


def counted_too(w, x):
    with torch.no_grad():
        w.mul_(2)
        w.data.add_(1)
        w.sub_(3)
        return (x @ w).sum()


def freed(w, x):
    loss = (w * 2).exp().sum()
    loss.backward()
    w.data.add_(1)
    return loss, w.grad


NO_BREAK = {each.__name__: each for each in (clipped_step, averaged, kept, part, computed, counted_too, freed)}


def read_later(w, x):
    y = x @ w
    x.data.mul_(2)
    return y


def result_read_later(w, x):
    y = w.exp()
    y.data.mul_(2)
    return y


def gone_back_behind(w, x):
    y = (x @ w).square().sum()
    x.data.mul_(2)
    w.data.mul_(2)
    y.backward()
    return y


def view_read_later(w, x):
    y = x[:1] @ w
    x.data[0].add_(1)
    return y


OTHERS = {each.__name__: each for each in (read_later, result_read_later, gone_back_behind, view_read_later)}


def outcome(call):
    generator = torch.Generator().manual_seed(0)
    w = torch.rand(3, 3, generator=generator).requires_grad_()
    x = torch.rand(3, 3, generator=generator)
    results = call(w, x)
    results = results if isinstance(results, tuple) else (results,)
    versions = [each._version for each in (w, x, *results)]
    if w.grad is None and results[0].requires_grad:
        results[0].sum().backward()
    gradient = [] if w.grad is None else [w.grad]
    return [w, x, *results, *gradient], versions


@pytest.mark.parametrize("name", [*NO_BREAK, *OTHERS])
@pytest.mark.counts_regions
def test_as_plain(name):
    function = (NO_BREAK | OTHERS)[name]
    compiled = minidynamo.compile(function, fullgraph=name in NO_BREAK)
    expected, versions = outcome(function)
    for _ in range(2):
        found, found_versions = outcome(compiled)
        torch.testing.assert_close(found, expected)
        assert found_versions == versions
    if name == "kept":
        assert found[0].data_ptr() == found[2].data_ptr() == found[3].data_ptr()
