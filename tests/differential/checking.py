"""The check itself: plain and compiled runs side by side, cold and warm."""

import copy
from dataclasses import dataclass

import minidynamo
from minidynamo import _C

from .comparing import differences
from .observing import observe

# Plans may add in another order and fuse; computed op by op the values are bit-identical.
TOLERANCE = {"eager": 0.0, "onednn": 2e-6}


@dataclass
class Report:
    graph_breaks: int
    graphs_captured: int
    captured_when_warm: int


def count_engine():
    return dict(_C.engine_counters())


def check(snippet, backend="eager", fullgraph=False, **compile_options):
    """Runs a Snippet eagerly and compiled on fresh arguments: three times on the first, then on all of them, twice."""
    minidynamo._dynamo.reset()
    function = snippet.function
    compiled = minidynamo.compile(function, backend=backend, fullgraph=fullgraph, **compile_options)
    namespace = function.__globals__
    initial = {name: copy.deepcopy(namespace[name]) for name in snippet.state}

    def run(callee, make):
        namespace.update(copy.deepcopy(initial))
        return observe(callee, make(), namespace, snippet.state)

    counters = [count_engine()]
    try:
        for call, make in enumerate([snippet.makers[0]] * 3 + [*snippet.makers] * 2):
            plain = run(function, make)
            _hold_expected(snippet, plain)
            before = count_engine()
            seen = run(compiled, make)
            assert_same(plain, seen, f"call {call + 1} of {snippet.name}, {backend}", TOLERANCE.get(backend, 0.0))
            counters.append(_growth(before, count_engine()))
    finally:
        namespace.update(initial)
    cold, warm = counters[1], counters[3]
    return Report(cold["graph_breaks"], cold["graphs_captured"], warm["regions_captured"])


def _growth(before, after):
    return {name: after[name] - before.get(name, 0) for name in after}


def _hold_expected(snippet, plain):
    """Asserts that the snippet runs as its author intended; otherwise it would test nothing."""
    raised = type(plain.error) if plain.error is not None else None
    if raised is not None and "<locals>" in raised.__qualname__:
        raised = raised.__base__
    if raised is not snippet.raises:
        raise AssertionError(f"{snippet.name} run as plain Python raises {plain.error!r}") from plain.error


def assert_same(plain, seen, where, tolerance=0.0):
    """Asserts that two Outcomes are the same."""
    if (plain.error is None) != (seen.error is None):
        raise AssertionError(f"{where}: plain raised {plain.error!r}, compiled {seen.error!r}") from seen.error
    found = differences(
        (plain.result, plain.args, plain.state), (seen.result, seen.args, seen.state), tolerance
    ) + _compare_errors(plain.error, seen.error)
    for name in ("printed", "warned", "traceback"):
        one, other = getattr(plain, name), getattr(seen, name)
        if one != other:
            found.append(f"{name}: {one!r} and {other!r}")
    if found:
        raise AssertionError("\n  ".join([f"{where}: plain and compiled differ", *found])) from seen.error


def _compare_errors(plain, seen, path="error"):
    """Type, text, notes and the chain of causes and contexts."""
    if plain is None or seen is None:
        return [] if plain is seen else [f"{path}: {plain!r} and {seen!r}"]
    found = []
    for name, read in {
        "type": lambda error: f"{type(error).__module__}.{type(error).__qualname__}",
        "text": str,
        "notes": lambda error: getattr(error, "__notes__", []),
        "suppress_context": lambda error: error.__suppress_context__,
    }.items():
        one, other = read(plain), read(seen)
        if one != other:
            found.append(f"{path} {name}: {one!r} and {other!r}")
    for link in ("__cause__", "__context__"):
        found += _compare_errors(getattr(plain, link), getattr(seen, link), f"{path}.{link}")
    return found
