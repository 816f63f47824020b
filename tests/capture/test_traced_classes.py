"""The class that the tracer creates to stand for a class statement is invisible to the program and gone after the
trace."""

import gc
import sys
import weakref

import pytest

import minidynamo
from minidynamo import tensor


class Base:
    pass


def names_of_subclasses():
    return [each.__name__ for each in Base.__subclasses__()]


@pytest.mark.counts_python_runs
def test_only_the_class_of_the_program_is_a_subclass():
    @minidynamo.compile(fullgraph=True)
    def make(x):
        class Local(Base):
            def f(self):
                return super().__init__()

        class Further(Local):
            pass

        Further().f()
        return Local, x + 1

    gc.collect()
    gc.disable()
    try:
        assert names_of_subclasses() == []
        local, _ = make(tensor([1.0]))
        assert names_of_subclasses() == ["Local"]
        assert Base.__subclasses__()[0] is local
        assert local.__subclasses__() == []
    finally:
        gc.enable()


def test_a_region_that_breaks_leaves_no_class_behind():
    @minidynamo.compile
    def make(x):
        class Local(Base):
            y = x + 1
            minidynamo._dynamo.graph_break()

        return Local

    gc.collect()
    gc.disable()
    try:
        local = make(tensor([1.0]))
        assert Base.__subclasses__() == [local]
    finally:
        gc.enable()


def test_a_class_dies_when_the_program_releases_it():
    @minidynamo.compile(fullgraph=True)
    def make(x):
        class Local(Base):
            kept = []

            def f(self):
                return __class__

            @property
            def g(self):
                return x

        Local.kept.append(Local())
        return Local

    seen = [weakref.ref(make(tensor([1.0]))) for _ in range(5)]
    gc.collect()
    assert [each() for each in seen] == [None] * 5
    assert names_of_subclasses() == []


def test_a_base_that_changes_is_noticed():
    class Parent:
        level = 2

        def f(self):
            return self.level

    @minidynamo.compile
    def run(x):
        class Local(Parent):
            pass

        return x * Local().f(), hasattr(Local, "late"), Local().level

    x = tensor([1.0])
    assert run(x)[0].tolist() == [2.0]
    Parent.level = 5
    assert run(x)[0].tolist() == [5.0]
    assert run(x)[1] is False
    Parent.late = 1
    assert run(x)[1] is True
    Parent.__getattribute__ = lambda self, name: 7 if name == "level" else object.__getattribute__(self, name)
    assert run(x)[0].tolist() == [7.0] and run(x)[2] == 7


def test_a_base_that_is_another_class_is_noticed():
    def make(base):
        class Local(base):
            pass

        return Local, Local().n

    compiled = minidynamo.compile(make)
    one, other = type("One", (), {"n": 1}), type("Other", (), {"n": 2})
    for base in (one, other, one):
        made, n = compiled(base)
        assert made.__bases__ == (base,) and n == base.n


def test_a_base_that_gets_an_init_subclass_is_noticed():
    class Parent:
        pass

    @minidynamo.compile
    def make(x):
        class Local(Parent):
            pass

        return Local

    seen = []
    make(tensor([1.0]))
    Parent.__init_subclass__ = classmethod(lambda cls: seen.append(cls.__name__))
    make(tensor([1.0]))
    assert seen == ["Local"]


def test_the_order_of_bases_is_noticed():
    class A:
        n = 1

    class B:
        n = 2

    class C(A):
        pass

    class D:
        pass

    @minidynamo.compile
    def run(x):
        class Local(D, C):
            pass

        return x * Local().n

    x = tensor([1.0])
    assert run(x).tolist() == [1.0]
    C.__bases__ = (B,)
    assert run(x).tolist() == [2.0]


def test_an_iterator_of_a_traced_class_survives_under_another_class():
    def choose(kind):
        class Numbers:
            def __iter__(self):
                class Iterator:
                    def __init__(self):
                        self.at = 0

                    def __iter__(self):
                        return self

                    def __next__(self):
                        self.at += 1
                        if self.at > 6:
                            raise StopIteration
                        return self.at

                return Iterator()

        made = {"filter": lambda: filter(lambda n: n % 2, Numbers()), "map": lambda: map(str, Numbers())}
        made |= {"zip": lambda: zip(Numbers(), [1, 2, 3]), "enumerate": lambda: enumerate(Numbers())}
        numbers = made[kind]()
        first = next(numbers)
        minidynamo._dynamo.graph_break()
        return first, list(numbers)

    for kind in ("filter", "map", "zip", "enumerate"):
        assert minidynamo.compile(choose)(kind) == choose(kind)


def annotated(x):
    class Local:
        first: int = 3
        second: "list[int]" = None

        def f(self):
            return x * self.first

    return Local().f(), Local


def reads_annotations(x):
    class Local:
        first: int = 3

    return x + 1, Local.__annotations__, Local


def names_of_class(x):
    class Local:
        first: int = 3

        def f(self):
            return __class__

    return x + 1, sorted(vars(Local)), Local.f(None) is Local


def test_annotations_are_those_of_eager_python():
    x = tensor([1.0])
    result, local = minidynamo.compile(annotated, fullgraph=True)(x)
    assert result.item() == 3.0
    plain = annotated(x)[1]
    assert local.__annotations__ == plain.__annotations__ == {"first": int, "second": "list[int]"}
    assert sorted(vars(local)) == sorted(vars(plain))
    for function in (reads_annotations, names_of_class):
        expected, found = function(x), minidynamo.compile(function)(x)
        assert found[0].item() == expected[0].item() and found[1:2] == expected[1:2]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="annotations are evaluated when they are asked for since 3.14")
def test_a_function_of_annotations_that_outlives_the_class_finds_its_names():
    def make(x):
        class Local:
            Other = float
            first: Other = 3

        return Local.__annotate__, x + 1

    x = tensor([1.0])
    assert minidynamo.compile(make)(x)[0](1) == make(x)[0](1) == {"first": float}


class Meta(type):
    def __init__(cls, name, bases, names):
        cls.level = 1


class Named:
    def __set_name__(self, owner, name):
        self.name = name


NAMED = Named()


def class_with_meta(x):
    class Local(metaclass=Meta):
        named = NAMED

    return Local, Local.level, x + 1


make_class = minidynamo.compile(class_with_meta, fullgraph=True)


def test_a_metaclass_that_changes_is_followed(monkeypatch):
    x = tensor([1.0])
    assert make_class(x)[1] == 1
    monkeypatch.setattr(Meta, "__init__", lambda cls, *args: setattr(cls, "level", 2))
    local, level, _ = make_class(x)
    assert (local.level, level, type(local)) == (2, 2, Meta)
    monkeypatch.setattr(
        Meta, "__new__", staticmethod(lambda meta, *args: type.__new__(meta, "Other", (), {})), raising=False
    )
    assert make_class(x)[0].__name__ == "Other"


def test_a_metaclass_that_gets_user_methods_is_left_to_python(monkeypatch):
    captured = minidynamo.compile(class_with_meta)
    x = tensor([1.0])
    assert not hasattr(captured(x)[0], "first")
    monkeypatch.setattr(Meta, "__prepare__", classmethod(lambda meta, name, bases: {"first": 7}), raising=False)
    assert captured(x)[0].first == 7


def test_set_name_is_called_once_and_guarded(monkeypatch):
    calls = []
    x = tensor([1.0])
    make_class(x)
    assert NAMED.name == "named"
    monkeypatch.setattr(Named, "__set_name__", lambda self, owner, name: calls.append((owner, name)))
    local = make_class(x)[0]
    assert calls == [(local, "named")]
    monkeypatch.delattr(Named, "__set_name__")
    make_class(x)
    assert len(calls) == 1


def test_names_with_descriptors_in_the_metaclass_belong_to_the_class():
    def make(x):
        class Local:
            @property
            def __name__(self):
                return "of an object"

            __bases__ = property(lambda self: x)
            __mro__ = lambda self: 3  # noqa: E731

        return Local, x + 1

    x = tensor([1.0])
    local, plain = minidynamo.compile(make)(x)[0], make(x)[0]
    assert local.__name__ == plain.__name__ == "Local"
    assert local().__name__ == plain().__name__ == "of an object"
    assert local().__bases__ is x and local().__mro__() == 3
    assert local.__bases__ == (object,) and local.__mro__ == (local, object)


def test_init_subclass_may_change():
    class Parent:
        pass

    def make(x):
        class Local(Parent):
            pass

        return getattr(Local, "calls", "nothing"), Local.__mro__[1:], x + 1

    compiled = minidynamo.compile(make)
    calls = []

    def first(cls, **options):
        calls.append(cls.__name__)
        cls.calls = "first"

    def second(cls, **options):
        calls.append(2)
        cls.calls = "second"

    for hook in (None, first, second, None, first):
        if hook is not None:
            Parent.__init_subclass__ = classmethod(hook)
        elif "__init_subclass__" in vars(Parent):
            del Parent.__init_subclass__
        for _ in range(3):
            plain = make(tensor([1.0]))[:2]
            expected = calls[:]
            calls.clear()
            assert compiled(tensor([1.0]))[:2] == plain
            assert calls == expected
            calls.clear()


@pytest.mark.counts_python_runs
def test_a_class_after_init_subclass_is_an_ordinary_class():
    heard = []

    class Parent:
        def __init_subclass__(cls, flag=None):
            heard.append((cls, flag))

    @minidynamo.compile(fullgraph=True)
    def make(x):
        class Local(Parent, flag=3):
            kind = 1

            def f(self):
                return x

        return Local, Local().f() + 1

    class Plain(Parent, flag=3):
        kind = 1

        def f(self):
            return None

    heard.clear()
    local, _ = make(tensor([1.0]))
    again, _ = make(tensor([1.0]))
    assert local is not again
    assert local.__mro__ == (local, Parent, object)
    assert list(vars(local)) == list(vars(Plain))
    assert Parent.__subclasses__() == [Plain, local, again]
    assert super(local, local).__init_subclass__.__func__ is vars(Parent)["__init_subclass__"].__func__
    assert sys.getrefcount(local.__mro__) == sys.getrefcount(Plain.__mro__)
    heard.clear()

    class Below(local, flag=4):
        pass

    assert heard == [(Below, 4)]
