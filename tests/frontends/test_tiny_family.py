"""A tensor family that is not ours, in one file (tiny_family.cpp): captured, guarded, written, broken, returned as itself."""

import gc
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import weakref
from pathlib import Path

import pytest

import minidynamo
from minidynamo import _C
from minidynamo._dynamo.testing import CompileCounter

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.counts_regions,
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is needed"),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    library = tmp_path_factory.mktemp("tiny") / "tiny.so"
    include = ["-I", str(ROOT / "csrc"), "-I", sysconfig.get_paths()["include"]]
    source = str(Path(__file__).with_name("tiny_family.cpp"))
    flags = ["-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *flags, *include, source, "-o", str(library)], check=True)
    spec = importlib.util.spec_from_file_location("tiny", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules["tiny"] = module
    return module


@pytest.fixture(autouse=True)
def the_default_mode(tiny):
    yield
    tiny.set_mode(0)


def values(x):
    """What a program can see of a result."""
    if type(x).__name__ == "Array":
        return ("Array", memoryview(x).tolist(), x.shape, x.base is not None)
    if isinstance(x, (tuple, list)):
        return [values(item) for item in x]
    return x


def check(function, *makers, graphs=None, breaks=0):
    """Plain Python and the compiled function agree on results and arguments, for each maker of arguments in turn."""
    counter = CompileCounter()
    compiled = minidynamo.compile(function, backend=counter)
    default = minidynamo.compile(function)
    for make in makers:
        expected_args, args, more = make(), make(), make()
        expected = values(function(*expected_args))
        assert values(compiled(*args)) == expected
        assert values(args) == values(expected_args)
        assert values(default(*more)) == expected
        assert values(more) == values(expected_args)
    if graphs is not None:
        assert counter.frame_count == graphs
    assert minidynamo._dynamo.explain(function)(*makers[-1]()).graph_break_count == breaks


def two(tiny):
    return tiny.array([[1, 2], [3, 4]]), tiny.array([[10, 20], [30, 40]])


def pair(tiny):
    return lambda: two(tiny)


# ---- captured

CAPTURED = {
    "operators": lambda tiny, a, b: (a * b + 2) * 3,
    "functions": lambda tiny, a, b: tiny.add(tiny.multiply(a, b), a),
    "methods": lambda tiny, a, b: (a + b).total(),
    "attributes": lambda tiny, a, b: a * a.shape[0] + b.rank,
    "stand_in": lambda tiny, a, b: tiny.axpy(a, 2.0, b) + a,
    "state": lambda tiny, a, b: a + b if tiny.mode() == 0 else a * b,
    "views": lambda tiny, a, b: a[1] + b[0],
    "nothing_but_an_argument": lambda tiny, a, b: (a + b, a),
    "the_same_result_twice": lambda tiny, a, b: [a + b] * 2,
    "in_containers": lambda tiny, a, b: {"x": (a + b, [a * b])}["x"],
    "a_type_test": lambda tiny, a, b: a + b if isinstance(a + b, tiny.Array) else None,
}


@pytest.mark.parametrize("name", CAPTURED)
def test_captured(tiny, name):
    program = CAPTURED[name]
    check(lambda a, b: program(tiny, a, b), pair(tiny), pair(tiny), graphs=1)


def test_a_result_has_memory_of_the_library_and_a_view_its_owner(tiny):
    @minidynamo.compile
    def f(a):
        return a * 2, a[0], a

    a, _ = two(tiny)
    double, row, same = f(a)
    assert double.base is None and row.base is a and same is a
    a += 1
    assert memoryview(row).tolist() == memoryview(a).tolist()[0]


def test_results_and_arguments_are_released(tiny):
    f = minidynamo.compile(lambda a, b: (a * b, a[0]))
    a, b = two(tiny)
    f(a, b)
    before = sys.getrefcount(a), sys.getrefcount(b)
    for _ in range(10):
        result = f(a, b)
    del result
    gc.collect()
    assert (sys.getrefcount(a), sys.getrefcount(b)) == before


# ---- guarded


def test_sizes_are_guarded(tiny):
    check(lambda a, b: a * b, pair(tiny), lambda: (tiny.array([1.0]), tiny.array([2.0])), pair(tiny), graphs=2)


def test_the_state_is_guarded(tiny):
    counter = CompileCounter()

    @minidynamo.compile(backend=counter)
    def f(a, b):
        return a + b if tiny.mode() == 0 else a * b

    for mode, expected in ((0, 11), (1, 10), (0, 11), (1, 10)):
        tiny.set_mode(mode)
        assert memoryview(f(*two(tiny))).tolist()[0][0] == expected
    assert counter.frame_count == 2


def test_the_state_is_guarded_where_an_operation_may_depend_on_it(tiny):
    lines = []
    _C._set_event_listener(lambda _, line: lines.append(line))
    try:
        minidynamo.compile(lambda a, b: a + b)(*two(tiny))
    finally:
        _C._set_event_listener(None)
    assert any("tiny_mode=0" in line for line in lines if '"kind": "guards"' in line)


def test_an_array_inside_a_container_is_read_at_each_call(tiny):
    """Its family does not count changes: what a memo knows of it is never trusted."""
    holder = {"a": tiny.array([[1, 2]])}
    f = minidynamo.compile(lambda b: holder["a"] * b)
    for _ in range(40):
        assert memoryview(f(2)).tolist() == [[2, 4]]
    holder["a"] = tiny.array([1, 2, 3])
    assert memoryview(f(2)).tolist() == [2, 4, 6]


def test_a_tensor_of_ours_in_its_place(tiny):
    f = minidynamo.compile(lambda a: a * 2)
    assert memoryview(f(tiny.array([1.0, 2.0]))).tolist() == [2, 4]
    assert f(minidynamo.ones(2, dtype=minidynamo.float64)).tolist() == [2, 2]
    assert memoryview(f(tiny.array([1.0, 2.0]))).tolist() == [2, 4]


# ---- written

WRITTEN = {
    "a_method": lambda tiny, a, b: a.scale_(3),
    "an_operator": lambda tiny, a, b: inplace_add(a, b),
    "a_row": lambda tiny, a, b: store(a, 0, b[1]),
    "a_slice": lambda tiny, a, b: store(a, slice(0, 1), b[1:2] * 2),
    "through_a_view": lambda tiny, a, b: (a[1].scale_(5), a + b)[1],
    "twice": lambda tiny, a, b: (a.scale_(2), a.scale_(3), a * b)[2],
    "a_result": lambda tiny, a, b: (a + b).scale_(2),
}


def inplace_add(a, b):
    a += b
    return a


def store(a, key, value):
    a[key] = value
    return a


@pytest.mark.parametrize("name", WRITTEN)
def test_written(tiny, name):
    program = WRITTEN[name]
    check(lambda a, b: program(tiny, a, b), pair(tiny), pair(tiny), graphs=1)


def test_writes_are_counted(tiny):
    def f(a):
        a.scale_(2)
        a.scale_(3)

    plain, ours = tiny.array([1, 2]), tiny.array([1, 2])
    f(plain)
    minidynamo.compile(f)(ours)
    assert ours.version == plain.version == 2
    assert memoryview(ours).tolist() == [6, 12]


@pytest.mark.parametrize("first", [False, True])
def test_a_read_only_array_raises_the_librarys_error(tiny, first):
    def f(a):
        b = a * 2
        a.scale_(3)
        return b

    compiled = minidynamo.compile(f)
    if first:
        compiled(tiny.array([1, 2]))
    frozen = tiny.array([1, 2], read_only=True)
    with pytest.raises(ValueError, match="the array is read-only") as caught:
        compiled(frozen)
    assert caught.traceback[-1].lineno == f.__code__.co_firstlineno + 1
    assert memoryview(frozen).tolist() == [1, 2]


def test_two_arguments_over_one_memory(tiny):
    def f(a, b):
        a.scale_(2)
        return b + 1

    compiled = minidynamo.compile(f)
    for shared in (False, True, False):
        for run in (f, compiled):
            whole = tiny.array([1, 2, 3])
            other = whole[0:3] if shared else tiny.array([1, 2, 3])
            result = memoryview(run(whole, other)).tolist()
            assert result == ([3, 5, 7] if shared else [2, 3, 4])


# ---- broken

BROKEN = {
    "unknown_function": lambda tiny, a, b: tiny.secret(a * b) + 1,
    "known_to_break": lambda tiny, a, b: (a * b) * tiny.largest(a),
    "two_families": lambda tiny, a, b: (a * b, mixed(a)),
    "truth_of_an_unknown": lambda tiny, a, b: a * b if tiny.secret(a) is not None else b,
}


def mixed(a):
    try:
        return a + minidynamo.ones(2, 2, dtype=minidynamo.float64)
    except TypeError as error:
        return type(error).__name__


@pytest.mark.parametrize("name", BROKEN)
def test_broken(tiny, name):
    program = BROKEN[name]
    check(lambda a, b: program(tiny, a, b), pair(tiny), pair(tiny), breaks=1)


def test_the_reasons_name_the_families(tiny):
    def reasons(function):
        explained = minidynamo._dynamo.explain(function)(*two(tiny))
        return [reason.reason for reason in explained.break_reasons]

    assert "largest" in reasons(lambda a, b: tiny.largest(a) + 1)[0]
    assert "tiny and minidynamo" in reasons(lambda a, b: mixed(a) and a)[0]


def test_values_across_a_break(tiny):
    def f(a, b):
        c = a * b
        d = c[0]
        e = tiny.secret(c)
        return c, d + 1, e, a

    check(f, pair(tiny), pair(tiny), breaks=1)


def test_an_object_that_is_refused_is_left_to_the_library(tiny):
    def f(a, b):
        return a * 2, b + 1

    poisoned = lambda: (tiny.array([1, 2], poisoned=True), tiny.array([3, 4]))  # noqa: E731
    compiled = minidynamo.compile(f)
    for make in (poisoned, pair(tiny), poisoned):
        assert values(compiled(*make())) == values(f(*make()))


def test_a_failing_operation_is_the_librarys(tiny):
    def f(a, b):
        c = a * 2
        return c + b

    compiled = minidynamo.compile(f)
    for run in (f, compiled):
        with pytest.raises(TypeError, match="unsupported operand type"):
            run(tiny.array([1, 2]), tiny.array([1, 2, 3]))


def test_our_eager_operations_refuse_it(tiny):
    with pytest.raises(TypeError):
        minidynamo.add(minidynamo.ones(2), tiny.array([1, 2]))


def test_checked_against_the_interpreter(tiny):
    with minidynamo._dynamo.config.patch(check_captures=3):

        @minidynamo.compile
        def f(a, b):
            a.scale_(2)
            return a * b, a[0]

        for _ in range(4):
            f(*two(tiny))


def test_a_result_outlives_the_function(tiny):
    f = minidynamo.compile(lambda a, b: a * b)
    result = f(*two(tiny))
    gone = weakref.ref(f.__wrapped__)
    del f
    gc.collect()
    assert gone() is None
    assert memoryview(result).tolist() == [[10, 40], [90, 160]]


def test_backends_see_tensors_of_the_family(tiny):
    seen = []

    def backend(gm, example_inputs):
        seen.append((gm, example_inputs))

        def run(a, b):
            values = dict(zip(["a", "b"], [a, b], strict=True))
            by_name = {}
            for node in gm.graph.nodes:
                args = [by_name.get(arg, arg) if type(arg) is type(node) else arg for arg in node.args]
                if node.op == "placeholder":
                    by_name[node] = values.pop(next(iter(values)))
                elif node.op == "output":
                    return [by_name[value] for value in node.args[0]]
                else:
                    by_name[node] = node.target(*args)

        return run

    a, b = two(tiny)
    result = minidynamo.compile(lambda a, b: a * b + a, backend=backend)(a, b)
    assert values(result) == values(a * b + a)
    ((gm, (first, second)),) = seen
    assert first is a and second is b and gm.library == "tiny" and type(gm(a, b)[0]) is type(a)
