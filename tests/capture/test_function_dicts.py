"""The __dict__ of a function that is created inside: an entry under the name of a descriptor is not an attribute."""

import functools

import pytest

import minidynamo

NAMES = [name for name in dir(type(lambda: None)) if name not in ("__class__", "__dict__")] + ["__dict__", "plain"]


class Decorated:
    """A decorator that is a class."""

    attribute = 3

    def method(self):
        return 1


def by_item(function, name, value):
    function.__dict__[name] = value


def by_update(function, name, value):
    function.__dict__.update({name: value})


def by_setdefault(function, name, value):
    function.__dict__.setdefault(name, value)


def by_vars(function, name, value):
    vars(function)[name] = value


def by_update_wrapper(function, name, value):
    class Source:
        pass

    source = Source()
    source.__dict__[name] = value
    functools.update_wrapper(function, source, assigned=(), updated=("__dict__",))


WAYS = [value for name, value in dict(globals()).items() if name.startswith("by_")]


def describe(function, name):
    value = getattr(function, name, "none")
    same_each_time = isinstance(value, (str, int, type(None), tuple, dict))
    return value if same_each_time and name not in ("__dict__", "__globals__", "__builtins__") else type(value).__name__


@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_written_and_read(name, way, breaks):
    def function(x):
        def made(y, z=4):
            return y + 1

        way(made, name, "written")
        before = describe(made, name)
        if breaks:
            minidynamo._dynamo.graph_break()
        in_dict = made.__dict__.get(name)
        made.attribute = 5
        return made(x).tolist(), before, describe(made, name), in_dict, sorted(made.__dict__), made.attribute, made

    *expected, _ = function(minidynamo.ones(2))
    compiled = minidynamo.compile(function)
    for _ in range(2):
        *got, made = compiled(minidynamo.ones(2))
        assert got == expected
        assert describe(made, name) == expected[2] and made.__dict__[name] == "written"


def test_wraps_of_a_class():
    def function(x):
        @functools.wraps(Decorated)
        def made(y):
            return y + 1

        return made(x), made

    plain, compiled = function(minidynamo.ones(2))[1], minidynamo.compile(function)(minidynamo.ones(2))[1]
    assert {**plain.__dict__} == {**compiled.__dict__}
    assert (plain.__name__, plain.__doc__, plain.__wrapped__) == (
        "Decorated",
        "A decorator that is a class.",
        Decorated,
    )
    assert (compiled.__name__, compiled.__doc__, compiled.__wrapped__) == (
        "Decorated",
        "A decorator that is a class.",
        Decorated,
    )
    assert compiled(minidynamo.ones(1)).tolist() == [2.0]
