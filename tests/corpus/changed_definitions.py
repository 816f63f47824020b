"""Attributes of pre-existing classes and functions, set and deleted in compiled code."""

import abc

from differential import snippet, whole

import minidynamo
from minidynamo import tensor


class Counter:
    count = 0
    made = []

    def __init__(self):
        Counter.count += 1
        self.number = self.count

    @classmethod
    def reset(cls):
        cls.count = 0


class Child(Counter):
    pass


class Abstract(abc.ABC):
    level = 1


class Guarded(type):
    def __setattr__(cls, name, value):
        super().__setattr__(name, value * 2)


class WithGuard(metaclass=Guarded):
    level = 1


def helper(x):
    return x + 1


def counted(x):
    counted.calls += 1
    return x * counted.calls


counted.calls = 0


def of_counter():
    Counter.count = 0
    for name in ("late", "more"):
        if name in vars(Counter):
            delattr(Counter, name)
    return (tensor([1.0, 2.0]),)


def of_functions():
    counted.calls = 2
    vars(helper).clear()
    return (tensor([1.0, 2.0]),)


@whole(of_counter)
def count_of_objects(x):
    one, other = Counter(), Counter()
    return one, other.number, Counter.count, x * Counter.count


@snippet(of_counter)
def count_read_after_a_break(x):
    Counter()
    Counter()
    y = x * Counter.count
    minidynamo._dynamo.graph_break()
    return y, Counter.count, vars(Counter)["count"]


@whole(of_counter)
def set_seen_by_objects(x):
    made = Counter()
    Counter.count = 10
    Counter.late = lambda self, y: y * self.number
    before = made.count
    Counter.count = x
    return before, made.count + 1, made.late(x), Counter.late(made, x), Counter().number


@whole(of_counter)
def set_through_class_method(x):
    Counter()
    Counter.reset()
    return Counter.count, x


@whole(of_counter)
def set_and_deleted(x):
    Counter.more = 3
    n = Counter.more
    Counter.more += 1
    found = getattr(Counter, "more", None)
    del Counter.more
    return n, found, hasattr(Counter, "more"), hasattr(Counter(), "more"), x


@snippet(of_counter)
def set_before_a_break_then_deleted(x):
    Counter.late = 1
    minidynamo._dynamo.graph_break()
    del Counter.late
    return hasattr(Counter, "late"), x


@snippet(of_counter, raises=AttributeError)
def deleted_twice(x):
    Counter.more = 3
    del Counter.more
    del Counter.more
    return x


@snippet(of_counter)
def seen_by_a_subclass(x):
    Counter.count = 5
    made = Child()
    return made.count, Child.count, "count" in vars(Child), x


@snippet(of_counter)
def set_on_a_subclass(x):
    Child.count = 5
    made = Child()
    result = made.count, Child.count, Counter.count
    del Child.count
    return result, x


@whole(of_counter)
def set_by_name(x):
    setattr(Counter, "late", [x])
    Counter.late.append(2)
    kept = Counter.late
    delattr(Counter, "late")
    return kept, x


@whole(of_counter)
def through_type_and_class(x):
    made = Counter()
    type(made).count = 7
    made.__class__.count += 1
    return Counter.count, made.count, x


@snippet(of_counter)
def special_names(x):
    Counter.__len__ = lambda self: 4
    n = len(Counter())
    del Counter.__len__
    Counter.__doc__ = "text"
    Counter.__name__ = "Renamed"
    name = Counter.__name__
    Counter.__name__ = "Counter"
    return n, Counter.__doc__, name, x


@snippet(of_counter)
def used_in_a_super_call(x):
    class Local(Counter):
        def read(self):
            return super().count

    Counter.count = 3
    return Local().read(), x


@whole()
def of_an_abstract_class(x):
    Abstract.level += 1
    n = Abstract.level
    Abstract.level = 1
    return n * x


@snippet()
def of_a_class_with_a_metaclass(x):
    WithGuard.level = 4
    n = WithGuard.level
    WithGuard.level = 1
    return n, x


@snippet(raises=TypeError)
def of_a_built_in_class(x):
    dict.late = 1
    return x


@snippet(of_counter, raises=ZeroDivisionError)
def error_after_the_change(x):
    Counter.count = 5
    return x / (1 // 0)


@whole(of_counter)
def caught_error_after_the_change(x):
    try:
        Counter.count += 5
        Counter.count = 1 // 0
    except ZeroDivisionError:
        Counter.count += 1
    return Counter.count, x


@whole(of_functions)
def function_counts_its_calls(x):
    return counted(x) + counted(x), counted.calls


@whole(of_functions)
def function_gets_attributes(x):
    helper.cache = {}
    helper.cache["x"] = x
    helper.table = [1]
    before = helper.table
    helper.table = None
    found = hasattr(helper, "table"), hasattr(helper, "nothing"), getattr(helper, "nothing", 3)
    del helper.table
    setattr(helper, "named", 5)
    return before, found, hasattr(helper, "table"), helper.cache["x"] + 1, helper.named, helper(x)


@snippet(of_functions, raises=AttributeError)
def function_attribute_deleted_twice(x):
    helper.late = 1
    del helper.late
    del helper.late
    return x


@snippet(of_functions)
def function_and_its_dict(x):
    helper.late = 1
    names = helper.__dict__
    names["late"] += 1
    helper.late += 1
    return dict(names), helper.late, x


def make_adder():
    def adder(x):
        adder.calls = getattr(adder, "calls", 0) + 1
        return x + adder.calls

    return adder


def two_adders():
    return tensor([1.0]), make_adder(), make_adder()


def one_adder_twice():
    adder = make_adder()
    return tensor([1.0]), adder, adder


@whole(two_adders, one_adder_twice)
def functions_that_may_be_identical(x, f, g):
    f.mark = 1
    g.mark = 2
    return f(x), g(x), f.mark, g.mark, f.calls


@snippet(of_functions)
def function_name_is_set(x):
    helper.__name__ = "other"
    name = helper.__name__
    helper.__name__ = "helper"
    return name, x
