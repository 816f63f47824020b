"""One program for each row of csrc/symbolic/breaks/graph_breaks.def; its first break has that row's reason."""

import array
import contextlib
import logging
import operator
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

import minidynamo
from minidynamo import _C, compiler, library
from minidynamo._dynamo import (
    allow_in_graph,
    config,
    disallow_in_graph,
    graph_break,
    skip_frame,
    step_unsupported,
)

PROGRAMS = []


def one_tensor():
    return (minidynamo.ones(3),)


@dataclass(frozen=True)
class Program:
    gb_id: str
    function: Callable
    calls: tuple  # each returns fresh arguments; they are called in turn, and the last call meets the reason
    state: tuple  # names of globals that the function modifies
    around: Callable  # returns the context manager around the calls
    without: Callable | None  # for a silent reason: the same program without its cause
    recorded: bool  # whether the calls record the break


def meets(gb_id, *calls, state=(), around=contextlib.nullcontext, without=None, recorded=True):
    """Registers the decorated function."""

    def register(function):
        PROGRAMS.append(Program(gb_id, function, calls or (one_tensor,), state, around, without, recorded))
        return function

    return register


# Requested by the program


@compiler.disable
def disabled(x):
    return x * 2


@compiler.disable(recursive=False)
def disabled_frame(x):
    return x * 2


@contextlib.contextmanager
def sub_disallowed():
    disallow_in_graph(minidynamo.sub)
    try:
        yield
    finally:
        allow_in_graph(minidynamo.sub)


@meets("MD0001")
def calls_graph_break(x):
    graph_break()
    return x + 1


@meets("MD0002")
def calls_skip_frame(x):
    skip_frame()
    return x + 1


@meets("MD0003")
def calls_a_disabled_function(x):
    return disabled(x) + 1


@meets("MD0004")
def calls_a_function_with_a_disabled_frame(x):
    return disabled_frame(x) + 1


@meets("MD0005")
def saves_a_tensor(x):
    minidynamo.save(x, "/dev/null")
    return x + 1


@meets("MD0006", around=sub_disallowed)
def calls_a_disallowed_op(x):
    return minidynamo.sub(x, 1)


@meets("MD0064")
def leaves_its_rest_to_python(x):
    step_unsupported()
    return x + 1


# Calls


class Sized:
    def __len__(self):
        return 2


class NamesItsClass:
    def name(self):
        return super(NamesItsClass).__thisclass__.__name__


LOGGED = []


class KeepsTexts(logging.Handler):
    def emit(self, record):
        LOGGED.append(record.getMessage())


LOGGER = logging.getLogger("break_programs")
LOGGER.propagate = False
LOGGER.addHandler(KeepsTexts())


def with_array():
    """The type is written in C and unknown to capture."""
    return minidynamo.ones(3), array.array("i", [1, 2])


@meets("MD0007")
def calls_compiled_code(x):
    return x + len(_C.graph_break_rows())


@meets("MD0008", with_array)
def sums_up_an_array(x, numbers):
    return x + sum(numbers)


@meets("MD0009")
def prints_a_tensor(x):
    print(x)
    return x + 1


@meets("MD0010", lambda: (minidynamo.ones(3), Sized()))
def maps_a_builtin_that_calls_a_method(x, sized):
    return x + list(map(len, [sized]))[0]


@meets("MD0011")
def breaks_in_a_sort_key(x):
    return x * sorted([3, 1], key=lambda n: (graph_break(), n)[1])[0]


@meets("MD0012", lambda: (minidynamo.ones(3), operator.methodcaller("sum")))
def calls_an_object_of_a_c_type(x, caller):
    return x + caller(x)


@meets("MD0013")
def makes_an_object_of_a_c_type(x):
    return x + 1, bytearray(3)


@meets("MD0014")
def returns_a_generator(x):
    generator = (x + n for n in range(2))
    next(generator)
    return generator


@meets("MD0015", lambda: (minidynamo.ones(3), NamesItsClass()))
def calls_super_with_one_argument(x, named):
    return x + len(named.name())


@meets("MD0016")
def evaluates_a_text(x):
    return x + eval("1 + 1")


@meets("MD0065", state=("LOGGED",))
def logs_a_tensor(x):
    LOGGER.error("%s", x)
    return x + 1


# Values that exist only at run time


@meets("MD0017")
def branches_on_a_tensor(x):
    return x + 1 if x.sum() else x - 1


@meets("MD0018")
def indexes_a_list_with_a_tensor(x):
    return x + [1, 2, 3, 4][int(x.sum())]


@meets("MD0019", lambda: (minidynamo.ones(65),))
def returns_a_list(x):
    return x.tolist()


@meets("MD0020")
def reads_the_address(x):
    return x + x.data_ptr() % 1


@meets("MD0021")
def returns_the_text_of_a_tensor(x):
    return str(x)


@meets("MD0022")
def narrows_from_a_tensor(x):
    return x.narrow(0, minidynamo.tensor(1), 2)


# Tensors


@library.custom_op("break_programs::doubled", mutates_args=())
def doubled(x: minidynamo.Tensor) -> minidynamo.Tensor:
    return x * 2


doubled.register_fake(lambda x: x * 2)


@library.custom_op("break_programs::without_fake", mutates_args=())
def without_fake(x: minidynamo.Tensor) -> minidynamo.Tensor:
    return x * 2


@allow_in_graph
def allowed(x, anything):
    return x * 2


@meets("MD0023")
def reduces_a_tensor(x):
    return x + len(x.__reduce_ex__(2)) * 0


@meets("MD0024")
def reads_the_attributes_of_a_tensor(x):
    return x + len(x.__dict__)


@meets("MD0025", lambda: (minidynamo.ones(3), object()))
def compares_a_tensor_with_an_object(x, other):
    return x == other


def with_two_views():
    whole = minidynamo.ones(4)
    return whole[:2], whole[2:], whole[1:3]


@meets("MD0026", with_two_views)
def writes_to_one_of_two_views(x, y, both):
    x.add_(y)
    return both * 2


@meets("MD0027")
def calls_an_operator_without_a_fake(x):
    return without_fake(x)


@meets("MD0062", lambda: (minidynamo.ones(3), Sized()))
def passes_an_object_to_an_allowed_function(x, anything):
    return allowed(x, anything)


@meets("MD0063")
def calls_an_operator_in_the_try_of_a_generator(x):
    def results():
        try:
            yield doubled(x)
        except ValueError:
            yield x

    return next(results())


# Statements


class Names(dict):
    pass


kept = 0


def sets_a_global(x):
    global kept
    kept = x.ndim
    return x + 1


# Module code, which has names instead of local variables.
SETS_A_NAME = types.FunctionType(compile("name = 3\n", "<module>", "exec"), {})


@meets("MD0028")
def calls_the_code_of_a_module(x):
    SETS_A_NAME()
    return x + 1


@meets("MD0029")
def makes_a_class_with_a_finalizer(x):
    class Finalized:
        def __del__(self):
            pass

    return x + isinstance(Finalized(), Finalized)


def with_a_module_not_loaded():
    sys.modules.pop("colorsys", None)
    return one_tensor()


@meets("MD0030", with_a_module_not_loaded)
def imports_a_module(x):
    import colorsys

    return x + colorsys.ONE_THIRD


@meets("MD0031")
def closes_a_coroutine(x):
    async def added():
        return x + 1

    added().close()
    return x + 1


@meets("MD0033", lambda: (minidynamo.ones(3), memoryview(b"abc")))
def enters_an_object_of_a_c_type(x, view):
    with view:
        return x + 1


@meets("MD0034")
def sets_an_attribute_of_a_tensor(x):
    x.requires_grad = False
    return x + 1


@meets("MD0035", with_array)
def sets_an_item_of_an_array(x, numbers):
    numbers[0] = 3
    return x + 1


meets("MD0036", state=("kept",))(types.FunctionType(sets_a_global.__code__, Names(globals())))


# Iterators and containers


@meets("MD0038", lambda: (minidynamo.ones(3), iter([1, 2])))
def takes_one_item_of_an_iterator(x, items):
    return x + next(items)


@meets("MD0040", with_array)
def loops_over_an_array(x, numbers):
    for number in numbers:
        x = x + number
    return x


@meets("MD0041", with_array)
def passes_an_array_as_arguments(x, numbers):
    return x + max(*numbers)


@meets("MD0042", with_array)
def unpacks_an_array(x, numbers):
    first, second = numbers
    return x * first + second


@meets("MD0043", with_array)
def reads_an_item_of_an_array(x, numbers):
    return x + numbers[0]


@meets("MD0044", lambda: (minidynamo.ones(3), {}))
def keeps_a_new_tensor_as_a_key(x, table):
    table[x + 1] = 2
    return x


@meets("MD0045")
def sorts_tensors(x):
    return sorted([x.sum(), x.max()])[0]


# Objects


def with_object_and_dict():
    owner = types.SimpleNamespace(number=1)
    return minidynamo.ones(3), owner, owner.__dict__


@meets("MD0046", with_array)
def reads_an_attribute_of_an_array(x, numbers):
    return x + numbers.itemsize


@meets("MD0047", with_array)
def branches_on_an_array(x, numbers):
    return x + 1 if numbers else x - 1


@meets("MD0048", with_array)
def compares_arrays(x, numbers):
    return x + (numbers == numbers)


@meets("MD0049", with_array)
def adds_arrays(x, numbers):
    return x + 1, numbers + numbers


@meets("MD0050", with_array)
def reads_the_length_of_an_array(x, numbers):
    return x + len(numbers)


@meets("MD0051", with_array)
def searches_an_array(x, numbers):
    return x + (2 in numbers)


@meets("MD0052", with_array)
def formats_an_array(x, numbers):
    return x + len(f"{numbers}")


@meets("MD0053", with_object_and_dict)
def writes_to_the_attributes_by_another_name(x, owner, attributes):
    attributes["number"] = 2
    return x + owner.number


# Limits and stops


def factorial(n):
    return n * factorial(n - 1) if n else 1


@meets("MD0055", around=lambda: config.patch(walk_limit=10))
def loops_for_long(x):
    for number in range(20):
        x = x + number
    return x


@meets("MD0056", around=lambda: config.patch(inline_depth_limit=3))
def calls_itself_too_deeply(x):
    return x + factorial(5)


# Python makes the call; it is an error only where breaks are errors.
@meets(
    "MD0057",
    lambda: (minidynamo.ones(3), "a"),
    lambda: (minidynamo.ones(3), "bc"),
    around=lambda: config.patch(recompile_limit=1),
    recorded=False,
)
def is_captured_for_each_text(x, text):
    return x + len(text)


# Silent reasons


class Finalized:
    def __init__(self, deaths):
        self.deaths = deaths

    def __del__(self):
        self.deaths.append("died")


def with_the_last_reference():
    deaths = []
    return minidynamo.ones(3), [Finalized(deaths)], deaths


def catches_nothing(x, error):
    try:
        x = x + 1
    except KeyError:
        return x - 1
    return x


@meets("MD0032", lambda: (minidynamo.ones(3), KeyError("a")), without=catches_nothing)
def catches_an_error_that_it_was_given(x, error):
    try:
        raise error
    except KeyError:
        return x - 1


def loops_over_a_copy(x, items):
    for item in (1, 2):
        x = x + item
    return x


@meets("MD0039", lambda: (minidynamo.ones(3), iter([1, 2])), without=loops_over_a_copy)
def loops_over_an_iterator(x, items):
    for item in items:
        x = x + item
    return x


def adds_and_doubles(x):
    return (x + 1) * 2


def adds_a_short_search(x):
    return search(x + 1, 10)


def search(x, count):
    total = 0
    for number in range(count):
        total += number % 7
    return x * total


@meets("MD0067", without=adds_a_short_search)
def adds_a_long_search(x):
    return search(x + 1, 9000)


@meets("MD0059", around=lambda: config.patch(snapshot_stress=1), without=adds_and_doubles)
def is_cut_by_the_switch(x):
    return (x + 1) * 2


def with_integers():
    return (minidynamo.ones(3, dtype=minidynamo.int64),)


def multiplies_after_an_operator(x):
    return doubled(x) * x


@meets("MD0060", with_integers, without=multiplies_after_an_operator)
def divides_after_an_operator(x):
    return doubled(x) // x


def multiplies_by_a_number(x):
    return x * x.sum().item() + 1


@meets(
    "MD0061",
    *(lambda factor=factor: (minidynamo.ones(3) * factor,) for factor in (1, 2)),
    without=multiplies_by_a_number,
)
def decides_on_a_number(x):
    number = x.sum().item()
    y = x * number
    return y + 1 if number > 5 else y - 1


def keeps_the_items_of_the_list(x, objects, deaths):
    return (x + 1) * 2, list(deaths)


@meets("MD0066", with_the_last_reference, without=keeps_the_items_of_the_list)
def clears_a_list(x, objects, deaths):
    y = x + 1
    objects.clear()
    return y * 2, list(deaths)


def with_a_hook():
    x = minidynamo.ones(3, requires_grad=True)
    x.register_hook(lambda gradient: gradient * 2)
    return (x,)


@meets("MD0070", with_a_hook)
def goes_back_to_what_it_computed(x):
    y = x * x
    y.sum().backward(inputs=[y])
    return x + 1
