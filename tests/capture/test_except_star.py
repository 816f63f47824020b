"""except* with an exception that was raised before the region, or a block that breaks: plain and compiled,
tracebacks included."""

import contextlib
import sys
import traceback

import pytest

import minidynamo
from minidynamo import ones
from minidynamo._dynamo import graph_break

PROGRAMS = {
    "break in the block": """
def f(x):
    try:
        graph_break()
        raise ExceptionGroup("g",[ValueError(1),TypeError(2)])
    except* ValueError as e:
        y=x+1; graph_break()
        log.append(("v",e.exceptions))
    except* TypeError as e:
        log.append(("t",e.exceptions))
    return y
""",
    "group from a call": """
def f(x):
    try:
        hidden(ExceptionGroup("g",[ValueError(1),KeyError(2)]))
    except* ValueError as e:
        log.append(("v",repr(e)))
    return x+1
""",
    "bare exception": """
def f(x):
    try:
        hidden(ValueError(1))
    except* ValueError as e:
        log.append(("v",repr(e), type(e)))
    return x+1
""",
    "bare, another class": """
def f(x):
    try:
        hidden(ValueError(1))
    except* KeyError as e:
        log.append(("v",repr(e)))
    return x+1
""",
    "group class refused": """
def f(x):
    try:
        hidden(ValueError(1))
    except* ExceptionGroup as e:
        log.append(("v",repr(e)))
    return x+1
""",
    "number refused": """
def f(x):
    try:
        hidden(ValueError(1))
    except* 3 as e:
        log.append(("v",repr(e)))
    return x+1
""",
    "number in classes refused": """
def f(x):
    try:
        hidden(ValueError(1))
    except* (KeyError, 3) as e:
        log.append(("v",repr(e)))
    return x+1
""",
    "reraised": """
def f(x):
    try:
        hidden(ExceptionGroup("g",[ValueError(1),ExceptionGroup("h",[ValueError(2),OSError(4)])]))
    except* ValueError as e:
        log.append(("v",repr(e)))
        raise
    except* OSError as e:
        log.append(("o",repr(e)))
    return x+1
""",
    "raised anew": """
def f(x):
    try:
        hidden(ExceptionGroup("g",[ValueError(1),ExceptionGroup("h",[ValueError(2),OSError(4)])]))
    except* ValueError as e:
        log.append(("v",repr(e)))
        raise KeyError("new")
    except* OSError as e:
        log.append(("o",repr(e)))
        hidden(TypeError("also"))
    return x+1
""",
    "raised from, finally": """
def f(x):
    try:
        hidden(ExceptionGroup("g",[ValueError(1)]))
    except* ValueError as e:
        graph_break()
        raise KeyError("new") from e
    finally:
        log.append("fin")
    return x+1
""",
    "in a loop": """
def f(x):
    for i in range(3):
        try:
            y=x+i
            hidden(ExceptionGroup("g",[ValueError(i),OSError(i)]) if i else None)
        except* OSError:
            graph_break()
            log.append(i)
        except* ValueError as e:
            log.append(e.exceptions[0].args)
        else:
            log.append("else")
    return y
""",
    "in a generator": """
def f(x):
    def g():
        try:
            yield 1
            hidden(ExceptionGroup("g",[ValueError(1),OSError(2)]))
        except* OSError as e:
            graph_break()
            log.append(repr(e))
        yield 2
    try:
        for a in g(): log.append(a)
    except ExceptionGroup as e:
        log.append(repr(e)); log.append(repr(e.__context__)); log.append(repr(e.__cause__))
    return x+1
""",
    "nested": """
def f(x):
    try:
        hidden(ExceptionGroup("g",[ValueError(1),OSError(2)]))
    except* OSError as e:
        try:
            graph_break()
            hidden(ExceptionGroup("in",[KeyError(1)]))
        except* KeyError as k:
            log.append((repr(e),repr(k),repr(sys.exc_info()[1])))
    except* ValueError as e:
        log.append(repr(sys.exc_info()[1]))
    log.append(sys.exc_info()[1])
    return x+1
""",
    "base group": """
def f(x):
    try:
        hidden(BaseExceptionGroup("g",[KeyboardInterrupt(1),OSError(2)]))
    except* OSError as e:
        log.append(repr(e))
    return x+1
""",
    "derived group": """
class My(ExceptionGroup):
    def derive(self, excs):
        log.append(("derive",len(excs)))
        graph_break()
        return My("derived",excs)
def f(x):
    try:
        raise My("g",[ValueError(1),OSError(2)])
    except* OSError as e:
        graph_break()
        log.append((type(e).__name__,repr(e), e.__notes__ if hasattr(e,'__notes__') else None))
    return x+1
""",
    "metaclass that answers": """
class Meta(type):
    def __instancecheck__(cls, other): log.append("ic"); return True
    def __subclasscheck__(cls, other): log.append("sc"); return True
class E(Exception, metaclass=Meta): pass
def f(x):
    try:
        hidden(ExceptionGroup("g",[ValueError(1),OSError(2)]))
    except* E as e:
        log.append(repr(e))
    return x+1
""",
    "name unset behind": """
def f(x):
    try:
        hidden(ExceptionGroup("g",[ValueError(1)]))
    except* ValueError as e:
        y = x*2
    return y, "e" in locals()
""",
    "kept": """
def f(x):
    try:
        hidden(ExceptionGroup("g",[ValueError(1), TypeError(2)]))
    except* ValueError as e:
        kept=e
        graph_break()
    except* TypeError:
        graph_break()
    log.append((repr(kept), kept.__traceback__ is not None, kept.__context__))
    return x+1
""",
    "left and met by another": """
def f(x):
    try:
        try:
            hidden(ExceptionGroup("g",[ValueError(1), TypeError(2)]))
        except* ValueError as e:
            graph_break()
            raise OSError(5)
    except* OSError as e:
        log.append((repr(e), repr(e.__context__)))
        raise KeyError(1)
    return x+1
""",
    "within with": """
def f(x):
    with ctx():
        try:
            hidden(ExceptionGroup("g",[ValueError(1), TypeError(2)]))
        except* ValueError as e:
            with ctx():
                graph_break()
                raise e
    return x+1
""",
    "raised again with a note": """
def f(x):
    try:
        hidden(ExceptionGroup("g",[ValueError(1)]).with_traceback(None))
    except* (ValueError, TypeError) as e:
        graph_break()
        e.add_note("hi")
        log.append(e.__notes__)
        raise e
    return x+1
""",
    "in a coroutine": """
def f(x):
    import asyncio
    async def a():
        try:
            await asyncio.sleep(0)
            hidden(ExceptionGroup("g",[ValueError(1),OSError(2)]))
        except* ValueError:
            await asyncio.sleep(0)
            log.append("caught")
    try: asyncio.run(a())
    except* OSError as e: log.append(repr(e))
    return x+1
""",
}


def describe(error, seen=()):
    if error is None or error in seen:
        return None
    seen = (*seen, error)
    lines = [(each.name, each.lineno) for each in traceback.extract_tb(error.__traceback__) if each.filename == "<p>"]
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    chain = [describe(each, seen) for each in (error.__context__, error.__cause__, *parts)]
    notes = getattr(error, "__notes__", None)
    return type(error).__name__, str(error), lines, chain, error.__suppress_context__, notes


def outcome(source, compiles):
    log, seen = [], []

    @contextlib.contextmanager
    def ctx():
        log.append("enter")
        try:
            yield
        except BaseException as error:
            log.append(repr(error))
            raise
        log.append("exit")

    def hidden(error):
        if error is not None:
            raise error

    names = {"log": log, "ctx": ctx, "sys": sys, "graph_break": graph_break if compiles else int}
    names["hidden"] = minidynamo._dynamo.disable(hidden) if compiles else hidden
    exec(compile(source, "<p>", "exec"), names)
    function = minidynamo.compile(names["f"]) if compiles else names["f"]
    for _ in range(3):
        try:
            seen.append(repr(function(ones(2))))
        except BaseException as error:
            seen.append(describe(error))
        seen += [str(log), sys.exc_info()]
        log.clear()
    return seen


@pytest.mark.parametrize("name", PROGRAMS)
def test_clauses(name):
    wanted = outcome(PROGRAMS[name], False)
    assert outcome(PROGRAMS[name], True) == wanted
    minidynamo._dynamo.reset()
