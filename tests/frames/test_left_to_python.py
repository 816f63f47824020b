"""Code without work for a graph runs in CPython's evaluator, with the hook taken out; what has work is captured as before.

Shown by the engine's counters, and by whether the hook is in where a program looks.
"""

import gc
import sys
import threading
import traceback
import tracemalloc

import pytest

import minidynamo
from minidynamo import _C
from minidynamo._dynamo import config, error_on_graph_break

pytestmark = pytest.mark.skipif(config.snapshot_stress != 0, reason="regions end where the stress switch says")
hook_is_in = _C._testing.hook_is_in


def counted(function, *args):
    """The result and how much each counter has grown."""
    before = _C.engine_counters()
    result = function(*args)
    after = _C.engine_counters()
    return result, {name: after[name] - before[name] for name in after}


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


class Point:
    def __init__(self, x):
        self.x = x

    def add(self, other):
        return Point(self.x + other.x)


def chain(count):
    point = Point(0)
    for i in range(count):
        point = point.add(Point(i))
    return point.x


def weight(x, scale):
    return x * x / (scale + 1.0)


def float_loop(count):
    total = 0.0
    for i in range(count):
        total += weight(i / count, 2.0)
    return total


def float_loop_at_the_end_of_a_branch(count):
    if count > 10:
        total = 1.0
        while count > 0:
            total = total * 1.0001 + 1.0 / count
            count -= 1
        return total
    return 0.0


def squares(count):
    for i in range(count):
        yield i * i


def sums_a_generator(count):
    return sum(squares(count)) + sum(i for i in squares(count))


def counts_words(count):
    found = {}
    for i in range(count):
        word = f"w{i % 97}"
        found[word] = found.get(word, 0) + 1
    return sorted(found.items())


def nested_loops(count):
    total = 0
    for i in range(count // 100):
        for j in range(100):
            total += i ^ j
    return total


def methods_in_a_sort(count):
    return sorted(range(count), key=lambda i: -i)[:3]


PLAIN = {
    fibonacci: 17,
    chain: 5000,
    float_loop: 5000,
    float_loop_at_the_end_of_a_branch: 5000,
    sums_a_generator: 3000,
    counts_words: 5000,
    nested_loops: 5000,
}


@pytest.mark.parametrize("function", PLAIN, ids=lambda function: function.__name__)
def test_plain_code_is_left(function):
    argument = PLAIN[function]
    compiled = minidynamo.compile(function)
    expected = function(argument)
    for _ in range(3):
        assert compiled(argument) == expected
    result, grown = counted(compiled, argument)
    assert result == expected
    done_by_us = ("captures_begun", "frames_driven", "concrete_instructions", "translated_instructions", "regions_run")
    assert {name: grown[name] for name in done_by_us} == dict.fromkeys(done_by_us, 0)


@pytest.mark.parametrize("function", PLAIN, ids=lambda function: function.__name__)
def test_little_is_traced_before_it_is_left(function):
    compiled = minidynamo.compile(function)
    traced = 0
    for _ in range(4):
        _, grown = counted(compiled, PLAIN[function])
        traced += grown["captures_begun"]
    assert traced < 60


def looks_for_the_hook(found, depth):
    found.append(hook_is_in())
    if depth > 0:
        looks_for_the_hook(found, depth - 1)
    return found


def calls_many(found, count):
    for i in range(count):
        weight(i, 2.0)
    looks_for_the_hook(found, 3)


def test_hook_is_taken_out_for_code_whose_callees_are_left():
    compiled = minidynamo.compile(calls_many)
    for _ in range(4):
        found = []
        compiled(found, 4000)
    assert found == [False] * 4
    assert not hook_is_in()


@minidynamo.compiler.disable
def disabled(found):
    return looks_for_the_hook(found, 3)


def calls_disabled(x, found):
    y = x + 1
    disabled(found)
    return y * 2


def test_hook_is_taken_out_below_disable():
    compiled = minidynamo.compile(calls_disabled)
    found = []
    for _ in range(2):
        found.clear()
        assert compiled(minidynamo.ones(2), found).tolist() == [4.0, 4.0]
    assert found[1:] == [False] * 3


def write_module(folder, name):
    folder.joinpath(f"{name}.py").write_text(
        "import minidynamo\n"
        "from minidynamo import _C\n"
        "def make(x):\n"
        "    return x * 2 + 1\n"
        "def look():\n"
        "    return _C._testing.hook_is_in()\n"
        "weights = [make(minidynamo.ones(2)) for _ in range(3)]\n"
        "hook = look()\n"
    )


def imports(x, name):
    y = x + 1
    module = __import__(name)
    return y + module.weights[0], module.hook


def imports_by_statement(x, name):
    y = x + 1
    import left_to_python_2 as module

    return y + module.weights[0], module.hook


@pytest.mark.parametrize("function", (imports, imports_by_statement), ids=lambda function: function.__name__)
def test_module_bodies_are_not_captured(function, tmp_path, monkeypatch):
    name = "left_to_python_1" if function is imports else "left_to_python_2"
    write_module(tmp_path, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    (value, hook), grown = counted(minidynamo.compile(function), minidynamo.ones(2), name)
    del sys.modules[name]
    assert value.tolist() == [5.0, 5.0]
    assert not hook
    assert grown["graphs_captured"] == 2  # before the import and behind it


def work_behind_a_loop(x, count):
    total = 0.0
    for i in range(count):
        total += i / (i + 1.0)
    return x * total


def work_behind_nested_loops(x, count):
    total = 0.0
    for i in range(count // 50):
        for j in range(50):
            total += i / (j + 1.0)
    return (x * total).sum()


def work_behind_recursion(x, count):
    number = fibonacci(15) + fibonacci(14)
    return x * number + count


def work_behind_calls(x, count):
    point = Point(0)
    for i in range(count):
        point = point.add(Point(i))
    return x * point.x


def work_behind_a_handler(x, count):
    failures = 0
    for i in range(count):
        try:
            1 / (i % 3)
        except ZeroDivisionError:
            failures += 1
    return x * failures


def work_in_an_outer_loop(x, count):
    for i in range(3):
        total = 0
        for j in range(count):
            total += i ^ j
        x = x + total
    return x


def work_before_and_behind(x, count):
    y = x + 1
    total = 0
    for i in range(count * 3):
        total += i % 7
    return y * total


WORK_BEHIND = {
    work_behind_a_loop: 1,
    work_behind_nested_loops: 1,
    work_behind_recursion: 1,
    work_behind_calls: 1,
    work_behind_a_handler: 1,
    work_in_an_outer_loop: 3,
    work_before_and_behind: 2,
}


@pytest.mark.parametrize("function", WORK_BEHIND, ids=lambda function: function.__name__)
def test_work_behind_is_captured(function):
    compiled = minidynamo.compile(function)
    expected = function(minidynamo.ones(3), 6000).tolist()
    for call in range(4):
        result, grown = counted(compiled, minidynamo.ones(3), 6000)
        assert result.tolist() == expected
        if call == 0:
            assert grown["graphs_captured"] >= 1
            assert grown["graph_breaks"] == 0
    assert grown["captures_begun"] == 0
    assert grown["stretches_driven"] >= 1
    assert grown["regions_run"] >= WORK_BEHIND[function]


def leaves_by_break(x, count):
    total = 0
    for i in range(count * 9):
        total += i % 7
        if i == count:
            break
    else:
        total = -1
    return x * total


def returns_inside(x, count):
    for i in range(count * 9):
        for j in (i, -i):
            if j == count:
                return x * j
    return x


def in_a_with_block(x, count):
    total = 0
    with minidynamo.no_grad():
        for i in range(count):
            total += i % 7
    return x * total


def in_a_try_block(x, count):
    total = 0
    try:
        for i in range(count):
            total += 60 // (count - 2 - i)
    except ZeroDivisionError as error:
        total += error.__traceback__.tb_lineno - in_a_try_block.__code__.co_firstlineno
    finally:
        total += 1
    return x * total


def in_a_handler(x, count):
    try:
        int("no number")
    except ValueError:
        for i in range(count):
            total = i % 7
        return x * total + len(repr(sys.exc_info()[1]))


class Failing:
    def __init__(self, count, error):
        self.count, self.error = count, error

    def __iter__(self):
        return self

    def __next__(self):
        self.count -= 1
        if self.count == 0:
            raise self.error("at the end")
        return self.count


def over_an_object(x, count):
    total = 0
    for i in Failing(count, StopIteration):
        total += i % 7
    try:
        for i in Failing(count, LookupError):
            total += i % 5
    except LookupError:
        total += 1
    return x * total


def with_generators(x, count):
    total = 0
    for i, j in zip(squares(count), (k % 7 for k in range(count))):
        total += i % 5 + j
    return x * total


def recursive(x, count, depth=2):
    total = 0
    for i in range(count):
        total += i % 7
        if depth and i == count - 1:
            x = recursive(x, count, depth - 1) + 1
    return x * total


def suspended_in_the_loop(x, count):
    def parts():
        total = 0
        for i in range(count):
            total += i % 7
            if i % 1000 == 0:
                yield total

    return x * sum(parts())


LENT = {
    work_behind_a_loop: 1,
    work_behind_nested_loops: 1,
    work_behind_a_handler: 1,
    work_in_an_outer_loop: 3,
    leaves_by_break: 1,
    returns_inside: 0,  # what it returns is computed in the loop
    in_a_with_block: 1,
    in_a_try_block: 1,
    in_a_handler: 1,
    over_an_object: 2,
    with_generators: 1,
    recursive: 0,
    suspended_in_the_loop: 0,
}


@pytest.mark.parametrize("function", LENT, ids=lambda function: function.__name__)
def test_loops_are_lent(function):
    compiled = minidynamo.compile(function)
    expected = function(minidynamo.ones(3), 6000).tolist()
    for _ in range(4):
        result, grown = counted(compiled, minidynamo.ones(3), 6000)
        assert result.tolist() == expected
    if LENT[function]:
        assert (grown["loops_lent"], grown["captures_begun"]) == (LENT[function], 0)
        assert grown["regions_run"] >= 1
        assert grown["concrete_instructions"] < 1000


NUMBERS = [
    0,
    1,
    -1,
    7,
    -7,
    2**30,
    -(2**53),
    2**53 + 1,
    2**64,
    0.0,
    -0.0,
    0.5,
    -7.0,
    1e308,
    float("inf"),
    float("nan"),
    True,
]


def calculates(x, pairs, same):
    found, at = [], 0
    while at < len(pairs):
        a, b = pairs[at]
        found += [a + b, a - b, a * b, a < b, a <= b, a == b, a != b, a > b, a >= b, a is b, a is not same]
        if b:
            found += [a / b, a // b, a % b]
        c = a + b
        c += 1
        c = c * 2 - c
        found.append(c)
        if type(a) is not float and type(b) is not float:
            found += [a & b, a | b, a ^ b]
        at += 1
    return x + 1, found


def test_calculations_in_a_stretch():
    pairs = [(a, b) for a in NUMBERS for b in NUMBERS] * 12
    compiled = minidynamo.compile(calculates)
    _, expected = calculates(minidynamo.ones(2), pairs, pairs[0][0])
    for _ in range(3):
        (result, found), grown = counted(compiled, minidynamo.ones(2), pairs, pairs[0][0])
        assert list(map(repr, found)) == list(map(repr, expected))
        assert result.tolist() == [2.0, 2.0]
    assert grown["concrete_instructions"] > 10_000


def sometimes_works(x, count, works):
    total = 0
    for i in range(count):
        total += i % 7
    if works:
        return x * total
    return total


def test_work_that_comes_later_is_captured():
    compiled = minidynamo.compile(sometimes_works)
    x = minidynamo.ones(2)
    for _ in range(3):
        assert compiled(x, 5000, False) == sometimes_works(x, 5000, False)
    expected = sometimes_works(x, 5000, True).tolist()
    runs = [counted(compiled, x, 5000, True) for _ in range(3)]
    assert [result.tolist() for result, _ in runs] == [expected] * 3
    assert runs[2][1]["regions_run"] >= 1


def doubles(x):
    return x * 2


def calls_without_work_then_with(x, count, times):
    for i in range(count):
        weight(i, 2.0)
    for _ in range(times):
        x = list(map(doubles, [x]))[0]
    return x


def test_a_callee_with_work_brings_the_hook_back():
    compiled = minidynamo.compile(calls_without_work_then_with)
    for _ in range(3):
        compiled(minidynamo.ones(2), 4000, 0)
    result, grown = counted(compiled, minidynamo.ones(2), 4000, 5)
    assert result.tolist() == [32.0, 32.0]
    assert grown["graphs_captured"] == 1
    _, again = counted(compiled, minidynamo.ones(2), 10, 5)
    assert again["regions_run"] >= 1
    assert again["captures_begun"] <= 2


inner = minidynamo.compile(lambda x: x * 3 + 1)


def calls_compiled(x, count):
    for i in range(count):
        weight(i, 2.0)
    return inner(x)


def test_compiled_functions_below_left_code():
    compiled = minidynamo.compile(calls_compiled)
    for _ in range(4):
        assert compiled(minidynamo.ones(2), 4000).tolist() == [4.0, 4.0]


def breaks(x, found):
    y = x + 1
    minidynamo._dynamo.graph_break()
    found.append(hook_is_in())
    return list(map(doubles, [y]))[0]


def test_threads_do_not_take_the_hook_from_each_other():
    compiled_plain, compiled_break = minidynamo.compile(calls_many), minidynamo.compile(breaks)
    for _ in range(4):
        compiled_plain([], 4000)
    compiled_break(minidynamo.ones(2), [])
    inside, finish = threading.Event(), threading.Event()

    def waits(found, count):
        for i in range(count):
            weight(i, 2.0)
        inside.set()
        finish.wait()
        looks_for_the_hook(found, 1)

    compiled_waiting = minidynamo.compile(waits)
    finish.set()
    for _ in range(3):
        compiled_waiting([], 4000)
    finish.clear()
    inside.clear()
    seen = []
    thread = threading.Thread(target=compiled_waiting, args=(seen, 4000))
    thread.start()
    inside.wait()
    found = []
    result, grown = counted(compiled_break, minidynamo.ones(2), found)
    finish.set()
    thread.join()
    assert result.tolist() == [4.0, 4.0]
    assert found == [True]
    assert grown["regions_run"] >= 2
    assert seen == [False] * 2


def fails_in_a_stretch(x, count):
    total = 0
    for i in range(count):
        total += 1 // (count - 1 - i)
    return x * total


def fails_in_left_code(count):
    for i in range(count):
        weight(i, i - count + 1.0 if i < count - 1 else -1.0)


def raised(function, *args):
    try:
        function(*args)
    except Exception as error:
        return type(error), str(error), [entry[1:3] for entry in traceback.extract_tb(error.__traceback__)[-2:]]
    return None


@pytest.mark.parametrize("function", (fails_in_a_stretch, fails_in_left_code), ids=lambda function: function.__name__)
def test_exceptions(function):
    arguments = (minidynamo.ones(2), 6000) if function is fails_in_a_stretch else (6000,)
    compiled = minidynamo.compile(function)
    expected = raised(function, *arguments)
    assert expected is not None
    for _ in range(4):
        assert raised(compiled, *arguments)[:2] == expected[:2]
        assert raised(compiled, *arguments)[2][-1] == expected[2][-1]


@pytest.mark.parametrize("strict", ("fullgraph", "error_on_graph_break"))
def test_no_budget_where_breaks_are_errors(strict):
    compiled = minidynamo.compile(work_behind_a_loop, fullgraph=strict == "fullgraph")
    x = minidynamo.ones(2)
    with error_on_graph_break(strict != "fullgraph"):
        result, grown = counted(compiled, x, 2500)
    assert result.tolist() == work_behind_a_loop(x, 2500).tolist()
    assert (grown["regions_captured"], grown["workless_traces"]) == (1, 0)


def traces_itself(x, count, events):
    total = 0
    for i in range(count):
        total += i % 5
        if i == count - 3:
            sys.settrace(lambda frame, event, argument: events.append((frame.f_code.co_name, event)))
            sys._getframe().f_trace = lambda frame, event, argument: events.append((frame.f_lineno, event))
    sys.settrace(None)
    return x * total


def test_a_tracer_that_starts_in_a_stretch():
    compiled = minidynamo.compile(traces_itself)
    expected = []
    traces_itself(minidynamo.ones(2), 6000, expected)
    for _ in range(3):
        events = []
        compiled(minidynamo.ones(2), 6000, events)
        assert events == expected


def test_reset_forgets():
    compiled = minidynamo.compile(calls_many)
    for _ in range(4):
        compiled([], 4000)
    minidynamo._dynamo.reset()
    found = []
    compiled(found, 10)
    assert found[0]


def temporaries_behind_a_loop(x, y, count):
    total = 0
    for i in range(count):
        total += i % 7
    z = ((y * 2 + 1) * 3 - 1) * 5 + 2 if total else y
    del y
    return x * total, z


def peak_of(function, *args):
    gc.collect()
    tracemalloc.start()
    try:
        result = function(*args)
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_of_temporaries_is_reused():
    numpy = pytest.importorskip("numpy")
    y = numpy.linspace(0, 1, 200_000)
    compiled = minidynamo.compile(temporaries_behind_a_loop)
    for _ in range(3):
        compiled(minidynamo.ones(2), y, 5000)
    (_, expected), plain = peak_of(temporaries_behind_a_loop, minidynamo.ones(2), y, 5000)
    (_, result), peak = peak_of(compiled, minidynamo.ones(2), y, 5000)
    assert (result == expected).all()
    assert peak < plain + 100_000


def test_why_names_the_lines_that_are_left():
    compiled = minidynamo.compile(work_behind_a_loop)
    compiled(minidynamo.ones(3), 6000)
    first = work_behind_a_loop.__code__.co_firstlineno
    text = minidynamo._dynamo.why(compiled)
    assert f"is captured but for lines {first} to {first + 3}, left to Python: 1 operation" in text


def breaks_without_work(x, works):
    numbers = []
    for i in range(3):
        minidynamo._dynamo.graph_break()
        numbers.append(i)
    if works:
        x = x + 1
    minidynamo._dynamo.graph_break()
    return x, sum(numbers)


def test_frames_without_a_plan_are_left():
    compiled = minidynamo.compile(breaks_without_work)
    x = minidynamo.ones(2)
    for _ in range(30):
        assert compiled(x, False) == (x, 3)
    _, grown = counted(compiled, x, False)
    assert (grown["frames_driven"], grown["captures_begun"]) == (0, 0)


def test_frames_with_a_plan_are_not_left():
    compiled = minidynamo.compile(breaks_without_work)
    for _ in range(40):
        result, grown = counted(compiled, minidynamo.ones(2), True)
        assert result[0].tolist() == [2.0, 2.0]
    assert grown["frames_driven"] == 1
    assert grown["captures_begun"] == 0


def test_work_after_frames_without_a_plan():
    compiled = minidynamo.compile(breaks_without_work)
    x = minidynamo.ones(2)
    for _ in range(30):
        compiled(x, False)
    runs = [counted(compiled, x, True) for _ in range(3)]
    assert all(result[0].tolist() == [2.0, 2.0] for result, _ in runs)
    assert runs[2][1]["frames_driven"] == 1


def array_expression(y):
    return ((y * 2 + 1) * 3 - 1) * 5 + 2


def test_arrays_of_another_library_are_left():
    numpy = pytest.importorskip("numpy")
    y = numpy.linspace(0, 1, 200_000)
    compiled = minidynamo.compile(array_expression)
    for _ in range(30):
        compiled(y)
    (expected, plain), (result, peak) = peak_of(array_expression, y), peak_of(compiled, y)
    assert (result == expected).all()
    assert peak < plain + 100_000
    _, grown = counted(compiled, y)
    assert grown["frames_driven"] == 0
