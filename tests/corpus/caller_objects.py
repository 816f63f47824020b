"""Objects that the caller can see are modified: once, in order, preserving aliases and identity."""

from differential import snippet, whole

from minidynamo import tensor
from minidynamo._dynamo import graph_break


def x():
    return tensor([1.0, -2.0, 3.0])


class Box:
    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class Checked:
    def __init__(self):
        self.log = []
        self._value = 0

    @property
    def value(self):
        return self._value

    @value.setter
    def value(self, value):
        if value < 0:
            raise ValueError(value)
        self.log.append(value)
        self._value = value


@whole(lambda: (x(), []), lambda: (x(), [1, 2]), lambda: (x(), [1, 2, 3]))
def list_append_whatever_the_length(x, items):
    items.append(x + 1)
    items.append(2)
    return items


@whole(lambda: (x(), [1, 2, 3]))
def list_methods(x, items):
    items.append(4)
    items.insert(1, "in")
    last = items.pop()
    items.extend([4, 5])
    items[0] = last * 2
    items[-1] = 9
    del items[1]
    items[1:2] = [7, 8]
    items.reverse()
    items += (1,)
    items.remove(7)
    return x * last, len(items), items[0], 8 in items, items.index(8), items.count(1)


@whole(lambda: (x(), [1, 2, 3]))
def list_cleared_and_filled(x, items):
    items.clear()
    items.append(x)
    return items[0] + 1, len(items)


@whole(lambda: (x(), [3, 1]))
def list_read_between_writes(x, items):
    for _ in range(3):
        items.append(items[-1] + items[-2])
    return x * items[-1], list(items), sum(items)


@whole(lambda: (x(), {"a": 1}))
def dict_methods(x, d):
    d["b"] = x
    d["a"] = d["a"] + 1
    d.update({"c": 3}, e=5)
    first = d.pop("a")
    missing = d.pop("zz", None)
    d.setdefault("f", []).append(first)
    d.setdefault("b", 0)
    del d["c"]
    d["a"] = "again"
    return first, missing, list(d), d.get("e"), "c" in d, len(d), d.popitem()


@whole(lambda: (x(), {"a": 1, 2: "two"}))
def dict_cleared(x, d):
    d.clear()
    d["new"] = x * 2
    return list(d.items()), "a" in d


@whole(lambda: (x(), {1: "one"}))
def equal_dict_keys(x, d):
    d[True] = x
    d[1.0] = 2
    return list(d), d[1]


@whole(lambda: (x(), {"k": [1]}))
def nested(x, d):
    d["k"].append(x)
    d["k"][0] = d
    d["l"] = d["k"]
    return d["l"] is d["k"], d


@whole(lambda: (x(), Box(a=1, b=[2])))
def attributes(x, box):
    box.a += 1
    box.new = x * box.a
    box.b.append(box.a)
    del box.a
    box.a = "back"
    return box.new, hasattr(box, "a"), box


@whole(lambda: (x(), Slots(1)))
def slots(x, s):
    s.b = x + s.a
    s.a = 5
    return s.a, s.b


@whole(lambda: (x(), Checked()))
def property_setter(x, c):
    c.value = 3
    c.value += 1
    return x * c.value


@snippet(lambda: (x(), Checked()), raises=ValueError)
def property_setter_raises(x, c):
    c.value = 3
    x = x + 1
    c.value = -1
    return x


def same_list():
    items = [1]
    return x(), items, items


@whole(same_list, lambda: (x(), [1], [1]), same_list)
def one_list_twice(x, a, b):
    a.append(2)
    b.append(x)
    return len(a), len(b), a is b


def same_box():
    box = Box(n=1)
    return x(), box, box


@whole(same_box, lambda: (x(), Box(n=1), Box(n=1)), same_box)
def one_object_twice(x, a, b):
    a.n = 5
    b.n += 1
    return a.n, b.n


def dict_of_an_object():
    box = Box(n=1)
    return x(), box, vars(box)


@snippet(lambda: (x(), Box(n=1), {"n": 1}), dict_of_an_object, lambda: (x(), Box(n=1), {"n": 1}))
def object_and_its_dict(x, box, d):
    box.n = 2
    d["n"] = d["n"] + 5
    return x + 1, box.n, d["n"]


@snippet(lambda: (x(), Box(n=1), {"n": 1}), dict_of_an_object)
def dict_and_its_object(x, box, d):
    d["n"] = 7
    return x + box.n


COUNT = 0
SEEN = []


def bump():
    global COUNT
    COUNT += 1
    return COUNT


@whole(state=("COUNT", "SEEN"))
def globals_through_calls(x):
    global COUNT
    COUNT = 10
    SEEN.append(bump())
    SEEN.append(bump())
    return x + COUNT


@whole(state="COUNT")
def global_deleted(x):
    global COUNT
    COUNT = 3
    del COUNT
    x = x + 1
    COUNT = 4
    return x


@whole(lambda: (x(), globals()), state="COUNT")
def globals_as_a_dict(x, names):
    global COUNT
    names["COUNT"] = 21
    a = COUNT
    COUNT = 22
    return x + a, names["COUNT"]


@snippet(lambda: (x(), [1], {}, Box(n=0)), raises=ZeroDivisionError)
def an_exception_in_the_middle(x, items, d, box):
    items.append(2)
    d["k"] = items
    box.n = x + 1
    box.n / 1
    1 // 0
    items.append(3)
    return x


@snippet(lambda: (x(), [1], {}))
def an_exception_caught(x, items, d):
    items.append(2)
    try:
        d["a"] = x
        items.append(items[5])
    except IndexError as error:
        items.append(str(error))
    return items, d


@snippet(lambda: (x(), [1, 2, 3]))
def seen_at_a_break(x, items):
    items.append(x + 1)
    graph_break()
    items.append(len(items))
    graph_break()
    return items


@whole(lambda: (x(), [1, 2, 3]))
def iterated_while_it_grows(x, items):
    for item in items:
        if len(items) < 6:
            items.append(item + 3)
        x = x + item
    return x


@snippet(lambda: (x(), [1, 2, 3]))
def iterated_with_a_break(x, items):
    for item in items:
        if len(items) < 5:
            items.append(item * 2)
        graph_break()
        x = x + item
    return x


@snippet(lambda: (x(), {"a": 1}), raises=RuntimeError)
def dict_grows_while_iterated(x, d):
    for key in d:
        d[key + "x"] = x
    return x


@whole(lambda: (x(), []))
def created_containers_in_a_caller_list(x, items):
    inner = [1]
    items.append(inner)
    inner.append(x)
    other = {"inner": inner}
    items.append(other)
    items[1]["more"] = items[0]
    return inner


@whole(lambda: (x(), []))
def cycle(x, items):
    items.append(items)
    items[0].append(x)
    return items[0][0] is items


class Node:
    def __init__(self, value):
        self.value = value
        self.next = None


@whole(lambda: (x(), Node(0)))
def created_objects_in_a_caller_list(x, node):
    node.next = Node(x)
    node.next.next = node
    node.next.next.value = 5
    return node.value, node.next.value


class WithSetattr:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, ("set", value))


@whole(lambda: (x(), WithSetattr()))
def user_setattr(x, box):
    box.a = 1
    return x + 1, box.a


class WithDescriptor:
    class Doubling:
        def __set__(self, owner, value):
            owner.__dict__["doubled"] = value * 2

        def __get__(self, owner, kind):
            return owner.__dict__["doubled"]

    doubled = Doubling()


class WithProperty:
    @property
    def hidden(self):
        return self.__dict__["hidden"] + 1


@whole(lambda: (x(), WithDescriptor()))
def user_descriptor(x, box):
    box.doubled = 4
    return x + box.doubled


@whole(lambda: (x(), 2), lambda: (x(), 3))
def user_descriptor_of_a_new_object(x, n):
    box = WithDescriptor()
    box.doubled = n
    vars(box)["plain"] = box.doubled + 1
    return x + box.doubled, box, vars(box)


@whole(lambda: (x(), WithProperty()))
def attributes_behind_a_property(x, box):
    box.__dict__["hidden"] = 5
    first = box.hidden
    box.__dict__["hidden"] = 6
    made = WithProperty()
    made.__dict__["hidden"] = 7
    vars(made)["gone"] = 1
    del vars(made)["gone"]
    return x, first, box.hidden, made.hidden, made


@snippet(lambda: (x(), WithProperty()), raises=KeyError)
def no_attribute_behind_a_property(x, box):
    return x + box.hidden


class Slotted:
    __slots__ = ("inside", "__dict__")


@snippet(lambda: (x(), Slotted()))
def attributes_beside_a_slot(x, box):
    box.__dict__["inside"] = 1
    box.inside = 2
    return x, box.inside, box.__dict__


class Frozen:
    __slots__ = ()


@snippet(lambda: (x(), Frozen()), raises=AttributeError)
def attribute_that_cannot_be_set(x, box):
    x = x + 1
    box.a = x
    return x


@snippet(lambda: (x(), {}), raises=KeyError)
def delete_missing_item(x, d):
    d["a"] = 1
    del d["a"]
    del d["a"]


@whole(lambda: (x(), [1, 2], {"a": 1}))
def same_object_returned(x, items, d):
    items.append(3)
    d["items"] = items
    return items, d, d["items"]


class Loud:
    def __eq__(self, other):
        raise ValueError("compared")

    def __hash__(self):
        return hash("key")


@snippet(lambda: (x(), {Loud(): 1}), raises=ValueError)
def key_with_user_equality(x, d):
    x = x + 1
    d["key"] = x
    return x


@whole(lambda: (x(), [[0, 1], [2, 3]]))
def element_of_element(x, rows):
    rows[0][1] = x
    rows[1], rows[0] = rows[0], rows[1]
    return rows[1][1] + 1, rows


def two_closures():
    def make():
        n = 0

        def bump():
            nonlocal n
            n += 1
            return n

        def read():
            return n

        return bump, read

    one, other = make(), make()
    return one, other


def same_pair():
    one, _ = two_closures()
    return x(), one[0], one[1]


def two_pairs():
    one, other = two_closures()
    return x(), one[0], other[1]


@whole(two_pairs, same_pair, two_pairs)
def cells_that_may_be_identical(x, bump, read):
    bump()
    return x + read(), read()


@snippet(lambda: (x(), {1, 2}))
def set_of_the_caller(x, s):
    s.add(3)
    s.discard(1)
    return x + len(s), 3 in s


@whole(lambda: (x(), Box(a=1)))
def setattr_and_delattr(x, box):
    setattr(box, "b", x)
    delattr(box, "a")
    return getattr(box, "b"), hasattr(box, "a"), getattr(box, "a", "none")
