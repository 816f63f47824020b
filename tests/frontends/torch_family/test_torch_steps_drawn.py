"""Random training steps over torch's tensors and ours, with views, writes and backward() inside of the compiled function:
values, gradients and versions of several steps as plain."""

import random

import pytest

import minidynamo
import minidynamo.autograd

torch = pytest.importorskip("torch")

import test_torch_gradients_drawn as drawn  # noqa: E402
from test_torch_gradients_drawn import programs  # noqa: E402

counters = minidynamo._dynamo.utils.counters
SUITE = 160
STEPS = 3


def under_no_grad(update):
    def apply(lib, leaf):
        with lib.no_grad():
            update(lib, leaf)

    return apply


# What a program does with a leaf that has a gradient.
UPDATES = {
    "step": under_no_grad(lambda lib, leaf: leaf.sub_(leaf.grad, alpha=0.01)),
    "step by data": lambda lib, leaf: leaf.data.sub_(leaf.grad.data, alpha=0.01),
    "clipped": lambda lib, leaf: leaf.grad.data.clamp_(-0.5, 0.5),
    "scaled": lambda lib, leaf: leaf.grad.mul_(0.5),
    "detached": under_no_grad(lambda lib, leaf: leaf.mul_(0.9).add_(leaf.grad.detach().sign(), alpha=-0.01)),
    "part": lambda lib, leaf: leaf.grad.view(-1)[:1].zero_(),
    "cleared": lambda lib, leaf: setattr(leaf, "grad", None),
    "zeroed": lambda lib, leaf: leaf.grad.zero_(),
    "foreach": under_no_grad(
        lambda lib, leaf: lib._foreach_addcdiv_([leaf], [leaf.grad], [leaf.grad.abs() + 1], -0.01)
    ),
    "copied": under_no_grad(lambda lib, leaf: leaf.copy_(leaf * 0.99)),
}


COARSER = {("RuntimeError", programs.WRITTEN), ("RuntimeError", programs.FREED)}


def drawn_step(draw):
    leaves, statements, texts, count = drawn.drawn_program(draw)
    wanted = [at for at, leaf in enumerate(leaves) if leaf.requires_grad]
    chosen = sorted(draw.sample(range(count), min(count, draw.randint(1, 3))))
    updates = [(draw.choice(wanted), draw.choice(list(UPDATES))) for _ in range(draw.randint(0, 4))] if wanted else []
    kept = sorted(draw.sample(range(count), draw.randint(0, 2)))
    clears, parts = draw.random() < 0.5, draw.randint(1, 2)
    text = "\n".join([*texts, f"loss of {chosen}, {parts} times, kept {kept}, cleared {clears}, {updates}"])

    def step(lib, given):
        if clears:
            for at in wanted:
                given[at].grad = None
        for _ in range(parts):
            tensors = list(given)
            for statement in statements:
                tensors.extend(statement(lib, tensors))
            loss = programs.loss_of(lib, tensors, chosen)
            loss.backward()
        for at, name in updates:
            if given[at].grad is not None:
                UPDATES[name](lib, given[at])
        return [loss.detach(), *(tensors[at].detach() for at in kept)]

    return leaves, step, text


def outcome(step, lib, leaves):
    try:
        results = step(lib, leaves)
    except (RuntimeError, IndexError) as error:
        return error
    return [*results, *leaves, *(leaf.grad for leaf in leaves)], [leaf._version for leaf in leaves]


def copies(lib, leaves):
    return [lib.tensor(leaf.tolist(), dtype=lib.float64, requires_grad=leaf.requires_grad) for leaf in leaves]


def check_steps(lib, seed):
    with torch.enable_grad():
        leaves, step, text = drawn_step(random.Random(seed))
    if "data" in text:
        with drawn.counted_writes():
            if isinstance(outcome(step, lib, copies(lib, leaves)), Exception):
                return
    minidynamo._dynamo.reset()
    counters.clear()
    compiled = minidynamo.compile(step)
    plain, ours = copies(lib, leaves), copies(lib, leaves)
    for number in range(STEPS):
        expected = outcome(step, lib, plain)
        if isinstance(expected, Exception):
            return
        found = outcome(compiled, lib, ours)
        # Of a step in several regions, one node of which stands for more than torch's own would: it reads more.
        if programs.kind_of(found if isinstance(found, Exception) else None) in COARSER and counters["graph_break"]:
            return
        where = f"{text}\nstep {number}"
        assert not isinstance(found, Exception), f"{where}\n{found!r}, plain has none"
        assert found[1] == expected[1], f"{where}\nversions {found[1]}, plain {expected[1]}"
        for place, (a, b) in enumerate(zip(found[0], expected[0], strict=True)):
            programs.check_equal(a, None if b is None else programs.as_torch(b), f"{where}\ntensor {place}")


def check_drawn(seed):
    check_steps(torch, seed)


def check_own(seed):
    check_steps(minidynamo, seed)


@pytest.mark.parametrize("start", range(0, SUITE, 20))
@pytest.mark.parametrize("check", [check_drawn, check_own])
def test_drawn_steps(check, start):
    for seed in range(start, start + 20):
        check(seed)
