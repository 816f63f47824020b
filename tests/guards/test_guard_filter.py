"""guard_filter_fn: the entries that it receives, the guards that it drops, and those that it cannot drop."""

import pytest

import minidynamo
from minidynamo import compiler
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.counts_regions

SCALE = 2.0
NAME = "sin"


class Net(minidynamo.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = minidynamo.nn.Linear(3, 3)
        self.mode = "plain"

    def forward(self, x):
        y = self.linear(x)
        return y + 1 if self.mode == "plain" else y - 1


def by_name(x):
    return x.sin() if NAME == "sin" else x.cos()


def compiled(function, guard_filter_fn, **arguments):
    count = CompileCounter()
    return minidynamo.compile(function, backend=count, options={"guard_filter_fn": guard_filter_fn}, **arguments), count


def test_entries_that_a_filter_receives():
    shown = []

    def keep_all(entries):
        shown.extend(entries)
        return [True] * len(entries)

    net, x = Net(), minidynamo.ones(2, 3)
    captured, _ = compiled(net, keep_all)
    captured(x)
    by_place = {(entry.guard_type, entry.name): entry for entry in shown}
    tensor = by_place["TENSOR_MATCH", "args[0]"]
    assert tensor.has_value and tensor.value is x and not tensor.is_global and tensor.derived_guard_types == ()
    (weight,) = [entry for entry in shown if entry.value is net.linear.weight and entry.guard_type == "TENSOR_MATCH"]
    source = weight.orig_guard.source
    assert source.is_unspecialized_nn_module() and source.is_unspecialized_builtin_nn_module()
    (mode,) = [entry for entry in shown if entry.guard_type == "EQUALS_MATCH" and entry.value == "plain"]
    assert mode.orig_guard.source.is_unspecialized_nn_module()
    assert not mode.orig_guard.source.is_unspecialized_builtin_nn_module()
    assert not tensor.orig_guard.source.is_unspecialized_nn_module()
    assert any(entry.is_global for entry in shown)
    state = [entry for entry in shown if entry.name == ""]
    assert all(not entry.has_value for entry in state)


@pytest.mark.counts_python_runs
def test_a_dropped_guard_is_not_checked(monkeypatch):
    captured, count = compiled(by_name, compiler.skip_guard_on_globals_unsafe)
    x = minidynamo.ones(2)
    assert captured(x).tolist() == x.sin().tolist()
    monkeypatch.setitem(globals(), "NAME", "cos")
    assert captured(x).tolist() == x.sin().tolist()
    assert count.frame_count == 1


def test_a_kept_guard_is_checked(monkeypatch):
    captured, count = compiled(by_name, lambda entries: [True] * len(entries))
    x = minidynamo.ones(2)
    captured(x)
    monkeypatch.setitem(globals(), "NAME", "cos")
    assert captured(x).tolist() == x.cos().tolist()
    assert count.frame_count == 2


@pytest.mark.counts_python_runs
@pytest.mark.parametrize(
    "guard_filter_fn", [compiler.skip_guard_on_all_nn_modules_unsafe, compiler.keep_tensor_guards_unsafe]
)
def test_modules_unguarded(guard_filter_fn):
    net, x = Net(), minidynamo.ones(2, 3)
    captured, count = compiled(net, guard_filter_fn)
    first = captured(x).tolist()
    net.mode = "other"
    assert captured(x).tolist() == first
    assert count.frame_count == 1


def test_own_modules_are_guarded_where_only_inbuilt_ones_are_skipped():
    net, x = Net(), minidynamo.ones(2, 3)
    captured, count = compiled(net, compiler.skip_guard_on_inbuilt_nn_modules_unsafe)
    captured(x)
    net.mode = "other"
    assert captured(x).tolist() == net(x).tolist()
    assert count.frame_count == 2


@pytest.mark.parametrize("name", [name for name in compiler.__all__ if name.endswith("_unsafe")])
def test_values_that_a_region_reads_stay_guarded(name):
    """Whatever a filter returns, memory is never read as another type."""
    net, x = Net(), minidynamo.ones(2, 3)
    captured, _ = compiled(net, getattr(compiler, name), dynamic=False)
    captured(x)
    for other in (minidynamo.ones(5, 3), minidynamo.ones(2, 3, dtype=minidynamo.float64)[:, :0], minidynamo.ones(3)):
        try:
            expected = net(other).tolist()
        except RuntimeError as error:
            with pytest.raises(RuntimeError) as caught:
                captured(other)
            assert str(caught.value) == str(error)
        else:
            assert captured(other).tolist() == expected
    net.linear.weight = minidynamo.nn.Parameter(minidynamo.ones(3, 3) * 2)
    net.linear.bias = minidynamo.nn.Parameter(minidynamo.zeros(3))
    assert captured(x).tolist() == net(x).tolist()
    net.linear.weight = minidynamo.nn.Parameter(minidynamo.ones(1, 3))
    net.linear.bias = minidynamo.nn.Parameter(minidynamo.zeros(1))
    assert captured(x).tolist() == net(x).tolist()
    del net.linear
    with pytest.raises(AttributeError):
        captured(x)


def test_objects_that_a_region_writes_to_stay_guarded():
    def program(holder, x):
        holder.append(1)
        return x + 1

    captured, _ = compiled(program, compiler.skip_all_guards_unsafe)
    holder = []
    captured(holder, minidynamo.ones(1))
    assert holder == [1]

    class Own(list):
        def append(self, value):
            super().append(value * 10)

    own = Own()
    captured(own, minidynamo.ones(1))
    assert own == [10]
    with pytest.raises(AttributeError):
        captured(3, minidynamo.ones(1))
    with pytest.raises(TypeError):
        captured([], "text")


def test_frames_after_a_break_stay_guarded():
    def first(x):
        minidynamo._dynamo.graph_break()
        return x + 1

    def second(x):
        return x * 100

    def program(function, x):
        return function(x) * 2

    captured, _ = compiled(program, compiler.skip_all_guards_unsafe)
    x = minidynamo.ones(1)
    assert captured(first, x).tolist() == [4.0]
    assert captured(second, x).tolist() == [200.0]


@pytest.mark.parametrize(
    ("guard_filter_fn", "error", "message"),
    [
        (lambda entries: [True], AssertionError, "must answer for each of"),
        (lambda entries: [1] * len(entries), AssertionError, "must answer with bools, not int"),
        (lambda entries: None, TypeError, "not iterable"),
        (lambda entries: 1 / 0, ZeroDivisionError, "division by zero"),
    ],
)
def test_a_filter_that_fails(guard_filter_fn, error, message):
    captured, _ = compiled(Net(), guard_filter_fn)
    for _ in range(2):
        with pytest.raises(error, match=message):
            captured(minidynamo.ones(2, 3))


def test_misuse():
    with pytest.raises(TypeError, match="guard_filter_fn must be callable, not int"):
        minidynamo.compile(by_name, options={"guard_filter_fn": 3})
    with pytest.raises(RuntimeError, match="has no option 'more'"):
        minidynamo.compile(by_name, options={"guard_filter_fn": compiler.skip_all_guards_unsafe, "more": 1})
    with pytest.raises(RuntimeError, match="cannot both be given"):
        minidynamo.compile(by_name, mode="default", options={"guard_filter_fn": compiler.skip_all_guards_unsafe})


def test_the_backend_does_not_receive_the_filter():
    given = []

    def backend(gm, example_inputs, options=None):
        given.append(options)
        return gm.forward

    options = {"guard_filter_fn": compiler.skip_all_guards_unsafe, "depth": 3}
    minidynamo.compile(by_name, backend=backend, options=options)(minidynamo.ones(1))
    minidynamo.compile(by_name, backend=backend, options={"guard_filter_fn": None})(minidynamo.ones(1))
    assert given == [{"depth": 3}, None]
    assert "guard_filter_fn" in options


@pytest.mark.counts_python_runs
def test_filters_have_captures_of_their_own(monkeypatch):
    x = minidynamo.ones(2)
    unsafe = minidynamo.compile(by_name, options={"guard_filter_fn": compiler.skip_all_guards_unsafe})
    safe = minidynamo.compile(by_name)
    unsafe(x), safe(x)
    monkeypatch.setitem(globals(), "NAME", "cos")
    assert unsafe(x).tolist() == x.sin().tolist()
    assert safe(x).tolist() == x.cos().tolist()


def test_a_filter_dies_with_its_function():
    import gc
    import weakref

    def guard_filter_fn(entries):
        return [True] * len(entries)

    alive = weakref.ref(guard_filter_fn)
    captured, _ = compiled(by_name, guard_filter_fn)
    captured(minidynamo.ones(2))
    del captured, guard_filter_fn
    minidynamo._dynamo.reset()
    gc.collect()
    assert alive() is None
