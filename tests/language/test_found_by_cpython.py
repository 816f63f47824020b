"""What CPython's own tests found under everywhere mode (tests/cpython): plain Python and compiled code agree."""

import collections
import functools
import gc
import itertools
import signal
import weakref

import pytest

import minidynamo
from minidynamo._dynamo import graph_break
from minidynamo._dynamo.eval_frame import enable_everywhere


def outcome(function, *arguments):
    try:
        return "result", function(*arguments)
    except Exception as error:
        return type(error), str(error)


def check(function, *arguments):
    """Compiled, compiled region by region, and under everywhere mode, the function does what it does in plain Python."""
    expected = outcome(function, *arguments)
    minidynamo._dynamo.reset()
    assert outcome(minidynamo.compile(function, backend="eager"), *arguments) == expected
    with minidynamo._dynamo.config.patch(snapshot_stress=2):
        assert outcome(minidynamo.compile(function, backend="eager"), *arguments) == expected
    with enable_everywhere():
        found = outcome(function, *arguments)
    assert found == expected
    return expected


Point = collections.namedtuple("Point", "x y")


class Row(tuple):
    __slots__ = ()


def test_text_of_a_subclass_of_tuple():
    assert check(lambda: repr(Point(1, 2))) == ("result", "Point(x=1, y=2)")
    assert check(lambda: (repr(Row((1,))), str(Row((1, 2))), f"{Row((3,))}")) == ("result", ("(1,)", "(1, 2)", "(3,)"))


def test_text_of_an_iterator():
    check(lambda: repr(iter([]))[:14])
    check(lambda: repr(itertools.repeat("a", 0)))
    check(lambda: ascii(Point("é", 1)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: itertools.combinations("abc", -2),
        lambda: itertools.combinations(None, 2),
        lambda: itertools.combinations_with_replacement("abc", -2),
        lambda: itertools.permutations(None),
        lambda: itertools.permutations("abc", "r"),
        lambda: itertools.compress(None, range(6)),
        lambda: itertools.count("a"),
        lambda: itertools.cycle(5),
        lambda: itertools.filterfalse(bool, 3),
        lambda: itertools.islice([], 1, 2, 3, 4),
        lambda: itertools.islice([], 0, 5, 0),
        lambda: itertools.islice([], -1),
        lambda: itertools.product(range(6), None),
        lambda: itertools.product([1], repeat=-1),
        lambda: itertools.pairwise(None),
        lambda: itertools.repeat(None, 3, 4),
        lambda: itertools.starmap(pow, None),
        lambda: itertools.takewhile(bool, None),
        lambda: itertools.dropwhile(bool, 1),
        lambda: itertools.zip_longest(3),
        lambda: itertools.accumulate(3),
    ],
)
def test_iterator_functions_look_at_their_arguments_at_once(call):
    def function():
        try:
            call()
        except (TypeError, ValueError) as error:
            return str(error)
        return "made"

    assert check(function)[1] != "made"


def test_a_class_without_instances():
    def function():
        try:
            type(functools.cmp_to_key(None))()
        except TypeError:
            return "none"
        return "one"

    assert check(function) == ("result", "none")


def test_a_tuple_times_one_is_itself():
    def function(numbers):
        return [numbers is numbers * 1, numbers is 1 * numbers, numbers is numbers + (), numbers is () + numbers]

    assert check(function, (1, 2, 3)) == ("result", [True] * 4)


def test_nan_is_not_itself():
    nan = float("nan")

    def function(number):
        return number == number, number != number, number in [number], [number] == [number]

    assert check(function, nan) == ("result", (False, True, True, True))
    assert check(function, complex(nan, 0)) == ("result", (False, True, True, True))


def test_keys_that_change_while_they_are_gone_over():
    def over(view):
        numbers = {0: 0}
        for _ in view(numbers):
            del numbers[0]
            numbers[0] = 0

    for view in (iter, dict.values, dict.items):
        assert check(over, view)[0] is RuntimeError


def test_keys_of_a_dict_from_outside_that_change():
    def function():
        numbers = {0: 0}

        def change(numbers):
            for _ in numbers:
                del numbers[0]
                numbers[0] = 0

        return outcome(minidynamo.compile(change, backend="eager"), numbers)[0]

    assert function() is RuntimeError


def test_the_class_of_a_proxy():
    class Thing:
        pass

    def function(proxy):
        return proxy.__class__.__name__, getattr(proxy, "__class__").__name__  # noqa: B009

    thing = Thing()
    assert check(function, weakref.proxy(thing)) == ("result", ("Thing", "Thing"))


class Dynamic:
    blech = 1

    def __getattr__(self, name):
        raise AttributeError


def test_an_attribute_error_learns_what_was_asked_for():
    def function(thing):
        try:
            thing.bluch  # noqa: B018
        except AttributeError as error:
            return error.name, error.obj is thing

    assert check(function, Dynamic()) == ("result", ("bluch", True))


class Counted:
    alive = 0

    def __init__(self):
        Counted.alive += 1

    def __del__(self):
        Counted.alive -= 1


def test_an_object_dies_where_its_last_reference_goes():
    def function():
        counted = Counted()
        seen = [Counted.alive]
        del counted
        seen.append(Counted.alive)
        counted = Counted()
        seen.append(Counted.alive)
        counted = None
        seen.append(Counted.alive)
        return seen

    assert check(function) == ("result", [1, 0, 1, 0])


class Meta(type):
    def mro(cls):
        if cls.__mro__ is None:
            with pytest.raises(AttributeError):
                super(cls, cls).xxx  # noqa: B018
        return type.mro(cls)


def test_super_of_a_class_that_is_being_made():
    with enable_everywhere():
        made = Meta("Made", (), {})
    assert made.__mro__ == (made, object)


def delegating():
    return (yield from waiting())


def waiting():
    try:
        yield
    except KeyboardInterrupt:
        return "innermost"
    return "nobody"


def test_a_signal_reaches_the_innermost_generator():
    testing = pytest.importorskip("_testcapi")
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("the interrupt has a handler")
    with enable_everywhere():
        generator = delegating()
        generator.send(None)
        with pytest.raises(StopIteration) as stopped:
            testing.raise_SIGINT_then_send_None(generator)
    assert stopped.value.value == "innermost"


def test_a_cycle_through_an_iterator_of_a_set_is_collected():
    class Thing:
        pass

    def function():
        thing = Thing()
        reference = weakref.ref(thing)
        things = {thing, 1}
        thing.iterator = iter(things)
        del thing, things
        gc.collect()
        return reference() is None

    assert check(function) == ("result", True)


class Plain:
    pass


def changes(function):
    """What a compiled function says of an object before it gets an attribute, with it, and without it again."""
    compiled = minidynamo.compile(function, backend="eager")
    thing = Plain()
    seen = [compiled(thing)]
    thing.x = 42
    seen.append(compiled(thing))
    del thing.x
    return [*seen, compiled(thing)]


def test_that_an_attribute_is_there_is_guarded():
    def reads(thing):
        try:
            thing.x  # noqa: B018
        except AttributeError:
            return False
        return True

    assert changes(lambda thing: hasattr(thing, "x")) == [False, True, False]
    assert changes(reads) == [False, True, False]


def test_an_attribute_that_is_deleted_twice():
    def delete(thing):
        try:
            del thing.x
        except AttributeError:
            return "missing"
        return "deleted"

    compiled = minidynamo.compile(delete, backend="eager")
    thing = Plain()
    thing.x = 1
    assert [compiled(thing), compiled(thing)] == ["deleted", "missing"]


def test_a_sum_of_texts():
    check(lambda: sum(["a", "b"], ""))
    check(lambda: sum([b"a"], b""))


class Posing:
    def __init__(self, thing):
        object.__setattr__(self, "thing", thing)

    def __getattribute__(self, name):
        return getattr(object.__getattribute__(self, "thing"), name)


def test_an_instance_of_what_it_poses_as():
    thing = Plain()
    assert check(lambda posing: isinstance(posing, Plain), Posing(thing)) == ("result", True)
    assert check(lambda proxy: isinstance(proxy, Plain), weakref.proxy(thing)) == ("result", True)


def test_super_of_what_is_no_instance():
    def function(thing):
        try:
            super(Row, thing)
        except TypeError:
            return "refused"

    assert check(function, 42) == ("result", "refused")


def test_a_dict_in_itself_is_compared_by_python():
    def function():
        one, other = {}, {}
        one["x"], other["x"] = one, other
        return one == other

    assert check(function)[0] is RecursionError


def test_a_container_made_of_made_parts():
    made = check(lambda: [collections.defaultdict(functools.partial(dict, a=1))["x"]])
    assert made == ("result", [{"a": 1}])
    nested = minidynamo.compile(lambda: collections.defaultdict(functools.partial(collections.defaultdict, dict)))()
    assert nested[1][2] == {}


def test_a_walk_keeps_no_cycles():
    def function(thing):
        thing.itself = thing
        items = []
        items.append(items)

        def recursive(count):
            return count and recursive(count - 1)

        return recursive(2)

    thing = Plain()
    reference = weakref.ref(thing)
    assert minidynamo.compile(function, backend="eager")(thing) == 0
    del thing
    gc.collect()
    assert reference() is None


def test_too_many_arguments_of_enumerate():
    assert check(lambda: enumerate("abc", 2, 3))[0] is TypeError


class OverClass:
    enum = enumerate

    def __call__(self, *_):
        return "the object itself was called"

    def test(self, x):
        return list(self.enum(broken([x])))


class OverMethod(OverClass):
    def enum(self, items, start=11):
        return enumerate(items, start=start)


def broken(value):
    graph_break()
    return value


@pytest.mark.parametrize("order", [(OverClass, OverMethod), (OverMethod, OverClass)])
def test_what_lies_below_a_callable_is_guarded(order):
    x = minidynamo.ones(2)

    def test(thing, x):
        return thing.test(x)

    compiled = minidynamo.compile(test, backend="eager")
    for kind in (*order, *order):
        seen, plain = compiled(kind(), x), kind().test(x)
        assert [number for number, _ in seen] == [number for number, _ in plain]


def bound_now_and_then(x, first):
    seen = []
    for number in range(3):
        if first == number:
            error = "mine"  # noqa: F841
        graph_break()
        try:
            raise ValueError(number)
        except ValueError as error:
            seen.append(str(error))
        try:
            seen.append(error)
        except UnboundLocalError:
            seen.append("unset")
        x = x + 1
    return seen, x.tolist()


def test_a_local_that_is_unset_at_first_is_unset_again():
    compiled = minidynamo.compile(bound_now_and_then, backend="eager")
    for first in (5, 0, 1, 2, 1):
        assert compiled(minidynamo.ones(2), first) == bound_now_and_then(minidynamo.ones(2), first)


def deleted_now_and_then(x, given):
    if given:
        kept = "given"
    graph_break()
    kept = x + 1
    y = kept * 2
    del kept
    graph_break()
    return y, "kept" in locals()


def test_what_a_region_deletes_is_gone():
    compiled = minidynamo.compile(deleted_now_and_then, backend="eager")
    for given in (False, True, False):
        y, kept = compiled(minidynamo.ones(2), given)
        assert not kept
        assert y.tolist() == [4.0, 4.0]
