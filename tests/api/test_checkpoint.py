"""utils.checkpoint: the function's result, and torch's warnings and errors."""

import contextlib
import warnings

import pytest

import minidynamo
from minidynamo.utils.checkpoint import checkpoint, checkpoint_sequential

torch = pytest.importorskip("torch")


def outcome(program, library):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = program(library, library.utils.checkpoint).tolist()
        except Exception as error:
            result = type(error).__name__, str(error)
    return result, [(each.category.__name__, str(each.message)) for each in seen]


def fail(x):
    raise KeyError("a")


PROGRAMS = {
    "plain": lambda t, c: c.checkpoint(lambda a, b: a + b, t.ones(2), t.ones(2), use_reentrant=False),
    "keywords": lambda t, c: c.checkpoint(lambda a, b: a + b, t.ones(2), b=t.ones(2), use_reentrant=False),
    "keywords_reentrant": lambda t, c: c.checkpoint(lambda a, b: a, t.ones(2), b=1, d=2, use_reentrant=True),
    "context_reentrant": lambda t, c: c.checkpoint(lambda a: a, t.ones(2), context_fn=print, use_reentrant=True),
    "debug_reentrant": lambda t, c: c.checkpoint(lambda a: a, t.ones(2), debug=True, use_reentrant=True),
    "check": lambda t, c: c.checkpoint(lambda a: a, t.ones(2), determinism_check="x", use_reentrant=False),
    "no_check": lambda t, c: c.checkpoint(lambda a: a, t.ones(2), determinism_check="none", use_reentrant=False),
    "preserve": lambda t, c: c.checkpoint(lambda a: a, t.ones(2), preserve_rng_state=False, use_reentrant=False),
    "raises": lambda t, c: c.checkpoint(fail, t.ones(2), use_reentrant=False),
    "one": lambda t, c: c.checkpoint_sequential([t.sin, t.cos, t.exp], 1, t.ones(2), use_reentrant=False),
    "two": lambda t, c: c.checkpoint_sequential([t.sin, t.cos, t.exp], 2, t.ones(2), use_reentrant=False),
    "three": lambda t, c: c.checkpoint_sequential([t.sin, t.cos, t.exp], 3, t.ones(2), use_reentrant=False),
    "four": lambda t, c: c.checkpoint_sequential([t.sin, t.cos, t.exp], 4, t.ones(2), use_reentrant=False),
    "module": lambda t, c: c.checkpoint_sequential(
        t.nn.Sequential(t.nn.ReLU(), t.nn.Tanh()), 2, t.zeros(2), use_reentrant=False
    ),
    "unknown": lambda t, c: c.checkpoint_sequential([t.sin], 1, t.ones(2), use_reentrant=False, other=3),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_like_torch(name):
    (found, seen), (wanted, expected) = (outcome(PROGRAMS[name], each) for each in (minidynamo, torch))
    assert seen == expected
    assert found == pytest.approx(wanted) if isinstance(wanted, list) else found == wanted


def test_the_warning_without_use_reentrant():
    x = minidynamo.ones(2)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        assert minidynamo.equal(checkpoint(minidynamo.sin, x), x.sin())
    with pytest.warns(UserWarning, match="checkpoint_sequential: the use_reentrant parameter"):
        assert minidynamo.equal(checkpoint_sequential([minidynamo.sin], 1, x), x.sin())


def test_the_first_context_is_entered():
    seen = []

    @contextlib.contextmanager
    def context(name):
        seen.append(name)
        yield
        seen.append("end")

    checkpoint(
        lambda: seen.append("run"), use_reentrant=False, context_fn=lambda: (context("forward"), context("again"))
    )
    assert seen == ["forward", "run", "end"]


@pytest.mark.counts_regions
def test_captured_whole():
    def model(x):
        return checkpoint(lambda a: a.sin() * 2, x, use_reentrant=False)

    x = minidynamo.ones(2)
    assert minidynamo.equal(minidynamo.compile(model, fullgraph=True)(x), model(x))
