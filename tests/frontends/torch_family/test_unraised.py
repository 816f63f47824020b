"""Where a capture ends because Python raises, and Python does not: a break (MD0071), known once the instruction has been executed."""

import pytest

import minidynamo
from minidynamo import _C
from minidynamo._dynamo import error_on_graph_break
from minidynamo._dynamo.exc import Unsupported

torch = pytest.importorskip("torch")
from minidynamo._families import torch as family  # noqa: E402

pytestmark = [pytest.mark.counts_regions, pytest.mark.usefixtures("without_gradients")]


def doubled(x):
    return x * 2


def tripled(x):
    return x * 3


def other_sizes(x):
    """A fault: another exception than the decline of a stand-in, that only the interpreter would know."""
    return minidynamo.ones(2, 3) @ minidynamo.ones(2, 3)


def other_sizes_below(x):
    return max([x], key=other_sizes)


@pytest.fixture(scope="module", autouse=True)
def faulty_stand_ins():
    family._add(doubled, "doubled", "StandIn", other_sizes)
    family._add(tripled, "tripled", "StandIn", other_sizes_below)


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


class Mixed:
    def __init__(self, x):
        self.x = x

    @property
    def failing(self):
        torch.ones(2, 3) @ self.x[:0].expand(5, 0)
        return 1

    @property
    def absent(self):
        return self.x.no_such_attribute

    def __len__(self):
        return 3


def refused(x):
    try:
        return torch.ones(2, 3) @ torch.ones(2, 3)
    except RuntimeError:
        return x + 1


def called(x):
    y = x + 1
    return doubled(y) + 1


def called_below_another(x):
    y = x - 1
    return tripled(y).exp()


def called_in_a_try(x):
    try:
        y = doubled(x.sin())
    except Exception:
        y = x
    finally:
        x = x + 1
    return x, y


def called_in_a_function(x):
    return called(x.cos()) + 1


def called_as_an_argument(x):
    return x.add(doubled(x), alpha=2).relu()


def called_first_of_all(x):
    return doubled(x)


def called_in_a_loop(x):
    for _ in range(3):
        x = doubled(x) + 1
    return x


def called_by_sorted(x):
    return sorted([x + 2, x], key=lambda each: float(doubled(each).shape[0]))[0] * 2


def called_by_a_generator(x):
    return sum(doubled(each) for each in (x, x + 1))


BREAKS = [
    called,
    called_below_another,
    called_in_a_try,
    called_in_a_function,
    called_as_an_argument,
    called_first_of_all,
    called_in_a_loop,
    called_by_a_generator,
]


def raised(x):
    y = x + 1
    return y @ torch.ones(7, 7)


def raised_and_caught(x):
    try:
        y = (x + 1) @ torch.ones(7, 7)
    except RuntimeError:
        y = x * 2
    return y + 1


def raised_and_caught_below(x):
    return refused(x) + 1


def caught_below_a_key(x):
    return sorted([x + 2, x], key=lambda each: refused(each).shape[0])[0] * 2


def caught_by_getattr(x):
    return x + getattr(Mixed(x), "absent", 2)


def caught_by_hasattr(x):
    return x + 1 if hasattr(Mixed(x), "absent") else x - 1


def caught_by_a_generator(x):
    def parts():
        for size in (3, 4):
            try:
                yield x @ torch.ones(size)
            except RuntimeError:
                yield x.sum()

    return sum(parts())


def raised_in_a_property(x):
    return getattr(Mixed(x), "failing", 2)


def raised_again(x):
    try:
        try:
            y = x @ torch.ones(7, 7)
        except RuntimeError as error:
            raise ValueError("sizes") from error
    except ValueError:
        x = x * 2
    return x + 1


def ended_by_next(x):
    numbers = iter([1, 2])
    try:
        while True:
            x = x + next(numbers)
    except StopIteration:
        return x * 2


NONE = [
    raised,
    raised_and_caught,
    raised_and_caught_below,
    caught_below_a_key,
    caught_by_getattr,
    caught_by_hasattr,
    caught_by_a_generator,
    raised_in_a_property,
    raised_again,
    ended_by_next,
]


def arguments():
    return torch.arange(3.0)


def outcome(function):
    try:
        return function(arguments()), None
    except Exception as error:
        return None, (type(error), str(error))


def same(ours, theirs):
    torch.testing.assert_close(ours[0], theirs[0], rtol=1e-6, atol=1e-7)
    assert ours[1] == theirs[1]


def breaks_of(function):
    return [found["id"] for found in _C.record_breaks(function)]


@pytest.mark.parametrize("function", BREAKS, ids=lambda function: function.__name__)
def test_recorded_once(function):
    compiled, outcomes = minidynamo.compile(function), []
    first, second = (breaks_of(lambda: outcomes.append(outcome(compiled))) for _ in range(2))
    for each in outcomes:
        same(each, outcome(function))
    assert set(first) == {"MD0071"}
    assert second == []


@pytest.mark.parametrize("function", BREAKS, ids=lambda function: function.__name__)
def test_an_error_where_breaks_are(function):
    for options in ({"fullgraph": True}, {}):
        if not options and function is called_in_a_try:
            continue  # its handler takes the error
        compiled = minidynamo.compile(function, **options)
        for _ in range(2):
            with error_on_graph_break(True), pytest.raises(Unsupported) as caught:
                compiled(arguments())
            assert caught.value.gb_id == "MD0071"
        minidynamo._dynamo.reset()


def test_an_error_that_the_program_handles():
    def handles(x):
        try:
            return doubled(x + 1)
        except Unsupported:
            return x

    with error_on_graph_break(True):
        assert torch.equal(minidynamo.compile(handles)(arguments()), arguments())
        with pytest.raises(Unsupported):
            minidynamo.compile(handles, fullgraph=True)(arguments())


@pytest.mark.parametrize("function", NONE, ids=lambda function: function.__name__)
def test_what_is_raised_is_no_break(function):
    expected = outcome(function)
    for compiled in (minidynamo.compile(function), minidynamo.compile(function, fullgraph=True)):
        for _ in range(2):
            assert breaks_of(lambda compiled=compiled: same(outcome(compiled), expected)) == []


def test_where_it_is_and_why():
    (found,) = _C.record_breaks(lambda: minidynamo.compile(called)(arguments()))
    assert "matmul" in found["text"]
    functions = [frame[2] for frame in found["user_stack"]]
    assert functions[0] == "called"
    assert functions[-1] == "other_sizes"
    assert minidynamo._dynamo.explain(called)(arguments()).graph_break_count == 1
