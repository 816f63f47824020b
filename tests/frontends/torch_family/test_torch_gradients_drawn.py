"""Random programs over torch tensors that require grad, with views and writes, compiled: values, flags and gradients as plain."""

import contextlib
import random
import sys
from pathlib import Path

import pytest

import minidynamo

torch = pytest.importorskip("torch")

sys.path.append(str(Path(__file__).parents[2] / "training"))
import test_gradients_drawn as programs  # noqa: E402

STEPS = 10
SUITE = 240
# Writes that torch's versions do not count; our own tensors count them.
hides_writes = [True]


def data_of(x):
    return x.data if hides_writes[-1] else x.detach()


WRITES_ALONE = programs.WRITES_ALONE | {
    "data": lambda x: data_of(x).mul_(0.9),
    "part of data": lambda x: data_of(x)[:1].add_(0.5) if x.dim() > 0 else data_of(x).add_(1),
}


@contextlib.contextmanager
def counted_writes():
    """Under which a program raises whose gradients depend on what torch's formulas read."""
    hides_writes.append(False)
    yield
    hides_writes.pop()


def copies(leaves):
    return [leaf.detach().clone().requires_grad_(leaf.requires_grad) for leaf in leaves]


def drawn_program(draw):
    """(leaves, statements that run without an error, how many tensors there are behind them)."""
    leaves, statements, texts = [], [], []
    for _ in range(2):
        leaves.extend(programs.drawn_leaf(draw)[1](torch, []))
    tensors = copies(leaves)
    for _ in range(STEPS):
        text, statement = programs.drawn_statement(draw, tensors, WRITES_ALONE, may_overlap=True)
        found, error = programs.outcome(statement, torch, tensors)
        if error is None:
            tensors.extend(found)
            statements.append(statement)
            texts.append(text)
        else:
            # It may have written before it raised.
            tensors = copies(leaves)
            for each in statements:
                tensors.extend(each(torch, tensors))
    return leaves, statements, texts, len(tensors)


def run(statements, kept, leaves):
    tensors = list(leaves)
    for statement in statements:
        tensors.extend(statement(torch, tensors))
    return [tensors[at] for at in kept]


def flags_of(tensor):
    return programs.outcome(lambda: (tensor.requires_grad, tensor.is_leaf))


def check_drawn(seed):
    with torch.enable_grad():
        check_program(random.Random(seed))


def check_program(draw):
    leaves, statements, texts, count = drawn_program(draw)
    kept = sorted(draw.sample(range(2, count), min(count - 2, draw.randint(1, 4))))
    if not kept:
        return
    later = draw.choice([None, *WRITES_ALONE])
    where = "\n".join([*texts, f"kept {kept}, then {later}"])
    minidynamo._dynamo.reset()
    compiled = minidynamo.compile(lambda given: run(statements, kept, given))
    for _ in range(2):
        check_calls(compiled, lambda given: run(statements, kept, given), leaves, later, where)


def check_calls(compiled, plain, leaves, later, where):
    if "data" in where and is_undefined(plain, leaves, later):
        return
    theirs, ours = copies(leaves), copies(leaves)
    expected, found = plain(theirs), compiled(ours)
    if later is not None:
        _, their_error = programs.outcome(WRITES_ALONE[later], expected[0])
        _, error = programs.outcome(WRITES_ALONE[later], found[0])
        # Of views that several-valued operations made, or that were made under no_grad, torch refuses more.
        if their_error is not None or error is not None:
            assert error is None or their_error is not None, f"{where}\n{error!r}, torch has none"
            return
    for number, (a, b) in enumerate(zip([*ours, *found], [*theirs, *expected], strict=True)):
        (flags, error), (torch_flags, their_error) = flags_of(a), flags_of(b)
        if error is not None or their_error is not None:
            return
        assert flags == torch_flags, f"{where}\ntensor {number}: requires_grad, is_leaf {flags}, plain {torch_flags}"
        programs.check_equal(a, b, f"{where}\ntensor {number}")
    flowing = [number for number, each in enumerate(expected) if each.grad_fn is not None]
    wanted = [number for number, each in enumerate(theirs) if each.requires_grad]
    if flowing and wanted:
        slopes, torch_slopes = [
            gradients(each, flowing, given, wanted) for each, given in ((found, ours), (expected, theirs))
        ]
        # A backward of several operations reads what theirs do not: of results to which no gradient goes, too. In a
        # program that makes leaves, and so breaks, it may have been written by another region.
        is_read = programs.kind_of(slopes[1]) == ("RuntimeError", programs.WRITTEN)
        if torch_slopes[1] is not None or (is_read and (later is not None or "leaf" in where)):
            return
        assert slopes[1] is None, f"{where}\n{slopes[1]!r}, torch has none"
        for number, (a, b) in enumerate(zip(slopes[0], torch_slopes[0], strict=True)):
            if programs.is_wanted(a) or programs.is_wanted(b):
                programs.check_equal(a, b, f"{where}\ngradient {number}")


def is_undefined(plain, leaves, later):
    with counted_writes():
        theirs = copies(leaves)
        results, error = programs.outcome(plain, theirs)
        if error is None and later is not None:
            _, error = programs.outcome(WRITES_ALONE[later], results[0])
        if error is not None:
            return True
        flowing = [at for at, each in enumerate(results) if flags_of(each)[1] is None and each.grad_fn is not None]
        wanted = [at for at, each in enumerate(theirs) if each.requires_grad]
        return bool(flowing and wanted) and gradients(results, flowing, theirs, wanted)[1] is not None


def gradients(results, flowing, leaves, wanted):
    def compute():
        loss = programs.loss_of(torch, results, flowing)
        return torch.autograd.grad(loss, [leaves[at] for at in wanted], allow_unused=True)

    return programs.outcome(compute)


@pytest.mark.parametrize("start", range(0, SUITE, 20))
def test_drawn_programs(start):
    for seed in range(start, start + 20):
        check_drawn(seed)
