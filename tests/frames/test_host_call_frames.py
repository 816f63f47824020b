"""What the code of a custom operator sees of its callers, compiled and uncompiled."""

import sys
import traceback
import warnings

import pytest

import minidynamo
from minidynamo import Tensor, library

HERE = __file__
STRESS = minidynamo._dynamo.config.snapshot_stress != 0
WITHOUT_STRESS = pytest.mark.skipif(STRESS, reason="regions end where the stress switch says")


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def ones():
    return minidynamo.tensor([1.0, 2.0])


def users_stack():
    """(function, line, globals) of this file's callers, innermost first, up to the test."""
    found, frame = [], sys._getframe(1)
    while frame is not None and not frame.f_code.co_name.startswith("test_"):
        if frame.f_code.co_filename == HERE:
            found.append((frame.f_code.co_name, frame.f_lineno, frame.f_globals is globals()))
        frame = frame.f_back
    return found


SEEN = []
ACTIONS = {
    "look": lambda: SEEN.append(users_stack()),
    "warn": lambda: warnings.warn("from the kernel", stacklevel=4),
    "fail": lambda: 1 / 0,
    "nothing": lambda: None,
}


@library.custom_op("frames::call", mutates_args=())
def call(x: Tensor, what: str) -> Tensor:
    ACTIONS[what]()
    return x * 2


call.register_fake(lambda x, what: x.new_empty(x.size()))


@library.custom_op("frames::write", mutates_args=("x",))
def write(x: Tensor, what: str) -> None:
    x.add_(1)
    ACTIONS[what]()


def plain(x, what):
    y = x + 1
    z = call(y, what)
    return z * 2


def inner(x, what, *more, key=3):
    cell = x

    def use():
        return cell

    y = call(x, what)
    return y + key


def nested(x, what):
    y = x + 1
    y = inner(y, what, 1, 2)
    return inner(y, what) + 1


def in_a_loop(x, what):
    for number in range(3):
        x = call(x, what)
        x = call(
            x,
            what,
        )
    return x


class Thing:
    def __init__(self, n):
        self.n = n

    def method(self, x, what):
        return call(x, what) + self.n

    def __call__(self, x, what):
        return self.method(x, what) * 2


THING = Thing(3)


def methods(x, what):
    return THING(x, what) + 1


def a_closure(x, what):
    def local(y):
        return call(y, what) + x

    return local(x + 1)


def a_lambda(x, what):
    return (lambda y: call(y, what))(x) + 1


def recursive(x, what, depth=3):
    if depth == 0:
        return call(x, what)
    return recursive(x + 1, what, depth - 1)


def after_a_break(x, what):
    x = x + 1
    minidynamo._dynamo.graph_break()
    return nested(x, what)


def break_in_a_callee(x, what):
    def broken(y):
        y = y + 1
        minidynamo._dynamo.graph_break()
        return call(y, what)

    return broken(x) + 1


def always_raises_after(x, what):
    call(x, what)
    raise KeyError("after")


def no_return_in_the_callee(x, what):
    try:
        always_raises_after(x, what)
    except KeyError:
        return x


def writes(x, what):
    write(x, what)
    y = x + 1
    write(y, what)
    return x + y


def keyword_only(x, *, what):
    return call(x, what=what)


def keywords(x, what):
    return keyword_only(x, what=what) + 1


def with_modes(x, what):
    with minidynamo.no_grad():
        y = x + 1
    return call(y, what)


def inside_no_grad(x, what):
    with minidynamo.no_grad():
        y = call(x + 1, what)
    return y * 2


def inside_try(x, what):
    y = x + 1
    try:
        return call(y, what) + y
    except ValueError:
        return y * 100


def caught(x, what):
    y = x + 1
    z = y * 2
    seen = []
    try:
        seen.append(1)
        z = call(z, what)
        seen.append(2)
    except ZeroDivisionError:
        return y + z + len(seen)
    finally:
        y = y * 3
    return y + z + len(seen)


def caught_in_a_callee(x, what):
    def guarded(y):
        w = y * 2
        try:
            return call(w, what)
        except ZeroDivisionError:
            return w + y

    return guarded(x + 1) + x


def caught_by_a_caller(x, what):
    y = x * 5
    try:
        return nested(x, what) + y
    except ZeroDivisionError:
        return y


class Manager:
    def __enter__(self):
        self.exits = []
        return self

    def __exit__(self, kind, value, trace):
        self.exits.append(kind)
        return kind is ZeroDivisionError


def with_a_manager(x, what):
    manager = Manager()
    y = x
    with manager:
        y = x * 2
        y = call(y, what)
    return y + len(manager.exits)


LOG = []


def after_an_effect(x, what):
    LOG.append("before")
    THING.n += 1
    y = call(x, what) + THING.n
    LOG.append("after")
    return y


def after_a_cell(x, what):
    count = 0

    def bump():
        nonlocal count
        count += 1
        return call(x, what) + count

    return bump() + bump()


def in_a_loop_that_catches(x, what):
    total = x
    for number in range(4):
        try:
            total = total + number
            if number == 2:
                total = call(total, what)
        except ZeroDivisionError:
            total = total + 1000
    return total


def writes_and_catches(x, what):
    y = x + 1
    x.add_(1)
    try:
        write(y, what)
        write(x, what)
    except ZeroDivisionError:
        return x + y
    return x * y


def in_a_generator(x, what):
    def generate(start, *, step=2):
        for number in range(start, start + step):
            yield call(x + number, what)

    total = x
    for value in generate(1):
        total = total + value
    return total


def in_a_generator_expression(x, what):
    return sum(call(x * number, what) for number in range(3))


def in_a_generator_that_never_returns(x, what):
    def forever():
        number = 0
        while True:
            number += 1
            yield call(x, what) * number

    numbers = forever()
    return next(numbers) + next(numbers)


def in_a_generator_of_a_generator(x, what):
    def inner_one():
        yield call(x, what)
        yield call(x + 1, what)

    def outer_one():
        yield from inner_one()
        yield call(x + 2, what)

    return sum(value for value in outer_one())


def in_a_sort_key(x, what):
    return x + sorted([3, 1, 2], key=lambda number: (call(x * number, what), -number)[1])[0]


def caught_of_a_sort_key(x, what):
    y = x + 1
    try:
        y = y * sorted([3, 1, 2], key=lambda number: (call(x * number, what), -number)[1])[0]
    except ZeroDivisionError:
        return y * 100
    return y


def caught_of_a_generator(x, what):
    seen = []

    def generate():
        for number in range(3):
            seen.append(number)
            yield call(x, what) + number

    y = x + 1
    try:
        for value in generate():
            y = y + value
        seen.append("end")
    except ZeroDivisionError:
        return y * 100 + len(seen)
    return y + len(seen)


def caught_of_a_sum_after_an_effect(x, what):
    LOG.append("before")
    y = x + 1
    try:
        return sum((call(y, what) + number for number in range(2)), y)
    except ZeroDivisionError:
        LOG.append("caught")
    return y


def caught_of_map_in_a_callee(x, what):
    def double(values):
        done = []
        done.extend(map(lambda value: call(value, what), values))
        return done

    y = x * 3
    try:
        first, second = double([x, y])
    except ZeroDivisionError:
        return y - 1
    return first + second


def after_a_break_in_a_callee(x, what):
    def broken(y):
        y = y * 2
        minidynamo._dynamo.graph_break()
        return y + 1

    z = broken(x) * 3
    try:
        return call(z, what) * 2
    except ZeroDivisionError:
        return z


FUNCTIONS = [
    plain,
    after_a_break_in_a_callee,
    in_a_generator,
    in_a_generator_expression,
    in_a_generator_that_never_returns,
    in_a_generator_of_a_generator,
    in_a_sort_key,
    caught_of_a_sort_key,
    caught_of_a_generator,
    caught_of_a_sum_after_an_effect,
    caught_of_map_in_a_callee,
    nested,
    in_a_loop,
    methods,
    a_closure,
    a_lambda,
    recursive,
    after_a_break,
    break_in_a_callee,
    no_return_in_the_callee,
    writes,
    keywords,
    with_modes,
    inside_no_grad,
    inside_try,
    caught,
    caught_in_a_callee,
    caught_by_a_caller,
    with_a_manager,
    after_an_effect,
    after_a_cell,
    in_a_loop_that_catches,
    writes_and_catches,
]
BREAKING = [after_a_break, after_a_break_in_a_callee, break_in_a_callee, no_return_in_the_callee]
BREAKS = FUNCTIONS if STRESS else BREAKING
WHOLE = [each for each in FUNCTIONS if each not in BREAKS]


def observe(function, what):
    """Returns what a call observed: stack, warnings with their places, or the traceback; and the result."""
    SEEN.clear()
    LOG.clear()
    THING.n = 3
    x = ones()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(x, what).tolist()
        except ZeroDivisionError as error:
            entries = traceback.extract_tb(error.__traceback__)
            result = [(entry.name, entry.lineno) for entry in entries if entry.filename == HERE][1:]
    return (
        result,
        list(SEEN),
        x.tolist(),
        list(LOG),
        THING.n,
        [(str(each.message), each.filename, each.lineno) for each in caught],
    )


@pytest.mark.parametrize("backend", ["onednn", "eager"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_stack_that_an_operator_sees(function, backend):
    expected = observe(function, "look")
    assert expected[1]
    compiled = minidynamo.compile(function, backend=backend, fullgraph=function in WHOLE)
    for _ in range(2):
        assert observe(compiled, "look") == expected


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_warnings_have_the_users_line(function):
    expected = observe(function, "warn")
    assert expected[-1] and all(place == HERE for _, place, _ in expected[-1])
    compiled = minidynamo.compile(function, fullgraph=function in WHOLE)
    for _ in range(2):
        assert observe(compiled, "warn") == expected


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_tracebacks(function):
    expected = observe(function, "fail")
    assert isinstance(expected[0][-1], float) or expected[0][-1][0] == "<lambda>"
    compiled = minidynamo.compile(function, fullgraph=function in WHOLE)
    for _ in range(2):
        assert observe(compiled, "fail") == expected
    # And later calls work.
    assert observe(compiled, "nothing") == observe(function, "nothing")


def test_an_operator_runs_under_the_modes_of_its_place():
    seen = []
    ACTIONS["modes"] = lambda: seen.append(minidynamo.is_grad_enabled())

    def function(x):
        with minidynamo.no_grad():
            x = call(x, "modes")
        x = call(x, "modes")
        with minidynamo.no_grad(), minidynamo.enable_grad():
            return call(x, "modes")

    compiled = minidynamo.compile(function, fullgraph=True)
    for each in (function, compiled, compiled):
        seen.clear()
        each(ones())
        assert seen == [False, True, True] and minidynamo.is_grad_enabled()


def test_unknown_frames_break():
    def generated(x):
        def generate():
            try:
                yield call(x, "fail")
            except ZeroDivisionError:
                yield x

        return sum(generate())

    def suspended(x):
        def generate():
            try:
                yield x
                yield x + 1
            finally:
                LOG.append("closed")

        values = generate()
        y = next(values)
        try:
            return call(y, "fail")
        except ZeroDivisionError:
            return next(values)

    for each in (generated, suspended):
        expected = each(ones())
        assert minidynamo.compile(each)(ones()).tolist() == expected.tolist()
        if STRESS:
            continue
        with pytest.raises(minidynamo._dynamo.exc.Unsupported, match="its exception could be caught"):
            minidynamo.compile(each, fullgraph=True)(ones())


def frames_of_this_file():
    """(function, its locals) of the callers, up to the test. Functions and iterators by their names."""
    found, frame = [], sys._getframe(3)
    while not frame.f_code.co_name.startswith(("test_", "local")):
        if frame.f_code.co_filename == HERE and frame.f_code.co_name != "call":
            found.append((frame.f_code.co_name, {name: text_of(value) for name, value in frame.f_locals.items()}))
        frame = frame.f_back
    return found


def text_of(value):
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value)(map(text_of, value))
    if callable(value) or hasattr(value, "__next__"):
        return getattr(value, "__name__", type(value).__name__)
    return value


def locals_of_arguments(x, what, *more, key=3, **rest):
    made = [key, x, (1, more)]
    z = call(x, what)
    return z + made[0], made, rest


def locals_of_cells(x, what):
    number = 1

    def bump(y):
        nonlocal number
        number += 1
        return call(y, what) + number

    return bump(x) + bump(x) + number


def locals_of_a_generator(x, what):
    seen = []

    def generate(start):
        for number in range(start, 3):
            seen.append(number)
            yield call(x, what) + number

    return sum(value for value in generate(1))


def locals_of_nested_calls(x, what):
    y = x * 2
    w = inner(y, what, 5, key=4)
    return w + y


def locals_that_change(x, what):
    for number in range(2):
        z = call(x, what)
        x = x + z
    return x


WITH_LOCALS = [
    locals_of_arguments,
    locals_of_cells,
    locals_of_a_generator,
    locals_of_nested_calls,
    locals_that_change,
]


@pytest.mark.parametrize("keep", [False, True], ids=["live", "all"])
@pytest.mark.parametrize("function", WITH_LOCALS, ids=lambda function: function.__name__)
def test_locals_are_those_of_eager_python(function, keep):
    seen = []
    ACTIONS["locals"] = lambda: seen.append(frames_of_this_file())
    function(ones(), "locals")
    expected, seen[:] = list(seen), []
    assert expected
    with minidynamo._dynamo.config.patch(keep_dead_locals=keep):
        compiled = minidynamo.compile(function, fullgraph=not STRESS)
        for _ in range(2):
            compiled(ones(), "locals")
            # Iterators are not shown, and dead tensors only if requested.
            assert len(seen) == len(expected)
            for frames, plain_frames in zip(seen, expected):
                assert [name for name, _ in frames] == [name for name, _ in plain_frames]
                for (_, shown), (_, plain_shown) in zip(frames, plain_frames):
                    missing = set(plain_shown) - set(shown)
                    assert shown == {name: plain_shown[name] for name in shown}
                    assert all(name == ".0" or (not keep and isinstance(plain_shown[name], list)) for name in missing)
            seen.clear()


@WITHOUT_STRESS
def test_an_operator_after_a_nested_break_is_no_break():
    report = minidynamo._dynamo.explain(after_a_break_in_a_callee)(ones(), "nothing")
    assert [reason.gb_id for reason in report.break_reasons] == ["MD0001"]
    assert report.graph_count == 3


def test_the_arguments_are_the_objects_themselves():
    seen = []
    ACTIONS["locals"] = lambda: seen.append(dict(sys._getframe(4).f_locals))
    x = ones()
    minidynamo.compile(nested, fullgraph=True)(x, "locals")
    assert all(shown["x"] is x for shown in seen) and len(seen) == 2


def test_stop_iteration_of_an_operator_in_a_generator_is_an_error():
    def stop():
        raise StopIteration("from the operator")

    ACTIONS["stop"] = stop
    for function in (in_a_generator, in_a_generator_expression):
        for called in (function, minidynamo.compile(function, fullgraph=not STRESS)):
            with pytest.raises(RuntimeError, match="generator raised StopIteration") as caught:
                called(ones(), "stop")
            assert isinstance(caught.value.__cause__, StopIteration)


def test_an_operator_that_calls_compiled_code():
    SEEN.clear()
    other = minidynamo.compile(lambda x: call(x + 1, "look"), fullgraph=True)

    @library.custom_op("frames::outer", mutates_args=())
    def outer(x: Tensor) -> Tensor:
        return other(x) * 2

    outer.register_fake(lambda x: x.new_empty(x.size()))
    compiled = minidynamo.compile(lambda x: outer(x) + 1, fullgraph=True)
    assert compiled(ones()).tolist() == [9.0, 13.0]
    names = [name for name, _, _ in SEEN[0]]
    assert names == ["<lambda>", "call", "<lambda>", "outer", "<lambda>"]


@WITHOUT_STRESS
def test_a_graph_that_is_run_elsewhere_links_no_frames():
    graphs = []

    def keep(gm, inputs):
        graphs.append(gm)
        return gm.forward

    minidynamo.compile(plain, backend=keep)(ones(), "nothing")
    SEEN.clear()
    what = ACTIONS["nothing"]
    ACTIONS["nothing"] = ACTIONS["look"]
    try:
        (result,) = graphs[0](ones())
    finally:
        ACTIONS["nothing"] = what
    assert result.tolist() == plain(ones(), "nothing").tolist()
    assert [name for name, _, _ in SEEN[0]] == ["<lambda>", "call"]


@WITHOUT_STRESS
def test_allow_in_graph_sees_them_too():
    SEEN.clear()

    @minidynamo.compiler.allow_in_graph
    def opaque(x):
        if x.sum is not None and not minidynamo._C._is_fake(x):
            SEEN.append(users_stack())
        return x * 2

    def caller(x):
        y = opaque(x + 1)
        return y + 1

    assert minidynamo.compile(caller, fullgraph=True)(ones()).tolist() == [5.0, 7.0]
    assert [name for name, _, _ in SEEN[0]] == ["opaque", "caller"]


def test_recursion_that_is_too_deep_is_an_error_of_the_call():
    def deep(x, depth):
        return call(x, "nothing") if depth == 0 else deep(x, depth - 1)

    compiled = minidynamo.compile(lambda x: deep(x, 20), fullgraph=True)
    assert compiled(ones()).tolist() == [2.0, 4.0]

    def down(levels):
        return compiled(ones()) if levels == 0 else down(levels - 1)

    limit = sys.getrecursionlimit()
    outcomes = set()
    for levels in range(limit - 120, limit):
        try:
            outcomes.add(tuple(down(levels).tolist()))
        except RecursionError:
            outcomes.add("too deep")
    assert outcomes == {(2.0, 4.0), "too deep"}
    assert compiled(ones()).tolist() == [2.0, 4.0]


@WITHOUT_STRESS
def test_a_backend_that_catches_what_an_operator_raised():
    def forgiving(gm, inputs):
        def run(*args):
            try:
                return gm(*args)
            except ZeroDivisionError:
                return (args[0] * 0,)

        return run

    compiled = minidynamo.compile(lambda x: call(x, "fail"), backend=forgiving)
    graphs = []
    minidynamo.compile(
        lambda x: call(x, "fail"), backend=lambda gm, inputs: graphs.append(gm) or forgiving(gm, inputs)
    )(ones())
    for _ in range(2):
        assert compiled(ones()).tolist() == [0.0, 0.0]
        with pytest.raises(ZeroDivisionError):
            graphs[0](ones())

    def raising(gm, inputs):
        def run(*args):
            raise KeyError("of the backend")

        return run

    for function in (plain, lambda x, what: x + 1):
        with pytest.raises(KeyError, match="of the backend"):
            minidynamo.compile(function, backend=raising)(ones(), "nothing")
