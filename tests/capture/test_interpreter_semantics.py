"""Subtle behaviour of builtins, containers, frames and threads that CPython's own tests rely on: eager and compiled
code agree."""

import ast
import collections
import decimal
import functools
import gc
import io
import itertools
import logging
import operator
import os
import re
import signal
import struct
import subprocess
import sys
import warnings
import weakref

import pytest

import minidynamo
from minidynamo._dynamo import graph_break
from minidynamo._dynamo.eval_frame import enable_everywhere, execution_counters


def outcome(function, *arguments):
    try:
        return "result", function(*arguments)
    except Exception as error:
        return type(error), str(error)


def check(function, *arguments):
    """Checks that the function behaves as in eager Python when compiled, when compiled region by region, and in
    everywhere mode."""
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
def test_iterator_functions_check_their_arguments_at_once(call):
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


def test_nan_is_not_equal_to_itself():
    nan = float("nan")

    def function(number):
        return number == number, number != number, number in [number], [number] == [number]

    assert check(function, nan) == ("result", (False, True, True, True))
    assert check(function, complex(nan, 0)) == ("result", (False, True, True, True))


def test_keys_that_change_during_iteration():
    def over(view):
        numbers = {0: 0}
        for _ in view(numbers):
            del numbers[0]
            numbers[0] = 0

    for view in (iter, dict.values, dict.items):
        assert check(over, view)[0] is RuntimeError


def test_keys_of_a_pre_existing_dict_that_change():
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


def test_an_attribute_error_has_its_name_and_object():
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


def test_super_of_a_class_that_is_being_created():
    with enable_everywhere():
        made = Meta("Made", (), {})
    assert made.__mro__ == (made, object)


def delegating():
    return (yield from suspended())


def suspended():
    try:
        yield
    except KeyboardInterrupt:
        return "innermost"
    return "no frame"


@pytest.mark.parametrize("calls_wait", [False, True])
def test_a_signal_reaches_the_innermost_generator(calls_wait):
    testing = pytest.importorskip("_testcapi")
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        pytest.skip("the interrupt has a handler")
    left = 1000 * calls_wait

    # Enough that some are still pending when the signal arrives: Python makes 32 of them at a time.
    def again():
        nonlocal left
        left -= 1
        if left > 0:
            testing._pending_threadfunc(again)

    with enable_everywhere():
        generator = delegating()
        generator.send(None)
        if calls_wait:
            testing._pending_threadfunc(again)
        with pytest.raises(StopIteration) as stopped:
            testing.raise_SIGINT_then_send_None(generator)
    assert stopped.value.value == "innermost"


def test_pending_calls_leave_a_frame_under_the_driver():
    testing = pytest.importorskip("_testcapi")
    calls = []

    @minidynamo.compile(backend="eager")
    def function(count):
        total = 0
        for number in range(count):
            testing._pending_threadfunc(lambda: calls.append(number))
            graph_break()
            total += number
        return total

    before = execution_counters()["hand_overs"]["pending_call"]
    assert function(20) == 190
    assert sorted(calls) == list(range(20))
    assert execution_counters()["hand_overs"]["pending_call"] == before


# In a separate process: a test runner cannot run without memory.
WITHOUT_MEMORY = """
import _testcapi
import minidynamo
from minidynamo._dynamo.eval_frame import enable_everywhere, execution_counters

def replace(text, old, new):
    return text.replace(old, new)

def function(replace, forget, remember):
    text = chr(36696) * 4
    try:
        forget(0, 0)
        try:
            replace(text, "&", "&amp;")
        except MemoryError:
            return "raised"
        return "not-raised"
    finally:
        remember()

calls = replace, _testcapi.set_nomemory, _testcapi.remove_mem_hooks
print(function(*calls), minidynamo.compile(function, backend="eager")(*calls), end=" ")
with enable_everywhere():
    print(function(*calls), end=" ")
print(execution_counters()["hand_overs"]["no_memory"] > 0)
"""


def test_frames_run_without_memory_to_capture_them():
    pytest.importorskip("_testcapi")
    done = subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, text=True, timeout=60)
    plain, *others = done.stdout.split()
    assert others == [plain, plain, "True"], done.stderr


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
    """What a compiled function reports about an object before it gets an attribute, with it, and after its deletion."""
    compiled = minidynamo.compile(function, backend="eager")
    thing = Plain()
    seen = [compiled(thing)]
    thing.x = 42
    seen.append(compiled(thing))
    del thing.x
    return [*seen, compiled(thing)]


def test_the_existence_of_an_attribute_is_guarded():
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


def test_an_instance_that_overrides_class():
    thing = Plain()
    assert check(lambda posing: isinstance(posing, Plain), Posing(thing)) == ("result", True)
    assert check(lambda proxy: isinstance(proxy, Plain), weakref.proxy(thing)) == ("result", True)


def test_super_of_a_non_instance():
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


def test_a_container_of_created_parts():
    made = check(lambda: [collections.defaultdict(functools.partial(dict, a=1))["x"]])
    assert made == ("result", [{"a": 1}])
    nested = minidynamo.compile(lambda: collections.defaultdict(functools.partial(collections.defaultdict, dict)))()
    assert nested[1][2] == {}


def test_a_trace_keeps_no_cycles():
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
def test_objects_reached_through_a_callable_are_guarded(order):
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


def test_types_of_iterators():
    def types():
        made = [iter("a"), iter("é"), iter(()), iter([]), iter({}), iter({}.values()), iter({}.items()), iter(range(3))]
        turned = [reversed(range(3)), reversed((1,)), reversed("ab"), reversed([1])]
        others = [iter(collections.deque()), iter(collections.OrderedDict())]
        return [type(each) for each in (*made, *turned, *others)]

    check(types)
    check(lambda: [list(reversed(range(2, 20, 5))), list(reversed(range(0))), list(reversed(range(9, 0, -4)))])


def test_iter_with_a_sentinel_requires_a_callable():
    assert check(lambda: iter(42, 42))[0] is TypeError


class NamesInAList:
    __match_args__ = ["a"]
    a = 1


class NameTwice:
    __match_args__ = ("a", "a")
    a = 1


def test_rules_of_class_patterns():
    def from_list(thing):
        match thing:
            case NamesInAList(found):
                return found

    def by_position(thing):
        match thing:
            case NameTwice(one, two):
                return one, two

    def by_keyword(thing):
        match thing:
            case NameTwice(one, a=two):
                return one, two

    assert check(from_list, NamesInAList())[0] is TypeError
    assert check(by_position, NameTwice())[0] is TypeError
    assert check(by_keyword, NameTwice())[0] is TypeError


def test_the_free_space_of_a_deque_is_guarded():
    def append(items):
        items.append(5)
        copy = items.copy()
        return list(items), list(copy), items.maxlen, copy.maxlen

    compiled = minidynamo.compile(append, backend="eager")
    for room in (None, 0, 1, 3, 300, None):
        assert compiled(collections.deque([1, 2], room)) == append(collections.deque([1, 2], room))


def test_iteration_over_a_deque_while_it_changes():
    def replace(items):
        items[1] = 9

    def turn(items):
        items.append(items.popleft())

    items = collections.deque([1, 2, 3])
    iterator = iter(items)
    minidynamo.compile(replace, backend="eager")(items)
    assert list(iterator) == [1, 9, 3]
    iterator = iter(items)
    minidynamo.compile(turn, backend="eager")(items)
    with pytest.raises(RuntimeError, match="mutated"):
        list(iterator)


class TwiceOver:
    @classmethod
    @staticmethod
    def static(*arguments):
        return arguments

    @classmethod
    @classmethod
    def method(cls):
        return cls


def test_a_class_method_around_a_descriptor():
    check(lambda: (TwiceOver.method(), TwiceOver().method()))
    check(lambda: TwiceOver.static(1))


class OwnElements(list):
    def __getitem__(self, at):
        return list.__getitem__(self, at)


def test_a_slice_of_a_list_subclass():
    def store():
        items = OwnElements([1, 2, 3])
        graph_break()
        items[slice(1, 3)] = [3, 2]
        items[0] = 7
        return items

    assert check(store) == ("result", [7, 3, 2])


def test_a_method_of_dict_on_an_ordered_dict():
    def pop():
        items = collections.OrderedDict(a=1, b=2)
        dict.pop(items, "a")
        return repr(items)

    assert check(pop)[0] is KeyError


class Reversing(dict):
    def keys(self):
        return reversed(list(dict.keys(self)))

    __iter__ = keys


def test_the_view_of_a_dict_with_user_keys():
    def view(items):
        keys = dict.keys(items)
        graph_break()
        return list(keys), list(items.keys())

    check(view, Reversing(a=1, b=2))


class Base:
    def of_cell(self):
        return super()

    def deleted(self):
        del self
        super()


def test_super_of_a_cell_and_without_arguments():
    cell = (lambda kept: lambda: kept)(Base()).__closure__[0]
    assert check(lambda: Base.of_cell(cell))[0] is TypeError
    assert check(lambda: Base.deleted(None))[0] is RuntimeError


def test_a_deleted_parameter_of_an_inner_frame():
    def inner(value):
        del value
        graph_break()
        return "value" in locals()

    assert check(lambda: inner(1)) == ("result", False)


def test_methods_of_objects_have_their_types():
    check(lambda: (type(object().__init__), type([].append), type(dict.fromkeys), type(Base().of_cell)))


def test_ids_of_many_objects():
    check(lambda items: len(set(map(id, list(enumerate(items))))), range(10, 2000, 2))


def test_an_id_as_a_key_of_the_callers_dict():
    def remember(memo, one, other):
        memo[id(one)] = "one"
        memo[id(other)] = "other"
        return [memo[id(one)], memo[id(other)], len(memo)]

    assert check(remember, {}, [], []) == ("result", ["one", "other", 2])


def test_a_long_iteration_in_c_ends_the_region():
    with minidynamo._dynamo.config.patch(walk_limit=1000):
        check(lambda: len(list(map(str, range(5000)))))
        check(lambda: sum(number for number in range(5000)))


def test_the_length_of_a_range_beyond_c_integers():
    assert check(lambda: len(range(-(2**62), 2**62)))[0] is OverflowError


def test_a_level_that_is_set_past_the_cache():
    logger = logging.getLogger("minidynamo.tests.cache")
    logger.propagate = False
    seen = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    logger.addHandler(handler)

    def log(x):
        logger.info("said")
        return x + 1

    def steps(function):
        seen.clear()
        logger.setLevel(logging.WARNING)
        counts = []
        for level in (None, logging.INFO, logging.DEBUG):
            if level is not None:
                logger.level = level  # the cache still holds that the level is not enabled
            function(minidynamo.ones(2))
            counts.append(len(seen))
        logger.setLevel(logging.INFO)
        function(minidynamo.ones(2))
        logger.level = logging.ERROR
        function(minidynamo.ones(2))
        return [*counts, len(seen)]

    assert steps(log) == [0, 0, 0, 2]
    assert steps(minidynamo.compile(log, backend="eager")) == [0, 0, 0, 2]


class WithSlotNames:
    __slotnames__ = ["spam"]

    def __getattr__(self, name):
        if name == "spam":
            return 42
        raise AttributeError(name)


def test_slot_names_from_an_iterator():
    assert check(lambda: WithSlotNames().__reduce_ex__(2)[2]) == ("result", (None, {"spam": 42}))


def test_a_list_of_a_c_class_equals_a_list():
    spamlist = pytest.importorskip("xxsubtype").spamlist
    check(lambda: (spamlist([1, 2]) == [1, 2], [1] + [2] == spamlist([1, 2]), spamlist([1]) < [2], spamlist() == ()))


def test_numbers_of_more_digits_than_python_writes():
    def function(bits):
        return (1 << bits) % 1000, {(1 << bits, 1): bits}[1 << bits, 1], (1 << bits).bit_length()

    for bits in (20000, 30000, 30001):
        assert check(function, bits)[0] == "result"

    def of_an_argument(number):
        return number % 1000, number + 1 > number, {number: 1}[number]

    for bits in (20000, 30000, 20000):
        assert check(of_an_argument, 1 << bits)[0] == "result"


TIGHT_LOOPS = """
import threading
from minidynamo._dynamo.eval_frame import enable_everywhere

def loop(started, goes_on, interrupted):
    left = 20_000_000
    started[0] = True
    while goes_on[0]:
        if left:
            left -= 1
        else:
            return
    interrupted[0] = True

started, goes_on, interrupted = [False], [True], [False]
with enable_everywhere():
    thread = threading.Thread(target=loop, args=(started, goes_on, interrupted))
    thread.start()
    while not started[0]:
        pass
    goes_on[0] = False
    thread.join()
print(interrupted)
"""


@pytest.mark.counts_python_runs
def test_other_threads_get_their_turn_in_a_loop_of_regions():
    done = subprocess.run([sys.executable, "-c", TIGHT_LOOPS], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[True]\n", done.stderr


def test_warnings_of_the_standard_library_have_their_place():
    def function(text):
        re.purge()
        return re.sub("(x)(y)(z)(x)(y)(z)(x)(y)(z)(x)?", rf"\g<{text}1>", "xyzxyzxyz")

    def warned(call):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            results = [outcome(call, "+"), outcome(call, "+")]
        return results, [(os.path.basename(warning.filename), warning.lineno) for warning in found]

    expected = warned(function)
    assert warned(minidynamo.compile(function, backend="eager")) == expected
    with enable_everywhere():
        found = warned(function)
    assert found == expected


def test_inverted_bool_warns_each_time():
    def function(flag):
        return ~flag

    def warned(call):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            return [call(True), call(True), call(False)], len(found)

    assert warned(minidynamo.compile(function, backend="eager")) == warned(function)


READ_BY_EVAL = {
    "an escape that is none": r"'\{'",
    "an escape that is none in a list": r"[1, b'\q']",
    "an octal escape that is too large": r"'\777'",
    "a keyword behind a number": "1if 1else 2",
    "a keyword behind a hexadecimal number": "0xfor 1",
    "a number": "-1.5e3",
    "several literals": r"{'a\n\x41': 0x1F, 'b': (1j, None, 1_000, 0b11, 0o7)}",
    "no literal": "1 +",
    "surrogates": "'\ud800'",
}


@pytest.mark.parametrize("name", READ_BY_EVAL)
def test_warnings_of_what_eval_reads(name):
    text = READ_BY_EVAL[name]

    def warned(call):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            results = [outcome(call, text), outcome(call, text)]
        return results, [(str(warning.message), warning.filename) for warning in found]

    def function(text):
        return eval(text)

    ast.literal_eval("1")  # eval() is captured where ast is loaded
    assert warned(minidynamo.compile(function, backend="eager")) == warned(function)


def test_the_empty_tuple_is_a_singleton():
    def function(count, given):
        def gives(*arguments):
            return arguments

        tuples = [(), tuple([item for item in range(count)]), (1, 2)[2:], gives(), tuple(""), given]
        return [one is other for one in tuples for other in tuples], [id(one) == id(tuples[0]) for one in tuples]

    check(function, 0, ())
    compiled = minidynamo.compile(function, backend="eager")
    for given in ((), (1,), None, (2,), []):
        assert compiled(0, given) == function(0, given)


class Unequal:
    def __hash__(self):
        return 7

    def __eq__(self, other):
        compared.append(type(other).__name__)
        return False


compared = []


def test_a_set_with_several_keys_of_one_hash():
    def function():
        compared.clear()
        many = {Unequal() for _ in range(5)}
        few = {7}
        few.update(many)
        return len(many), len(few), len(compared) > 0

    assert check(function) == ("result", (5, 6, True))


def test_a_cell_with_the_name_of_a_variable_of_a_comprehension():
    def late():
        functions = [(lambda: i) for i in range(3) if graph_break() is None]
        i = 20
        return [each() for each in functions], i

    def early():
        i = 3
        functions = {(lambda: i) for i in range(3)}
        i += 1
        return [each() for each in functions], (lambda: i)()

    assert check(late) == ("result", ([2, 2, 2], 20))
    assert check(early) == ("result", ([2, 2, 2], 4))


def test_the_error_of_getattr_has_the_name_and_object():
    class Hooked:
        def __getattr__(self, name):
            raise AttributeError

    class Failing:
        @property
        def missing(self):
            raise AttributeError("none")

    def with_getattr(thing):
        try:
            return getattr(thing, "missing")  # noqa: B009
        except AttributeError as error:
            return error.name, error.obj is thing

    def of_method(thing):
        try:
            return thing.missing()
        except AttributeError as error:
            return error.name, error.obj is thing

    for function in (with_getattr, of_method):
        for thing in (Hooked(), Failing(), 1):
            check(function, thing)
    assert with_getattr(Hooked()) == ("missing", True)


def own_frame(first, second):
    third = first + second
    del first
    return sys._getframe()


def test_locals_of_an_inlined_frame_that_returned():
    def function(first, second):
        frame = own_frame(first, second)
        return dict(frame.f_locals), first

    assert check(function, 1, 2) == ("result", ({"second": 2, "third": 3}, 1))
    # The caller continues in the region in which the callee returns.
    assert check(lambda: own_frame(5, 6).f_locals["third"] + len([])) == ("result", 11)


class Raised(list):
    def __getitem__(self, index):
        return list.__getitem__(self, index) + 100


def test_a_list_with_user_iteration_is_extended():
    def function():
        numbers = Raised()
        graph_break()
        numbers.extend([1, 2, 3])
        return list.__getitem__(numbers, 0), list.__len__(numbers), numbers[1], list.index(numbers, 3)

    assert check(function) == ("result", (1, 3, 102, 2))


def test_a_deep_stack():
    text = "f'" + "{x} " * 3000 + "'"

    def function(x):
        return eval(text, {"x": x})

    assert check(function, "X") == ("result", "X " * 3000)


class Shown:
    def __radd__(self, other):
        return "added to " + repr(other)


@pytest.mark.parametrize(
    "numbers, start",
    (
        ([0.1] * 10, 0),
        ([10**16, 1.0, 1.0, 1.0], 0),
        ([1, 2, 0.1, 0.1, 0.1, True], 0),
        ([0.1j] * 10, 0.1),
        ([0.1, 2**63, 0.1, 0.1, 2**70], 0),
        ([0.1] * 10, 0.1j),
    ),
)
def test_a_sum_of_numbers_before_a_tensor_keeps_what_rounding_loses(numbers, start):
    def total(x, last):
        return sum([*numbers, last], start), sum(numbers, start), x + 1

    x = minidynamo.full((2,), 0.1, dtype=minidynamo.float64)
    for last in (x, Shown()) if not isinstance(sum(numbers, start), complex) else (Shown(),):
        expected, found = total(x, last), minidynamo.compile(total)(x, last)
        assert repr(found) == repr(expected)


def test_a_sum_of_numbers_out_of_a_tensor_before_a_tensor():
    def total(x):
        return sum([x.sum().item()] * 10 + [x])

    x = minidynamo.full((2,), 0.05, dtype=minidynamo.float64)
    for capture in (False, True):
        with minidynamo._dynamo.config.patch(capture_scalar_outputs=capture):
            minidynamo._dynamo.reset()
            assert minidynamo.compile(total)(x).tolist() == total(x).tolist()


def test_a_class_whose_repr_is_not_utf8():
    def make(x):
        y = x + 1
        try:
            return type("Local", (), {"__doc__": "x\udcdcy"})
        except UnicodeEncodeError as error:
            return y.tolist(), str(error)

    x = minidynamo.ones(2)
    assert minidynamo.compile(make)(x) == make(x)


NO_CLASS_STATEMENT = (
    functools.partial,
    operator.itemgetter,
    type(functools.lru_cache(len)),
    type(re.compile("")),
    type(decimal.localcontext()),
    collections.deque,
    struct.Struct,
    io.StringIO,
)


@pytest.mark.parametrize("cls", NO_CLASS_STATEMENT, ids=lambda cls: cls.__name__)
def test_object_new_rejects_classes_in_c(cls):
    def make(x):
        return type(object.__new__(cls)), (x + 1).tolist()

    def result(function):
        try:
            return function(minidynamo.ones(2))
        except TypeError as error:
            return str(error)

    assert result(minidynamo.compile(make)) == result(make)


def test_a_factory_that_stores_the_item_itself():
    def look_up(x, items):
        counts = []

        def factory():
            counts.append(len(counts))
            if len(counts) == 1:
                items["key"]
            return len(counts) * 10 + counts[0]

        items.default_factory = factory
        made = collections.defaultdict(lambda: made.setdefault(0, 2) and 1)
        return items["key"], dict(items), counts, made[0], dict(made), (x + 1).tolist()

    x = minidynamo.ones(2)
    assert minidynamo.compile(look_up)(x, collections.defaultdict()) == look_up(x, collections.defaultdict())


@pytest.mark.skipif(sys.version_info < (3, 13), reason="f_locals of a frame is written through since 3.13")
def test_locals_include_added_names():
    def names(x):
        y = x + 1
        sys._getframe().f_locals["z"] = 2
        return sorted(locals()), sorted(vars()), dir(), y.tolist()

    x = minidynamo.ones(2)
    assert minidynamo.compile(names)(x) == names(x)


def own_context():
    try:
        try:
            raise ValueError(1)
        except ValueError as error:
            error.__context__ = error
            raise TypeError(2)
    except TypeError as error:
        return error


def context_in_a_circle():
    first, second, third = ValueError(1), ValueError(2), ValueError(3)
    first.__context__, second.__context__, third.__context__ = second, third, second
    try:
        try:
            raise first
        except ValueError:
            raise TypeError(4)
    except TypeError as error:
        return error


@pytest.mark.parametrize("make", (own_context, context_in_a_circle))
def test_a_cycle_of_contexts_does_not_hang(make):
    def chain(x):
        error, seen = make(), []
        while error is not None and len(seen) < 6:
            seen.append((type(error), error.args))
            error = error.__context__
        return seen, (x + 1).tolist()

    x = minidynamo.ones(2)
    assert minidynamo.compile(chain)(x) == chain(x)


class Compared(type):
    asked = []

    def __eq__(self, other):
        self.asked.append(self)
        return NotImplemented

    __hash__ = type.__hash__


class OfCompared(metaclass=Compared):
    pass


def test_a_metaclass_decides_whether_a_class_equals_itself():
    def program():
        return OfCompared == OfCompared, OfCompared != OfCompared

    def count(function):
        del Compared.asked[:]
        return function(), len(Compared.asked)

    assert count(program) == count(minidynamo.compile(program)) == ((True, False), 4)


class Refusing(type):
    def __eq__(self, other):
        raise ZeroDivisionError


def test_a_union_of_classes_compares_them():
    first, second = Refusing("First", (), {}), Refusing("Second", (), {})

    def program():
        try:
            return len((first | second).__args__)
        except ZeroDivisionError:
            return "raised"

    assert program() == minidynamo.compile(program)()


ANNOTATED = """
def plain(x: int):
    def inner(y: int): pass
    return inner
class Holder:
    def method(self, x: int): pass
names = [f.__annotate__.__qualname__ for f in (plain, plain(1), Holder.method)]
"""


@pytest.mark.skipif(sys.version_info < (3, 14), reason="__annotate__ is of 3.14")
def test_the_annotate_function_has_the_name_that_python_uses():
    plain, ours = {}, {}
    exec(ANNOTATED, plain)
    with enable_everywhere():
        exec(ANNOTATED, ours)
    assert plain["names"] == ours["names"]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="conditional annotations are of 3.14")
def test_a_program_replaces_the_set_of_conditional_annotations():
    program = compile("__conditional_annotations__ = 0\nx: int\n", "<program>", "exec")

    plain = outcome(exec, program, {})
    with enable_everywhere():
        assert outcome(exec, program, {}) == plain
