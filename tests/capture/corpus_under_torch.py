"""Runs snippets of the corpus with torch in the place of minidynamo: python tests/capture/corpus_under_torch.py NAMES RESULTS

NAMES is a JSON list of snippets. RESULTS becomes a JSON list of those that torch.compile(fullgraph=True,
backend="eager") captures whole, with the results of eager Python.
"""

import copy
import importlib
import json
import signal
import sys
import types
from pathlib import Path

import torch
import torch._dynamo

TESTS = Path(__file__).parents[1]
SECONDS = 30  # torch may unroll a loop without end


class TakesTooLong(BaseException):
    pass


def put_torch_in_place():
    """Makes the corpus import torch as minidynamo, and the parts of the differential tests that need no build."""
    sys.path.insert(0, str(TESTS))
    sys.modules["minidynamo"] = torch
    for name in ("nn", "nn.functional", "_dynamo", "compiler"):
        sys.modules[f"minidynamo.{name}"] = importlib.import_module(f"torch.{name}")
    package = types.ModuleType("differential")
    package.__path__ = [str(TESTS / "differential")]
    sys.modules["differential"] = package
    for name in ("snippets", "comparing", "observing"):
        part = importlib.import_module(f"differential.{name}")
        functions = {key: value for key, value in vars(part).items() if isinstance(value, types.FunctionType)}
        package.__dict__.update(functions)
    importlib.import_module("corpus")
    return package


def is_held_whole(snippet, package):
    torch._dynamo.reset()
    function = snippet.function
    compiled = torch.compile(function, fullgraph=True, backend="eager")
    namespace = function.__globals__
    initial = {name: copy.deepcopy(namespace[name]) for name in snippet.state}

    def run(callee, make):
        namespace.update(copy.deepcopy(initial))
        return package.observe(callee, make(), namespace, snippet.state)

    try:
        return all(is_same(run(function, make), run(compiled, make), package) for make in snippet.makers)
    finally:
        namespace.update(initial)


def is_same(plain, seen, package):
    if type(plain.error) is not type(seen.error) or plain.printed != seen.printed:
        return False
    return not package.differences((plain.result, plain.args, plain.state), (seen.result, seen.args, seen.state))


def main(names, results):
    package = put_torch_in_place()
    wanted = set(json.loads(Path(names).read_text()))
    held = []

    def give_up(*_):
        raise TakesTooLong

    signal.signal(signal.SIGALRM, give_up)
    for snippet in package.snippets():
        if snippet.name not in wanted:
            continue
        signal.alarm(SECONDS)
        try:
            if is_held_whole(snippet, package):
                held.append(snippet.name)
        except TakesTooLong:
            pass
        finally:
            signal.alarm(0)
    Path(results).write_text(json.dumps(held))


if __name__ == "__main__":
    main(*sys.argv[1:])
