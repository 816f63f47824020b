"""An exception's traceback has the functions, lines and columns of eager Python, wherever the frame broke."""

import contextlib
import linecache

import pytest

import minidynamo
from minidynamo import compiler
from minidynamo._dynamo import graph_break


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


@compiler.disable
def fail(*args):
    raise KeyError("k")


@compiler.disable
def fine(x=None):
    return x


def in_an_argument_list(x):
    y = x + 1
    return minidynamo.add(
        y * 2,
        y + fail(y) * 3,
    )


def in_a_comprehension(x):
    y = x + 1
    return [y * i + (fail(y) if i == 1 else 0) for i in range(3)]


def in_a_dict_comprehension(x):
    y = x + 1
    return {i: (graph_break(), y * i, [fail][i](y)) for i in range(1)}


def in_a_generator_expression(x):
    y = x + 1
    return sum(y * (fail() if i else 1) for i in range(2)) + y


def three_calls_deep(x):
    def first(y):
        y = y * 2
        return second(y) + 1

    def second(y):
        return (y + 1) * third(y, 1)

    def third(y, n):
        return y + fail(y)

    try:
        return first(x + 1)
    finally:
        x = x * 2


def in_a_display(x):
    x = x + 1
    fine()
    return {"a": x, "b": [x, fail()][0]}["a"]


def an_op_after_a_break(x):
    fine()
    return x + minidynamo.ones(2) @ (minidynamo.ones(3) + minidynamo.ones(3))


def an_op_without_a_break(x):
    return x + minidynamo.ones(2) @ (minidynamo.ones(3) + minidynamo.ones(3))


def none_is_added(x):
    y = x + 1
    fine()
    return (y * 2) + None


def an_index_of_a_list(x):
    items = [x]
    fine()
    return x + items[0] + items[3]


def an_index_of_a_tensor(x):
    fine()
    return x[0] + x[5]


def an_assert(x):
    fine()
    assert x.sum() > 100, "no " + str(1)
    return x


def with_a_cause(x):
    try:
        fail(x)
    except KeyError as error:
        raise ValueError("v") from error


def in_a_handler(x):
    try:
        fail(x)
    except KeyError:
        return x + None


def an_attribute(x):
    fine()
    return x.foo + 1


def an_unknown_name(x):
    fine()
    return x + undefined_name  # noqa: F821


def out_of_two_withs(x):
    @contextlib.contextmanager
    def manager():
        try:
            yield
        finally:
            fine()

    with manager():
        with minidynamo.no_grad():
            x = x + fail()
    return x


def in_a_variadic_call(x):
    x = x + 1
    return minidynamo.add(*[x, fine(x)], **{"alpha": fine(2)}) + fail(*[1, 2, 3])


def of_an_inner_loop(x):
    for i in range(2):
        try:
            x = x * 2
            if i:
                x = x + fail(x)
        except ValueError:
            pass
        finally:
            x = x + 1
    return x


class Failing:
    def __getattr__(self, name):
        return fail(name)

    value = property(fail)
    __call__ = __getitem__ = __add__ = __radd__ = __eq__ = __iter__ = __len__ = __bool__ = __contains__ = fail
    __enter__ = __exit__ = __format__ = __hash__ = __neg__ = __lt__ = fail


FAILING = Failing()
EXPRESSIONS = [
    "FAILING.value",
    "FAILING.absent",
    "FAILING(x)",
    "FAILING[1]",
    "FAILING + 1",
    "1 + FAILING",
    "-FAILING",
    "FAILING == 1",
    "FAILING < 1",
    "[each for each in FAILING]",
    "len(FAILING)",
    "bool(FAILING)",
    "1 in FAILING",
    "f'{FAILING}'",
    "{FAILING: 1}",
    "x if FAILING else 1",
    "not FAILING",
    "sorted([1, 2], key=FAILING)",
    "list(map(FAILING, [1]))",
]


def function_of(number, expression):
    name = f"expression_{number}"
    source = f"def {name}(x):\n    x = x + 1\n    y = (x * 2,  {expression})\n    return y\n"
    file = f"<positions {number}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {}
    exec(compile(source, file, "exec"), globals(), scope)
    return scope[name]


FUNCTIONS = [
    in_an_argument_list,
    in_a_comprehension,
    in_a_dict_comprehension,
    in_a_generator_expression,
    three_calls_deep,
    in_a_display,
    an_op_after_a_break,
    an_op_without_a_break,
    none_is_added,
    an_index_of_a_list,
    an_index_of_a_tensor,
    an_assert,
    with_a_cause,
    in_a_handler,
    an_attribute,
    an_unknown_name,
    out_of_two_withs,
    in_a_variadic_call,
    of_an_inner_loop,
    *(function_of(number, expression) for number, expression in enumerate(EXPRESSIONS)),
]


def observe(called):
    with pytest.raises(Exception) as caught:
        called(minidynamo.tensor([1.0, 2.0]))
    error, places = caught.value, []
    entry = error.__traceback__.tb_next  # below this function
    while entry is not None:
        code = entry.tb_frame.f_code
        places.append((code.co_name, entry.tb_lineno, list(code.co_positions())[entry.tb_lasti // 2]))
        entry = entry.tb_next
    message = str(error).partition("\n")[0]  # pytest adds it to that of an assert
    return type(error), message, repr(error.__cause__), repr(error.__context__), places


@pytest.mark.parametrize("nested", [True, False], ids=["nested", "flat"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_positions(function, nested):
    with compiler.set_stance("force_eager"):
        plain = observe(function)
    with minidynamo._dynamo.config.patch(nested_graph_breaks=nested):
        compiled = minidynamo.compile(function, backend="eager")
        for _ in range(3):
            assert observe(compiled) == plain


def test_expressions_fail_at_their_columns():
    for number, expression in enumerate(EXPRESSIONS):
        *_, (name, line, columns) = [
            place for place in observe(FUNCTIONS[-len(EXPRESSIONS) + number])[-1] if "expr" in place[0]
        ]
        assert line == 3, (name, expression)
        assert columns[2] >= len("    y = (x * 2,  ") or "each" in expression
