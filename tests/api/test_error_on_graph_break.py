"""error_on_graph_break and disable outside of compiled calls: what they set, and which attributes of the function
they preserve."""

import asyncio
import copy
import gc
import inspect
import pickle
import threading
import weakref

import pytest

from minidynamo import _C, compiler
from minidynamo._dynamo import disable, error_on_graph_break


def current():
    return _C._error_on_graph_break()


@error_on_graph_break(True)
def documented(a: int, b=2, *, c=3) -> str:
    """Returns its arguments."""
    return f"{a} {b} {c} {current()}"


class Methods:
    @error_on_graph_break(True)
    def method(self, x):
        return self, x, current()

    @error_on_graph_break(True)
    @classmethod
    def of_class(cls):
        return cls, current()

    @staticmethod
    @error_on_graph_break(True)
    def of_none():
        return current()

    def plain(self):
        return current()


@error_on_graph_break(True)
class Decorated:
    limit = 5

    def __init__(self):
        self.seen = [current()]

    def __call__(self):
        return current()

    @property
    def value(self):
        """A value."""
        return current()

    @staticmethod
    def of_none():
        return current()

    @classmethod
    def of_class(cls):
        return cls, current()


@pytest.fixture(autouse=True)
def starts_and_ends_without():
    assert current() is False
    yield
    assert current() is False


def test_block_and_nesting():
    with error_on_graph_break(True):
        assert current() is True
        with error_on_graph_break(False):
            assert current() is False
            with error_on_graph_break(True):
                assert current() is True
            assert current() is False
        assert current() is True


def test_a_block_is_left_by_an_exception():
    with pytest.raises(ZeroDivisionError), error_on_graph_break(True):
        raise ZeroDivisionError


def test_by_hand_and_again():
    setting = error_on_graph_break(True)
    for _ in range(2):
        setting.__enter__()
        setting.__enter__()
        assert current() is True
        setting.__exit__(None, None, None)
        assert current() is True
        setting.__exit__(None, None, None)
        assert current() is False


def test_each_thread_has_its_own():
    seen = []
    with error_on_graph_break(True):
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
    assert seen == [False]


@pytest.mark.parametrize("value", [1, 0, None, "yes", len])
def test_only_a_bool(value):
    with pytest.raises(TypeError, match="takes a bool"):
        error_on_graph_break(value)


@pytest.mark.parametrize("value", [3, None, "f"])
def test_only_a_callable_is_decorated(value):
    with pytest.raises(TypeError, match="callable is expected"):
        error_on_graph_break(True)(value)


def test_attributes_that_are_preserved():
    inner = documented.__wrapped__
    assert documented(1) == "1 2 3 True" and inner(1, c=0) == "1 2 0 False"
    assert documented(1, b=5, c=6) == "1 5 6 True"
    assert documented.__name__ == "documented" and documented.__qualname__ == "documented"
    assert documented.__doc__ == "Returns its arguments." and documented.__module__ == __name__
    assert inspect.signature(documented) == inspect.signature(inner)
    assert inspect.unwrap(documented) is inner and inspect.getsource(documented) == inspect.getsource(inner)
    assert documented.__annotations__ == {"a": int, "return": str}
    assert documented.error_on_graph_break is True
    assert pickle.loads(pickle.dumps(documented)) is documented and copy.deepcopy(documented) is documented
    documented.extra = 1
    assert documented.extra == 1 and not hasattr(inner, "extra")


def test_attributes_of_the_function_are_copied():
    def f():
        pass

    f.note = "n"
    assert error_on_graph_break(False)(f).note == "n"


def test_wrong_arguments_are_the_functions_own_error():
    with pytest.raises(TypeError, match=r"documented\(\) missing 1 required positional argument: 'a'"):
        documented()


def test_methods():
    instance = Methods()
    assert instance.method(3) == (instance, 3, True)
    assert Methods.method(instance, x=4) == (instance, 4, True)
    assert Methods.of_class() == (Methods, True) and instance.of_class() == (Methods, True)
    assert Methods.of_none() is True and instance.of_none() is True


def test_a_bound_method_put_on_an_instance():
    instance = Methods()
    instance.plain = error_on_graph_break(True)(instance.plain)
    assert instance.plain() is True
    assert Methods().plain() is False


def test_a_class():
    assert isinstance(Decorated, type) and Decorated.__name__ == "Decorated" and Decorated.limit == 5
    instance = Decorated()
    assert instance.seen == [True] and instance() is True and instance.value is True
    assert Decorated.of_none() is True and Decorated.of_class() == (Decorated, True)
    assert Decorated.value.__doc__ == "A value."


def test_a_builtin_does_not_bind():
    class Holder:
        length = error_on_graph_break(True)(len)

    assert Holder().length([1, 2]) == 2


def test_a_generator_function_runs_under_its_resumer():
    @error_on_graph_break(True)
    def generate():
        yield current()

    assert list(generate()) == [False]


def test_a_coroutine_function():
    @error_on_graph_break(True)
    async def answer():
        return 42

    assert asyncio.run(answer()) == 42


def test_the_innermost_wins():
    @error_on_graph_break(True)
    @error_on_graph_break(False)
    def f():
        return current()

    assert f() is False


def test_an_exception_restores():
    @error_on_graph_break(True)
    def fail():
        raise KeyError(current())

    with pytest.raises(KeyError) as caught:
        fail()
    assert caught.value.args == (True,)
    assert [frame.name for frame in caught.traceback][-1] == "fail"


def test_no_references_leak():
    def f():
        pass

    wrapped = error_on_graph_break(True)(f)
    wrapped.itself = wrapped
    alive = weakref.ref(wrapped), weakref.ref(f)
    del f, wrapped
    gc.collect()
    assert [reference() for reference in alive] == [None, None]


def test_disable_forms():
    def f(x, *, y=1):
        """Doc."""
        return x + y

    for disabled in (disable(f), disable()(f), disable(reason="slow")(f), disable(f, recursive=False)):
        assert disabled(1, y=2) == 3
        assert disabled.__wrapped__ is f and disabled.__name__ == "f" and disabled.__doc__ == "Doc."
        assert disabled.error_on_graph_break is None
    assert "disable(recursive=False)" in repr(disable(f, recursive=False))


def test_disable_wrong_arguments():
    with pytest.raises(TypeError, match="recursive must be a bool"):
        disable(len, recursive=1)
    with pytest.raises(TypeError, match="reason must be a str"):
        disable(len, reason=1)
    with pytest.raises(TypeError, match="callable is expected"):
        disable(3)
    with pytest.raises(TypeError, match="either"):
        _C.PolicyFunction(len)
    with pytest.raises(TypeError, match="either"):
        _C.PolicyFunction(len, error_on_graph_break=True, disable=True)
    with pytest.raises(TypeError):
        _C._exchange_error_on_graph_break(1)


def test_public_names():
    assert compiler.error_on_graph_break is error_on_graph_break and compiler.disable is disable
