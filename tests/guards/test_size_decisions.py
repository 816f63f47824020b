"""Branches on a size that comes from a dynamic number: in each call as in eager Python.

The programs are in size_decisions.py. `python -m tests.drawn size_decisions` runs more, `pytest -m exhaustive` all.
"""

import contextlib
import re
import warnings

import pytest
import size_decisions

import minidynamo
from minidynamo._dynamo import config


def describe(value):
    """A value with everything that a program can observe about it."""
    if isinstance(value, minidynamo.Tensor):
        return "tensor", tuple(value.shape), value.stride(), str(value.dtype), repr(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [describe(item) for item in value]
    if isinstance(value, dict):
        return "dict", [(describe(key), describe(item)) for key, item in value.items()]
    return type(value).__name__, repr(value)


def outcome(function, k, marked):
    sized = minidynamo.zeros(k)
    if marked:
        minidynamo._dynamo.maybe_mark_dynamic(sized, 0)
    minidynamo.manual_seed(1)
    try:
        return describe(function(k, sized))
    except Exception as error:
        return type(error).__name__, str(error), error.__traceback__.tb_next.tb_lineno


@contextlib.contextmanager
def flags(values):
    before = {name: getattr(config, name) for name in values}
    try:
        for name, value in values.items():
            setattr(config, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)


def mismatches(maker, decision, entry, way):
    """The differences from eager Python in any call, as texts."""
    options, values, marked = size_decisions.WAYS[way]
    text = size_decisions.write(maker, decision, entry)
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "<program>", "exec"), names)
        program = names["program"]
        compiled = minidynamo.compile(program, **options)
        found = []
        with flags({"suppress_internal_errors": False, "recompile_limit": 32, **values}):
            for k in size_decisions.VALUES:
                want, got = outcome(program, k, marked), outcome(compiled, k, marked)
                if got != want:
                    found.append(f"{maker} {decision} {entry} {way}: k={k}: {got} instead of {want}")
    return found


def run(combinations):
    found = []
    for combination in combinations:
        found += mismatches(*combination)[:1]
        minidynamo._dynamo.reset()
    return found


@pytest.mark.parametrize("seed", range(4))
def test_each_maker_with_each_decision(seed):
    chosen = size_decisions.drawn(300, seed)
    assert run(chosen) == []


def run_drawn(count, seed):
    assert run(size_decisions.drawn(count, seed)) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("maker", size_decisions.MAKERS)
def test_every_combination(maker):
    assert run([each for each in size_decisions.combinations() if each[0] == maker]) == []


def test_the_programs_differ_by_k():
    """If a branch were the same for all numbers, using the result of another call would go unnoticed."""
    deciding = 0
    for maker, decision, entry, _ in size_decisions.drawn(400, 9):
        names = {}
        exec(compile(size_decisions.write(maker, decision, entry), "<program>", "exec"), names)
        results = {re.sub("[0-9]", "", str(outcome(names["program"], k, False))) for k in size_decisions.VALUES}
        deciding += len(results) > 1
    assert deciding > 250


def test_conditions_that_hold_for_all_numbers_are_not_guarded():
    def asserts(number):
        k = number.item()
        y = minidynamo.ones(k, 3)
        assert y.shape[0] == k
        return y.mean(0) if y.size(0) + 1 > k else y

    compiled = minidynamo.compile(asserts, fullgraph=True)
    for k in (3, 2, 5):
        assert describe(compiled(minidynamo.tensor(k))) == describe(asserts(minidynamo.tensor(k)))
