"""cat appends to its first operand where that has room: no copy of the whole, and no program sees that memory is shared."""

import gc
import random
import weakref

import pytest
from at_once import at_once

import minidynamo as md
from minidynamo import _C, _dynamo

torch = pytest.importorskip("torch")

STEPS = 48
HEADS, WIDTH = 4, 64  # a position takes a kilobyte


@pytest.fixture(autouse=True)
def without_captures():
    """The programs share the code of their steps: other tests' captures count for the recompile limit."""
    _dynamo.reset()


def as_is(function):
    return function


def compiled(function):
    return md.compile(function, dynamic=True)


def compiled_as_ever(function):
    return md.compile(function)


def numbers(lib, *shape, start=0, dtype="float32"):
    count = 1
    for size in shape:
        count *= size
    return ((lib.arange(count) + start) % 97).to(getattr(lib, dtype)).reshape(*shape)


def look(tensor):
    """All that a program can see of a tensor."""
    return (
        tensor.tolist(),
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
        tensor.is_contiguous(),
        tensor._version,
        tensor.requires_grad,
        str(tensor.dtype).rpartition(".")[2],
    )


class Cache:
    def __init__(self, **tensors):
        self.__dict__.update(tensors)


def counts():
    gc.collect()
    return _C.room_counts()


# ---- programs whose caches must grow in place
# Each takes a library, and what compiles a step; it yields what it sees, after all its steps.


def attribute(lib, compile, shape=(1, HEADS, 1, WIDTH), dim=2, dtype="float32"):
    cache = Cache(k=numbers(lib, *shape, dtype=dtype))

    @compile
    def step(cache, x):
        cache.k = lib.cat([cache.k, x], dim)

    for i in range(STEPS):
        step(cache, numbers(lib, *shape, start=i, dtype=dtype))
    yield cache.k


def argument(lib, compile):
    @compile
    def step(k, x):
        return lib.cat([k, x], dim=-2)

    k = numbers(lib, 1, HEADS, 1, WIDTH)
    for i in range(STEPS):
        k = step(k, numbers(lib, 1, HEADS, 1, WIDTH, start=i))
    yield k


def element(lib, compile):
    @compile
    def step(layers, x):
        for i in range(len(layers)):
            layers[i] = lib.cat([layers[i], x + i], 2)

    layers = [numbers(lib, 1, HEADS, 1, WIDTH, start=i) for i in range(3)]
    for i in range(STEPS):
        step(layers, numbers(lib, 1, HEADS, 1, WIDTH, start=i))
    yield from layers


def value_of_key(lib, compile):
    @compile
    def step(cache, x):
        cache["k"] = lib.cat((cache["k"], x * 2), 0)
        return x + 1

    cache = {"k": numbers(lib, 8, WIDTH)}
    for i in range(STEPS):
        step(cache, numbers(lib, 8, WIDTH, start=i))
    yield cache["k"]


def attention(lib, compile):
    @compile
    def step(cache, q, k, v):
        cache.k, cache.v = lib.cat([cache.k, k], 2), lib.cat([cache.v, v], 2)
        return q @ cache.k.transpose(-1, -2) @ cache.v  # of small integers: exact

    shape = (2, HEADS, 1, WIDTH)
    cache, seen = Cache(k=numbers(lib, *shape) % 7, v=numbers(lib, *shape, start=3) % 7), []
    for i in range(STEPS):
        parts = [numbers(lib, *shape, start=i + j) % 7 for j in range(3)]
        seen.append(step(cache, *parts))
    yield from seen
    yield from (cache.k, cache.v)


def several_parts(lib, compile):
    @compile
    def step(cache, x, y):
        cache.k = lib.cat([cache.k, x, y + 1, x], 1)
        return cache.k.sum(1), cache.k[:, -1] * 2

    cache, seen = Cache(k=numbers(lib, 3, 4, 200)), []
    for i in range(STEPS):
        seen += step(cache, numbers(lib, 3, 1, 200, start=i), numbers(lib, 3, 2, 200, start=i))
    yield from seen
    yield cache.k


GROWING = {
    "attribute": attribute,
    "outermost dim": lambda *args: attribute(*args, shape=(1, 256), dim=0),
    "dims of size 1 before": lambda *args: attribute(*args, shape=(1, 1, 2, 256), dim=-2),
    "last dim": lambda *args: attribute(*args, shape=(40, 16), dim=-1),
    "float64": lambda *args: attribute(*args, dtype="float64"),
    "int64": lambda *args: attribute(*args, dtype="int64"),
    "bfloat16": lambda *args: attribute(*args, dtype="bfloat16"),
    "bool": lambda *args: attribute(*args, shape=(4, 8, 512), dim=1, dtype="bool"),
    "argument": argument,
    "element of a list": element,
    "value of a key": value_of_key,
    "attention": attention,
    "several parts": several_parts,
}
CHAINS = {"element of a list": 3, "attention": 2}  # caches of a program


@pytest.mark.counts_python_runs
@pytest.mark.parametrize("compile", [compiled, compiled_as_ever])
@pytest.mark.parametrize("name", GROWING)
def test_caches_grow_in_place(name, compile):
    program, chains = GROWING[name], CHAINS.get(name, 1)
    expected = [look(tensor) for tensor in program(torch, as_is)]
    before = counts()
    ours = list(program(md, compile))
    after = counts()
    assert after["copied_out"] == before["copied_out"]
    # Memory doubles: from some positions to all of them in as many steps as these have bits.
    assert 0 < after["made"] - before["made"] <= chains * STEPS.bit_length()
    assert after["appends"] - before["appends"] >= chains * (STEPS - STEPS.bit_length() - 8)
    assert [look(tensor) for tensor in ours] == expected


def grow_eagerly(lib, compile):
    k = numbers(lib, 1, 8, WIDTH)
    for i in range(STEPS):
        k = lib.cat([k, numbers(lib, 1, 8, WIDTH, start=i)], 1)
    yield k


def read_eagerly(lib, compile):
    """Each result is read before the next."""
    cache, seen = Cache(k=numbers(lib, 8, WIDTH)), []
    for i in range(STEPS):
        cache.k = lib.cat([cache.k, numbers(lib, 8, WIDTH, start=i)])
        seen.append(cache.k.sum())
    yield from seen
    yield cache.k


@pytest.mark.parametrize("program", [grow_eagerly, read_eagerly])
def test_uncompiled_caches_grow_in_place(program):
    expected = [look(tensor) for tensor in program(torch, as_is)]
    before = counts()
    ours = list(program(md, as_is))
    after = counts()
    assert after["copied_out"] == before["copied_out"]
    assert 0 < after["made"] - before["made"] <= STEPS.bit_length()
    assert after["appends"] - before["appends"] >= STEPS - 2 * STEPS.bit_length()
    assert [look(tensor) for tensor in ours] == expected


# ---- programs in which other objects have the operand, a view of it, or its memory


def grown(lib, step, steps=24, shape=(1, HEADS, 1, WIDTH)):
    k = numbers(lib, *shape)
    for i in range(steps):
        k = step(k, numbers(lib, *shape, start=i))
    return k


def plain_step(lib, compile, dim=2):
    @compile
    def step(k, x):
        return lib.cat([k, x], dim)

    return step


def one(lib, start=0):
    return numbers(lib, 1, HEADS, 1, WIDTH, start=start)


def second_reference(lib, compile):
    step = plain_step(lib, compile)
    k = grown(lib, step)
    old = k
    k = step(k, one(lib))
    old += 1
    k[:, :, 0] = -3
    yield from (old, k)
    k.mul_(2)
    yield from (old, k)


def all_are_kept(lib, compile):
    step = plain_step(lib, compile)
    kept = [one(lib)]
    for i in range(24):
        kept.append(step(kept[-1], one(lib, i)))
    for i, tensor in enumerate(kept):
        tensor.add_(i)
    yield from kept


def view_of_the_operand(lib, compile):
    step = plain_step(lib, compile)
    k = grown(lib, step)
    view = k[:, 1:3, 2:]
    k = step(k, one(lib))
    view.fill_(7)
    yield from (view, k)
    k = step(k, one(lib, 5))
    yield k
    view.add_(1)
    yield from (view, k)


def view_of_the_result(lib, compile):
    @compile
    def step(k, x):
        k = lib.cat([k, x], 2)
        return k, k[:, :, -1]

    k, kept = one(lib), []
    for i in range(24):
        k, last = step(k, one(lib, i))
        kept.append(last)
    k.fill_(1)
    kept[3].fill_(2)
    yield from (k, *kept)


def both_are_returned(lib, compile):
    @compile
    def step(k, x):
        return lib.cat([k, x], 2), k

    k, kept = one(lib), []
    for i in range(24):
        k, old = step(k, one(lib, i))
        kept.append(old)
    kept[20].fill_(2)
    yield from (k, *kept)


def appended_twice(lib, compile):
    """Beams: several results of one operand."""
    step = plain_step(lib, compile)
    k = grown(lib, step)
    beams = [step(k, one(lib, i)) for i in range(3)]
    beams = [step(beam, one(lib, 10 + i)) for i, beam in enumerate(beams)]
    beams[1].mul_(3)
    yield from (k, *beams)


def written_in_between(lib, compile):
    step = plain_step(lib, compile)
    k = one(lib)
    for i in range(24):
        k = step(k, one(lib, i))
        if i % 5 == 4:
            k[:, :, -1].neg_()
    yield k


def operand_is_written_in_the_region(lib, compile):
    @compile
    def step(k, x):
        result = lib.cat([k, x], 2)
        k.add_(1)
        return result

    k = one(lib)
    for i in range(24):
        old, k = k, step(k, one(lib, i))
        yield old
    yield k


def result_is_written_in_the_region(lib, compile):
    @compile
    def step(k, x):
        k = lib.cat([k, x], 2)
        k[:, :, 0] += 1
        return k

    k = grown(lib, step)
    yield k


def operand_is_read_too(lib, compile):
    @compile
    def step(k, x):
        return lib.cat([k, x], 2), k.sum()

    k = one(lib)
    for i in range(24):
        k, total = step(k, one(lib, i))
        yield total
    yield k


def with_itself(lib, compile):
    @compile
    def step(k):
        return lib.cat([k, k], 2)

    k = numbers(lib, 1, HEADS, 1, WIDTH)
    for _ in range(7):
        k = step(k)
    yield k


def along_another_dim(lib, compile):
    rows, columns = plain_step(lib, compile, 0), plain_step(lib, compile, 1)
    k = numbers(lib, 8, 200)
    for i in range(8):
        k = rows(k, numbers(lib, 2, k.shape[1], start=i))
        k = rows(k, numbers(lib, 2, k.shape[1], start=i))
        k = columns(k, numbers(lib, k.shape[0], 3, start=i))
        k = columns(k, numbers(lib, k.shape[0], 3, start=i))
    yield k


def cut_back(lib, compile):
    """A cache that is cut and grown again."""
    step = plain_step(lib, compile)
    k = grown(lib, step)
    long = k
    k = k[:, :, :5]
    for i in range(8):
        k = step(k, one(lib, i))
    long.zero_()
    yield from (k, long)


def through_numpy(lib, compile):
    step = plain_step(lib, compile)
    k = grown(lib, step)
    array = k.numpy()
    k = step(k, one(lib))
    array[:] = 5
    yield k


def reshaped(lib, compile):
    """Strides that a view needs."""

    @compile
    def step(k, x):
        k = lib.cat([k, x], 2)
        return k, k.reshape(HEADS, -1).sum(1), k.view(-1)[:3] + 1

    k = one(lib)
    for i in range(24):
        k, total, first = step(k, one(lib, i))
        yield from (total, first)
    yield k


def failing_behind(lib, compile):
    @compile
    def step(k, x, index):
        k = lib.cat([k, x], 2)
        return k, x.reshape(-1)[index]

    k = one(lib)
    for i in range(24):
        try:
            k, element = step(k, one(lib, i), lib.tensor([i if i % 4 else 10**6]))
            yield element
        except IndexError:
            k = lib.cat([k, one(lib, i) * 2], 2)
    yield k


def with_gradient(lib, compile):
    step = plain_step(lib, compile)
    k = grown(lib, step)
    k.requires_grad_()
    k = step(k, one(lib))
    yield k.detach()
    with lib.no_grad():
        yield step(k, one(lib))


def empty_at_first(lib, compile):
    step = plain_step(lib, compile)
    k = numbers(lib, 1, HEADS, 0, WIDTH)
    for i in range(24):
        k = step(k, one(lib, i))
    yield k
    k = lib.empty(0)
    for i in range(3):
        k = step(k, one(lib, i))
    yield k


def another_order_of_dims(lib, compile):
    """Operands that are not contiguous."""
    step = plain_step(lib, compile)
    k = numbers(lib, 1, 6, HEADS, WIDTH).transpose(1, 2)
    for i in range(12):
        k = step(k, one(lib, i))
    yield k


SHARED = {
    function.__name__.replace("_", " "): function
    for function in (
        second_reference,
        all_are_kept,
        view_of_the_operand,
        view_of_the_result,
        both_are_returned,
        appended_twice,
        written_in_between,
        operand_is_written_in_the_region,
        result_is_written_in_the_region,
        operand_is_read_too,
        with_itself,
        along_another_dim,
        cut_back,
        through_numpy,
        reshaped,
        failing_behind,
        with_gradient,
        empty_at_first,
        another_order_of_dims,
    )
}


@pytest.mark.parametrize("compile", [as_is, compiled, compiled_as_ever])
@pytest.mark.parametrize("name", SHARED)
def test_shared_memory_is_not_seen(name, compile):
    # Each before the program goes on: what comes later must not show.
    expected = [look(tensor) for tensor in SHARED[name](torch, as_is)]
    assert [look(tensor) for tensor in SHARED[name](md, compile)] == expected


def test_the_operand_dies_as_ever():
    step = plain_step(md, compiled)
    k, died = one(md), []
    for i in range(24):
        k.number = i
        watch = weakref.ref(k, lambda _, i=i: died.append(i))
        k = step(k, one(md, i))
        assert watch() is None
    assert died == list(range(24))


def test_results_have_addresses_of_their_own():
    step = plain_step(md, compiled)
    k = grown(md, step)
    beams = [step(k, one(md, i)) for i in range(3)]
    addresses = {tensor.data_ptr() for tensor in (k, *beams)}
    assert len(addresses) == 4


# ---- memory


def test_spare_memory_is_bounded_and_returned():
    before = counts()
    step = plain_step(md, compiled)
    k = one(md)
    for i in range(200):
        k = step(k, one(md, i))
        size = k.numel() * 4
        assert counts()["spare_bytes"] - before["spare_bytes"] <= size
    assert counts()["spare_bytes"] > before["spare_bytes"]
    del k
    assert counts()["spare_bytes"] == before["spare_bytes"]


def test_one_concatenation_has_no_room():
    before = counts()
    step = plain_step(md, compiled)
    for n in range(1, 40):
        step(numbers(md, 1, HEADS, n, WIDTH), one(md))
    assert counts() == before


def test_rows_of_results_that_are_kept_take_no_room():
    """Room that turns out to be shared is not made again and again."""
    step = plain_step(md, compiled)
    kept = [one(md)]
    for i in range(40):
        kept.append(step(kept[-1], one(md, i)))
        kept[-1].tolist()
    own = sum(tensor.numel() * 4 for tensor in kept)
    assert counts()["spare_bytes"] <= own


def test_threads_append_to_one_operand():
    step = plain_step(md, compiled)
    k = grown(md, step)
    expected = [torch.tensor(k.tolist())] * 8
    results = {}

    def run(number):
        mine = k
        for i in range(20):
            mine = step(mine, one(md, number * 100 + i))
        results[number] = mine

    at_once(run, 8)
    for number, theirs in enumerate(expected):
        for i in range(20):
            theirs = torch.cat([theirs, one(torch, number * 100 + i)], 2)
        assert results[number].tolist() == theirs.tolist()


# ---- programs drawn at random


class Steps:
    """What the drawn programs compile, for a library and a dim."""

    def __init__(self, lib, compile, dim):
        self.eager = plain_step(lib, as_is, dim)
        self.append = plain_step(lib, compile, dim)

        @compile
        def append_and_read(k, x):
            k = lib.cat([k, x], dim)
            return k, (k * 2).sum(dim)

        @compile
        def append_and_view(k, x, y):
            k = lib.cat([k, x, y], dim)
            return k, k.narrow(dim, 1, 2)

        @compile
        def append_both(cache, x, y):
            cache.k, cache.v = lib.cat([cache.k, x], dim), lib.cat([cache.v, y], dim)

        @compile
        def append_and_fail(k, x, index):
            k = lib.cat([k, x], dim)
            return k, x.reshape(-1)[index]

        @compile
        def append_and_write(k, x, other):
            k = lib.cat([k, x], dim)
            other.add_(1)
            return k

        self.append_and_read, self.append_and_view, self.append_both = append_and_read, append_and_view, append_both
        self.append_and_fail, self.append_and_write = append_and_fail, append_and_write


class Drawn:
    """The same program for two libraries: what is done is drawn once."""

    SHAPES = {0: (2, 3, 200), 1: (3, 2, 200), 2: (2, 3, 200)}  # a part, by dim

    def __init__(self, seed, lib, compile):
        self.draw = random.Random(seed)
        self.lib, self.dim = lib, self.draw.randrange(3)
        self.steps = Steps(lib, compile, self.dim)
        self.kept = [self.part(0)]

    def part(self, start):
        return numbers(self.lib, *self.SHAPES[self.dim], start=start)

    def run(self):
        """Yields what the program sees."""
        for i in range(self.draw.randrange(10, 60)):
            at, act = self.draw.randrange(len(self.kept)), self.draw.choice(self.ACTS)
            yield from act(self, at, i) or ()
            for _ in range(self.draw.randrange(4)):
                self.kept[-1] = self.steps.append(self.kept[-1], self.part(i))
            if self.kept[-1].numel() > 200_000:
                self.kept[-1] = self.part(i)
        yield from self.kept

    def length(self, at):
        return self.kept[at].shape[self.dim]

    def append(self, at, i):
        self.kept[at] = self.steps.append(self.kept[at], self.part(i))

    def append_eagerly(self, at, i):
        self.kept[at] = self.steps.eager(self.kept[at], self.part(i))

    def append_and_read(self, at, i):
        self.kept[at], total = self.steps.append_and_read(self.kept[at], self.part(i))
        yield total

    def append_and_view(self, at, i):
        self.kept[at], view = self.steps.append_and_view(self.kept[at], self.part(i), self.part(i + 1))
        self.kept.insert(0, view)

    def append_both(self, at, i):
        cache = Cache(k=self.kept[at], v=self.kept[0])
        self.steps.append_both(cache, self.part(i), self.part(i + 1))
        self.kept[at], self.kept[0] = cache.k, cache.v

    def append_and_fail(self, at, i):
        index = self.lib.tensor([i if i % 2 else 10**6])
        try:
            self.kept[at], element = self.steps.append_and_fail(self.kept[at], self.part(i), index)
            yield element
        except IndexError:
            self.kept[at] = self.steps.append(self.kept[at], self.part(i + 1))

    def append_and_write(self, at, i):
        self.kept[at] = self.steps.append_and_write(self.kept[at], self.part(i), self.kept[0])

    def append_beside(self, at, i):
        self.kept.append(self.steps.append(self.kept[at], self.part(i)))

    def append_in_vain(self, at, i):
        self.steps.append(self.steps.append(self.kept[at], self.part(i)), self.part(i))

    def refer(self, at, i):
        self.kept.append(self.kept[at])

    def view(self, at, i):
        start = self.draw.randrange(self.length(at))
        self.kept.append(self.kept[at].narrow(self.dim, start, self.length(at) - start))

    def write(self, at, i):
        self.kept[at].narrow(self.dim, self.draw.randrange(self.length(at)), 1).add_(i)

    def write_by_numpy(self, at, i):
        self.kept[at].numpy()[0] += i

    def copy(self, at, i):
        self.kept.append(self.kept[at].clone())

    def read(self, at, i):
        yield self.kept[at]

    def drop(self, at, i):
        if len(self.kept) > 1:
            del self.kept[at]

    ACTS = (
        *(append, append, append, append_eagerly, append_and_read, append_and_view, append_both, append_and_fail),
        *(append_and_write, append_beside, append_in_vain, refer, view, write, write_by_numpy, copy, read, drop, drop),
    )


def check_drawn(seed):
    _dynamo.reset()
    expected = [look(tensor) for tensor in Drawn(seed, torch, as_is).run()]
    assert [look(tensor) for tensor in Drawn(seed, md, compiled if seed % 4 else compiled_as_ever).run()] == expected


@pytest.mark.parametrize("seed", range(40))
def test_drawn(seed):
    check_drawn(7_000_000 + seed)
