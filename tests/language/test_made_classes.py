"""What capture makes to know a class statement by is seen by nobody, and is gone with the walk."""

import gc
import weakref

import minidynamo
from minidynamo import tensor


class Base:
    pass


def names_of_subclasses():
    return [each.__name__ for each in Base.__subclasses__()]


def test_only_the_programs_own_class_is_a_subclass():
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


def test_a_class_dies_when_the_program_lets_go_of_it():
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


def test_an_iterator_of_a_class_made_in_the_region_lives_on_under_another():
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


def test_a_metaclass_that_gets_a_way_of_its_own_is_left_to_python(monkeypatch):
    captured = minidynamo.compile(class_with_meta)
    x = tensor([1.0])
    assert not hasattr(captured(x)[0], "first")
    monkeypatch.setattr(Meta, "__prepare__", classmethod(lambda meta, name, bases: {"first": 7}), raising=False)
    assert captured(x)[0].first == 7


def test_a_name_is_told_once_and_by_whom_it_is_told_is_followed(monkeypatch):
    told = []
    x = tensor([1.0])
    make_class(x)
    assert NAMED.name == "named"
    monkeypatch.setattr(Named, "__set_name__", lambda self, owner, name: told.append((owner, name)))
    local = make_class(x)[0]
    assert told == [(local, "named")]
    monkeypatch.delattr(Named, "__set_name__")
    make_class(x)
    assert len(told) == 1
