"""Exceptions of user-defined classes: created, raised, caught and returned; and methods with a policy of their own."""

from differential import snippet, whole

import minidynamo
from minidynamo._dynamo import error_on_graph_break, graph_break


class WithKeyword(Exception):
    def __init__(self, text, *, code=2):
        super().__init__(text, code)
        self.code = code

    def __str__(self):
        return f"{self.args[0]} ({self.code})"


class Derived(WithKeyword):
    default = 7

    def __init__(self, text):
        WithKeyword.__init__(self, text, code=self.default)
        self.text = text


class WithProperty(KeyError):
    @property
    def key(self):
        return self.args[0]


class WithSlots(Exception):
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class OfTheSystem(OSError):
    pass


class WithNew(Exception):
    def __new__(cls, *args):
        made = super().__new__(cls, *args)
        made.extra = 1
        return made


class HidesArgs(Exception):
    args = "shadowed"

    def __init__(self, value):
        self.value = value


class OfTwo(ValueError, KeyError):
    pass


class HoldsItself(Exception):
    def __init__(self):
        self.itself = self


class SetsStrangely(Exception):
    def __setattr__(self, name, value):
        object.__setattr__(self, name, (value, "set"))

    def __init__(self, value):
        self.value = value


MAKERS = {
    "keyword": lambda x: WithKeyword("text", code=x),
    "derived": lambda x: Derived("text"),
    "property": lambda x: WithProperty("key"),
    "slots": lambda x: WithSlots(x),
    "system": lambda x: OfTheSystem(2, "text"),
    "new": lambda x: WithNew(1),
    "hides": lambda x: HidesArgs(3),
    "two": lambda x: OfTwo("text"),
    "itself": lambda x: HoldsItself(),
    "strange": lambda x: SetsStrangely(3),
    "too few": lambda x: WithKeyword(),
    "keyword unknown": lambda x: WithProperty(1, key=2),
}


def _each():
    return [lambda name=name: (minidynamo.tensor([1.0, 2.0]), name) for name in MAKERS]


@minidynamo.compiler.disable
def look(error):
    return type(error).__name__, len(error.args), sorted(vars(error)), error.__cause__, error.__suppress_context__


@snippet(*_each())
def each_is_raised_and_caught(x, name):
    y = x + 1
    try:
        raise MAKERS[name](y)
    except Exception as error:
        return y * 2, look(error), getattr(error, "code", None)


@snippet(*_each()[:10])
def each_is_returned(x, name):
    error = MAKERS[name](x)
    return error, x * 3


@snippet(*_each()[:10])
def each_survives_a_break(x, name):
    error = MAKERS[name](x)
    graph_break()
    y = x * 3
    error.more = y
    return look(error)[:2], y + 1


@snippet(lambda: (minidynamo.tensor([1.0, 2.0]), "derived"), raises=Derived)
def raised_from_another(x, name):
    y = x + 1
    raise MAKERS[name](y) from KeyError("cause")


@whole()
def raised_and_caught_without_a_break(x):
    try:
        raise Derived("text")
    except WithKeyword as error:
        return x * error.code


class Bearing:
    """Special methods, each with a policy of its own."""

    def __init__(self, x):
        self.x = x

    @error_on_graph_break(False)
    def __enter__(self):
        graph_break()
        return self.x + 1

    @error_on_graph_break(False)
    def __exit__(self, *error):
        graph_break()
        self.x = self.x * 2
        return True

    @error_on_graph_break(False)
    def __getitem__(self, key):
        graph_break()
        return self.x + key

    @error_on_graph_break(False)
    def __add__(self, other):
        graph_break()
        return self.x + other

    @error_on_graph_break(False)
    def __iter__(self):
        return iter([self.x, self.x + 1])

    @error_on_graph_break(False)
    def values(self):
        yield self.x
        graph_break()
        yield self.x + 1

    @property
    @error_on_graph_break(False)
    def value(self):
        graph_break()
        return self.x * 5

    @value.setter
    @minidynamo.compiler.disable
    def value(self, value):
        self.x = value

    @minidynamo.compiler.disable
    def __call__(self, y):
        return self.x + y

    @minidynamo.compiler.disable
    def __bool__(self):
        return False

    @minidynamo.compiler.disable(recursive=False)
    def __contains__(self, key):
        return key == 3

    @minidynamo.compiler.disable
    def __eq__(self, other):
        return 5


class DisabledInit:
    @minidynamo.compiler.disable
    def __init__(self, x):
        self.x = x * 2


class CompiledInit:
    @minidynamo.compile
    def __init__(self, x):
        self.x = x * 2
        graph_break()
        self.y = self.x + 1


@snippet()
def policies_of_enter_and_exit(x):
    bearing = Bearing(x)
    with bearing as y:
        y = y + 1
        raise KeyError
    return bearing.x, y


@snippet()
def policies_of_operators(x):
    bearing = Bearing(x)
    return bearing[3] * 2, bearing + 2, [y * 2 for y in bearing], [y * 2 for y in bearing.values()], bearing.value


@snippet()
def disabled_special_methods(x):
    bearing = Bearing(x)
    bearing.value = x * 9
    return bearing(x) * 2, 1 if bearing else 2, 3 in bearing, bearing == 3, bearing.x


@snippet()
def policies_of_init(x):
    made = CompiledInit(x + 1)
    return DisabledInit(x + 1).x - 1, made.x - made.y


def _broken(value):
    graph_break()
    return value


def _together(*args, **keywords):
    return args, keywords


@snippet()
def containers_started_before_a_break(x):
    stars = _together(*[_broken(x), x], *(_broken(1), 2), *[x + 1], k=x)
    return stars, _together(a=x, **{"b": _broken(x + 1)}, **{"c": x * 2}), {**{"a": _broken(x)}, **{"a": x + 5, "d": 3}}


@snippet(raises=TypeError)
def a_keyword_twice_after_a_break(x):
    return _together(**{"a": _broken(x)}, **{"a": x})


class Worded(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Reworded(Worded):
    def __str__(self):
        return f"{self.code}: {self.args[0]}"

    def __repr__(self):
        return f"<{self.code}>"


class Missing(KeyError):
    pass


@whole()
def texts_of_user_exceptions(x):
    texts = []
    for error in (Worded(1, "one"), Reworded(2, "two"), Missing("three")):
        try:
            raise error
        except (Worded, Missing) as caught:
            texts.append((str(caught), f"{caught}", format(caught)))
    return x, texts, repr(Reworded(3, "three"))


@snippet()
def representations_of_user_exceptions(x):
    return x, repr(Worded(1, "one")), f"{Missing('three')!r}"
