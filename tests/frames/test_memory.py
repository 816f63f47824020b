"""Memory that compiling leaves behind: none, once the function, the object or the capture is gone."""

import gc
import os
import subprocess
import sys
import threading
import types
import weakref

import pytest
from at_once import at_once
from resident_memory import MEGABYTE, needs_proc, settled_growth

import minidynamo
from minidynamo import _C, _dynamo
from minidynamo._dynamo import config, mark_dynamic


def make_function(number):
    """A new function with a new code object."""
    namespace = {}
    exec(f"def f{number}(x):\n    return (x + {number}).relu() * 2\n", namespace)
    return namespace[f"f{number}"]


@needs_proc
@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dynamic", [None, True])
def test_functions_compiled_and_dropped(count, dynamic):
    x = minidynamo.ones(3)

    def step(number):
        compiled = minidynamo.compile(make_function(number), dynamic=dynamic)
        assert compiled(x).tolist() == [2.0 * (number + 1)] * 3

    # They would take 72 kB each if they were kept.
    assert settled_growth(step, count, 300) < 2 * MEGABYTE + 100 * count


@needs_proc
@pytest.mark.parametrize("dynamic", [None, False, True])
def test_a_thousand_shapes_through_one_function(dynamic):
    def f(x):
        return (x + 1).relu().sum() * x

    with config.patch(sized_plans_nbytes=MEGABYTE):
        compiled = minidynamo.compile(f, dynamic=dynamic, recompile_limit=2000)

        def step(number):
            assert compiled(minidynamo.ones(2 + number % 1000)).shape == (2 + number % 1000,)

        growth = settled_growth(step, 2000, 1000)
        # The second and third time around there is nothing new to keep.
        assert growth < 2 * MEGABYTE
        _dynamo.reset()
        assert _C.code_captures(f.__code__) == ([], False)


def growth_over_sizes(count):
    def f(x):
        y = (x * 2 + 1).relu()
        return minidynamo.softmax(y @ y.t(), -1)

    compiled = minidynamo.compile(f, dynamic=True)

    def step(number):
        # In mixed order: the memory of freed tensors that the library keeps for others grows with their size.
        shuffled = number * 7919 % (count + count // 4)
        rows, columns = shuffled % 97 + 1, shuffled // 97 + 1
        assert compiled(minidynamo.ones(rows, columns)).shape == (rows, rows)

    return settled_growth(step, count, count // 4, turns=1)  # the sizes are known in a second turn


@needs_proc
@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_memory_is_flat_over_distinct_sizes(count):
    # In a process of its own: what other tests leave in the allocator is as much as this measures.
    program = f"from test_memory import growth_over_sizes; print(growth_over_sizes({count}))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    # A plan and its primitives took 175 kB for each size.
    assert int(done.stdout) < 8 * MEGABYTE


@needs_proc
def test_reset_releases_the_memory():
    def f(x, n):
        return x + n.size

    class Number:
        def __init__(self, size):
            self.size = size

    def step(_):
        compiled = minidynamo.compile(f, recompile_limit=100)
        for size in range(40):
            compiled(minidynamo.ones(2), Number(str(size).__len__() + size % 7 * 0.5))
            compiled(minidynamo.ones(*[1] * (1 + size % 12)), Number(1))
        _dynamo.reset()

    assert settled_growth(step, 100, 30) < 2 * MEGABYTE


class Block(minidynamo.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = minidynamo.nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x).relu()


@needs_proc
def test_modules_created_and_deleted():
    def step(number):
        module = Block(128)
        compiled = minidynamo.compile(module)
        compiled(minidynamo.ones(2, 128))

    # The weights alone are 66 kB.
    assert settled_growth(step, 300, 100) < 4 * MEGABYTE


@needs_proc
def test_modules_passed_to_one_function():
    def call(module, x):
        return module(x) + 1

    compiled = minidynamo.compile(call, recompile_limit=1000)

    def step(number):
        compiled(Block(128), minidynamo.ones(2, 128))

    assert settled_growth(step, 300, 100) < 4 * MEGABYTE


def test_explaining_leaves_no_captures():
    function = make_function(3)
    for _ in range(3):
        minidynamo.explain(function)(minidynamo.ones(2))
    assert _C.code_captures(function.__code__) == ([], False)


def dies(reference):
    """Without the help of the cycle collector if there is no cycle."""
    return reference() is None


def test_arguments_die_when_their_last_reference_goes():
    def f(x, module):
        y = module(x) * 2
        _dynamo.graph_break()
        return y + x

    compiled = minidynamo.compile(f)
    x, module = minidynamo.ones(2, 4), Block(4)
    result = compiled(x, module)
    references = [weakref.ref(x), weakref.ref(result)]
    gc.collect()
    gc.disable()
    try:
        del x, result
        assert all(map(dies, references))
    finally:
        gc.enable()
    held = [weakref.ref(module), weakref.ref(module.linear.weight), weakref.ref(module.linear)]
    del module
    gc.collect()
    assert all(map(dies, held))


@pytest.mark.parametrize("backend", ["onednn", "eager"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_a_global_tensor_is_not_kept(backend, dynamic):
    namespace = {"weight": minidynamo.ones(3), "minidynamo": minidynamo}
    exec("def f(x):\n    return x * weight\n", namespace)
    compiled = minidynamo.compile(namespace["f"], backend=backend, dynamic=dynamic)
    assert compiled(minidynamo.ones(3)).tolist() == [1.0] * 3
    reference = weakref.ref(namespace["weight"])
    namespace["weight"] = minidynamo.full((3,), 2.0)
    gc.collect()
    assert reference() is None
    assert compiled(minidynamo.ones(3)).tolist() == [2.0] * 3


def test_a_closure_and_a_default_are_not_kept():
    def make(tensor):
        def f(x, by=tensor):
            return x * tensor + by

        return f

    tensor = minidynamo.ones(3)
    function = make(tensor)
    compiled = minidynamo.compile(function)
    compiled(minidynamo.ones(3))
    references = [weakref.ref(tensor), weakref.ref(function), weakref.ref(function.__code__)]
    code = function.__code__
    del tensor, function, compiled
    gc.collect()
    assert references[0]() is None and references[1]() is None
    # The inner code object is a constant of the outer one.
    assert _C.code_captures(code) is not None


def test_entries_die_with_the_code_object():
    function = make_function(7)
    compiled = minidynamo.compile(function)
    compiled(minidynamo.ones(2))
    code = weakref.ref(function.__code__)
    assert len(_C.code_captures(function.__code__)[0]) == 1
    del function, compiled
    gc.collect()
    assert code() is None


def kind_of(x, what):
    return x + len(what.name)


def test_entries_die_with_an_object_that_they_hold():
    class First:
        name = "first"

    class Second:
        name = "other"

    _dynamo.reset()
    compiled = minidynamo.compile(kind_of)
    for kind in (First, Second):
        assert compiled(minidynamo.ones(2), kind).tolist() == [6.0, 6.0]
    assert len(_C.code_captures(kind_of.__code__)[0]) == 2
    del First, kind
    gc.collect()
    # At once, not when the next entry is added: the objects that it holds may be large.
    assert len(_C.code_captures(kind_of.__code__)[0]) == 1
    assert compiled(minidynamo.ones(2), Second).tolist() == [6.0, 6.0]
    del Second
    gc.collect()
    assert _C.code_captures(kind_of.__code__)[0] == []


def test_a_death_while_the_entry_runs():
    class Kind:
        name = "kind"

    holder = [Kind]
    del Kind

    def runs(x, what):
        y = x + len(what.name)
        holder.clear()
        _dynamo.graph_break()
        del what
        gc.collect()
        return y * 2

    compiled = minidynamo.compile(runs)
    arguments = [holder[0]]
    assert compiled(minidynamo.ones(2), arguments.pop()).tolist() == [10.0, 10.0]


def test_symbolic_sizes_are_freed_with_their_captures():
    def f(x):
        return x.reshape(-1) * x.shape[0]

    _dynamo.reset()
    gc.collect()
    before = _C.dim_tables()
    for number in range(20):
        compiled = minidynamo.compile(types.FunctionType(f.__code__.replace(), globals()), dynamic=True)
        x = minidynamo.ones(3 + number, 4)
        mark_dynamic(x, 0)
        assert compiled(x).shape == (4 * (3 + number),)
    assert _C.dim_tables() <= before + 1
    del compiled
    gc.collect()
    assert _C.dim_tables() == before
    kept = minidynamo.compile(f, dynamic=True)
    kept(minidynamo.ones(3, 4))
    assert _C.dim_tables() == before + 1
    _dynamo.reset()
    assert _C.dim_tables() == before


def test_six_threads_capture_a_code_object_once():
    def f(x):
        y = x + 1
        for _ in range(300):
            y = y * 2 - y
        return y

    for _ in range(5):
        _dynamo.reset()
        compiled = minidynamo.compile(f)
        before = _C.engine_counters()["regions_captured"]
        barrier = threading.Barrier(6)
        results = []

        def run(_):
            barrier.wait()
            results.append(compiled(minidynamo.ones(3)).tolist())

        at_once(run, 6)
        assert results == [[2.0] * 3] * 6
        assert _C.engine_counters()["regions_captured"] == before + 1
        assert len(_C.code_captures(f.__code__)[0]) == 1


def test_six_threads_wait_for_a_backend_that_runs_python():
    graphs = []
    started = threading.Event()

    def slow(gm, example_inputs):
        graphs.append(gm)
        started.set()
        for _ in range(50):
            threading.Event().wait(0.002)
        return gm.forward

    def f(x):
        return (x + 1) * 3

    _dynamo.reset()
    compiled = minidynamo.compile(f, backend=slow)
    results = []
    at_once(lambda _: results.append(compiled(minidynamo.ones(2)).tolist()), 6)
    assert results == [[6.0, 6.0]] * 6
    assert len(graphs) == 1
