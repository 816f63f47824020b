"""Names, paths and texts with lone surrogates, which UTF-8 cannot encode: values and exceptions are those of eager
Python."""

import pytest

import minidynamo

NAME = "na\udc80me"


class Holder:
    pass


holder = Holder()
setattr(holder, NAME, 3)
globals()[NAME] = 5


def attribute(x):
    return x + getattr(holder, NAME)


def missing_attribute(x):
    try:
        return getattr(holder, "no\udc80")
    except AttributeError as error:
        return str(error), x + 1


def missing_on_tensor(x):
    try:
        return getattr(x, NAME)
    except AttributeError as error:
        return str(error)


def uncaught(x):
    return getattr(holder, "no\udc80") + x


def keyword(x):
    def inner(**given):
        return x + given[NAME]

    return inner(**{NAME: 2})


def keyword_of_an_op(x):
    return x.sum(**{NAME: 2})


def keyword_of_a_conversion(x):
    return x.to(**{NAME: 2})


def global_name(x):
    return globals()[NAME] + x


def keys_and_texts(x):
    held = {"k\udc80": x}
    return held["k\udc80"] + 1, "%s\udc80" % 1, repr(held.keys())


def raising(x):
    raise ValueError(NAME, x.sum())


def with_surrogates(source):
    """Returns the function f of the source, whose file and names are not valid UTF-8."""
    namespace = {"__name__": __name__}
    exec(compile(source, "/no/dir\udc80/file.py", "exec"), namespace)
    for function in (namespace["f"], namespace["g"]):
        function.__code__ = function.__code__.replace(co_name="f\udc80", co_varnames=("x\udc81",))
    return namespace["f"]


SOURCE = """
def g(x):
    return x - 1
def f(x):
    if x.sum() > 100:
        raise ValueError(g(x))
    return g(x) * 2
"""


def outcome(function, x):
    try:
        result = function(x)
    except Exception as error:
        return type(error), [part for part in error.args if isinstance(part, str)]
    return [
        part.tolist() if isinstance(part, minidynamo.Tensor) else part
        for part in (result if isinstance(result, tuple) else (result,))
    ]


FUNCTIONS = (
    attribute,
    missing_attribute,
    missing_on_tensor,
    uncaught,
    keyword,
    keyword_of_an_op,
    keyword_of_a_conversion,
    global_name,
    keys_and_texts,
    raising,
)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_outcome_is_that_of_python(function):
    x = minidynamo.ones(3)
    expected = outcome(function, x)
    compiled = minidynamo.compile(function)
    assert outcome(compiled, x) == expected
    assert outcome(compiled, x) == expected


def test_code_with_such_names_is_captured():
    plain, compiled = with_surrogates(SOURCE), minidynamo.compile(with_surrogates(SOURCE))
    for x in (minidynamo.ones(3), minidynamo.ones(4), minidynamo.full((3,), 100.0)):
        assert outcome(compiled, x) == outcome(plain, x)


def test_logs_name_them(caplog):
    minidynamo._logging.set_logs(guards=True, graph_breaks=True, recompiles=True, graph_code=True, bytecode=True)
    try:
        compiled = minidynamo.compile(with_surrogates(SOURCE), dynamic=False)
        for size in (3, 4):
            compiled(minidynamo.ones(size))
        minidynamo.compile(lambda x: x + getattr(holder, NAME))(minidynamo.ones(3))
    finally:
        minidynamo._logging.set_logs()
    text = caplog.text
    assert "f\\udc80" in text and "dir\\udc80" in text and "na\\udc80me" in text
