"""Methods that Python makes of the slots of built-in types, attributes of built-in objects, and the protocols of user
classes."""

import collections
import collections.abc
import dataclasses
import datetime
import enum
import functools
import math
import operator
import pathlib
import re
import threading
import types
import typing

from differential import snippet, whole
from differential import whole_on_311 as whole_311

import minidynamo
from minidynamo import nn, tensor


@whole()
def slots_of_numbers(x):
    n = 5
    return x, n.__index__(), int.__index__(n), n.__add__(2), n.__radd__(2), n.__rsub__(2), n.__neg__(), True.__index__()


@whole()
def slots_that_decline(x):
    return x, (1).__add__(2.5), (1).__add__("a"), (1).__eq__("a"), (1.5).__lt__(2), "a".__eq__(1), (1).__lt__(2.5)


@whole(lambda: (tensor([1.0]), 3), lambda: (tensor([1.0]), 4))
def slots_of_an_argument(x, n):
    return x, n.__add__(1), n.__mul__(2), n.__eq__(3), n.__index__(), n.__pow__(2), n.__divmod__(2), n.__truediv__(2)


@snippet(raises=ZeroDivisionError)
def slot_that_raises(x):
    return x, (1).__floordiv__(0)


@snippet(raises=TypeError)
def slot_of_another_type(x):
    return x, int.__add__("a", 1)


@snippet(raises=TypeError)
def slot_with_too_few_operands(x):
    return x, (1).__add__()


@whole()
def slots_of_a_list(x):
    items = [1, 2, 3]
    items.__setitem__(0, 5)
    items.__delitem__(1)
    same = items.__iadd__((7,)) is items
    return (
        x,
        items,
        same,
        items.__len__(),
        items.__getitem__(-1),
        items.__contains__(3),
        list(items.__iter__()),
        items.__mul__(2),
    )


@whole()
def slots_of_a_tuple(x):
    t = (1, 2)
    return x, t.__getitem__(0), t.__add__((3,)), t.__eq__((1, 2)), t.__lt__((1, 3)), t.__hash__(), t.__len__()


@whole()
def slots_of_a_dict(x):
    d = {"a": 1}
    d.__setitem__("b", 2)
    d.__delitem__("a")
    return (
        x,
        d,
        d.__len__(),
        d.__contains__("b"),
        d.__eq__({"b": 2}),
        d.__or__({"c": 3}),
        d.__lt__(d),
        list(d.__iter__()),
    )


@whole(lambda: (tensor([1.0]), [1, 2], {"a": 1}))
def slots_of_containers_of_the_caller(x, items, d):
    items.__setitem__(0, x)
    d.__setitem__("b", x)
    items.__iadd__([4])
    d.__ior__({"c": 2})
    return d.__len__() + items.__len__()


@whole()
def slots_of_a_set(x):
    s = {1}
    return x, s.__or__({2}), s.__contains__(1), s.__len__(), s.__le__({1, 2}), s.__and__(frozenset([1]))


@whole()
def slots_kept_and_called(x):
    add, put = (3).__add__, [0].__setitem__
    put(0, 1)
    return x, add(4), list(map((2).__mul__, [1, 2]))


@whole()
def slots_of_a_tensor(x):
    y = x.__add__(1) + x.__radd__(1) + x.__mul__(x) + x.__rsub__(2) + x.__neg__() + x.__truediv__(2)
    return y, x.__getitem__(0), x.__len__(), x.__gt__(1), x.__eq__(x), x.__abs__(), x.__pow__(2)


@whole()
def slots_in_place_of_a_tensor(x):
    y = x + 1
    y.__iadd__(2)
    y.__imul__(x)
    y.__setitem__(0, 9.0)
    return y


@whole()
def slots_of_a_shape(x):
    return x, x.shape.__getitem__(0), x.shape.__len__(), x.shape.__eq__((3,))


@whole()
def slot_of_a_function(x):
    return (lambda a, b=1: a + b).__call__(x, b=2), len.__call__([1])


@whole()
def index_of_numbers(x):
    return x, operator.index(3), operator.index(True), [1, 2][(1).__index__()]


class OfList(list):
    def __setitem__(self, at, value):
        super().__setitem__(at, value)

    def __getitem__(self, at):
        return super().__getitem__(at)


class OfDict(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, [value])

    def __delitem__(self, key):
        super().__delitem__(key)

    def __contains__(self, key):
        return super().__contains__(key + "!") or super().__contains__(key)


@whole()
def slots_behind_those_of_a_dict_subclass(x):
    d = OfDict()
    d["a"] = x
    d["b"] = 2
    del d["b"]
    return d["a"][0] + 1, "a" in d, "c" in d, d


@whole(lambda: (tensor([1.0]), OfDict(a=1)))
def slots_behind_those_of_a_dict_of_the_caller(x, d):
    d["b"] = x
    del d["a"]
    return "b" in d, len(d)


class Ordered(collections.OrderedDict):
    def __setitem__(self, key, value):
        super().__setitem__(key, (value,))


@whole()
def slots_behind_those_of_an_ordered_dict(x):
    d = Ordered(a=x)
    d["b"] = 1
    d.update(c=2, d=3)
    d.update([("e", 4)])
    return d, d["a"][0] + 1


@whole(lambda: (tensor([1.0]), Ordered(a=1)))
def ordered_dict_of_the_caller_updated(x, d):
    d.update(b=2)
    d.update({"c": x})
    return d["c"][0] + 1


@snippet(lambda: (tensor([1.0]), Ordered(a=1)))
def ordered_dict_of_the_caller_by_its_own_methods(x, d):
    d.setdefault("d", 4)
    return x, d.pop("a"), d.popitem()


@whole()
def ordered_dict_reordered(x):
    d = collections.OrderedDict(a=1, b=2, c=3)
    d.move_to_end("a")
    d.move_to_end("c", last=False)
    first = d.popitem(last=False)
    return x, d, first, d.popitem()


@whole(lambda: (tensor([1.0]), collections.OrderedDict(a=1, b=2, c=3)))
def ordered_dict_of_the_caller_reordered(x, d):
    d.move_to_end("a")
    d.move_to_end("c", last=False)
    before = list(d)
    return x, before, d.popitem(last=False), d.popitem(), list(d.items())


@snippet(lambda: (tensor([1.0]), collections.OrderedDict(a=1)), raises=KeyError)
def ordered_dict_without_the_key(x, d):
    d.move_to_end("b")
    return x


@whole(lambda: (tensor([1.0]), collections.OrderedDict(a=1, b=2), {"k": 1, "l": 2}))
def reversed_dicts(x, ordered, plain):
    return (
        x,
        list(reversed(ordered.values())),
        list(reversed(plain)),
        [*reversed(plain.items())],
        next(reversed(ordered)),
    )


@snippet(raises=RuntimeError)
def reversed_dict_that_grows(x):
    d = {"a": 1, "b": 2}
    for key in reversed(d):
        d[key * 2] = 1
    return x


@snippet()
def reversed_dict_returned(x):
    return x, reversed({"a": 1, "b": 2})


class Items:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, at):
        return self.items[at]


class Backwards(Items):
    def __reversed__(self):
        return iter(["own"])


@whole()
def reversed_user_sequences(x):
    return x, list(reversed(Items([1, 2, 3]))), list(reversed(Backwards([1]))), [v for v in reversed(Items([]))]


@snippet()
def reversed_user_sequence_half_way(x):
    backwards = reversed(Items([1, 2, 3]))
    return x, next(backwards), backwards


class Table(collections.abc.MutableMapping):
    def __init__(self, d, log=None):
        self.d = d
        self.log = [] if log is None else log

    def __getitem__(self, key):
        self.log.append(key)
        return self.d[key]

    def __setitem__(self, key, value):
        self.d[key] = value

    def __delitem__(self, key):
        del self.d[key]

    def __iter__(self):
        return iter(self.d)

    def __len__(self):
        return len(self.d)


class ByKeys:
    """A mapping for dict() and ** alone."""

    def __init__(self, d, log):
        self.d = d
        self.log = log

    def keys(self):
        self.log.append("keys")
        return list(self.d)

    def __getitem__(self, key):
        self.log.append(key)
        return self.d[key]


@whole()
def mapping_copied(x):
    m = Table({"ab": 1, "cd": x})
    return dict(m), {**m, "e": 2}, m.log


@whole()
def mapping_as_keywords(x):
    def f(ab, cd=0):
        return cd * ab

    return f(**Table({"ab": 2, "cd": x})), f(3, **Table({"cd": x}))


@whole(lambda: (tensor([1.0]), Table({"ab": 1}, []), {}), lambda: (tensor([1.0]), Table({"ab": 2, "c": 3}, []), {}))
def mapping_of_the_caller(x, m, d):
    d.update(m)
    return x + m["ab"], dict(m), {**m}


@whole()
def mapping_by_keys_alone(x):
    log = []
    m = ByKeys({"ab": 1, "cd": 2}, log)
    d = {"z": 0}
    d.update(m)
    return x, dict(m), {**m}, d, dict(m, last=3), log


@snippet(raises=KeyError)
def mapping_that_lacks_its_key(x):
    class Broken(ByKeys):
        def keys(self):
            return ["zz"]

    return x, dict(Broken({}, []))


@snippet(raises=TypeError)
def keywords_of_a_mapping_that_are_no_names(x):
    return (lambda **kwargs: kwargs)(**Table({1: x}))


@whole_311()
def views_of_a_mapping(x):
    m = Table({"a": 1, "b": 2})
    return x, [k for k in m.keys()], list(m.items()), [*m.values()], len(m.keys()), "a" in m, m.get("c", 3)


@whole_311()
def methods_of_a_mapping(x):
    m = Table({"a": 1})
    m.update(b=2)
    m.setdefault("c", 3)
    return x, m.pop("a"), "a" in m.keys(), 3 in m.values(), dict(m.items())


class P:
    def __init__(self):
        self.kept = 1

    v = property(
        lambda self: self.kept, lambda self, value: setattr(self, "kept", value), lambda self: setattr(self, "kept", 0)
    )
    read_only = property(lambda self: 3)


@whole(lambda: (tensor([1.0]), P()))
def property_deleted(x, p):
    p.v = 5
    del p.v
    made = P()
    del made.v
    delattr(made, "v")
    return x + p.v, made.kept


@snippet(lambda: (tensor([1.0]), P()), raises=AttributeError)
def property_without_a_deleter(x, p):
    del p.read_only
    return x


@snippet(lambda: (tensor([1.0]), P()), raises=AttributeError)
def property_without_a_setter(x, p):
    p.read_only = 1
    return x


class Deleter:
    def __get__(self, owner, kind=None):
        return 1

    def __delete__(self, owner):
        owner.__dict__["deleted"] = True


class WithDeleter:
    d = Deleter()


@whole()
def descriptor_that_deletes(x):
    made = WithDeleter()
    del made.d
    return x, made.deleted


class Setting:
    def __setattr__(self, name, value):
        super().__setattr__(name, value * 2)


class Deleting:
    def __delattr__(self, name):
        self.gone = name
        super().__delattr__(name)


@whole(lambda: (tensor([1.0]), Setting(), Deleting()))
def own_ways_to_store(x, setting, deleting):
    setattr(setting, "a", x)
    setting.b = 2
    del setting.b
    deleting.c = 1
    deleting.d = 2
    del deleting.c
    delattr(deleting, "d")
    return setting.a + 1, hasattr(setting, "b"), deleting.gone, vars(deleting)


@snippet(lambda: (tensor([1.0]), Deleting()), raises=AttributeError)
def own_way_to_delete_what_is_not_there(x, deleting):
    del deleting.c
    return x


def layers():
    minidynamo.manual_seed(0)
    return nn.Sequential(nn.Linear(1, 1), nn.ReLU()), nn.ModuleList([nn.ReLU(), nn.Tanh()])


@whole(lambda: (tensor([1.0]), *layers()))
def layers_by_number(x, sequential, modules):
    return sequential[-1](x) + modules[-1](x) + modules[0:1][0](x) + sequential[0](x) * len(modules)


@whole(lambda: (tensor([1.0]), *layers()))
def layers_in_reverse(x, sequential, modules):
    for layer in reversed(modules):
        x = layer(x)
    return x + len(sequential)


@whole(lambda: (tensor([1.0]), layers()[0][0]))
def attribute_of_a_layer_set(x, layer):
    setattr(layer, "scale", 3)
    layer.other = 4
    del layer.other
    return x * layer.scale, hasattr(layer, "other")


LOCAL = threading.local()
LOCAL.v = 2


@whole()
def attribute_of_a_thread(x):
    return x + LOCAL.v, hasattr(LOCAL, "w"), getattr(LOCAL, "w", 7)


@whole()
def missing_names_of_modules(x):
    return x, hasattr(math, "absent"), hasattr(minidynamo, "absent"), getattr(math, "absent", 3), hasattr(math, "pi")


LAZY = types.ModuleType("lazy")
exec("def __getattr__(name):\n    if name == 'there': return 7\n    raise AttributeError(name)", LAZY.__dict__)


class OwnModule(types.ModuleType):
    limit = 3

    @property
    def double(self):
        return self.base * 2

    def __getattr__(self, name):
        if name == "made":
            return 11
        raise AttributeError(name)


OWN = OwnModule("own")
OWN.base = 4


@whole()
def names_that_a_module_makes(x):
    return x + LAZY.there, hasattr(LAZY, "other"), OWN.base, OWN.double, OWN.limit, OWN.made, hasattr(OWN, "none")


@snippet(raises=AttributeError)
def missing_name_of_a_module(x):
    return x + math.absent


MOMENT = datetime.datetime(2024, 1, 2, 3)


@whole(lambda: (tensor([1.0]), MOMENT), lambda: (tensor([1.0]), MOMENT.replace(year=2025)))
def parts_of_a_moment(x, moment):
    later = moment + datetime.timedelta(days=1)
    return x * moment.year, later.day, moment.isoformat(), (later - moment).days, moment < later, moment.date()


PATTERN = re.compile("a(?P<n>b)", re.IGNORECASE)


@whole()
def parts_of_a_pattern(x):
    return x, PATTERN.pattern, PATTERN.flags, PATTERN.groups


GROUPS = collections.defaultdict(list)


@whole()
def factory_of_a_default_dict(x):
    return x, GROUPS.default_factory is list


ALIAS = list[int]


@whole_311()
def parts_of_an_alias(x):
    made = dict[str, int]
    return (
        x,
        ALIAS.__origin__ is list,
        ALIAS.__args__[0] is int,
        typing.get_args(made)[1] is int,
        typing.get_origin(made) is dict,
    )


PART = functools.partial(max, 1, key=abs)


@whole()
def parts_of_other_objects(x):
    s, c, r = slice(1, 2), 1 + 2j, range(1, 9, 2)
    getter = P.__dict__["v"].fget
    return x, s.start, c.imag, r.step, PART.args, PART.func is max, PART.keywords["key"] is abs, getter(P())


class Kind(enum.StrEnum if hasattr(enum, "StrEnum") else enum.Enum):
    A = "abc"


class Level(enum.IntEnum):
    LOW = 2


class Bits(enum.Flag):
    ONE = 1
    TWO = 2


@whole()
def members_in_builtins(x):
    a, low = Kind.A, Level.LOW
    return (
        x,
        len(a),
        a + "d",
        a[0],
        list(a),
        "b" in a,
        f"{a}",
        str(a),
        a.upper(),
        low + 1,
        f"{low}",
        abs(low),
        [1, 2, 3][low],
    )


@whole_311()
def members_of_a_flag(x):
    both = Bits.ONE | Bits.TWO
    return x, both, Bits.ONE in both, bool(both & Bits.TWO), len(Level)


Pair = collections.namedtuple("Pair", "a b")


@whole_311()
def texts_of_named_tuples(x):
    p = Pair(1, "b")
    return x, repr(p), str(p), f"{p}", "%s-%s" % p, repr([p])


@whole_311(lambda: (tensor([1.0]), {"a": 1}), lambda: (tensor([1.0]), [1]))
def instances_of_typing_classes(x, d):
    return x, isinstance(d, typing.Mapping), isinstance(d, typing.Sequence), issubclass(dict, typing.Mapping)


@whole()
def evaluated_literals(x):
    return x, eval("3"), eval("[1, -2.5, 'a']"), eval(" {'k': (1, None)}")


@snippet()
def evaluated_names(x):
    return x, eval("len([1])")


class Output(collections.OrderedDict):
    """As transformers define what a model returns: items that are attributes too."""

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key):
        if isinstance(key, str):
            return dict(self.items())[key]
        return self.to_tuple()[key]

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[key] for key in self.keys())


@dataclasses.dataclass
class Hidden(Output):
    state: object = None
    extra: object = None
    rest: object = None


@whole()
def output_of_a_model(x):
    out = Hidden(state=x * 2, rest=(x,))
    out.state = out.state + 1
    return out.state + out["state"] + out[0], len(out), list(out.keys()), out.extra is None, out


@whole()
def output_of_a_model_unpacked(x):
    out = Hidden(x, x + 1)
    first, second = out.to_tuple()
    return first * second, vars(out)["state"], hasattr(out, "none"), isinstance(out, collections.abc.Mapping)


@whole(lambda: (tensor([1.0]), Hidden(tensor([2.0]))))
def output_of_a_model_of_the_caller(x, out):
    out["extra"] = x
    out.state = x + 1
    return out["state"] + out.extra


@whole(lambda: (tensor([1.0]), Hidden(tensor([2.0]))))
def output_of_a_model_of_the_caller_changed(x, out):
    out["extra"] = x
    out.state = x + 1
    out.extra = None
    return out.state, out.extra, len(out)


class Slots(dict):
    __slots__ = ("mark",)


class WithAttributes(dict):
    pass


@whole()
def attributes_of_a_dict_subclass(x):
    d, s = WithAttributes(a=1), Slots(b=2)
    d.mark, s.mark = x + 1, 3
    d.gone = 1
    del d.gone
    return d.mark * s.mark, hasattr(d, "gone"), d, s, vars(d)


@snippet(raises=AttributeError)
def missing_attribute_of_a_dict_subclass(x):
    return x, WithAttributes(a=1).mark


@whole_311()
def paths(x):
    path = pathlib.PurePosixPath("/a") / "b" / "c.txt"
    return x, str(path), path.name, path.suffix, str(path.parent), path.parts, path.stem, str(path.with_suffix(".md"))


class Hints:
    a: int = 1
    b: "list[int] | None" = None


@whole_311()
def hints_of_a_dataclass(x):
    return x, typing.get_type_hints(Hidden)["state"] is object, len(typing.get_type_hints(Hidden))


@snippet()
def hints_in_text(x):
    return x, str(typing.get_type_hints(Hints))


JOIN = "-".join
KEPT_LIST = [1]
APPEND = KEPT_LIST.append


@whole(state="KEPT_LIST")
def methods_of_builtins_kept_outside(x):
    return x, JOIN(["a", "b"])


@snippet()
def method_of_a_list_kept_outside(x):
    items = []
    add = items.append
    add(x)
    return items, add


NAMES = types.ModuleType("names")
NAMES.a = 2


@whole()
def dict_of_a_module(x):
    return x * NAMES.__dict__["a"], "b" in NAMES.__dict__, NAMES.__dict__.get("c", 3), vars(NAMES)["a"]


class Pairs:
    """A mapping whose keys may repeat."""

    def __init__(self, *pairs):
        self.pairs = pairs

    def keys(self):
        return [key for key, _ in self.pairs]

    def __getitem__(self, key):
        return dict(self.pairs)[key]


@snippet()
def keywords_that_repeat(x):
    def f(**keywords):
        return keywords

    try:
        f(**Pairs(("a", 1), ("a", 2)))
    except TypeError as error:
        return x, str(error).rpartition(".")[2], f(**Pairs(("a", 1), ("b", 2))), {**Pairs(("a", 1), ("a", 2))}
