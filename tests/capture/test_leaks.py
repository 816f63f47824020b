"""No object that a compiled call creates outlives it, and its arguments have the same reference counts as before."""

import contextlib
import gc
import io
import logging
import sys
import warnings

import corpus  # noqa: F401  registers the snippets
import pytest
from differential import snippets

import minidynamo

SNIPPETS = {snippet.name: snippet for snippet in snippets()}
CALLS = 20
ROUNDS = 20


@contextlib.contextmanager
def without_kept_records():
    """pytest's handlers, on the root and on loggers that do not propagate, keep each record with its exception's frames."""
    loggers = [logging.getLogger(), *logging.Logger.manager.loggerDict.values()]
    handlers = {logger: logger.handlers for logger in loggers if isinstance(logger, logging.Logger)}
    try:
        for logger, all_of_it in handlers.items():
            logger.handlers = [each for each in all_of_it if not type(each).__module__.startswith("_pytest")]
        logging.getLogger().handlers.append(logging.NullHandler())
        yield
    finally:
        for logger, all_of_it in handlers.items():
            logger.handlers = all_of_it


def call_quietly(function, args):
    with (
        contextlib.suppress(Exception),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
        without_kept_records(),
    ):
        warnings.simplefilter("ignore")
        function(*args)


def growth(function, make):
    """Minimum of memory blocks and objects that remain after CALLS calls, and of references to the arguments that
    they keep."""
    args = make()
    for _ in range(5):
        call_quietly(function, args)
    args = make()
    call_quietly(function, args)
    gc.collect()
    references = [sys.getrefcount(arg) for arg in args]
    call_quietly(function, args)
    gc.collect()
    kept = [after - before for after, before in zip((sys.getrefcount(arg) for arg in args), references)]
    blocks, objects = round_growth(function, make)
    # Free lists, tables and caches of the interpreter fill up for a while (asyncio's for about ten rounds); leaks go
    # on.
    for _ in range(ROUNDS):
        if max(blocks, objects) <= 0:
            break
        more_blocks, more_objects = round_growth(function, make)
        blocks, objects = min(blocks, more_blocks), min(objects, more_objects)
    return blocks, objects, kept


def round_growth(function, make):
    blocks, objects = sys.getallocatedblocks(), len(gc.get_objects())
    for _ in range(CALLS):
        call_quietly(function, make())
    gc.collect()
    return sys.getallocatedblocks() - blocks, len(gc.get_objects()) - objects


# Objects that a snippet keeps itself (in a list of its module, say) are kept in eager Python too.
def check_leaks(name, stress):
    snippet = SNIPPETS[name]
    minidynamo._dynamo.reset()
    plain = growth(snippet.function, snippet.makers[0])
    with minidynamo._dynamo.config.patch(snapshot_stress=stress):
        compiled = growth(minidynamo.compile(snippet.function, backend="eager"), snippet.makers[0])
    assert compiled[2] == plain[2], "references to arguments"
    assert compiled[0] - max(plain[0], 0) < CALLS // 2, "memory blocks"
    assert compiled[1] - max(plain[1], 0) < CALLS // 2, "objects"


@pytest.mark.exhaustive
@pytest.mark.parametrize("stress", [0, 1])
@pytest.mark.parametrize("name", SNIPPETS)
def test_no_call_leaks(name, stress):
    check_leaks(name, stress)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SNIPPETS)[::20])
def test_some_do_not_leak(name):
    check_leaks(name, 0)
