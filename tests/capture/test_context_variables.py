"""contextvars.ContextVar in captured code: what is read is guarded, what is set is there afterwards, a reset undoes it."""

import asyncio
import contextvars
import re

import pytest

import minidynamo
from minidynamo import ones

mode = contextvars.ContextVar("mode", default=1)
bare = contextvars.ContextVar("bare")
VARIABLES = (mode, bare)


def reads(x):
    return x + mode.get(), bare.get(7), bare.get(None), mode.get(9)


def reads_what_is_not_set(x):
    return x + bare.get()


def sets(x):
    mode.set(5)
    bare.set([1])
    return x + mode.get(), bare.get(), bare.get(3)


def sets_a_tensor(x):
    bare.set(x + 1)
    return bare.get() * 2


def sets_and_resets(x):
    token = mode.set(5)
    try:
        y = x + mode.get()
    finally:
        mode.reset(token)
    return y + mode.get()


def nested(x):
    outer = bare.set(1)
    inner = bare.set(2)
    other = mode.set(3)
    y = x + bare.get()
    bare.reset(inner)
    y = y * bare.get() + mode.get()
    bare.reset(outer)
    mode.reset(other)
    return y + bare.get(10)


def resets_the_first(x):
    first = bare.set(1)
    bare.set(2)
    bare.reset(first)
    return x + bare.get(4)


def set_again_after_a_reset(x):
    bare.reset(bare.set(1))
    bare.set(8)
    return x + bare.get()


def resets_twice(x):
    token = bare.set(1)
    bare.reset(token)
    bare.reset(token)
    return x


def resets_another(x):
    bare.reset(mode.set(1))
    return x


def resets_the_second_after_the_first(x):
    first = bare.set(1)
    second = bare.set(2)
    bare.reset(first)
    bare.reset(second)
    return x + bare.get()


def returns_the_token(x):
    token = bare.set(5)
    y = x + bare.get()
    return y, token.old_value is contextvars.Token.MISSING, token.var is bare


def breaks_between(x):
    token = bare.set(5)
    minidynamo._dynamo.graph_break()
    y = x + bare.get()
    bare.reset(token)
    return y + bare.get(6)


def prints_between(x):
    token = bare.set(5)
    print(end="")
    bare.reset(token)
    return x + bare.get(6)


def raises_between(x):
    token = bare.set(5)
    try:
        raise ValueError(bare.get())
    except ValueError as error:
        return x + error.args[0], bare.get()
    finally:
        bare.reset(token)


def leaves_by_an_exception(x):
    bare.set(3)
    raise KeyError(mode.get())


def sees_copies(x):
    bare.set(4)
    return x + contextvars.copy_context()[bare]


def wrong_arguments(x):
    return bare.set(1, 2)


def of_either(x, first=True):
    variable = mode if x.shape[0] == 2 else bare
    token = variable.set(3)
    y = x + variable.get() + mode.get() + bare.get(1)
    variable.reset(token)
    return y


FUNCTIONS = [
    value for value in list(globals().values()) if getattr(value, "__module__", "") == __name__ and callable(value)
]
WHOLE = [reads, sets, sets_a_tensor, sets_and_resets, nested, resets_the_first, set_again_after_a_reset, raises_between]


def _observed(function, x, before):
    """The result and the context afterwards, in a context of its own."""

    def run():
        for variable, value in zip(VARIABLES, before):
            if value is not None:
                variable.set(value)
        try:
            result = repr(function(x))
        except Exception as error:
            result = re.sub("0x[0-9a-f]+", "", repr(error))
        return result, [repr(variable.get("not set")) for variable in VARIABLES]

    return contextvars.Context().run(run)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_as_plain_code(function):
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(function, fullgraph=function in WHOLE)
    states = [(None, None), (2, None), (2, 3), (None, 3), (4, 1), (None, None), (2.5, 3)]
    for before in states + states:
        assert _observed(compiled, ones(2), before) == _observed(function, ones(2), before)


def test_objects_in_a_variable_are_guarded():
    compiled = minidynamo.compile(lambda x: x * bare.get()["scale"], fullgraph=True)

    def run():
        for scale in (2, 3, 2):
            bare.set({"scale": scale})
            assert compiled(ones(1)).item() == scale
        bare.set({"scale": ones(1) * 4})
        assert compiled(ones(1)).item() == 4

    contextvars.Context().run(run)


def test_tasks_have_contexts_of_their_own():
    @minidynamo.compile
    def step(x):
        return x + bare.get(0)

    async def task(n):
        bare.set(n)
        await asyncio.sleep(0)
        return step(ones(1)).item()

    async def main():
        return await asyncio.gather(*[task(n) for n in range(4)])

    assert asyncio.run(main()) == [1, 2, 3, 4]
    assert step(ones(1)).item() == 1


def test_values_are_released():
    import weakref

    class Held:
        pass

    @minidynamo.compile(fullgraph=True)
    def function(x, held):
        token = bare.set(held)
        y = x + 1
        bare.reset(token)
        return y

    held = Held()
    function(ones(1), held)
    died = weakref.ref(held)
    del held
    assert died() is None
