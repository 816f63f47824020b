"""Graph breaks inside methods that Python calls implicitly: special methods, properties, keys, generators under a C caller."""

import functools

from differential import snippet

from minidynamo._dynamo import graph_break


class Breaking:
    """Every special method breaks in the middle."""

    def __init__(self, x):
        self.x = x + 1
        graph_break()
        self.y = self.x * 2

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = self.x + len(name)
        graph_break()
        return value * 2

    @property
    def double(self):
        value = self.x + 1
        graph_break()
        return value * 2

    @double.setter
    def double(self, value):
        value = value + 1
        graph_break()
        self.x = value / 2

    def __enter__(self):
        self.x = self.x + 1
        graph_break()
        return self.x * 2

    def __exit__(self, *args):
        self.x = self.x + 3
        graph_break()
        self.x = self.x * 2
        return False

    def __bool__(self):
        value = self.x.sum() + 1
        graph_break()
        return value.item() > 0

    def __contains__(self, item):
        value = self.x.sum() + item
        graph_break()
        return value.item() > 0

    def __len__(self):
        graph_break()
        return 3

    def __getitem__(self, key):
        value = self.x + key
        graph_break()
        return value * 2

    def __setitem__(self, key, value):
        value = value + key
        graph_break()
        self.x = value

    def __call__(self, y):
        y = y + self.x
        graph_break()
        return y * 2

    def __add__(self, other):
        value = self.x + other
        graph_break()
        return value * 2

    def __eq__(self, other):
        graph_break()
        return self is other

    def __lt__(self, other):
        value = self.x - other.x
        graph_break()
        return value.sum().item() < 0

    def __hash__(self):
        graph_break()
        return 3

    def __str__(self):
        graph_break()
        return "breaking"

    def __format__(self, spec):
        graph_break()
        return f"breaking {spec}"


class Steps:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        graph_break()
        return self

    def __next__(self):
        graph_break()
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


@snippet()
def in_init(x):
    b = Breaking(x)
    return b.x + b.y


@snippet()
def in_init_of_two(x):
    return Breaking(x).y - Breaking(x * 2).y


@snippet()
def in_getattr(x):
    return Breaking(x).anything + 1


@snippet()
def in_hasattr(x):
    return x, hasattr(Breaking(x), "anything"), hasattr(Breaking(x), "_hidden"), getattr(Breaking(x), "_hidden", 3)


@snippet()
def in_property(x):
    return Breaking(x).double + 1


@snippet()
def in_property_setter(x):
    b = Breaking(x)
    b.double = x * 3
    return b.x


@snippet()
def in_enter_and_exit(x):
    b = Breaking(x)
    with b as y:
        y = y * 2
    return y, b.x


@snippet(raises=ValueError)
def in_exit_by_exception(x):
    with Breaking(x):
        raise ValueError("through")


@snippet()
def in_bool(x):
    if Breaking(x):
        return x + 1
    return x - 1


@snippet()
def in_bool_negated_and_combined(x):
    b = Breaking(x)
    return (not b, x if b else -x, b and 1, bool(b))


@snippet()
def in_contains(x):
    return x + 1, 2 in Breaking(x), -100 not in Breaking(x)


@snippet()
def in_len(x):
    return x * len(Breaking(x))


@snippet()
def in_getitem_and_setitem(x):
    b = Breaking(x)
    y = b[2]
    b[3] = y
    b[1] = b[4]
    return y, b.x


@snippet()
def in_call(x):
    return Breaking(x)(x * 2) + 1


@snippet()
def in_add(x):
    return (Breaking(x) + x) * 3


@snippet()
def in_eq(x):
    b = Breaking(x)
    return x * 2, b == b, b != b, b == 3


@snippet()
def in_hash(x):
    b = Breaking(x)
    return {b: x + 1}[b]


@snippet()
def in_list_contains(x):
    b = Breaking(x)
    return x + 1, b in [3, b], [1, b].index(b)


@snippet()
def in_str_and_format(x):
    b = Breaking(x)
    return x + 1, str(b), f"{b:>3}"


@snippet()
def in_next_and_iter(x):
    for i in Steps(3):
        x = x + i
    return x


@snippet()
def in_next_by_hand(x):
    steps = Steps(2)
    x = x + next(steps)
    return x * next(steps), next(steps, "end")


@snippet()
def in_next_under_list(x):
    return x + 1, list(Steps(3)), [*Steps(2)], sum(Steps(4))


@snippet()
def in_sort_key(x):
    def key(y):
        total = y.sum() + 1
        graph_break()
        return total.item()

    items = [x + 2, x, x + 1]
    items.sort(key=key)
    return items, sorted(items, key=key, reverse=True)


@snippet()
def in_lt_under_sorted(x):
    return sorted([Breaking(x + 2), Breaking(x), Breaking(x + 1)])[0].x


@snippet()
def in_max_key(x):
    def key(y):
        graph_break()
        return y.sum().item()

    return max([x, x + 2, x + 1], key=key)


@snippet()
def in_generator_under_list(x):
    def values():
        for i in range(3):
            y = x + i
            graph_break()
            yield y * 2

    return list(values()), tuple(values()), sum(values())


@snippet()
def in_generator_expression_under_sum(x):
    def value(i):
        y = x * i
        graph_break()
        return y + 1

    return sum(value(i) for i in range(3))


@snippet()
def in_map_function(x):
    def value(i):
        graph_break()
        return x + i

    return list(map(value, range(3)))


@snippet()
def in_filter_function(x):
    def keep(i):
        graph_break()
        return i > 1

    return x + 1, list(filter(keep, range(4)))


@snippet()
def in_reduce_function(x):
    def combine(a, b):
        y = a + b
        graph_break()
        return y * 2

    return functools.reduce(combine, [x, x + 1, x + 2])


@snippet()
def in_partial(x):
    def inner(a, b):
        y = a + b
        graph_break()
        return y * 2

    return functools.partial(inner, x)(3)


@snippet()
def in_super_init(x):
    class Deeper(Breaking):
        def __init__(self, x):
            super().__init__(x * 2)
            self.z = self.y + 1

    return Deeper(x).z


@snippet()
def in_decorated_wrapper(x):
    def around(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            graph_break()
            return function(*args, **kwargs) + 1

        return wrapper

    @around
    def inner(y, k=2):
        y = y * k
        graph_break()
        return y - 1

    return inner(x) + inner(x, k=3)


@snippet()
def in_method_two_deep(x):
    class Layer:
        def __init__(self, n):
            self.n = n

        def forward(self, y):
            y = y * self.n
            graph_break()
            return y + 1

    class Model:
        def __init__(self):
            self.layers = [Layer(2), Layer(3)]

        def forward(self, y):
            for layer in self.layers:
                y = layer.forward(y)
            return y

    return Model().forward(x)
