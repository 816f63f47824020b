"""Writes in place: what a plan computes where, and that the caller's memory is, byte for byte, what eager Python leaves."""

import functools
import itertools
import linecache
import operator
import random
import traceback
import warnings

import pytest

import minidynamo
import minidynamo as md
from minidynamo._dynamo._explain import _captures_of


def memory_of(tensor):
    """From the first element to the last, with what lies in between."""
    extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return tensor.as_strided((extent,), (1,), tensor.storage_offset()).tolist()


def raised_line(error, name):
    lines = [entry.lineno for entry in traceback.extract_tb(error.__traceback__) if entry.name == name]
    return lines[-1] if lines else None


def define(source, name, **names):
    """A function whose lines a traceback finds."""
    scope = {"md": md, **names}
    file = f"<{name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), scope)
    return scope["f"]


def leave(function, make, kind=md.Tensor):
    """What a call returns or raises, and what it leaves in its arguments: tensors of this kind."""
    args = make()
    tensors = [arg for arg in args if isinstance(arg, kind)]
    versions = [t._version for t in tensors]
    try:
        result = function(*args)
        end = ("returns", [part.tolist() if isinstance(part, kind) else part for part in result])
    except Exception as error:
        end = (type(error), str(error), raised_line(error, "f"))
    return end, [memory_of(t) for t in tensors], [t._version - before for t, before in zip(tensors, versions)]


def check(function, make, calls=3):
    expected = leave(function, make)
    compiled = md.compile(function)
    for _ in range(calls):
        assert leave(compiled, make) == expected
    return compiled


# ---- one write and one operation that fails, in both orders

LENGTH = 12

# What is written: lines of a program over x and y (float64, disjoint), w (every other element of a longer tensor), n (a
# number), i and j (indices; i may be out of range).
WRITES = {
    "window from elsewhere": "x[1:-1] = 0.5 * (y[:-2] + y[2:])",
    "window of itself": "x[2:8] *= 3",
    "window from neighbours": "x[1:-1] = x[:-2] + x[2:]",
    "two disjoint windows": "x[:4] = y[4:8]\n    x[6:] = y[:6] + 1",
    "two overlapping windows": "x[:8] = y[4:] * 2\n    x[4:10] = y[:6] * 3",
    "windows with steps": "x[::3] = y[1::3] - 1\n    x[1::3] = y[::3]",
    "chain of views": "v = x[2:]\n    v = v[1:8]\n    v[::2] = y[:4]\n    v += 1",
    "whole tensor": "x.add_(1)",
    "whole tensor, twice": "x.mul_(2)\n    x.sub_(y)",
    "copy": "x.copy_(y)",
    "copy of a view": "x[3:7].copy_(y[:1])",
    "fill": "x[2:9].fill_(n)",
    "zero": "x.zero_()",
    "masked fill": "x.masked_fill_(y > 3, -1.0)",
    "masked fill of a window": "x[1:7].masked_fill_(y[:6] > 3, -1.0)",
    "index put": "x[j] = 7.0",
    "accumulating": "x.index_add_(0, j, y[:3])",
    "scatter": "x.scatter_(0, j, 2.0)",
    "out=": "md.mul(y, 2, out=x)",
    "strided input": "w[1:-1] = y[2:] * 2",
    "strided input, whole": "w.mul_(2)",
    "two inputs": "x[:6] = y[:6] * 2\n    w[:6] = x[:6] + 1",
    "swapped inputs": "t = x.clone()\n    x.copy_(y)\n    y.copy_(t)",
    "reading what was written": "x[0:4] = 2.0\n    x[4:8] = x[0:4] * 5",
}

# What fails if the arguments say so.
FAILURES = {
    "index": ("r = z[i]", IndexError),
    "scattered index": ("r = z.scatter(0, i, 1.0)", RuntimeError),
    "embedding": ("r = md.nn.functional.embedding(i, y.reshape(6, 2))", IndexError),
    "divisor": ("r = q // d", (ZeroDivisionError, RuntimeError)),
    "number": ("r = b.clone().fill_(n * 100)", RuntimeError),
    "sizes": ("r = z[:k] + y[:5]", RuntimeError),
    "memory": ("r = md.zeros(2**57)", (MemoryError, RuntimeError)),
    "index after a product": ("r = (y.reshape(3, 4) @ x.reshape(4, 3))[i[:1]]", IndexError),
}

PROGRAM = """def f(x, y, w, z, q, d, b, i, j, n, k):
    {first}
    {second}
    return r, x.sum()
"""


def arguments(failure):
    x = md.arange(LENGTH, dtype=md.float64)
    y = md.arange(LENGTH, dtype=md.float64) * 0.25 + 1
    w = md.arange(2 * LENGTH, dtype=md.float64)[::2]
    z = md.arange(LENGTH, dtype=md.float64) - 4
    q = md.arange(4, dtype=md.int64) + 9
    d = md.tensor([2, 3, 0 if failure == "divisor" else 1, 4])
    b = md.zeros(3, dtype=md.int8)
    i = md.tensor([1, 99 if failure in ("index", "scattered index", "embedding") else 2, 0])
    if failure == "index after a product":
        i[0] = 99
    j = md.tensor([3, 5, 8])
    return [x, y, w, z, q, d, b, i, j, 9 if failure == "number" else 1, 4 if failure == "sizes" else 5]


def program(write, failure, order):
    lines = [WRITES[write], FAILURES[failure][0]]
    if order == "second":
        lines.reverse()
    return PROGRAM.format(first=lines[0], second=lines[1])


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("write", WRITES)
def test_memory_after_a_failure(write, failure):
    for order in ("first", "second"):
        source = program(write, failure, order)
        function = define(source, f"{write}, {failure}, {order}")
        end, *_ = leave(function, lambda: arguments(failure))
        assert end[0] != "returns" and issubclass(end[0], FAILURES[failure][1]), end
        # First the failure, or first calls that succeed: the plan is then one for arguments that do not fail.
        check(function, lambda: arguments(failure))
        md._dynamo.reset()
        if failure != "memory":
            compiled = check(function, lambda: arguments("none"))
            for _ in range(2):
                assert leave(compiled, lambda: arguments(failure)) == leave(function, lambda: arguments(failure))
                assert leave(compiled, lambda: arguments("none")) == leave(function, lambda: arguments("none"))
        md._dynamo.reset()


# What the program reads of a tensor although nothing needs it, as long as nothing fails: lines before a write to x.
UNNEEDED_READS = {
    "of the whole": "t = x * 3",
    "of a window": "y[:1] = x[3:4] * 2",
    "of a view": "t = x.view(3, 4).t()[:2].sum()",
    "of what was written": "x[:6] = 7\n    t = x[2:9] * 2",
    "of a changed copy": "t = x.masked_fill(x > 2, 0).sum()",
    "of what was written, and is replaced": "x[:6] = 7\n    y[1] = x.sum()",
    "of elements that were written, and are replaced": "x.masked_fill_(x > 2, 0)\n    z.add_(x)",
    "twice, one needed": "t = x + 1\n    u = (x + 1).sum()\n    y[0] = u",
    "by a write": "y.index_add_(0, j, x[:3])",
}


@pytest.mark.parametrize("read", UNNEEDED_READS)
def test_unneeded_reads_before_a_failure(read):
    """Python, which runs the program again, reads the elements of before."""
    for write in ("x[2:] = y[2:] + 1", "x.copy_(y * 2)", "x.mul_(2)", "x[:4] += 1\n    x[3:] *= 2", "x.fill_(9)"):
        for failure in ("index", "divisor", "number", "sizes"):
            body = [UNNEEDED_READS[read], write, FAILURES[failure][0], "y.copy_(z)", "t = None"]
            source = "def f(x, y, w, z, q, d, b, i, j, n, k):\n" + "".join(f"    {line}\n" for line in body)
            function = define(source + "    return r, x.sum(), y.sum()\n", f"{read}, {write}, {failure}")
            end, *_ = leave(function, lambda: arguments(failure))
            assert end[0] != "returns"
            compiled = check(function, lambda: arguments("none"), calls=2)
            for _ in range(2):
                assert leave(compiled, lambda: arguments(failure)) == leave(function, lambda: arguments(failure))
            md._dynamo.reset()


calls = []


@md.library.custom_op("writes_in_place::refuse", mutates_args=())
def refuse(x: md.Tensor, k: int) -> md.Tensor:
    calls.append(k)
    if k == 4:
        raise LookupError("refused")
    return x * 2


@refuse.register_fake
def _(x, k):
    return md.empty_like(x)


@pytest.mark.parametrize("write", WRITES)
def test_memory_after_a_call_that_raises(write):
    for first, second in itertools.permutations([WRITES[write], "r = refuse(z, k)"]):
        function = define(PROGRAM.format(first=first, second=second), f"{write}, call", refuse=refuse)
        for failure in ("sizes", "none"):
            end, memory, _ = leave(function, lambda: arguments(failure))
            before = len(calls)
            compiled = md.compile(function)
            for count in range(1, 4):
                assert leave(compiled, lambda: arguments(failure))[:2] == (end, memory)
                assert len(calls) == before + count
        md._dynamo.reset()


@pytest.mark.parametrize("write", WRITES)
def test_memory_after_a_warning_that_is_an_error(write):
    for first, second in itertools.permutations([WRITES[write], "r = z * 2\n    warnings.warn('w')"]):
        function = define(PROGRAM.format(first=first, second=second), f"{write}, warning", warnings=warnings)
        for action in ("error", "ignore"):
            with warnings.catch_warnings():
                warnings.simplefilter(action)
                check(function, lambda: arguments("none"))
        md._dynamo.reset()


def test_every_write_without_a_failure():
    for write in WRITES:
        source = PROGRAM.format(first=WRITES[write], second="r = y * 1")
        check(define(source, write), lambda: arguments("none"), calls=4)
        md._dynamo.reset()


# ---- overlapping views

OVERLAPPING = {
    "shifted": "a[1:] = a[:-1]",
    "shifted back": "a[:-1] = a[1:]",
    "shifted in place": "a[1:] += a[:-1]",
    "copied": "a[2:].copy_(a[:-2])",
    "expression": "a[1:] = a[:-1] * 2",
    "interleaved": "a[::2] = a[1::2]",
    "interleaved in place": "a[::2] += a[1::2]",
    "other step": "a[:6] = a[::2]",
    "reversed": "a.copy_(a.flip(0))",
    "itself": "a[3:7] = a[3:7]",
    "added to itself": "a[:4].index_add_(0, md.tensor([1, 1, 3, 0]), a[:4])",
    "transposed": "m = a.view(3, 4)[:, :3]\n    m.copy_(m.t())",
    "columns": "m = a.view(3, 4)\n    m[:, :2] = m[:, 2:]",
    "columns that meet": "m = a.view(3, 4)\n    m[:, :2] = m[:, 1:3]",
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_overlapping_views_as_uncompiled(name):
    function = define(f"def f(a):\n    {OVERLAPPING[name]}\n    return (a,)\n", name)
    check(function, lambda: [md.arange(12, dtype=md.float64)])


# ---- what is computed where

STEPS = {
    # body; number of steps; most bytes over those of the window's elements, read and written once each
    "window from elsewhere": ("out[1:-1] = 0.5 * (x[:-2] + x[2:])", 1, 3),
    "window of itself": ("out[5:] *= 2", 1, 2),
    "window from neighbours": ("out[1:-1] = 0.5 * (out[:-2] + out[2:])", 2, 5),
    "rows": ("out.view(100, 100)[1:-1, 1:-1] = x.view(100, 100)[1:-1, 2:] * 3", 1, 2),
    "step": ("out[::2] = x[1::2] + 1", 1, 2),
    "whole": ("out.add_(1)", 1, 2),
    "out=": ("md.add(x, 1, out=out)", 1, 2),
    "copy": ("out.copy_(x)", 1, 2),
    "fill": ("out[10:200].fill_(3)", 1, 2),
    "two windows": ("out[:4000] = x[:4000] * 2\n    out[6000:] = x[6000:] * 3", 2, 2),
}


def plan_of(function, *args):
    md.compile(function)(*args)
    (region,) = _captures_of(function)
    return region.plan


@pytest.mark.parametrize("name", STEPS)
def test_a_window_is_computed_in_place(name):
    body, steps, _ = STEPS[name]
    function = define(f"def f(out, x):\n    {body}\n", name)
    plan = plan_of(function, md.rand(10000, dtype=md.float64), md.rand(10000, dtype=md.float64))
    assert len(plan.steps) == steps, [step.text for step in plan.steps]
    assert plan.arena_nbytes == (80000 - 16 + 63) // 64 * 64 * (steps == 2 and "neighbours" in name)


def test_a_base_of_the_plan_is_written_in_place():
    def f(x):
        y = md.zeros(10000)
        for i in range(8):
            y[i::8] = x[i::8] * i
        return y

    plan = plan_of(f, md.rand(10000))
    assert len(plan.steps) == 8 and plan.arena_nbytes == 0


HALF = 40_000


def halves(x, y):
    y[:HALF], y[HALF:] = x[:HALF] + 1, x[HALF:] * 2
    return y


def columns(x, y):
    y = y.reshape(HALF, 2)
    y[:, 1] = x[:HALF]
    y[:, 0] = x[HALF:] - x[:HALF]
    return y


def all_but_one(x, y):
    y[:HALF], y[HALF + 1 :] = x[:HALF] + 1, x[HALF + 1 :] * 2
    return y


def one_twice(x, y):
    y[:HALF], y[HALF - 1 : -1] = x[:HALF] + 1, x[HALF:] * 2
    return y


def read_before(x, y):
    y[:HALF] = x[:HALF] + 1
    before = y.sum()
    y[HALF:] = x[HALF:] * 2
    return y, before


def read_afterwards(x, y):
    y[:HALF], y[HALF:] = x[:HALF] + 1, x[HALF:] * 2
    return y * y.sum(), y


def kept_beside(x, y):
    z = y.clone()
    y[:HALF], y[HALF:] = x[:HALF] + 1, x[HALF:] * 2
    return y, z


def by_index(x, y):
    y[md.arange(2 * HALF) // 2] = x
    return y


def by_mask(x, y):
    y[x > 0.5] = 3.0
    return y


def from_itself(x, y):
    y[:HALF] = x[:HALF]
    y[HALF:] = y[:HALF] * 2
    return y


# Whether the fill of a new tensor is left out: each element is written before any is read.
FILLS = {
    halves: True, columns: True, all_but_one: False, one_twice: False, read_before: False, read_afterwards: True,
    kept_beside: False, by_index: False, by_mask: False, from_itself: True,
}  # fmt: skip


@pytest.mark.parametrize("fill", [md.zeros, md.ones, lambda size: md.full((size,), 7.0)], ids=["zeros", "ones", "full"])
@pytest.mark.parametrize("program", FILLS, ids=lambda program: program.__name__)
def test_a_fill_that_nobody_sees_is_left_out(program, fill):
    def f(x):
        return program(x, fill(2 * HALF))

    md._dynamo.reset()
    x = md.rand(2 * HALF)
    steps = [step.text for step in plan_of(f, x).steps]
    is_filled = any(step.startswith(("kernel zeros", "kernel ones", "kernel full")) for step in steps)
    assert is_filled is not FILLS[program], steps
    expected = f(x.clone())
    for _ in range(2):
        found = md.compile(f)(x.clone())
        together = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        assert all(md.equal(ours, theirs) for ours, theirs in together)


@pytest.mark.parametrize("size", [3, 2 * HALF])
def test_new_tensors_are_written_in_place(size):
    """Those of a few elements are no constants of the graph, and equal ones not one value: none is copied for a write."""

    def f(x):
        y, z = md.zeros(size), md.zeros(size)
        y[0], y[2], z[1] = x[0] + 1, x[1] - 3, x[2] * 2
        return y, (z + x).exp()

    md._dynamo.reset()
    x = md.rand(size)
    steps = [step.text for step in plan_of(f, x).steps]
    assert not [step for step in steps if "scatter" in step], steps
    for _ in range(3):
        assert all(md.equal(ours, theirs) for ours, theirs in zip(md.compile(f)(x), f(x), strict=True))


# ---- sizes that change

# Lines over x, y and w (as above, but of any length from 5 on) and a position k.
EQUAL = ["x.clone()", "x * 2", "md.zeros(4, 4)", "x.t().contiguous()"]
WRITES_OF_EQUAL = ["{0}.zero_()", "{0}.fill_(3)", "{0}.copy_(x)", "{0}[1:3] = 5", "{0}[::2, 1] = x[0, :2]", "{0} += 1",
                   "{0}.masked_fill_(x > 0, 7)", "{0}[2] = {0}[1] * 2", "pass"]  # fmt: skip


@pytest.mark.parametrize("equal", EQUAL)
def test_equal_tensors_are_written_apart(equal):
    """They are one value of the graph, whose memory one write at most takes over."""
    for first, second in itertools.product(WRITES_OF_EQUAL, repeat=2):
        lines = [f"p = {equal}", first.format("p"), f"q = {equal}", second.format("q"), "return p, q, p + q"]
        scope = {"md": md}
        exec("def f(x):\n" + "".join(f"    {line}\n" for line in lines), scope)
        x = md.arange(16.0).reshape(4, 4) - 7
        wanted = [each.tolist() for each in scope["f"](x.clone())]
        compiled = md.compile(scope["f"])
        for _ in range(2):
            assert [each.tolist() for each in compiled(x.clone())] == wanted, lines
        md._dynamo.reset()


# Out of place: x keeps what the write before it has left.
CHANGED_COPIES = [
    "x.masked_fill(x > 0, 0.5)",
    "md.fill(x, 2)",
    "x.index_fill(0, i, 7)",
    "x.index_copy(0, i, y[:2])",
    "x.index_add(0, i, y[:2])",
    "x.scatter(0, m, 9.0)",
    "x.scatter(0, m, y, reduce='multiply')",
    "x.scatter_add(0, m, y)",
]
WRITES_BEFORE = ["x.mul_(2)", "x += y", "x[1:] *= 2", "x.copy_(y)", "x.copy_(y * 3)", "x.zero_()", "x.clamp_(-1, 1)",
                 "x.masked_fill_(y > 1, -2)", "x.view(-1).mul_(3)", "md.add(x, y, out=x)"]  # fmt: skip


@pytest.mark.parametrize("copy", CHANGED_COPIES)
def test_a_changed_copy_of_what_was_written(copy):
    for write, rest in itertools.product(WRITES_BEFORE, ["r", "r + 1", "r.softmax(-1)", "(r + x).sum()", "r, r * x"]):
        body = f"    {write}\n    r = {copy}\n    return {rest}, x\n"

        def make():
            x = md.arange(12, dtype=md.float64).reshape(4, 3) - 5
            y = md.arange(12, dtype=md.float64).reshape(4, 3) * 0.25
            return [x, y, md.tensor([2, 0]), md.tensor([[1, 0, 3]])]

        check(define(f"def f(x, y, i, m):\n{body}", f"{write}, {copy}, {rest}"), make)
        md._dynamo.reset()


SIZED_WRITES = {
    "window from elsewhere": "x[1:-1] = 0.5 * (y[:-2] + y[2:])",
    "window of itself": "x[2:] *= 3",
    "window from neighbours": "x[1:-1] = x[:-2] + x[2:]",
    "halves": "h = x.shape[0] // 2\n    x[:h] = y[:h] * 2\n    x[h:] += 1",
    "overlapping windows": "x[:-1] = y[1:] * 2\n    x[1:] = y[:-1] * 3",
    "windows with steps": "x[::2] += 1\n    x[1::2] = y[1::2] * 2",
    "chain of views": "v = x[1:]\n    v = v[:-1]\n    v[::2] = 5.0\n    v += y[1:-1]",
    "position": "x[k:k + 1] = y[:1] * 2",
    "whole tensor": "x.add_(1)",
    "out=": "md.mul(y, 2, out=x)",
    "copy": "x.copy_(y)",
    "fill": "x[2:].fill_(k)",
    "masked fill": "x.masked_fill_(y > 3, -1.0)",
    "accumulating": "x.index_add_(0, i.clamp(0, 2), y[:3])",
    "strided input": "w[1:-1] = y[2:] * 2",
    "two inputs": "x[1:] = y[:-1] * 2\n    w[:-1] = x[:-1] + 1",
    "swapped inputs": "t = x.clone()\n    x.copy_(y)\n    y.copy_(t)",
    "base of the plan": "t = y * 2\n    t[1:] = x[:-1]\n    x.sub_(t)",
    "result of the plan": "x.mul_(2)\n    z = y + 1\n    z[1:-1] = x[:-2]",
}


def check_numbers(name, write, template, numbers, indices, arguments, **options):
    """The write before and after a gather that fails for some calls: memory is as eager Python leaves it."""
    for lines in itertools.permutations((write, "r = z[i]")):
        function = define(template.format(*lines), name)
        compiled = md.compile(function, **options)
        for number in numbers:
            for index in indices[number % 2]:
                make = functools.partial(arguments, number, index)
                assert leave(compiled, make) == leave(function, make), (lines, number, index)
        md._dynamo.reset()


def of_size(n, index):
    x = md.arange(n, dtype=md.float64)
    w = md.arange(2 * n, dtype=md.float64)[::2]
    return [x, x * 0.25 + 1, w, x - 4, md.tensor([1, index, 0]), n // 2]


@pytest.mark.parametrize("name", SIZED_WRITES)
def test_memory_after_writes_of_changing_sizes(name):
    """In turn few calls of many sizes and many of few, which get plans of their own; some calls fail."""
    template = "def f(x, y, w, z, i, k):\n    {}\n    {}\n    return r, z, x.sum()\n"
    sizes = [12, 5, 70, 13, 64, 6, *[9, 10] * 20, 12, 200]
    check_numbers(name, SIZED_WRITES[name], template, sizes, ((1,), (2, 99999)), of_size, dynamic=True)


# At places that change, k, of tensors whose sizes stay.
PLACED_WRITES = {
    "element": "x[k] = y[k] * 2",
    "row": "x.reshape(3, 4)[k // 4] = y[:4] + 1",
    "window from elsewhere": "x[k:k + 3] = y[1:4] * 2",
    "window of itself": "x[k:k + 3] *= 2",
    "window from neighbours": "x[k:k + 3] = x[k - 1:k + 2] + x[k + 1:k + 4]",
    "window from a fixed place": "x[k:k + 3] = x[4:7] * 2",
    "fixed window from a place": "x[4:7] = x[k:k + 3] * 2",
    "copy of itself": "x[k:k + 3] = x[4:7].clone()",
    "copy that may overlap": "x[k:k + 3] = x[4:7]",
    "window read before and after": "t = x[4:7] * 2\n    x[k:k + 3] = y[:3]\n    y[:3] = t + x[4:7]",
    "old value read later": "t = x.clone()\n    x[k:k + 3] = y[:3] - 1\n    y.add_(t)",
    "windows that may overlap": "x[k:k + 3] = y[:3] * 2\n    x[5:8] = y[3:6] * 3\n    x[k] = 1.0",
    "window with steps": "x[k::3] = 5.0\n    x[k::2] += 1",
    "up to a place": "x[:k] = y[:k] * 2\n    x[k:] -= 1",
    "chain of views": "v = x[k:]\n    v = v[:3]\n    v += y[k:k + 3]",
    "value of the place": "x[k] = k\n    x[0] = k + 0.5",
    "position among indices": "x[j] = 7.0\n    x[k] = 1.0",
    "mask of a window": "x[k:k + 3].masked_fill_(y[:3] > 1, -1.0)",
    "strided input": "w[k:k + 3] = y[:3] * 2\n    w[2] = w[k]",
    "two inputs": "x[k] = y[0]\n    y[k] = x[k] + 1",
    "read by a product": "x[k] = 3.0\n    y.sub_((x.reshape(3, 4) @ x.reshape(4, 3)).sum())\n    x[k] = y[k]",
    "base of the plan": "t = y * 2\n    t[k] = x[0]\n    x.sub_(t)",
    "base of the plan, read before": "t = y * 2\n    s = t[4:7] + 1\n    t[k:k + 3] = s\n    x.add_(t)",
}


def at_place(k, index):
    x = md.arange(LENGTH, dtype=md.float64)
    w = md.arange(2 * LENGTH, dtype=md.float64)[::2]
    return [x, x * 0.25 + 1, w, x - 4, md.tensor([1, index, 0]), md.tensor([0, 3]), k]


@pytest.mark.parametrize("name", PLACED_WRITES)
def test_memory_after_writes_at_changing_places(name):
    template = "def f(x, y, w, z, i, j, k):\n    {}\n    {}\n    return r, x.sum()\n"
    places = [2, 3, 4, 5, 6, 7, 8, 1, *[3, 4] * 18]
    check_numbers(name, PLACED_WRITES[name], template, places, ((2,), (1, 99999)), at_place)


REPLACED_WRITES = {
    "operators on a view": ("v = x[2:10]\n    v += 1\n    v *= 0.5\n    v -= y[:8]\n    return x", 1),
    "read in between": ("v = x[2:10]\n    v += 1\n    s = v * 2\n    v *= 0.5\n    return s", 1),
    "another part read in between": ("v = x[2:10]\n    v += 1\n    s = x[:4] * 2\n    v *= 0.5\n    return s, x", None),
    "returned in between": ("v = x[2:10]\n    v += 1\n    s = x.clone()\n    v *= 0.5\n    return s, x", None),
    "other windows": ("v = x[2:10]\n    v += 1\n    x[3:9] = y[:6]\n    v *= 0.5\n    return x", None),
    "with steps": ("v = x[::2]\n    v += 1\n    v *= 0.5\n    return x", None),
    "written twice": ("x[2:10] = y[:8]\n    x[2:10] = y[4:]\n    return x", 1),
    "and back": ("v = x[2:10]\n    t = v.clone()\n    v += 1\n    v.copy_(t)\n    return x", None),
    "fill": ("v = x[2:10]\n    v += 1\n    v.fill_(3.0)\n    return x", 2),
}


@pytest.mark.parametrize("name", REPLACED_WRITES)
def test_windows_that_are_written_again(name):
    body, steps = REPLACED_WRITES[name]
    function = define(f"def f(x, y):\n    {body}\n", name)

    def make():
        x = md.arange(LENGTH, dtype=md.float64)
        return [x, x * 0.25 + 1]

    compiled = check(function, make)
    (region,) = _captures_of(function)
    if steps is not None:
        assert len(region.plan.steps) == steps
    assert compiled


@pytest.mark.parametrize("dtype", [md.bool, md.int8, md.float16, md.int32, md.float32, md.float64])
def test_fills_of_any_window(dtype):
    for start, stop in itertools.product((0, 1, 3, 8, 31), (0, 1, 17, 64, 130, 199)):
        x = md.zeros(200, dtype=dtype)
        x[start:stop] = 1
        assert x.tolist() == [start <= i < stop for i in range(200)]


def test_a_window_at_a_changing_place_is_written_in_place():
    def f(cache, x, t):
        cache[t] = x * 2
        return cache[: t + 1] @ x

    compiled = md.compile(f)
    cache, x = md.zeros(40, 8), md.rand(8)
    for t in range(2, 40):
        assert md.allclose(compiled(cache, x, t), cache[: t + 1] @ x)
    assert cache[2:].allclose(x * 2)
    _, region = _captures_of(f)
    assert "scatter_view" in region.plan.in_place or any("window" in step.text for step in region.plan.steps)


def test_products_read_what_was_written_at_a_changing_place():
    """Never a packed copy of the old values."""

    def f(w, x, t):
        w[t] = w[t] * 0.5 + 1
        return x @ w, md.nn.functional.linear(x, w)

    compiled = md.compile(f)
    md.manual_seed(1)
    w, x = md.rand(64, 64), md.rand(8, 64)
    plain = w.clone()
    for t in [*range(2, 20), *[5] * 20, *[6, 7] * 10]:
        for got, expected in zip(compiled(w, x, t), f(plain, x, t)):
            assert md.allclose(got, expected, atol=1e-5)
    assert w.tolist() == plain.tolist()


def test_sizes_that_come_back_often_are_written_in_place():
    def f(out, x):
        out[1:-1] = 0.5 * (x[:-2] + x[2:])

    compiled = md.compile(f, dynamic=True)
    steps = []
    for n in (1000, 2000, *[3000] * 20):
        compiled(md.rand(n), md.rand(n))
        (region,) = _captures_of(f)
        steps.append(len(region.plan.steps))
    assert steps[:3] == [3, 3, 3] and steps[-1] == 1


def test_packed_weights_are_those_after_a_write():
    def f(w, x):
        before = x @ w
        w[1:-1] = w[1:-1] * 2
        return before, x @ w

    def make():
        md.manual_seed(1)
        return [md.rand(64, 64), md.rand(8, 64)]

    compiled = md.compile(f)
    args, plain = make(), make()
    for _ in range(6):
        for got, expected in zip(compiled(*args), f(*plain)):
            assert md.allclose(got, expected)


# ---- programs drawn at random


class Drawing:
    """A program of windows: slices with steps of two-dim tensors, views of them, loops, and indices that may be wrong."""

    SHAPES = ((7, 5), (6, 70), (3, 1100), (40, 33))
    OPERATORS = ("+", "-", "*")

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.shape = self.rng.choice(self.SHAPES)
        self.names = ["x", "y", "w"]
        self.lines = []
        self.made = 0

    def slices(self, counts):
        parts = []
        for size, count in zip(self.shape, counts):
            step = self.rng.choice([s for s in (1, 1, 1, 2, 3) if (count - 1) * s + 1 <= size] or [1])
            start = self.rng.randint(0, size - ((count - 1) * step + 1))
            stop = start + (count - 1) * step + 1
            parts.append(f"{start or ''}:{stop if stop < size else ''}" + (f":{step}" if step > 1 else ""))
        return ", ".join(parts)

    def counts(self):
        return [self.rng.choice([1, max(1, size // 2), max(1, size - 2), size]) for size in self.shape]

    def window(self, counts, name=None):
        return f"{name or self.rng.choice(self.names)}[{self.slices(counts)}]"

    def value(self, counts, depth=0):
        kind = self.rng.random()
        if depth > 2 or kind < 0.35:
            return self.window(counts)
        if kind < 0.45:
            return str(self.rng.choice([0.5, 2, -1.5]))
        if kind < 0.55:
            return f"({self.window(counts)}).abs()"
        return f"({self.value(counts, depth + 1)} {self.rng.choice(self.OPERATORS)} {self.window(counts)})"

    def statement(self):
        counts, target = self.counts(), self.rng.choice(self.names)
        window = self.window(counts, target)
        number = self.rng.choice([2.0, -3.0, 0.25])
        other = self.window(counts)
        self.made += 1
        v = f"v{self.made}"
        return self.rng.choice(
            [
                f"{window} = {self.value(counts)}",
                f"{window} = {self.value(counts)}",
                f"{window} {self.rng.choice(self.OPERATORS)}= {self.value(counts)}",
                f"{window}.fill_({number})",
                f"{window}.zero_()",
                f"{window}.copy_({other})",
                f"{window}.masked_fill_({other} > 0, {number})",
                f"{window}.clamp_(-1, 1)",
                f"{v} = {window}; {v} += {number}; {v}[:1] = {number}; {v}.mul_({other})",
                f"{v} = {target}.t(); {v}[:2] = {number}; {v}[1:] *= {number}",
                f"{target}[i] = {number}",
                f"{target}[:, j] = {target}[:, j] * {number}",
                f"{target}.index_add_(0, i, {self.rng.choice(self.names)}[:3])",
                f"{target} = {target} * 1; {window} = {other} + 1",
                f"{target}.copy_({self.rng.choice(self.names)} * {number})",
                f"md.add(x, {number}, out=y)",
                f"results.append({window}.sum())",
                f"results.append({target}[i])",
                f"results.append({window} * {number})",
                f"results.append({window})",
                f"results.append({target}.masked_fill({self.rng.choice(self.names)} > 0, {number}) + 1)",
                f"results.append({target}.index_fill(0, i, {number}).sum())",
                f"results.append({target}.index_add(0, i, {self.rng.choice(self.names)}[:3]) * 2)",
                f"for n in range({self.rng.randint(1, 3)}): {window} = {other} * (n + 1)",
                f"{self.rng.choice(self.names)}[0] = q[0] // d[0]",
            ]
        )

    def source(self):
        lines = [self.statement() for _ in range(self.rng.randint(1, 7))]
        body = "".join(f"    {line}\n" for line in lines)
        return f"def f(x, y, w, i, j, q, d):\n    results = []\n{body}    return results + [x, y, w]\n"


def check_drawn(seed, md=md, agree=operator.eq):
    """A program over the tensors of this library; agree(what is left compiled, what is left uncompiled)."""
    drawing = Drawing(seed)
    source = drawing.source()
    function = define(source, f"windows {seed}", md=md)
    rows, columns = drawing.shape

    def make(kind):
        rng = random.Random(seed)
        x, y = ((md.arange(rows * columns, dtype=md.float64) * 7 % 11 - k).reshape(rows, columns) for k in (3, 5))
        w = (md.arange(rows * columns * 2, dtype=md.float64) % 13 - 4).reshape(rows, 2 * columns)[:, ::2]
        if kind == "aliased":
            y = x
        if kind == "overlapping":
            long = md.arange((rows + 1) * columns, dtype=md.float64).reshape(rows + 1, columns)
            x, y = long[:rows], long[1:]
        i = md.tensor([rng.randrange(rows) for _ in range(3)])
        j = md.tensor([rng.randrange(columns) for _ in range(2)])
        q, d = md.tensor([7]), md.tensor([2])
        if kind == "fails":
            i[1], d[0] = rows, 0
        return [x, y, w, i, j, q, d]

    compiled = minidynamo.compile(function)
    for kind in ("apart", "apart", "fails", "apart", random.Random(seed).choice(["aliased", "overlapping"]), "fails"):
        expected = leave(function, lambda: make(kind), md.Tensor)
        assert agree(leave(compiled, lambda: make(kind), md.Tensor), expected), f"{kind}:\n{source}"
    minidynamo._dynamo.reset()


@pytest.mark.parametrize("seed", range(0, 300, 50))
def test_drawn_programs(seed):
    for number in range(seed, seed + 50):
        check_drawn(number)
