"""A class whose dict has a key that is not a str: Python compares it when it looks up a name, and capture never adds
a comparison."""

import pytest

import minidynamo
from minidynamo import ones


class Key:
    """A key with the hash of an attribute name; counts how often it is compared with a name."""

    def __init__(self, name):
        self.name = name
        self.asked = 0

    def __hash__(self):
        return hash(self.name)

    def __eq__(self, other):
        self.asked += 1
        return False


class Base:
    title = "of the base"

    def method(self):
        return self.title


def of_a_class(x, made):
    return x + 1, made.title


def of_an_object(x, made):
    return x + 1, made().title


def by_a_method(x, made):
    return x + 1, made().method()


def comparisons_of(function, compiled):
    key = Key("title")
    made = type("Made", (Base,), {key: 5})
    callee = minidynamo.compile(function) if compiled else function
    asked = []
    for _ in range(3):
        key.asked = 0
        assert callee(ones(2), made)[1] == "of the base"
        asked.append(key.asked)
    return asked


@pytest.mark.filterwarnings("ignore:non-string key")
@pytest.mark.parametrize("function", [of_a_class, of_an_object, by_a_method])
def test_keys_are_compared_as_often_as_in_eager_python(function):
    assert comparisons_of(function, compiled=True) == comparisons_of(function, compiled=False)
