"""functools, itertools, heapq, bisect, collections and contextlib, as programs commonly use them."""

import bisect
import collections
import contextlib
import copy
import dataclasses
import functools
import heapq
import itertools
import threading
import types
import typing
import weakref

from differential import snippet
from differential import whole_on_311 as whole

from minidynamo import no_grad, tensor
from minidynamo.nn import Linear, Module, ReLU, Sequential


@whole()
def grouped_by_key(x):
    return x, {key: list(group) for key, group in itertools.groupby("aabbb")}


@whole()
def grouped_by_function(x):
    words = ["a", "bb", "cc", "d"]
    return x, [(size, list(group)) for size, group in itertools.groupby(words, len)]


@whole()
def groups_left_early(x):
    seen = []
    for key, group in itertools.groupby([1, 1, 2, 2]):
        seen.append((key, next(group)))
    return x, seen


@whole()
def groups_used_too_late(x):
    return x, [list(group) for group in [g for _, g in itertools.groupby([1, 1, 2])]]


@whole()
def teed_iterators(x):
    a, b = itertools.tee(iter([x, x + 1, x + 2]))
    return next(a) + next(a), list(b), list(a)


@whole()
def teed_three(x):
    a, b, c = itertools.tee([1, 2], 3)
    return x, list(a), list(c), next(b)


@whole()
def sentinel(x):
    steps = iter([1, 2, 0, 3])
    return x, list(iter(lambda: next(steps), 0)), next(steps)


@whole()
def sentinel_in_a_loop(x):
    queue = [3, 2, 1]
    for n in iter(queue.pop, 3):
        x = x * n
    return x, queue


@whole()
def batched_by_hand(x):
    it = iter(range(5))
    return x, list(iter(lambda: tuple(itertools.islice(it, 2)), ()))


@whole()
def iterators_combined(x):
    return (
        x,
        list(itertools.zip_longest([1], [2, 3], fillvalue=0)),
        list(itertools.accumulate([1, 2, 3], initial=10)),
        list(itertools.takewhile(lambda n: n < 2, [1, 2, 1])),
        list(itertools.dropwhile(lambda n: n < 2, [1, 2, 1])),
        list(itertools.filterfalse(None, [0, 1])),
        list(itertools.starmap(pow, [(2, 3)])),
        list(itertools.compress("abc", [1, 0, 1])),
        list(itertools.pairwise([1, 2, 3])),
        list(itertools.product("ab", repeat=2)),
        list(itertools.combinations_with_replacement("ab", 2)),
        list(itertools.islice(itertools.cycle([1, 2]), 3)),
    )


@whole()
def heap_used(x):
    h = [3, 1, 2]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    return x, heapq.heappop(h), h, heapq.heapreplace(h, 9), heapq.heappushpop(h, 1)


@whole()
def heap_of_pairs(x):
    h = []
    for priority, name in [(2, "b"), (1, "a")]:
        heapq.heappush(h, (priority, name))
    return x, [heapq.heappop(h) for _ in range(2)]


@snippet()
def heap_selections(x):
    return (
        x,
        heapq.nlargest(2, [1, 5, 2]),
        heapq.nsmallest(2, [3, 1, 2]),
        heapq.nlargest(1, [1, -3], key=abs),
        list(heapq.merge([1, 4], [2, 3])),
    )


@whole(lambda: ([3, 1, 2], tensor([1.0])))
def heap_of_caller(h, x):
    heapq.heapify(h)
    return x * heapq.heappop(h)


@whole(raises=IndexError)
def heap_empty(x):
    heapq.heappop([])


@whole()
def bisected_and_inserted(x):
    items = [1, 3, 5]
    bisect.insort(items, 4)
    return x, items, bisect.bisect(items, 3), bisect.bisect_left(items, 3), bisect.bisect_right(items, 9)


@whole()
def bisected_by_key(x):
    return x, bisect.bisect_left([(1, "a"), (3, "b")], 2, key=lambda pair: pair[0])


@whole()
def compared_by_function(x):
    return x, sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))


class Rank:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n < other.n


@whole()
def sorted_by_user_order(x):
    return (
        x,
        [r.n for r in sorted([Rank(3), Rank(1), Rank(2)])],
        max(Rank(1), Rank(5)).n if hasattr(Rank, "__gt__") else 0,
    )


@whole()
def least_by_user_order(x):
    return x, min([Rank(3), Rank(1)]).n, min(Rank(3), Rank(1), key=lambda r: r.n).n


class Lazy:
    def __init__(self, by):
        self.by = by
        self.made = 0

    @functools.cached_property
    def square(self):
        self.made += 1
        return self.by * self.by


@whole()
def property_cached(x):
    lazy = Lazy(x)
    return lazy.square + lazy.square, lazy.made


@whole(lambda: (Lazy(tensor([2.0])),))
def property_cached_of_caller(lazy):
    return lazy.square + lazy.square


def _filled():
    lazy = Lazy(tensor([2.0]))
    lazy.square  # noqa: B018  fills the cache
    return (lazy,)


@whole(_filled)
def property_cached_before(lazy):
    return lazy.square * 2


@functools.lru_cache(maxsize=None)
def table(n):
    return tuple(i * i for i in range(n))


@functools.lru_cache
def shared_list(n):
    return [n]


@whole()
def cached_function(x):
    return x * table(3)[2], table(3) is table(3)


@whole()
def cached_list_is_one(x):
    return x, shared_list(1) is shared_list(1)


@snippet(state=())
def cached_statistics(x):
    table.cache_clear()
    table(2), table(2)
    return x, table.cache_info()[:2]


class Described:
    @functools.singledispatchmethod
    def of(self, value):
        return 1

    @of.register
    def _(self, value: int):
        return 2

    def scaled(self, x, by):
        return x * by

    twice = functools.partialmethod(scaled, by=2)


@whole()
def dispatched_method(x):
    return x * Described().of(1) + Described().of("a")


@snippet()
def partial_as_method(x):
    return Described().twice(x)


@functools.singledispatch
def kind(value):
    return 1


@kind.register
def _(value: int):
    return 2


@kind.register(list)
def _(value):
    return 3


@whole()
def dispatched(x):
    return x * kind(1) + kind([]) + kind("a")


@whole()
def queue_as_stack(x):
    queue = collections.deque([1, 2])
    queue.append(x)
    queue.appendleft(0)
    return queue.pop() + queue.popleft(), len(queue), list(queue)


@whole()
def queue_iterated(x):
    queue, seen = collections.deque([3]), []
    while queue:
        n = queue.popleft()
        seen.append(n)
        if n > 1:
            queue.extend([n - 1])
    return x, seen


@whole()
def queue_bounded(x):
    last = collections.deque(maxlen=2)
    for i in range(4):
        last.append(x + i)
    return sum(last), last.maxlen


@whole()
def queue_returned(x):
    return collections.deque([x, x + 1], maxlen=5)


@whole()
def queue_indexed(x):
    queue = collections.deque("abcd")
    queue[1] = "z"
    queue.rotate(1)
    queue.extendleft([1, 2])
    return x, queue[-1], queue[0], 1 in queue, queue.count(1), queue.index("z"), queue.copy()


@whole(lambda: (collections.deque([tensor([1.0])], maxlen=3),))
def queue_of_caller(queue):
    queue.append(queue[0] + 1)
    return queue[-1] * 2


@whole(lambda: (collections.deque([tensor([1.0]), tensor([2.0])]),))
def queue_of_caller_read(queue):
    total = queue[0]
    for item in queue:
        total = total + item
    return total, len(queue)


@whole(lambda: (collections.OrderedDict(a=tensor([1.0]), b=tensor([2.0])),))
def ordered_of_caller(table):
    total = 0
    for name, value in table.items():
        total = total + value * len(name)
    return total, table["a"], "b" in table, table.get("c"), list(table), len(table)


@whole(lambda: (collections.OrderedDict(a=tensor([1.0])),))
def ordered_of_caller_written(table):
    table["b"] = table["a"] * 2
    table.pop("a")


@whole(lambda: (collections.defaultdict(list, a=[tensor([1.0])]),))
def default_of_caller(table):
    table["b"].append(table["a"][0] + 1)
    return len(table)


class Settings(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


@whole(lambda: (Settings(lr=0.5, w=tensor([2.0])),))
def settings_of_caller(cfg):
    return cfg.w * cfg["lr"], cfg.get("momentum", 0), "lr" in cfg


@whole(lambda: (Settings(w=tensor([2.0])),))
def settings_of_caller_written(cfg):
    cfg["v"] = cfg["w"] + 1
    return len(cfg)


class Named(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def total(self):
        return sum(self.values())


@whole(lambda: (Named(a=tensor([1.0]), b=tensor([2.0])),))
def mapping_of_caller_with_methods(table):
    return table.total(), table.a + 1, [k for k in table], {**table}, dict(table)


@whole()
def mapping_created(x):
    table = Named(a=x, b=x + 1)
    return table.total(), table.a


class Rows(list):
    def first(self):
        return self[0]


@whole()
def rows_created(x):
    rows = Rows([x, x + 1])
    rows.append(x + 2)
    return rows.first() + rows[1], len(rows), [r.sum() for r in rows]


@whole()
def rows_returned(x):
    return Rows([x, x + 1])


@whole(lambda: (Rows([tensor([1.0]), tensor([2.0])]),))
def rows_of_caller(rows):
    return rows.first() + rows[1], len(rows), sum(rows), list(rows)


@whole(lambda: (Rows([tensor([1.0])]),))
def rows_of_caller_written(rows):
    rows.append(rows[0] * 2)


@whole()
def counter_used(x):
    c = collections.Counter("abca")
    c.update("b")
    return x, c["a"], c["z"], c.most_common(2), sorted(c.elements()), c.total(), dict(c)


@whole()
def counter_arithmetic(x):
    a, b = collections.Counter("aab"), collections.Counter("ab")
    return x, a + b, a - b, a & b


@whole()
def chained_maps(x):
    m = collections.ChainMap({"a": x}, {"a": 1, "b": 2})
    return m["a"] + m["b"], list(m), m.get("c")


@whole()
def namespace_created(x):
    ns = types.SimpleNamespace(a=x, b=2)
    ns.c = ns.a * ns.b
    return ns.c, ns


@whole(lambda: (types.SimpleNamespace(a=tensor([1.0]), n=2),))
def namespace_of_caller(ns):
    ns.total = ns.a * ns.n
    return ns.total


@whole()
def shallow_copies(x):
    a = [x, [1]]
    b = copy.copy(a)
    d = copy.copy({"k": a})
    return b[1] is a[1], b is not a, d["k"] is a, copy.copy((1, 2)), copy.copy("a")


@whole()
def deep_copies(x):
    a = [1, [2, 3], {"a": (4, [5])}]
    b = copy.deepcopy(a)
    b[1].append(9)
    return x, a, b, b[2]["a"][1] is not a[2]["a"][1]


@whole()
def deep_copy_keeps_sharing(x):
    inner = [1]
    a, b = copy.deepcopy([inner, inner])
    return x, a is b, a is inner


class Options:
    def __init__(self, a, b):
        self.a = a
        self.b = b


@whole()
def copies_of_an_object(x):
    o = Options(x, [1])
    shallow, deep = copy.copy(o), copy.deepcopy(Options(1, [2]))
    shallow.a = x + 1
    return o.a, shallow.a, shallow.b is o.b, deep.b, type(deep) is Options


@whole(lambda: (tensor([1.0]), Options(1, [2])))
def copies_of_callers_object(x, o):
    c = copy.copy(o)
    c.a = x
    return c.a + o.a, c.b is o.b


@dataclasses.dataclass
class Config:
    width: int = 2
    layers: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int
    b: str = "b"


@whole()
def dataclass_functions(x):
    c = Config(3, [1])
    return (
        x,
        dataclasses.asdict(c),
        dataclasses.astuple(c),
        dataclasses.replace(c, width=5),
        [f.name for f in dataclasses.fields(c)],
    )


@snippet()
def dataclass_texts(x):
    return x, repr(Config()), str(Frozen(1)), f"{Frozen(2)}"


@whole()
def dataclass_compared(x):
    return x, Config(1) == Config(1), Frozen(1) != Frozen(2), Frozen(1) == 3, hash(Frozen(1)) == hash(Frozen(1))


@whole()
def dataclass_keys(x):
    memo = {Frozen(1): x}
    memo[Frozen(2)] = x + 1
    return memo[Frozen(1)], Frozen(2) in memo, Frozen(3) in memo, len({Frozen(1), Frozen(1)})


class Point:
    def __init__(self, a):
        self.a = a

    def __eq__(self, other):
        return isinstance(other, Point) and self.a == other.a

    def __hash__(self):
        return hash(self.a)


@whole()
def user_keys(x):
    memo = {Point(1): x}
    memo[Point(1)] = x + 1
    return memo[Point(1)], memo.get(Point(2)), Point(1) in memo, len(memo)


@whole()
def user_keys_in_sets(x):
    seen = {Point(1), Point(2), Point(1)}
    seen.add(Point(2))
    return x, len(seen), Point(2) in seen, Point(3) in seen


@whole()
def attributes_as_dict(x):
    o = Options(x, 2)
    return vars(o)["a"] + 1, o.__dict__["b"], list(vars(o)), {k: v for k, v in vars(o).items()}


@whole()
def attributes_updated_as_dict(x):
    o = Options(x, 2)
    o.__dict__.update(a=x + 1, c=3)
    vars(o)["d"] = 4
    return o.a, o.c, o.d


@whole(lambda: (tensor([1.0]), Options(1, 2)))
def attributes_of_caller_as_dict(x, o):
    return x * o.__dict__["a"], sorted(vars(o)), {**vars(o)}


@whole(lambda: (tensor([1.0]), Options(1, 2)))
def attributes_of_caller_updated(x, o):
    o.__dict__.update(a=x + 1)
    return o.a * 2


@whole()
def identities(x):
    a, b = [x], [x]
    return id(a) == id(a), id(a) == id(b), id(x) == id(a[0])


@whole()
def identities_as_keys(x):
    a, b = [1], [2]
    seen = {id(a)}
    names = {id(a): "a", id(b): "b"}
    return x, id(a) in seen, id(b) in seen, names[id(b)]


@whole()
def identities_of_tensors(x):
    y = x + 1
    seen = {id(x): "x"}
    return id(y) in seen, id(x) in seen, y


class Net(Module):
    def __init__(self):
        super().__init__()
        self.body = Sequential(Linear(2, 2), ReLU())
        self.head = Linear(2, 1)


def _net():
    net = Net()
    with no_grad():
        for p in net.parameters():
            p.fill_(0.5)
    return (net, tensor([[1.0, 2.0]]))


@snippet(_net)
def parameters_summed(net, x):
    total = x.sum()
    for p in net.parameters():
        total = total + p.sum()
    return total


@snippet(_net)
def parameters_named(net, x):
    return x, [name for name, p in net.named_parameters()]


@snippet(_net)
def modules_iterated(net, x):
    return x, [type(m).__name__ for m in net.modules()], [n for n, _ in net.named_children()], len(net.body)


@snippet(_net)
def state_read(net, x):
    return x, sorted(net.state_dict())


@snippet(_net)
def state_returned(net, x):
    state = net.state_dict()
    return x * 2, state, state._metadata, type(state._metadata)


@whole()
def ordered_with_attributes(x):
    table = collections.OrderedDict(a=x)
    table.name = "first"
    setattr(table, "count", 2)
    table.name += " of two"
    del table.count
    seen = hasattr(table, "count"), hasattr(table, "name"), table.name, getattr(table, "other", 7)
    table.move_to_end("a")
    return table["a"] + 1, seen, table, table.name


@whole()
def ordered_without_the_attribute(x):
    table = collections.OrderedDict(a=1)
    try:
        table.missing
    except AttributeError:
        return x + 1
    return x


@whole()
def ordered_with_attributes_copied(x):
    table = collections.OrderedDict(a=1)
    table.name = [x]
    return dict(table), x + 1, table


@whole()
def suppressed_errors(x):
    with contextlib.suppress(KeyError, IndexError):
        [][1]
        x = x + 100
    return x + 1


@whole()
def stack_of_contexts(x):
    with contextlib.ExitStack() as stack:
        three = stack.enter_context(contextlib.nullcontext(3))
        y = x * three
    return y


@whole()
def stack_of_callbacks(x):
    seen = []
    with contextlib.ExitStack() as stack:
        stack.callback(seen.append, 1)
        stack.callback(seen.append, 2)
    return x, seen


@contextlib.contextmanager
def collecting(items):
    try:
        yield items
    except ValueError:
        items.append("caught")
    finally:
        items.append("left")


@whole()
def generated_context_that_catches(x):
    items = []
    with collecting(items):
        raise ValueError
    return x + 1, items


@whole()
def generated_context_left_by_return(x):
    items = []
    with collecting(items) as same:
        return x + len(same), items


class Switched(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


@whole()
def context_as_decorator(x):
    @Switched()
    def doubled(y):
        return y * 2

    return doubled(x)


LOCK = threading.Lock()
RE_LOCK = threading.RLock()


@snippet()
def lock_held(x):
    with LOCK:
        y = x + 1
    return y


@snippet()
def re_entrant_lock_held(x):
    with RE_LOCK, RE_LOCK:
        y = x + 1
    return y


@snippet(lambda: (tensor([1.0]), threading.Lock()))
def lock_of_caller(x, lock):
    with lock:
        return x * 2


T = typing.TypeVar("T")


class Box(typing.Generic[T]):
    def __init__(self, value):
        self.value = value


@snippet()
def generic_class_called(x):
    return Box[int](x).value + 1, type(Box[int](x)) is Box


@snippet()
def generic_names(x):
    return typing.cast("int", x), typing.get_origin(list[int]) is list, typing.get_args(dict[str, int]), list[int]([1])


class Target:
    by = 3


TARGET = Target()
REFERENCE = weakref.ref(TARGET)


@whole()
def weak_reference_followed(x):
    return x * REFERENCE().by


@whole()
def weak_reference_created(x):
    t = Target()
    r = weakref.ref(t)
    return x * r().by


def held_weakly(reference):
    return reference().by


@whole()
def weak_references_to_locals(x):
    target, function = Target(), lambda: 4
    target.by = 5
    first, second = weakref.ref(target), weakref.ref(target)
    keep = lambda: target  # noqa: E731
    return (
        x * first().by,
        first is second,
        held_weakly(first),
        weakref.ref(function)()(),
        keep() is first(),
        target,
    )


@snippet()
def weak_references_to_what_has_died(x):
    target = Target()
    reference = weakref.ref(target)
    held = [target]
    del target
    alive = reference() is held[0]
    held.clear()
    return x, alive, reference() is None, weakref.ref(Target())() is None


@snippet()
def weak_reference_that_outlives_its_object(x):
    target = Target()
    return x, weakref.ref(target)


@whole(raises=TypeError)
def weak_reference_to_a_list(x):
    return weakref.ref([x])


@whole(lambda: (tensor([1.0]), 3), lambda: (tensor([1.0]), (1, 2)), lambda: (tensor([1.0]), {}))
def weak_references_that_cannot_be_made(x, thing):
    texts = []
    for each in (thing, x.shape, "text"):
        try:
            weakref.ref(each)
        except TypeError as error:
            texts.append(str(error))
    return x, texts


def with_attribute(x):
    return x


@whole()
def function_counts_its_calls(x):
    with_attribute.calls = getattr(with_attribute, "calls", 0) + 1
    del with_attribute.calls
    return x


@whole()
def created_function_has_attributes(x):
    def inner(y):
        return y + inner.by

    inner.by = 2
    setattr(inner, "name", "n")
    return inner(x), inner.name


@whole()
def queue_from_an_iterable(x):
    queue = collections.deque((n * n for n in range(5)), 3)
    queue.clear()
    queue.extend("ab")
    queue.reverse()
    return x, queue, queue.maxlen, bool(queue)


@whole(raises=IndexError)
def queue_empty(x):
    collections.deque().popleft()


@snippet(raises=RuntimeError)
def queue_changed_while_iterated(x):
    queue = collections.deque([1, 2])
    for item in queue:
        queue.append(item)


@whole()
def queue_as_text(x):
    queue = collections.deque([1, 2], 4)
    return x, str(queue), repr(queue), f"{queue}", queue == collections.deque([1, 2]), queue == [1, 2]


@whole(
    lambda: (tensor([1.0]), collections.deque([1, "a", [2]], 3), collections.deque([1, "a", [2]])),
    lambda: (tensor([1.0]), collections.deque([1, "a", [2]], 4), collections.deque([1, "a", [3]])),
    lambda: (tensor([1.0]), collections.deque(), [collections.deque([4])]),
)
def queues_of_the_caller_as_text(x, one, other):
    held = [one]
    return x, str(one), f"{one!r:>40}", repr(held), one == other, one != other, other in [one], one == tuple(one)


@whole()
def queues_in_order(x):
    one, other = collections.deque([1, 2]), collections.deque([1, 3], 2)
    return x, one < other, one >= other, one < collections.deque([1]), sorted([other, one])[0] is one


@snippet(raises=TypeError)
def queue_before_a_list(x):
    return x, collections.deque([1]) < [2]


@snippet()
def queue_of_tensors_as_text(x):
    return len(str(collections.deque([x])))


@whole(lambda: (lambda queue: (queue, queue, tensor([1.0])))(collections.deque([1, 2])))
def queue_seen_twice(first, second, x):
    first.append(3)
    second.popleft()
    return x * len(first), first is second, list(first)


@snippet(lambda: (collections.deque([1, 2]), tensor([1.0])))
def queue_iterator_over_a_break(queue, x):
    rest = iter(queue)
    first = next(rest)
    print(first)
    return x * first, list(rest)


@whole(lambda: (collections.deque([tensor([1.0])]),), raises=ZeroDivisionError)
def queue_changed_before_an_exception(queue):
    queue.append(queue[0] + 1)
    1 / 0  # noqa: B018


@snippet()
def rows_as_text(x):
    rows = Rows([1, 2])
    return x, str(rows), repr(rows), rows == [1, 2], rows + [3], rows * 2, rows[:1], type(rows[:1]) is list


@whole(lambda: (Rows([3, 1, 2]), tensor([1.0])))
def rows_of_caller_changed(rows, x):
    rows.sort()
    rows[0] = 5
    del rows[1]
    rows.insert(0, 7)
    return x * rows.pop(), len(rows)


class Checked(list):
    def append(self, item):
        super().append(item * 2)

    def __len__(self):
        return 10


@snippet()
def rows_with_user_methods(x):
    rows = Checked([x])
    rows.append(x)
    return rows[1], len(rows), list(rows)


class Bag(list):
    def __init__(self, items, name):
        super().__init__(items)
        self.name = name


@whole()
def rows_with_attributes(x):
    bag = Bag([x], "n")
    return bag[0], bag.name, bag


@whole(lambda: (tensor([1.0]), 2), lambda: (tensor([1.0]), "n"))
def rows_with_attributes_that_change(x, name):
    bag = Bag([x], name)
    bag.again = bag
    bag.name = [bag.name, x + 1]
    del bag.again
    copied = bag[:]
    return bag, len(bag), hasattr(bag, "again"), getattr(bag, "more", 3), type(copied) is list, bag == [x]


@snippet(raises=AttributeError)
def rows_without_the_attribute(x):
    bag = Bag([x], "n")
    return bag.other


class SlottedRows(list):
    __slots__ = ("name",)


@whole()
def rows_with_slots(x):
    rows = SlottedRows([x])
    rows.name = "n"
    return rows, rows.name, hasattr(rows, "other")


@snippet(raises=AttributeError)
def rows_without_the_slot(x):
    rows = SlottedRows([x])
    rows.other = 1
    return rows


@whole()
def rows_with_attributes_copied(x):
    bag = Bag([3, [1]], "n")
    bag.held = [2]
    shallow, deep = copy.copy(bag), copy.deepcopy(bag)
    return x, shallow, shallow.held is bag.held, shallow[1] is bag[1], deep, deep.held is bag.held, vars(bag)


class Table(dict):
    pass


class Renamed(dict):
    def items(self):
        return [("k", 1)]


@whole()
def tables_with_attributes_copied(x):
    table = Table(a=[1], b=2)
    table.held = [2]
    shallow, deep = copy.copy(table), copy.deepcopy(table)
    return x, shallow, shallow["a"] is table["a"], shallow.held is table.held, deep, deep["a"] is table["a"], deep.held


@snippet()
def tables_copied_by_their_own_items(x):
    return x, copy.copy(Renamed(a=1)), copy.copy(Logged(b=2))


@whole(lambda: (Bag([tensor([1.0])], "n"),), lambda: (Bag([tensor([1.0]), 3], 5),))
def rows_with_attributes_of_caller(bag):
    bag.append(bag[0] + 1)
    bag.name = [bag.name]
    bag.more = bag.name
    return bag.name, len(bag), bag.more is bag.name


@whole(lambda: (lambda table: (tensor([1.0]), table, table))(Table(a=1)), lambda: (tensor([1.0]), Table(), Table(a=4)))
def tables_with_attributes_of_caller(x, table, other):
    table.a = x + 1
    table["a"] = 2
    table.b = other.get("a")
    table["b"] = hasattr(other, "b")
    del table.b
    return table.a, hasattr(table, "b"), other.get("b"), len(other)


@whole(lambda: (tensor([1.0]), Table(a=1)))
def attributes_of_a_cleared_table(x, table):
    table.held = x
    table["held"] = 1
    table.clear()
    return table.held + 1, len(table)


@snippet(lambda: (tensor([1.0]), Table(a=1)), raises=AttributeError)
def an_attribute_that_is_an_item(x, table):
    table["held"] = x
    return table.held


class Logged(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, (value, "logged"))

    def __missing__(self, key):
        return f"no {key}"


@snippet(lambda: (Logged(a=1), tensor([1.0])))
def mapping_with_user_methods(table, x):
    table["b"] = 2
    return x, table["b"], table["c"], "c" in table, table.get("d"), dict(table)


@snippet(lambda: (Settings(a=1), tensor([1.0])))
def settings_written_as_attributes(cfg, x):
    cfg.b = 2
    return x * cfg.b, cfg["b"], vars(cfg)


@snippet(lambda: (collections.OrderedDict(a=1, b=2, c=3), tensor([1.0])))
def ordered_of_caller_moved(table, x):
    table.move_to_end("a")
    return x, list(table), table.popitem(last=False)


def _moved():
    table = collections.OrderedDict(a=1, b=2)
    table.move_to_end("a")
    return (table, tensor([1.0]))


@whole(lambda: (collections.OrderedDict(a=1, b=2), tensor([1.0])), _moved)
def order_of_an_ordered_argument(table, x):
    return list(table), list(table.items()), x


@whole(lambda: (collections.OrderedDict(a=1, b=2), tensor([1.0])))
def ordered_of_caller_changed(table, x):
    del table["a"]
    table["a"] = x
    table.update(c=3)
    table.setdefault("d", 4)
    return list(table), len(table)


@whole(lambda: (collections.OrderedDict(a=1, b=2), tensor([1.0])))
def ordered_of_caller_cleared(table, x):
    table.clear()
    table["z"] = x


@whole(lambda: (collections.defaultdict(int, a=1), tensor([1.0])))
def default_of_caller_counted(table, x):
    for word in "abca":
        table[word] += 1
    return x, table["z"], table.get("y"), len(table)


@whole(lambda: (collections.Counter("abca"), tensor([1.0])))
def counter_of_caller(counts, x):
    counts["a"] += 1
    return x * counts["a"], counts["zz"], counts.most_common(1)


@whole(lambda: (Options(1, 2), tensor([1.0])))
def attributes_deleted_as_dict(o, x):
    d = vars(o)
    del d["a"]
    d["c"] = x
    return hasattr(o, "a"), o.c + 1, list(d), d is o.__dict__


@snippet(lambda: (lambda o: (o, o.__dict__, tensor([1.0])))(Options(1, 2)))
def attributes_by_another_name(o, d, x):
    o.a = 5
    d["b"] = 6
    return x * d["a"], o.b, d is vars(o)


class Guarded:
    def __init__(self):
        self.__dict__["size"] = 3

    @property
    def size(self):
        return self.__dict__["size"] * 2


@snippet()
def attribute_behind_a_property(x):
    g = Guarded()
    return x * g.size, vars(g)


@whole()
def identities_leave(x):
    a = [x]
    number = id(a)
    seen = {number: "a"}
    return number == id(a), seen[id(a)], len(seen), isinstance(number, int)


@snippet()
def identities_over_a_break(x):
    a = [1]
    seen = {id(a): x}
    print("break")
    return seen[id(a)] + 1, id(a) in seen


@snippet()
def identities_beside_numbers(x):
    a = [1]
    return x, id(a) == 5, id(a) > 0, id(a) in {1, 2}, id("a") == id("a")


class Cloned:
    def __init__(self, parts):
        self.parts = parts

    def __deepcopy__(self, memo):
        return Cloned(copy.deepcopy(self.parts, memo))

    def __getstate__(self):
        return {"parts": "from the state"}


@snippet()
def copies_with_user_methods(x):
    c = Cloned([1])
    return x, copy.deepcopy(c).parts, copy.copy(c).parts


@whole()
def sums_of_lists(x):
    return sum([[1], [x]], []), sum((1, 2), 0.5), sum([0.1] * 10)


@snippet()
def sort_fails_half_way(x):
    items = [Rank(2), 1, Rank(3)]
    try:
        items.sort()
    except TypeError:
        return x, len(items), type(items[1]).__name__


@snippet()
def sort_is_stable(x):
    ranks = [Rank(1), Rank(0), Rank(1), Rank(0)]
    order = sorted(ranks, reverse=True)
    return x, [ranks.index(r) for r in order], [r.n for r in order]


@whole()
def sorted_streams_merged(x):
    streams = [1, 4, 7], (n for n in (2, 5)), range(3, 9, 3)
    merged = list(heapq.merge(*streams)) + list(heapq.merge([3, 1], [2], key=lambda n: -n, reverse=True))
    step = iter([1, 2]).__next__
    return merged, step(), step.__self__ is not None, step(), x


@snippet(raises=StopIteration)
def step_past_the_end(x):
    step = iter((1,)).__next__
    step()
    return step(), x


@whole()
def bound_by_hand(x):
    def scaled(self, by):
        return x * by

    class Local:
        pass

    made = Local()
    bound = scaled.__get__(made)
    return bound(2), bound.__self__ is made, scaled.__get__(None, Local) is scaled, scaled.__get__(3, int).__self__


@snippet(raises=TypeError)
def bound_to_nothing(x):
    def scaled(self):
        return x

    return scaled.__get__(None, None)


@whole()
def formatted_by_the_method(x):
    return str.__format__("a", ">4"), (5).__format__("04d"), (0.5).__format__(".3f"), x


@snippet(raises=ValueError)
def formatted_wrongly(x):
    return (5).__format__("q"), x


@dataclasses.dataclass
class Node:
    name: str
    below: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class SizedNode(Node):
    size: int = 3


@whole()
def nested_dataclasses_as_text(x):
    node = Node("a", [SizedNode("b", [Node("c")]), 2.5])
    return x, repr(node), str(node), f"{node!r}", "{} {!r:>40}".format(node, node.below[0]), "%s" % node


@whole()
def dataclass_within_itself_as_text(x):
    node = Node("a")
    node.below.append(node)
    other = SizedNode("b", [node, node])
    return x, repr(node), repr(other)


@snippet()
def repr_of_a_dataclass_with_a_tensor(x):
    return repr(Node("a", [x])) == "text", x + 1


class Spelled:
    def __init__(self, log, n):
        self.log = log
        self.n = n

    def __str__(self):
        self.log.append(("str", self.n))
        return f"s{self.n}"

    def __repr__(self):
        self.log.append(("repr", self.n))
        return f"r{self.n}"

    def __format__(self, spec):
        self.log.append(("format", self.n, spec))
        return f"f{self.n}{spec}"


@whole()
def templates_filled_by_methods(x):
    log = []
    a, b = Spelled(log, 1), Spelled(log, 2)
    return (
        x,
        "{} {!r} {!s:>5} {:abc}".format(a, b, a, b),
        "{1} {0} {1:x} {name!r}".format(a, b, name=a),
        "{{}} {0}".format(
            a,
        ),
        "{} {:.2f} {:>4}".format(a, 1.5, "t"),
        "%s %r %5s %-5r| %% %d %.1f" % (a, b, a, b, 3, 2.5),
        "%s" % a,
        "%s and %s" % ([a], {1: b}),
        log,
    )


BRACES = ("{} {}", "{} {0}", "{missing}", "{0.n} {0.log}", "{:{}}", "{!x}", "{", "{0!r:{1}}", "{1}")
PERCENTS = ("%s %s", "%s", "%d", "%(n)s", "%*d %s", "%y", "%", "%a", "%c%s", "%s %%", "%5.2s|%-4r|")


@snippet()
def templates_that_do_not_fit(x):
    log, results = [], []
    a = Spelled(log, 1)
    for template in BRACES:
        for arguments in ((a,), (a, 3)):
            try:
                results.append(template.format(*arguments))
            except (IndexError, KeyError, ValueError, TypeError, AttributeError) as error:
                results.append((template, type(error).__name__, str(error)))
    for template in PERCENTS:
        for arguments in (a, (a,), (a, a), {"n": a}, (3, 4, a), ("c", a), [a]):
            try:
                results.append(template % arguments)
            except (ValueError, TypeError) as error:
                results.append((template, type(error).__name__, str(error)))
    return x, results, log


@whole()
def iterators_and_their_types(x):
    import itertools

    first, second = itertools.tee([1, 2])
    chained = itertools.chain([1], [2])
    groups = itertools.groupby([1, 1, 2])
    return (
        x,
        type(chained).__name__,
        isinstance(chained, itertools.chain),
        hasattr(chained, "send"),
        type(itertools.count()) is itertools.count,
        type(first).__name__,
        type(groups) is itertools.groupby,
        type(next(groups)[1]).__name__,
        type(iter(list, [])).__name__,
        type(itertools.chain.from_iterable([])) is itertools.chain,
        next(chained),
        chained.__next__(),
        list(second),
    )


@whole()
def generic_aliases_in_annotations(x):
    def inner(a: list[int], b: dict[str, tuple[int, ...]] = None) -> type[int]:
        return x

    return inner(1), inner.__annotations__, inner, collections.deque[int]


@snippet()
def iterators_in_templates(x):
    return x, "{}".format(map(str, [1]))[:4], "{!r}".format(iter([1]))[:14], ", ".join(map(str, [1, 2]))
