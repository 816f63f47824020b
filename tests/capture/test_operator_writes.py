"""Custom operators that write to their arguments: captured, with the results of eager Python, aliases and failures
included."""

import traceback

import pytest

import minidynamo
from minidynamo import Tensor, library
from minidynamo._dynamo.exc import Unsupported
from minidynamo._dynamo.testing import CompileCounterWithBackend

STRESSED = minidynamo._dynamo.config.snapshot_stress != 0


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


@library.custom_op("writes::add_", mutates_args={"x"})
def add_(x: Tensor, n: float) -> None:
    x.add_(n)


@library.custom_op("writes::take", mutates_args=("x",))
def take(x: Tensor) -> Tensor:
    """Zeroes x and returns its previous value."""
    old = x.clone()
    x.zero_()
    return old


take.register_fake(lambda x: x.new_empty(x.size()))


@library.custom_op("writes::swap", mutates_args=("a", "b"))
def swap(a: Tensor, b: Tensor) -> None:
    old = a.clone()
    a.copy_(b)
    b.copy_(old)


@library.custom_op("writes::add_all", mutates_args=("xs",))
def add_all(xs: list[Tensor], y: Tensor) -> None:
    for x in xs:
        x.add_(y)


@library.custom_op("writes::fail", mutates_args=("x",))
def fail(x: Tensor) -> None:
    x.add_(100)
    raise ValueError("no")


@library.custom_op("writes::pure", mutates_args=())
def pure(x: Tensor, fails: bool = False) -> Tensor:
    if fails:
        raise ValueError("no")
    return x * 10


pure.register_fake(lambda x, fails=False: x.new_empty(x.size()))


def tensors(*shapes):
    return [
        minidynamo.arange(1, 13, dtype=minidynamo.float32)[: shape[0] * shape[-1]].reshape(shape).clone()
        for shape in shapes
    ]


def one(x):
    add_(x, 1.0)
    return x * 2


def read_before_and_after(x):
    before = x + 1
    add_(x, 10.0)
    after = x + 1
    return before, after, x


def twice_in_a_row(x):
    add_(x, 1.0)
    y = x * 2
    add_(x, 2.0)
    return y, x + y


def an_intermediate(x):
    y = x + 1
    z = y * 1
    add_(y, 5.0)
    return y, z, y + z


def through_a_view(x):
    row = x[1]
    add_(row, 5.0)
    return x + 0, row + 0, x.t() + 0


def into_the_base_of_a_view(x):
    row = x[0]
    other = x.t()
    add_(x, 3.0)
    return row, other, row + 1


def a_result_too(x):
    old = take(x)
    return old, x, old + x


def two_at_once(a, b):
    swap(a, b)
    return a - b


def the_same_twice(a):
    swap(a, a)
    return a + 1


def lists(a, b):
    add_all([a, b], a + b)
    return a, b


def between_plain_writes(x):
    x.mul_(2)
    add_(x, 1.0)
    x.mul_(3)
    return x + 1


def in_a_loop(x):
    for n in range(3):
        add_(x, float(n))
        x = x + 1
        add_(x, 1.0)
    return x


def after_a_pure_one(x):
    y = pure(x)
    add_(x, 1.0)
    return pure(x) + y


def nothing_is_returned(x):
    add_(x, 1.0)


def inlined(x):
    def inner(y):
        add_(y, 2.0)
        return y

    return inner(x) + inner(x + 1)


PROGRAMS = [
    (one, [(4, 1)]),
    (read_before_and_after, [(3, 1)]),
    (twice_in_a_row, [(2, 3)]),
    (an_intermediate, [(2, 3)]),
    (through_a_view, [(2, 3)]),
    (into_the_base_of_a_view, [(2, 3)]),
    (a_result_too, [(2, 2)]),
    (two_at_once, [(2, 2), (2, 2)]),
    (the_same_twice, [(2, 2)]),
    (lists, [(2, 2), (2, 2)]),
    (between_plain_writes, [(2, 2)]),
    (in_a_loop, [(2, 2)]),
    (after_a_pure_one, [(2, 2)]),
    (nothing_is_returned, [(2, 2)]),
    (inlined, [(2, 2)]),
]


def flat(value):
    if isinstance(value, Tensor):
        return value.tolist()
    return [flat(item) for item in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("backend", ["onednn", "eager"])
@pytest.mark.parametrize(("function", "shapes"), PROGRAMS, ids=lambda value: getattr(value, "__name__", None))
def test_captured_as_one_graph(function, shapes, backend):
    counter = CompileCounterWithBackend(backend)
    # Views that regions share would be inputs that share memory.
    compiled = minidynamo.compile(function, backend=counter, fullgraph=not STRESSED)
    for _ in range(2):
        args, expected_args = tensors(*shapes), tensors(*shapes)
        expected = function(*expected_args)
        result = compiled(*args)
        assert flat(result) == flat(expected)
        assert flat(args) == flat(expected_args)
        assert [arg._version > 0 for arg in args] == [arg._version > 0 for arg in expected_args]
    if not STRESSED:
        assert counter.frame_count == 1


@pytest.mark.parametrize(("function", "shapes"), PROGRAMS, ids=lambda value: getattr(value, "__name__", None))
def test_identity_of_the_result(function, shapes):
    args, expected_args = tensors(*shapes), tensors(*shapes)
    expected, result = function(*expected_args), minidynamo.compile(function)(*args)
    if isinstance(expected, tuple):
        for number, each in enumerate(expected):
            for place, arg in enumerate(expected_args):
                assert (result[number] is args[place]) == (each is arg)
                assert minidynamo._C._shares_storage(result[number], args[place]) == minidynamo._C._shares_storage(
                    each, arg
                )


def test_inputs_that_turn_out_to_share_memory():
    def function(a, b):
        add_(a, 1.0)
        return a + b

    compiled = minidynamo.compile(function)
    for make in (lambda: tensors((2, 2), (2, 2)), lambda: (lambda x: [x, x])(*tensors((2, 2))), overlapping):
        args, expected_args = make(), make()
        expected = function(*expected_args)
        assert flat(compiled(*args)) == flat(expected)
        assert flat(args) == flat(expected_args)


def overlapping():
    (x,) = tensors((3, 2))
    return [x[:2], x[1:]]


@pytest.mark.skipif(STRESSED, reason="regions end where the stress switch says")
def test_two_views_of_one_tensor_break():
    def function(x):
        swap(x[0], x[1])
        return x + 1

    (x,), (y,) = tensors((2, 3)), tensors((2, 3))
    report = minidynamo._dynamo.explain(function)(x)
    assert [reason.gb_id for reason in report.break_reasons] == ["MD0026"]
    assert "another view" in report.break_reasons[0].reason
    function(y)
    assert flat(x) == flat(y)
    with pytest.raises(Unsupported, match="another view"):
        minidynamo.compile(function, fullgraph=True)(x)


@pytest.mark.counts_regions
def test_a_tensor_that_requires_grad_is_left_to_python():
    for function in (one, minidynamo.compile(one)):
        with pytest.raises(RuntimeError, match="requires grad"):
            function(minidynamo.ones(2, requires_grad=True))
    with pytest.raises(Unsupported, match="requires grad"):
        minidynamo.compile(one, fullgraph=True)(minidynamo.ones(2, requires_grad=True))


@pytest.mark.parametrize("mode", ["default", "fullgraph"])
def test_writes_of_an_operator_before_it_failed(mode):
    def function(x):
        fail(x)

    def caught(x):
        y = x * 2
        try:
            fail(x)
        except ValueError:
            return x + y

    for each in (function, caught):
        (x,), (y,) = tensors((2, 2)), tensors((2, 2))
        for call, argument in ((minidynamo.compile(each, fullgraph=mode == "fullgraph"), x), (each, y)):
            try:
                call(argument)
            except ValueError:
                pass
        assert flat(x) == flat(y)


@pytest.mark.parametrize("mode", ["default", "fullgraph"])
def test_writes_before_an_operator_that_failed(mode):
    def function(x, y):
        x.add_(1)
        add_(y, 2.0)
        x.mul_(2)
        pure(x + y, True)
        add_(x, 50.0)

    args, expected_args = tensors((2, 2), (2, 2)), tensors((2, 2), (2, 2))
    with pytest.raises(ValueError, match="no"):
        function(*expected_args)
    with pytest.raises(ValueError, match="no"):
        minidynamo.compile(function, fullgraph=mode == "fullgraph")(*args)
    assert flat(args) == flat(expected_args)


def later_index(x, i):
    add_(x, 1.0)
    y = x * 2
    x.add_(1)
    return y.index_select(0, i)


def later_index_caught(x, i):
    add_(x, 1.0)
    y = x * 2
    try:
        return x.index_select(0, i)
    except IndexError:
        return y


def later_division(x, i):
    n = pure(i)
    x.add_(1)
    return n // (i - 9)


def later_index_by_list(x, i):
    add_(x, 1.0)
    y = pure(x)
    return y[i]


@pytest.mark.parametrize("function", [later_index, later_index_caught, later_division, later_index_by_list])
def test_a_later_step_that_fails(function):
    good, bad = minidynamo.tensor([0]), minidynamo.tensor([9])
    compiled = minidynamo.compile(function)
    for index in (good, bad, good, bad):
        (x,), (y,) = tensors((2, 2)), tensors((2, 2))
        assert outcome(compiled, x, index) == outcome(function, y, index)
        assert flat(x) == flat(y)


def outcome(function, *args):
    try:
        return flat(function(*args))
    except (IndexError, RuntimeError) as error:
        places = [(entry.name, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)]
        return type(error), str(error), [place for place in places if place[0].startswith("later")]


@pytest.mark.skipif(STRESSED, reason="regions end where the stress switch says")
def test_a_later_step_that_fails_under_fullgraph():
    def function(x, i):
        add_(x, 1.0)
        return x.index_select(0, i)

    compiled = minidynamo.compile(function, fullgraph=True)
    (x,), (y,) = tensors((2, 2)), tensors((2, 2))
    assert compiled(x, minidynamo.tensor([0])).tolist() == function(y, minidynamo.tensor([0])).tolist()
    for call in (lambda: compiled(x, minidynamo.tensor([9])), lambda: function(y, minidynamo.tensor([9]))):
        with pytest.raises(IndexError):
            call()
    assert flat(x) == flat(y)
    for refused in (later_index, later_index_caught):
        with pytest.raises(Unsupported, match="after a custom operator"):
            minidynamo.compile(refused, fullgraph=True)(x, minidynamo.tensor([0]))


def test_written_views_are_committed_too():
    def function(x):
        add_(x[1], 1.0)
        return pure(x, True)

    (x,), (y,) = tensors((2, 2)), tensors((2, 2))
    for call in (lambda: minidynamo.compile(function)(x), lambda: function(y)):
        with pytest.raises(ValueError):
            call()
    assert flat(x) == flat(y)


@pytest.mark.counts_regions
def test_an_operator_without_results_needs_no_fake_one_with_results_does():
    assert add_._fake is None

    @library.custom_op("writes::needs", mutates_args=("x",))
    def needs(x: Tensor) -> Tensor:
        return x.add_(1).clone()

    report = minidynamo._dynamo.explain(lambda x: needs(x) + 1)(minidynamo.ones(2))
    assert [reason.gb_id for reason in report.break_reasons] == ["MD0027"]


def test_the_weights_that_an_operator_writes_are_not_used_as_they_were():
    weights = minidynamo.ones(3, 3)

    def function(x):
        return x @ weights

    compiled = minidynamo.compile(function)
    x = minidynamo.ones(2, 3)
    assert compiled(x).tolist() == [[3.0] * 3] * 2
    add_(weights, 1.0)
    assert compiled(x).tolist() == [[6.0] * 3] * 2
    before = weights._version
    library.custom_op("writes::quiet", lambda x: None, mutates_args=("x",), schema="(Tensor(a!) x) -> ()")(weights)
    assert weights._version > before


def test_nonstrict_trace_with_an_operator_that_writes():
    def inner(x):
        y = x * 2
        add_(y, 1.0)
        return y + 1

    traced = minidynamo._dynamo.nonstrict_trace(inner)
    compiled = minidynamo.compile(lambda x: traced(x) * 2, fullgraph=True)
    assert compiled(minidynamo.ones(2)).tolist() == [8.0, 8.0]

    def broken(x):
        add_(x, 1.0)
        raise ValueError("no")

    nonstrict = minidynamo._dynamo.nonstrict_trace(broken)

    def function(x):
        y = x + 1
        try:
            nonstrict(y)
        except ValueError:
            return y

    assert minidynamo.compile(function)(minidynamo.ones(2)).tolist() == [3.0, 3.0]


def test_opcheck_knows_writes():
    for operator, args in (
        (add_, (minidynamo.ones(2), 1.0)),
        (take, (minidynamo.ones(2),)),
        (swap, tensors((2, 1), (2, 1))),
    ):
        assert set(library.opcheck(operator, tuple(args)).values()) == {"SUCCESS"}

    @library.custom_op("writes::undeclared", mutates_args=())
    def undeclared(x: Tensor) -> Tensor:
        return x.add_(1).clone()

    with pytest.raises(Exception, match="writes to an argument that is not in mutates_args"):
        library.opcheck(undeclared, (minidynamo.ones(2),))
