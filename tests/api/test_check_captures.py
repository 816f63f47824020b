"""config.check_captures: wrong captures are found, correct ones pass, and each side effect happens once.

The tests inject faults: a backend whose callable returns a wrong result, and guards that are dropped, so that values read in an
earlier call are used in this one.
"""

import collections
import dataclasses
import random
import subprocess
import sys
from pathlib import Path

import pytest
from checked_shares import complaints

import minidynamo
from minidynamo import _C
from minidynamo._dynamo import config
from minidynamo._dynamo.exc import CaptureMismatch, InternalError
from minidynamo._dynamo.utils import counters

pytestmark = pytest.mark.usefixtures("checked")


@pytest.fixture
def no_mismatches():
    """Overrides the fixture of conftest.py: here mismatches are expected."""


@pytest.fixture
def checked():
    with config.patch(check_captures=10):
        minidynamo._dynamo.reset()
        yield


def vector():
    return minidynamo.tensor([1.0, -2.0, 3.0])


def hits():
    counts = _C.check_captures_counts()
    return counts["compared"], counts["uncompared"], counts["mismatches"]


def grown(before):
    return tuple(now - then for now, then in zip(hits(), before, strict=True))


# ---- backends that return wrong results

FAULTS = {
    "value": lambda x, y: (y * 1.001, y),
    "one element": lambda x, y: (y + minidynamo.tensor([0.0, 0.0, 0.01]), y),
    "nan": lambda x, y: (y * float("nan"), y),
    "swapped": lambda x, y: (x * 3, x * 2),
    "aliased results": lambda x, y: (y, y),
    "result is the input": lambda x, y: (x, y),
    "results in one memory": lambda x, y: tuple(minidynamo.stack([x * 2, x * 3]).unbind(0)),
}


def twice_and_thrice(x):
    return x * 2, x * 3


@pytest.mark.parametrize("fault", FAULTS)
def test_a_backend_that_returns_wrong_results(fault):
    def backend(gm, example_inputs):
        return lambda x: FAULTS[fault](x, x * 2)

    with pytest.raises(CaptureMismatch) as found:
        minidynamo.compile(twice_and_thrice, backend=backend)(vector())
    assert isinstance(found.value, InternalError)
    assert "mul" in found.value.graph
    assert found.value.graph in str(found.value)


def test_the_same_backend_without_a_fault():
    def backend(gm, example_inputs):
        return lambda x: (x * 2, x * 3)

    before = hits()
    minidynamo.compile(twice_and_thrice, backend=backend)(vector())
    assert grown(before) == (1, 0, 0)


def test_a_backend_that_writes_to_its_input():
    def backend(gm, example_inputs):
        def run(x):
            results = gm(x)
            x.add_(1)
            return results

        return run

    x = vector()
    with pytest.raises(CaptureMismatch, match="Python"):
        minidynamo.compile(twice_and_thrice, backend=backend)(x)
    assert x.tolist() == [1.0, -2.0, 3.0]


def test_rounding_is_no_fault():
    def backend(gm, example_inputs):
        return lambda x: (x * 2 + 1e-5, x * 3)

    minidynamo.compile(twice_and_thrice, backend=backend)(vector())


# ---- guards that are dropped


class Box:
    def __init__(self, n):
        self.n = n
        self.seen = []


class Slotted:
    __slots__ = ("n",)


@dataclasses.dataclass
class Pair:
    a: object
    b: object


def local_number(x, n):
    k = n + 1
    minidynamo._dynamo.graph_break()
    return x * k


def number_on_the_stack(x, n):
    return minidynamo.add(x, minidynamo.add(x, 1) if bool(minidynamo._dynamo.graph_break()) else n * 2), n * 2


def result_number(x, n):
    return x + 1, n * 2


def result_text(x, n):
    return x + 1, f"{n}!"


def result_type(x, n):
    return x + 1, (1 if n < 3 else 1.0)


def number_of_results(x, n):
    return [x + 1] * n


def nested_results(x, n):
    return {"a": [(x + 1, {n})]}


def operand(x, n):
    return x.sum() if n == 2 else x.sum(0, keepdim=True)


def made_object(x, n):
    return Pair(x + 1, n * 2)


def made_function(x, n):
    k = n * 2

    def inner(y):
        return y * k

    return x + 1, inner


def append_to_list(x, n, out):
    out.append(n * 2)
    return x + 1


def set_in_dict(x, n, out):
    out[0] = {}
    out[0]["k"] = n * 2
    return x + 1


def set_attribute(x, n, out):
    out[0].n = n * 2
    return x + 1


def write_or_not(x, n, out):
    if n == 2:
        out[0].n = 5
    return x + 1


def write_tensor(x, n, out):
    x.add_(n * 2 if n == 2 else n)
    return x * 2


def write_tensor_or_not(x, n, out):
    if n != 2:
        x.add_(1)
    return x * 2


def set_global(x, n):
    global TOTAL
    TOTAL = 4 if n == 2 else 5
    minidynamo._dynamo.graph_break()
    return x + 1


def set_nonlocal(x, n):
    k, m = 0, 4 if n == 2 else 5

    def inner():
        nonlocal k
        k = m

    inner()
    minidynamo._dynamo.graph_break()
    return x + k


def raise_or_not(x, n):
    y = x + 1
    if n != 2:
        raise ValueError("not two")
    return y


def another_break(x, n):
    y = x + 1
    if n == 2:
        minidynamo._dynamo.graph_break()
    else:
        y = y + 1
        minidynamo._dynamo.graph_break()
    return y


def another_number_of_rounds(x, n):
    y = x
    for i in range(n):
        y = y + i
    minidynamo._dynamo.graph_break()
    return y


def handled_exception(x, n):
    try:
        raise ValueError(n * 2)
    except ValueError as error:
        return x + 1, error


def alias_or_copy(x, n):
    y = x + 1
    return (y, y) if n == 2 else (y, y.clone())


def view_or_copy(x, n):
    return x[1:] if n == 2 else x[1:].clone()


def strides(x, n):
    y = x.reshape(3, 1).expand(3, 3) + 0
    return y if n == 2 else y.t()


def dtype(x, n):
    return x.to(minidynamo.float64) if n == 2 else x + 0


def drawn(x, n):
    minidynamo.manual_seed(0)
    return minidynamo.rand(n)[0] + x


def grad_mode(x, n):
    minidynamo.set_grad_enabled(n == 2)
    minidynamo._dynamo.graph_break()
    return x + 1


def inner_break(x, m):
    k = m
    minidynamo._dynamo.graph_break()
    return x * k


def break_inside(x, n):
    return inner_break(x + 1, 4 if n == 2 else 5) + 1


PROGRAMS = {
    function.__name__: function
    for function in (
        local_number, number_on_the_stack, result_number, result_text, result_type, number_of_results, nested_results,
        operand, made_object, made_function, append_to_list, set_in_dict, set_attribute, write_or_not, write_tensor,
        write_tensor_or_not, set_global, set_nonlocal, raise_or_not, another_break, another_number_of_rounds,
        handled_exception, alias_or_copy, view_or_copy, strides, dtype, drawn, grad_mode, break_inside,
    )
}  # fmt: skip


def arguments(function, n):
    extra = ([Box(0), 1],) if function.__code__.co_argcount == 3 else ()
    return vector(), n, *extra


@pytest.fixture
def grad_mode_stays():
    before = minidynamo.is_grad_enabled()
    yield
    minidynamo.set_grad_enabled(before)


@pytest.mark.usefixtures("grad_mode_stays")
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_of_an_earlier_call(name):
    function = PROGRAMS[name]
    unguarded = {"guard_filter_fn": lambda entries: [entry.guard_type == "TENSOR_MATCH" for entry in entries]}
    captured = minidynamo.compile(function, options=unguarded, dynamic=False)
    before = hits()
    captured(*arguments(function, 2))
    compared, uncompared, mismatches = grown(before)
    assert compared > 0
    assert (uncompared, mismatches) == (0, 0)
    with pytest.raises(CaptureMismatch):
        captured(*arguments(function, 3))


@pytest.mark.usefixtures("grad_mode_stays")
@pytest.mark.parametrize("name", PROGRAMS)
def test_guarded_programs(name):
    function = PROGRAMS[name]
    captured = minidynamo.compile(function)
    before = hits()
    for n in (2, 3, 2, 4):
        try:
            captured(*arguments(function, n))
        except ValueError as error:
            assert str(error) == "not two"
    assert grown(before)[2] == 0
    assert grown(before)[0] >= 4


# ---- each side effect once


def test_side_effects_happen_once(capsys):
    def program(x, box):
        print("called", box.n)
        box.n += 1
        box.seen.append(x + box.n)
        x.mul_(2)
        minidynamo._dynamo.graph_break()
        box.n += 10
        print("done")
        return x + box.n

    captured, box, x = minidynamo.compile(program), Box(0), vector()
    for _ in range(3):
        captured(x, box)
    assert box.n == 33
    assert len(box.seen) == 3
    assert x.tolist() == [8.0, -16.0, 24.0]
    assert capsys.readouterr().out == "called 0\ndone\ncalled 11\ndone\ncalled 22\ndone\n"


def test_random_numbers_are_drawn_once():
    def program(x):
        return x + minidynamo.rand(3)

    def draw(function):
        minidynamo.manual_seed(3)
        return [function(vector()).tolist() for _ in range(3)]

    assert draw(minidynamo.compile(program)) == draw(program)


def test_only_the_first_hits():
    captured = minidynamo.compile(twice_and_thrice)
    before = hits()
    with config.patch(check_captures=2):
        for _ in range(5):
            captured(vector())
    assert grown(before) == (2, 0, 0)


def test_nothing_is_checked_without_the_flag():
    before = hits()
    with config.patch(check_captures=0):
        minidynamo.compile(twice_and_thrice)(vector())
    assert grown(before) == (0, 0, 0)


def test_is_compiling_is_true_in_captured_code():
    def program(x):
        return x + (1 if minidynamo.compiler.is_compiling() else 2)

    assert minidynamo.compile(program)(vector()).tolist() == [2.0, -1.0, 4.0]


def test_a_handler_of_the_program_does_not_hide_it():
    def program(x):
        try:
            y = x * 2
            minidynamo._dynamo.graph_break()
        except Exception:
            return None
        return y

    def backend(gm, example_inputs):
        return lambda x: (x * 5,)

    with config.patch(suppress_internal_errors=True), pytest.raises(CaptureMismatch):
        minidynamo.compile(program, backend=backend)(vector())


def test_counters():
    counters.clear()
    minidynamo.compile(twice_and_thrice)(vector())
    assert counters["check_captures"]["compared"] == 1
    assert counters["check_captures"]["mismatches"] == 0


def test_uncompared_hits_are_counted():
    @minidynamo.library.custom_op("check_captures::double", mutates_args=())
    def double(x: minidynamo.Tensor) -> minidynamo.Tensor:
        ran.append(1)
        return x * 2

    @double.register_fake
    def _(x):
        return minidynamo.empty_like(x)

    ran = []
    before = hits()
    minidynamo.compile(lambda x: double(x) + 1)(vector())
    assert grown(before) == (0, 1, 0)
    assert len(ran) == 1


# ---- all kinds of values that a region returns


def give_many(x, n):
    made = collections.OrderedDict(a=x + 1, b=[x, (x,)])
    items = iter([x, x + 1, n])
    next(items)
    counted = collections.defaultdict(list, k=[n])
    queue = collections.deque([x, n], maxlen=3)
    box = Box(n)
    box.itself = box
    slotted = Slotted()
    slotted.n = made

    def inner(y, k=n):
        return y + x + k

    pairs = enumerate(zip([x], [n], strict=False), 3)
    method = box.seen.append
    minidynamo._dynamo.graph_break()
    return made, next(items), counted, queue, box, slotted.n is made, inner(x), next(pairs), method


def test_all_kinds_of_values():
    captured = minidynamo.compile(give_many)
    before = hits()
    for n in (1, 2, 1):
        captured(vector(), n)
    assert grown(before)[1:] == (0, 0)
    assert grown(before)[0] >= 3


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    from random_programs.run import run
    from random_programs.writer import write_program

    before = hits()
    run(write_program(random.Random(50_000 + seed)), "onednn" if seed % 4 == 0 else "eager")
    compared, uncompared, mismatches = grown(before)
    assert mismatches == 0
    assert compared > 0
    assert uncompared <= compared


# ---- the criteria for a whole run


@pytest.mark.parametrize(
    ("compared", "uncompared", "tests", "unchecked", "found"),
    [
        (9_000, 1_000, 5_000, 100, 0),
        (8_999, 1_001, 5_000, 100, 1),
        (9_000, 1_000, 5_000, 101, 1),
        (8_999, 1_001, 5_000, 101, 2),
        (10, 90, 100, 50, 0),  # some files
    ],
)
def test_a_run_that_compares_too_little(compared, uncompared, tests, unchecked, found):
    hits = {"compared": compared, "uncompared": uncompared, "mismatches": 0}
    assert len(complaints(hits, tests, unchecked)) == found


RUN = """
import pytest, minidynamo

@pytest.mark.parametrize("n", range({hits}))
def test_hits(n):
    compiled = minidynamo.compile({function})
    assert compiled(minidynamo.ones(2)).tolist() == [2.0, 2.0]
"""


OPERATOR = """
@minidynamo.library.custom_op("judged::double", mutates_args=())
def double(x: minidynamo.Tensor) -> minidynamo.Tensor:
    return x * 2

double.register_fake(lambda x: minidynamo.empty_like(x))
"""


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(("function", "status"), [("lambda x: x + 1", 0), ("lambda x: double(x)", 1)])
def test_a_run_is_judged(tmp_path, monkeypatch, workers, function, status):
    """With a Python operator no hit is compared; the minimum numbers are lowered for so small a run."""
    here = Path(__file__).parents[1]
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {str(here)!r})\nimport checked_shares\nchecked_shares.LEAST_HITS = 8\n"
        + (here / "conftest.py").read_text()
    )
    text = RUN.format(hits=10, function=function)
    if "double" in function:
        text += OPERATOR
    (tmp_path / "test_hits.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setenv("MINIDYNAMO_CHECK_CAPTURES", "10")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(["-n", str(workers)] if workers else [])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    assert f"{'un' if status else ''}compared: 10 of 10 hits (100.00 %)" in done.stdout
    assert "left out: 0 of 10 tests" in done.stdout
    assert ("more than 10%" in done.stdout) == bool(status)
