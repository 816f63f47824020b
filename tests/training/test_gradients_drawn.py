"""Random programs of differentiable operations, views and writes in place: values, flags, gradients and refusals as torch's."""

import random
import re

import pytest

import minidynamo
import minidynamo.autograd

torch = pytest.importorskip("torch")

STEPS = 14
SUITE = 300
TOLERANCE = 1e-9


# Each statement draws its numbers and returns a function of (library, tensors) that returns the new tensors.

UNARY = {
    "sin": lambda lib, x: x.sin(),
    "tanh": lambda lib, x: x.tanh(),
    "sigmoid": lambda lib, x: x.sigmoid(),
    "relu": lambda lib, x: x.relu(),
    "abs": lambda lib, x: x.abs(),
    "square": lambda lib, x: x.square(),
    "exp": lambda lib, x: (x.tanh() * 0.5).exp(),
    "log1p": lambda lib, x: (x * x).log1p(),
    "sqrt": lambda lib, x: (x * x + 0.5).sqrt(),
    "reciprocal": lambda lib, x: 1 / (x * x + 1),
    "clamp": lambda lib, x: x.clamp(-0.7, 0.8),
    "gelu": lambda lib, x: lib.nn.functional.gelu(x),
    "clone": lambda lib, x: x.clone(),
    "contiguous": lambda lib, x: x.contiguous(),
    "floor": lambda lib, x: x.floor(),
    "detach": lambda lib, x: x.detach(),
    "to_float32": lambda lib, x: x.float().double(),
    "triu": lambda lib, x: x.triu() if x.dim() >= 2 else x * 1,
    "masked": lambda lib, x: x.masked_fill(x > 0.3, 0.25),
    "where": lambda lib, x: lib.where(x > 0, x * 2, x.sin()),
}
BINARY = {
    "add": lambda lib, a, b: a + b,
    "sub": lambda lib, a, b: a - b,
    "mul": lambda lib, a, b: a * b,
    "div": lambda lib, a, b: a / (b * b + 1),
    "maximum": lambda lib, a, b: lib.maximum(a, b),
    "pow": lambda lib, a, b: (a * a + 0.5) ** (b.tanh()),
    "lerp": lambda lib, a, b: a.lerp(b, 0.3) if a.shape == b.shape else a + b,
    "atan2": lambda lib, a, b: lib.atan2(a, b * b + 1),
    "where": lambda lib, a, b: lib.where(a > b, a, b * 3),
    "hypot": lambda lib, a, b: lib.hypot(a * a + 1, b),
}
ALONG_DIM = {
    "sum": lambda lib, x, dim, keep: x.sum(dim, keepdim=keep),
    "mean": lambda lib, x, dim, keep: x.mean(dim, keepdim=keep),
    "amax": lambda lib, x, dim, keep: x.amax(dim, keepdim=keep),
    "max": lambda lib, x, dim, keep: x.max(dim, keepdim=keep).values,
    "prod": lambda lib, x, dim, keep: x.prod(dim, keepdim=keep),
    "logsumexp": lambda lib, x, dim, keep: x.logsumexp(dim, keepdim=keep),
    "norm": lambda lib, x, dim, keep: (x * x + 0.1).norm(dim=dim, keepdim=keep),
    "softmax": lambda lib, x, dim, keep: x.softmax(dim),
    "log_softmax": lambda lib, x, dim, keep: x.log_softmax(dim),
    "cumsum": lambda lib, x, dim, keep: x.cumsum(dim),
    "cumprod": lambda lib, x, dim, keep: x.cumprod(dim),
    "flip": lambda lib, x, dim, keep: x.flip(dim),
    "roll": lambda lib, x, dim, keep: x.roll(1, dim),
    "sort": lambda lib, x, dim, keep: x.sort(dim).values,
    "stack": lambda lib, x, dim, keep: lib.stack([x, x * 2], dim),
    "cat": lambda lib, x, dim, keep: lib.cat([x, x.sin(), x], dim),
    "repeat": lambda lib, x, dim, keep: x.repeat_interleave(2, dim),
}
VIEWS_ALONG_DIM = {
    "select": lambda x, dim, at: x.select(dim, at),
    "narrow": lambda x, dim, at: x.narrow(dim, at, x.shape[dim] - at),
    "unsqueeze": lambda x, dim, at: x.unsqueeze(dim),
    "transpose": lambda x, dim, at: x.transpose(dim, -1),
    "expand": lambda x, dim, at: x.unsqueeze(0).expand(2, *x.shape),
    "movedim": lambda x, dim, at: x.movedim(dim, 0),
    "unfold": lambda x, dim, at: x.unfold(dim, min(2, x.shape[dim]), 1),
    "step": lambda x, dim, at: x[(slice(None),) * dim + (slice(at, None, 2),)],
    "flatten": lambda x, dim, at: x.flatten(),
    "diagonal": lambda x, dim, at: x.diagonal() if x.dim() > 1 else x[:],
    "squeeze": lambda x, dim, at: x.squeeze(),
    "whole": lambda x, dim, at: x.view(x.shape),
    "alias": lambda x, dim, at: x[...],
}
SEVERAL = {
    "unbind": lambda x, dim: x.unbind(dim),
    "split": lambda x, dim: x.split(1, dim),
    "chunk": lambda x, dim: x.chunk(2, dim),
    "iterate": lambda x, dim: list(x),
}
WRITES = {
    "add_": lambda lib, x, y: x.add_(y),
    "sub_": lambda lib, x, y: x.sub_(y, alpha=2),
    "mul_": lambda lib, x, y: x.mul_(y),
    "div_": lambda lib, x, y: x.div_(y * y + 1),
    "copy_": lambda lib, x, y: x.copy_(y),
    "store": lambda lib, x, y: x.__setitem__(..., y),
    "masked": lambda lib, x, y: x.masked_fill_(x > 0.2, 0.5),
    "addcmul_": lambda lib, x, y: x.addcmul_(y, y),
    "lerp_": lambda lib, x, y: x.lerp_(y.expand(x.shape), 0.4),
    "put": lambda lib, x, y: x.__setitem__(y.expand(x.shape) > 0, 0.3),
}
WRITES_ALONE = {
    "mul_": lambda x: x.mul_(1.5),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(0.4),
    "sin_": lambda x: x.sin_(),
    "tanh_": lambda x: x.tanh_(),
    "relu_": lambda x: x.relu_(),
    "sigmoid_": lambda x: x.sigmoid_(),
    "clamp_": lambda x: x.clamp_(-0.5, 0.5),
    "neg_": lambda x: x.neg_(),
    "square": lambda x: x.pow_(2),
    "first": lambda x: x.__setitem__(0, 0.7) if x.dim() > 0 else x.mul_(2),
    "part": lambda x: x[:1].mul_(2) if x.dim() > 0 else x.add_(1),
    "detached": lambda x: x.detach().mul_(0.9),
}


def has_overlap(tensor):
    """Whether elements share memory: which writes into such tensors are refused differs."""
    places = {0}
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        places = {place + stride * number for place in places for number in range(size)}
    return len(places) < tensor.numel()


def is_another_view(tensor, other):
    """Of the same memory: what torch's writes read there, while they write, depends on their order."""
    if tensor.untyped_storage().data_ptr() != other.untyped_storage().data_ptr():
        return False
    place = [(each.data_ptr(), each.shape, each.stride()) for each in (tensor, other)]
    return place[0] != place[1]


def fits(shape, other):
    """Whether `shape` broadcasts to `other`."""
    return len(shape) <= len(other) and all(a in (1, b) for a, b in zip(shape[::-1], other[::-1], strict=False))


# How often each is drawn.
KINDS = {
    **{"unary": 18, "binary": 18, "dim": 14, "view": 22, "several": 4, "write": 14, "write_alone": 12, "leaf": 3},
    **{"no_grad": 4, "product": 4, "place": 6, "break": 5},
}


def drawn_statement(draw, tensors, writes_alone=WRITES_ALONE, may_overlap=False):
    """(text, function of (library, tensors)) that can be run on tensors of these sizes.

    may_overlap: whether a write may read another view of what it writes.
    """
    at = draw.randrange(len(tensors))
    shape = tuple(tensors[at].shape)
    kind = "unary" if has_overlap(tensors[at]) else draw.choices(list(KINDS), KINDS.values())[0]
    if kind == "unary":
        name = draw.choice(list(UNARY))
        return f"{name}({at})", lambda lib, all: [UNARY[name](lib, all[at])]
    if kind in ("binary", "write"):
        others = [i for i, each in enumerate(tensors) if fits(tuple(each.shape), shape)]
        if kind == "write" and not may_overlap:
            others = [i for i in others if not is_another_view(tensors[at], tensors[i])]
        other = draw.choice(others)
        if kind == "binary":
            name = draw.choice(list(BINARY))
            return f"{name}({at}, {other})", lambda lib, all: [BINARY[name](lib, all[at], all[other])]
        name = draw.choice(list(WRITES))
        return f"{name}({at}, {other})", lambda lib, all: no_result(WRITES[name](lib, all[at], all[other]))
    if kind == "write_alone":
        name = draw.choice(list(writes_alone))
        return f"{name}({at})", lambda lib, all: no_result(writes_alone[name](all[at]))
    if kind == "leaf":
        return drawn_leaf(draw)
    if kind == "break":
        return f"break({at})", lambda lib, all: no_result(minidynamo._dynamo.graph_break())
    if kind == "place":
        # Without a history, until something with one is written to it.
        return f"place {shape}", lambda lib, all: [lib.zeros(shape, dtype=lib.float64)]
    if kind == "product":
        square = [i for i, each in enumerate(tensors) if each.dim() == 2 and shape and each.shape[0] == shape[-1]]
        if square:
            other = draw.choice(square)
            return f"matmul({at}, {other})", lambda lib, all: [all[at] @ all[other]]
        return f"sum({at})", lambda lib, all: [all[at].sum()]
    if not shape or min(shape) == 0:
        return f"unsqueeze({at})", lambda lib, all: [all[at].unsqueeze(0)]
    dim, keep = draw.randrange(len(shape)), draw.random() < 0.5
    place = draw.randrange(shape[dim])
    if kind == "dim":
        name = draw.choice(list(ALONG_DIM))
        return f"{name}({at}, {dim}, {keep})", lambda lib, all: [ALONG_DIM[name](lib, all[at], dim, keep)]
    if kind == "several":
        name, which = draw.choice(list(SEVERAL)), draw.randrange(2)
        return f"{name}({at}, {dim})[{which}]", lambda lib, all: [SEVERAL[name](all[at], dim)[-which]]
    name = draw.choice(list(VIEWS_ALONG_DIM))
    view = lambda lib, all: [VIEWS_ALONG_DIM[name](all[at], dim, place)]
    # torch's views that are made under no_grad require grad as what they are of does, ours do not.
    if kind == "view" or requires_grad(tensors[at]):
        return f"{name}({at}, {dim}, {place})", view

    def under_no_grad(lib, all):
        with lib.no_grad():
            return view(lib, all)

    return f"no_grad {name}({at}, {dim}, {place})", under_no_grad


def no_result(_):
    return []


def requires_grad(tensor):
    """True, too, for a view that torch refuses to be asked."""
    try:
        return tensor.requires_grad
    except RuntimeError:
        return True


def drawn_leaf(draw):
    shape = draw.choice([(), (3,), (2, 3), (3, 3), (1, 3), (2, 1), (2, 3, 2), (3, 1)])
    count = 1
    for size in shape:
        count *= size
    numbers = [draw.uniform(-1.5, 1.5) for _ in range(count)]
    requires_grad = draw.random() < 0.8

    def make(lib, all):
        flat = lib.tensor(numbers, dtype=lib.float64)
        return [flat.reshape(shape).detach().requires_grad_(requires_grad)]

    return f"leaf {shape} {requires_grad}", make


# ---- running ----

WRITTEN = "one of the variables needed for gradient computation has been modified by an inplace operation"
FREED = "Trying to backward through the graph a second time"
ONE_OF_SEVERAL = "is the output of a function that returns multiple views"
NO_GRAD = "A view was created in no_grad mode"


def outcome(call, *args):
    try:
        return call(*args), None
    except (RuntimeError, IndexError, ValueError, TypeError) as error:
        return None, error


def kind_of(error):
    """What two refusals must agree in: the type, and the sentence without the names of nodes and of ops."""
    if error is None:
        return None
    text = str(error).split("\n")[0]
    known = next((part for part in (WRITTEN, FREED, ONE_OF_SEVERAL, NO_GRAD) if part in text), None)
    if known is not None:
        return type(error).__name__, known
    return type(error).__name__, text.rpartition("] ")[2][:60]


def as_torch(tensor):
    return torch.from_dlpack(tensor.detach().contiguous())


def check_equal(ours, theirs, what):
    if theirs is None or ours is None:
        assert ours is None and theirs is None, f"{what}: {ours}, torch gives {theirs}"
        return
    assert tuple(ours.shape) == tuple(theirs.shape), what
    a, b = as_torch(ours), theirs.detach()
    finite = b.isfinite()
    assert torch.equal(a.isfinite(), finite), what
    largest = max(1.0, b[finite].abs().max().item()) if bool(finite.any()) else 1.0
    # Equal casts are one in a compiled program, so that gradients are added in another dtype.
    tolerance = 1e-5 if "float32" in what else TOLERANCE
    assert bool(((a - b)[finite].abs() <= tolerance * largest).all()), f"{what}: {a}, torch gives {b}"


def is_wanted(gradient):
    """Which second derivatives are None, and which zeros, depends on the formulas of the first."""
    return gradient is not None and bool((gradient != 0).any())


def loss_of(lib, tensors, chosen):
    total = None
    for number, at in enumerate(chosen):
        term = (tensors[at] * (0.3 + 0.1 * number)).sum() + (tensors[at] * tensors[at]).sum() * 0.01
        total = term if total is None else total + term
    return total


def gradients(lib, tensors, chosen, leaves, again):
    def run():
        loss = loss_of(lib, tensors, chosen)
        wanted = [tensors[at] for at in leaves]
        first = lib.autograd.grad(loss, wanted, create_graph=again, allow_unused=True)
        if not again:
            return first
        flowing = [each for each in first if each is not None and each.requires_grad]
        if not flowing:
            return first
        return [*first, *lib.autograd.grad(sum((each * 0.7).sum() for each in flowing), wanted, allow_unused=True)]

    return outcome(run)


class Ended(Exception):
    """torch refuses what is taken here: the program ends."""


# By version numbers, torch refuses more: writes without a history into other views of the same memory.
# A view whose memory has gained a history by another view counts as a leaf there until its flags are read.
LEAF = ("RuntimeError", "a leaf Variable that requires grad is being used in an in-pl")
REFUSED_BY_TORCH = {("RuntimeError", ONE_OF_SEVERAL), ("RuntimeError", NO_GRAD), ("RuntimeError", WRITTEN)}


def is_view_at(text, tensors):
    """Whether the first operand of a statement is a view."""
    return tensors[int(re.search(r"\((\d+)", text)[1])]._base is not None


def check_drawn(seed):
    try:
        run_program(seed)
    except Ended:
        pass


def run_program(seed):
    draw = random.Random(seed)
    ours, theirs, program = [], [], []

    def run(text, statement):
        theirs_new, their_error = outcome(statement, torch, theirs)
        ours_new, error = outcome(statement, minidynamo, ours)
        program.append(text if their_error is None else f"{text}: {kind_of(their_error)}")
        where = "\n".join(program)
        if error is None and kind_of(their_error) == LEAF and is_view_at(text, theirs):
            raise Ended
        if kind_of(their_error) in REFUSED_BY_TORCH and kind_of(error) != kind_of(their_error):
            raise Ended
        if their_error is not None and kind_of(error) in REFUSED_BY_TORCH:
            raise Ended
        assert kind_of(error) == kind_of(their_error), f"{where}\n{error!r}, torch: {their_error!r}"
        if their_error is None:
            ours.extend(ours_new)
            theirs.extend(theirs_new)

    for _ in range(2):
        run(*drawn_leaf(draw))
    for _ in range(STEPS):
        run(*drawn_statement(draw, theirs))
    where = "\n".join(program)
    stale = set()  # views with a forbidden history
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        torch_flags, error = outcome(lambda tensor: (tensor.requires_grad, tensor.is_leaf), b)
        if error is not None:
            stale.add(number)
            continue
        flags = (a.requires_grad, a.is_leaf)
        check_equal(a, b, f"{where}\ntensor {number}")
        assert flags == torch_flags, (
            f"{where}\ntensor {number}: requires_grad, is_leaf {flags}, torch has {torch_flags}"
        )
    live = [number for number in range(len(theirs)) if number not in stale]
    leaves = [number for number in live if theirs[number].requires_grad and theirs[number].is_leaf]
    flowing = [number for number in live if theirs[number].requires_grad and not theirs[number].is_leaf]
    if not leaves or not flowing:
        return
    chosen = sorted(draw.sample(flowing, min(len(flowing), draw.randint(1, 3))))
    again = draw.random() < 0.3
    expected, their_error = gradients(torch, theirs, chosen, leaves, again)
    found, error = gradients(minidynamo, ours, chosen, leaves, again)
    where += f"\ngradients of {chosen} with respect to {leaves}{', twice' if again else ''}"
    if kind_of(their_error) in REFUSED_BY_TORCH and (error is None or kind_of(error) in REFUSED_BY_TORCH):
        return  # among these: torch saved what our formula does not read
    assert kind_of(error) == kind_of(their_error), f"{where}\n{error!r}, torch: {their_error!r}"
    if their_error is None:
        assert len(found) == len(expected), where
        for number, (a, b) in enumerate(zip(found, expected, strict=True)):
            if number < len(leaves) or (is_wanted(a) or is_wanted(b)):
                check_equal(a, b, f"{where}\ngradient {number}")


@pytest.mark.parametrize("start", range(0, SUITE, 20))
def test_drawn_programs(start):
    for seed in range(start, start + 20):
        check_drawn(seed)
