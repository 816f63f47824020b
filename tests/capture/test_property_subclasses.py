"""Classes over property: reading through them, changing them between calls, and making objects of them in a region."""

import pytest

import minidynamo
from minidynamo import _C


class Marked(property):
    """Reads as property does; the other base adds attributes of its own."""

    def __init__(self, function, mark=None):
        super().__init__(function)
        self.mark = mark


class Doubled(property):
    def __get__(self, instance, owner=None):
        return self if instance is None else 2 * self.fget(instance)


def fresh():
    class Base:
        scale = 3

        @Marked
        def factor(self):
            return self.scale

    class Derived(Base):
        @Marked
        def factor(self):
            return super().factor + 1

    return Base, Derived


def ones():
    return minidynamo.ones(3)


def same(plain, compiled, *arguments, breaks=0):
    """Compares two calls; returns nothing. breaks: of the first one."""
    minidynamo._dynamo.reset()
    function, found = minidynamo.compile(compiled), []
    recorded = _C.record_breaks(lambda: found.append(function(*arguments)))
    assert len(recorded) == breaks, recorded
    for result in (found[0], function(*arguments)):
        assert result.tolist() == plain(*arguments).tolist()


def times_factor(x, owner):
    return x * owner.factor


def of_the_class(x, kind):
    return x * (2 if isinstance(type(kind()).factor, Marked) and kind.factor is vars(kind)["factor"] else 5)


@pytest.mark.parametrize("which", [0, 1], ids=["base", "derived"])
def test_read(which):
    kind = fresh()[which]
    same(times_factor, times_factor, ones(), kind())
    same(of_the_class, of_the_class, ones(), kind)


def other_function(kind):
    kind.factor = Marked(lambda self: 7)


def other_class(kind):
    kind.factor = Doubled(lambda self: 7)


def same_function_in_another_class(kind):
    kind.factor = Doubled(vars(kind)["factor"].fget)


def plain_property(kind):
    kind.factor = property(lambda self: 9)


def no_descriptor(kind):
    kind.factor = 11


@pytest.mark.parametrize(
    "change",
    [other_function, other_class, same_function_in_another_class, plain_property, no_descriptor],
    ids=lambda change: change.__name__,
)
@pytest.mark.parametrize("which", [0, 1], ids=["base", "derived"])
def test_changed_between_calls(change, which):
    kinds = fresh()
    owner = kinds[which]()
    compiled = minidynamo.compile(times_factor)
    for _ in range(2):
        assert compiled(ones(), owner).tolist() == times_factor(ones(), owner).tolist()
    change(kinds[0])
    for _ in range(2):
        assert compiled(ones(), owner).tolist() == times_factor(ones(), owner).tolist()


def test_the_class_gets_a_way_to_read_of_its_own():
    class Late(property):
        pass

    class Owner:
        factor = Late(lambda self: 3)

    compiled, owner = minidynamo.compile(times_factor), Owner()
    assert compiled(ones(), owner).tolist() == [3, 3, 3]
    Late.__get__ = lambda self, instance, owner=None: 5
    assert compiled(ones(), owner).tolist() == [5, 5, 5]
    del Late.__get__
    assert compiled(ones(), owner).tolist() == [3, 3, 3]


class Lazy:
    def __get__(self, instance, owner=None):
        return Both(lambda self: 1) if instance is None else 4


class Both(Lazy, property):
    def __init__(self, function):
        property.__init__(self, function)


class OfLazy:
    value = Lazy()


def asks_for_its_class(x):
    made = OfLazy.value
    return x * (3 if isinstance(made, Lazy) and isinstance(made, property) and type(made) is Both else 5)


def reads_its_function(x):
    return x * OfLazy.value.fget(None)


def returns_it(x):
    return x + 1, OfLazy.value


def test_objects_made_in_a_region():
    same(asks_for_its_class, asks_for_its_class, ones())
    # Whether property.__init__ takes the function is not known.
    same(reads_its_function, reads_its_function, ones(), breaks=1)


def test_an_object_that_leaves_the_region():
    result, made = minidynamo.compile(returns_it)(ones())
    assert result.tolist() == [2, 2, 2] and type(made) is Both and made.fget(None) == 1
