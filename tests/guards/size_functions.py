"""Functions of many kinds over sizes, each with the arguments of one random call.

A row of FUNCTIONS is (arguments, function): `arguments(draw)` creates one call's arguments from a Draw, which draws the same ones
for the same seed.
"""

import math
import random
from collections import namedtuple

import minidynamo
from minidynamo.nn import functional as F

# Small, so that sizes of different dims often coincide, including those that have special rules.
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8)


class Draw:
    """Random tensors and sizes of one call."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def size(self, least=0):
        return max(self.random.choice(SIZES), least)

    def number(self, low=-3, high=9):
        return self.random.randint(low, high)

    def flip(self, chance=0.5):
        return self.random.random() < chance

    def tensor(self, *sizes, dtype=minidynamo.float32, plain=False):
        """Of these sizes, mostly contiguous, sometimes transposed, with gaps, from an offset, or expanded."""
        layout = "plain" if plain or self.flip(0.6) else self.random.choice(("turned", "gaps", "offset", "expanded"))
        if layout == "turned":
            return self._filled(dtype, *reversed(sizes)).permute(*reversed(range(len(sizes))))
        if layout == "gaps" and sizes:
            return self._filled(dtype, *sizes[:-1], sizes[-1] * 2)[..., ::2]
        if layout == "offset" and sizes:
            return self._filled(dtype, sizes[0] + 2, *sizes[1:])[2:]
        if layout == "expanded" and sizes:
            at = self.random.randrange(len(sizes))
            return self._filled(dtype, *sizes[:at], 1, *sizes[at + 1 :]).expand(*sizes)
        return self._filled(dtype, *sizes)

    def _filled(self, dtype, *sizes):
        count = math.prod(sizes)
        start = self.random.randint(-4, 4)
        numbers = [(start + 7 * i) % 11 - 5 for i in range(count)]
        if dtype == minidynamo.float32:
            numbers = [each * 0.5 for each in numbers]
        return minidynamo.tensor(numbers, dtype=dtype).reshape(sizes)


def vector(draw):
    return (draw.tensor(draw.size()),)


def matrix(draw):
    return (draw.tensor(draw.size(), draw.size()),)


def plain_matrix(draw):
    return (draw.tensor(draw.size(), draw.size(), plain=True),)


def cube(draw):
    return (draw.tensor(draw.size(), draw.size(), draw.size()),)


def vector_and_number(draw):
    return draw.tensor(draw.size()), draw.number()


def matrix_and_number(draw):
    return draw.tensor(draw.size(), draw.size()), draw.number()


def matrix_and_numbers(draw):
    return draw.tensor(draw.size(), draw.size()), draw.number(), draw.number()


def mostly(draw, size):
    """The size, sometimes 1 or another one."""
    return size if draw.flip(0.7) else 1 if draw.flip() else draw.size()


def two_vectors(draw):
    n = draw.size()
    return draw.tensor(n), draw.tensor(mostly(draw, n))


def two_matrices(draw):
    n, m = draw.size(), draw.size()
    return draw.tensor(n, m), draw.tensor(mostly(draw, n), mostly(draw, m))


def factors(draw):
    n, k, m = draw.size(), draw.size(), draw.size()
    return draw.tensor(n, k), draw.tensor(k if draw.flip(0.85) else draw.size(), m)


def batches(draw):
    b, n, k, m = draw.size(), draw.size(), draw.size(), draw.size()
    return draw.tensor(b, n, k), draw.tensor(mostly(draw, b), k, m)


def same_twice(draw):
    """One tensor as both arguments, or two of one size."""
    x = draw.tensor(draw.size(), plain=True)
    return x, x if draw.flip(0.3) else draw.tensor(x.shape[0], plain=True)


def list_of_vectors(draw):
    return ([draw.tensor(draw.size()) for _ in range(draw.random.choice((1, 2, 2, 3)))],)


def dict_of_matrices(draw):
    n, m = draw.size(), draw.size()
    return ({"a": draw.tensor(n, m), "b": draw.tensor(n, mostly(draw, m))},)


def rows_and_indices(draw):
    n = draw.size(1)
    count = draw.size()
    index = minidynamo.tensor([draw.random.randrange(n) for _ in range(count)], dtype=minidynamo.int64)
    return draw.tensor(n, draw.size()), index


def matrix_and_mask(draw):
    n, m = draw.size(), draw.size()
    return draw.tensor(n, m), draw.tensor(n, mostly(draw, m)) > 0


def state_and_vector(draw):
    return Holder(draw.number(0, 6), draw.tensor(draw.size())), draw.tensor(draw.size())


def numbers_and_vector(draw):
    return draw.tensor(draw.size()), [draw.number(0), draw.number(0)], draw.flip(), draw.number() / 2


class Holder:
    def __init__(self, n, kept=None):
        self.n = n
        self.double = n * 2
        self.kept = kept

    def __repr__(self):
        kept = None if self.kept is None else (self.kept.shape, self.kept.tolist())
        return f"Holder({self.n!r}, {self.double!r}, {kept!r})"


FUNCTIONS = []


def over(arguments):
    def add(function):
        FUNCTIONS.append((arguments, function))
        return function

    return add


# --- operations


@over(matrix)
def pointwise(x):
    return x * 2 + x.relu(), -x, (x.t() + 1).t(), x + x.sum()


@over(two_vectors)
def broadcast(x, y):
    return x + y, minidynamo.maximum(x, y)


@over(two_matrices)
def broadcast_matrices(x, y):
    return x * y + 1, minidynamo.where(x > y, x, y)


@over(two_matrices)
def broadcast_all(x, y):
    shape = [max(n, m) for n, m in zip(x.shape, y.shape)]
    return x.expand(shape) - y.expand(*shape), x.expand(shape).stride()


@over(same_twice)
def equal_or_the_same(x, y):
    x.add_(1)
    return x + y


@over(matrix)
def reductions(x):
    return x.sum(), x.sum(0), x.mean(1), x.mean(), x.sum(-1, keepdim=True), x.prod(0), x.any(), x.all(1)


@over(matrix)
def variances(x):
    return x.var(0), x.std(1), x.var(1, unbiased=False), x.std(), x.norm(dim=1)


@over(matrix)
def extremes(x):
    values, places = x.max(1)
    return values, places, x.amin(0), x.argmax(0)


@over(matrix)
def extremes_of_all(x):
    return x.max(), x.min(), x.argmax()


@over(matrix)
def softmaxes(x):
    return x.softmax(-1), F.log_softmax(x, dim=0), x.cumsum(1), x.sort(-1)[0], x.argsort(0)


@over(matrix)
def layer_norm(x):
    return F.layer_norm(x, (x.shape[1],)), F.layer_norm(x, x.shape[1:])


@over(matrix)
def layer_norm_of_one_size(x):
    return F.layer_norm(x, (3,))


@over(matrix)
def mean_by_hand(x):
    return x.sum(0) / x.shape[0], x.sum() / x.numel(), x.sum(1) / max(x.size(1), 1)


@over(factors)
def product(x, y):
    return x @ y


@over(factors)
def linear(x, y):
    return F.linear(x, y.t()), F.linear(x, y.t(), minidynamo.ones(y.shape[1]))


@over(batches)
def batched_product(x, y):
    return x @ y, x.transpose(1, 2).shape


@over(matrix)
def gram(x):
    return x @ x.t(), x.t() @ x


@over(matrix)
def square(x):
    return x @ x


@over(cube)
def attention(x):
    b, n, d = x.shape
    scores = x @ x.transpose(-2, -1) / max(d, 1) ** 0.5
    mask = minidynamo.ones(n, n).tril() == 0
    return scores.masked_fill(mask, float("-inf")).softmax(-1) @ x


@over(cube)
def heads(x):
    b, n, d = x.shape
    return x.view(b, n, 2, d // 2).transpose(1, 2).reshape(b * 2, n, d // 2)


# --- views


@over(matrix)
def reshape(x):
    return x.reshape(-1), x.reshape(x.shape[1], x.shape[0]), x.flatten()


@over(matrix)
def view(x):
    return x.view(-1) + 1


@over(matrix)
def reshape_to_two(x):
    return x.reshape(2, -1), x.reshape(-1, 2)


@over(matrix)
def view_to_pairs(x):
    return x.view(x.shape[0], -1, 2)


@over(matrix)
def permutes(x):
    return x.t(), x.permute(1, 0).contiguous(), x.transpose(0, 1).reshape(-1), x.unsqueeze(1).expand(-1, 3, -1)


@over(matrix)
def squeezes(x):
    return x.squeeze(), x.squeeze(0), x.squeeze(-1).unsqueeze(0)


@over(cube)
def flatten_some(x):
    return x.flatten(1), x.flatten(0, 1), x.reshape(x.shape[0], -1)


@over(cube)
def flatten_a_turned_one(x):
    return x.permute(2, 0, 1).flatten(1), x.permute(0, 2, 1).reshape(-1, x.shape[1])


@over(vector_and_number)
def expand(x, n):
    return x.unsqueeze(0).expand(n, x.shape[0]), x.expand(2, -1)


@over(vector)
def expand_to_four(x):
    return x.expand(4) + 1


@over(vector)
def halves(x):
    half = x.shape[0] // 2
    return x[:half], x[half:], x[-half:], x[: -half or None]


@over(matrix)
def slices(x):
    return x[1:], x[:-1], x[:, :2], x[::2], x[1:-1, 1:], x[..., -1:], x[2:1]


@over(vector)
def slices_past_the_end(x):
    return x[:100], x[3:], x[-3:], x[:3], x[2:5], x[-4:-1], x[1::3]


@over(matrix)
def elements(x):
    return x[0], x[-1], x[:, 0], x[0, -1]


@over(matrix)
def element_of_sizes(x):
    return x[x.shape[0] - 1], x[:, x.shape[1] // 2]


@over(matrix_and_numbers)
def slices_by_numbers(x, a, b):
    return x[a:b], x[:, a:], x[:b]


@over(matrix_and_number)
def element_by_number(x, n):
    return x[n]


@over(matrix_and_numbers)
def narrow(x, start, length):
    return x.narrow(0, start, length)


@over(matrix)
def narrow_by_size(x):
    return x.narrow(0, 0, x.shape[0] // 2), x.narrow(1, 1, x.shape[1] - 1)


@over(vector)
def chunks(x):
    return x.chunk(2)


@over(vector)
def splits(x):
    return [part + 1 for part in x.split(2)]


@over(vector)
def split_by_size(x):
    first, second = x.split([x.shape[0] // 2, x.shape[0] - x.shape[0] // 2])
    return first * 2, second


@over(matrix)
def unbind(x):
    return [row.sum() for row in x.unbind(0)]


@over(matrix)
def iterate(x):
    return [row + 1 for row in x]


@over(matrix)
def unpack_two(x):
    a, b = x
    return a + b


@over(matrix)
def diagonals(x):
    return x.diagonal(), x.tril(), x.triu(1)


@over(matrix)
def rolls(x):
    return x.flip(0), x.roll(1, 0), x.repeat(2, 1)


# --- joining, indexing


@over(list_of_vectors)
def cat(parts):
    return minidynamo.cat(parts), len(parts)


@over(list_of_vectors)
def stack(parts):
    return minidynamo.stack(parts)


@over(list_of_vectors)
def sum_of_sizes(parts):
    return sum(part.shape[0] for part in parts), [part.numel() for part in parts], parts[0] + 1


@over(list_of_vectors)
def pad_to_longest(parts):
    longest = max(len(part) for part in parts)
    return minidynamo.stack([minidynamo.cat([part, minidynamo.zeros(longest - len(part))]) for part in parts])


@over(dict_of_matrices)
def cat_of_dict(values):
    return minidynamo.cat([values["a"], values["b"]], 1), {name: each.shape for name, each in values.items()}


@over(rows_and_indices)
def gather_rows(x, index):
    return x[index], x.index_select(0, index), F.embedding(index, x)


@over(rows_and_indices)
def index_with_slices(x, index):
    return x[index, : x.shape[1] // 2], x[index][:, 1:]


@over(rows_and_indices)
def store_rows(x, index):
    y = x.clone()
    y[index] = 1
    return y


@over(matrix_and_mask)
def masks(x, mask):
    return x.masked_fill(mask, 0), minidynamo.where(mask, x, 0.0), mask.sum()


@over(matrix_and_mask)
def store_at_mask(x, mask):
    y = x.clone()
    y[mask] = 7
    return y


@over(matrix)
def select_positive(x):
    return x[x > 0] + 1


# --- creating tensors


@over(matrix)
def create(x):
    n, m = x.shape
    return (
        minidynamo.zeros(n, m + 1),
        minidynamo.ones(x.shape),
        minidynamo.full((m,), 2.0),
        minidynamo.full((2,), n),
        minidynamo.eye(n),
        x.new_zeros(m),
        minidynamo.zeros_like(x),
        minidynamo.empty(n, m).shape,
    )


@over(matrix)
def aranges(x):
    n, m = x.shape
    return minidynamo.arange(n), minidynamo.arange(n, n + m), minidynamo.arange(0, n, 2), minidynamo.arange(m, 0, -1)


@over(matrix)
def aranges_of_floats(x):
    return minidynamo.arange(0.0, x.shape[0]), minidynamo.arange(x.shape[0] / 2), minidynamo.linspace(0, 1, x.shape[1])


@over(vector_and_number)
def zeros_by_number(x, n):
    return minidynamo.zeros(n) + x.sum()


@over(vector_and_number)
def arange_by_number(x, n):
    return minidynamo.arange(n) * 2, x * n, x + n // 2


@over(matrix)
def tensor_of_sizes(x):
    return minidynamo.tensor([x.shape[0], x.shape[1]]), minidynamo.tensor(x.shape[0] * 1.5), minidynamo.tensor(x.shape)


@over(matrix)
def sizes_as_operands(x):
    n, m = x.shape
    return x * n + m, x / (n + 1), x - n / 2, x**2 * m, n - x, x.clamp(max=n), x.add(1, alpha=m)


@over(matrix)
def sizes_as_floats(x):
    n, m = x.shape
    return x * float(n), x * (m * 0.5), x * n**0.5, x * math.sqrt(m), math.floor(n / 2), math.ceil(m / 2)


# --- writing


@over(matrix)
def write_in_place(x):
    x.add_(1)
    x[: x.shape[0] // 2] *= 2
    return x.shape


@over(matrix)
def write_views(x):
    y = x.clone()
    y[:, 0] = x.shape[0]
    y[-1].mul_(3)
    y.t()[0] += 1
    y.view(-1)[: y.numel() // 2] = 0
    return y


@over(matrix)
def write_rows(x):
    y = minidynamo.zeros(x.shape)
    for i in range(x.shape[0]):
        y[i] = x[i] * i
    return y


@over(two_vectors)
def write_one_into_another(x, y):
    x.copy_(y)
    return x + 1


@over(two_vectors)
def write_out(x, y):
    z = minidynamo.empty(x.shape[0])
    minidynamo.add(x, y, out=z)
    return z


@over(list_of_vectors)
def append_to_the_list(parts):
    parts.append(parts[0].shape[0])
    parts[0] = parts[0] + len(parts)


@over(dict_of_matrices)
def keys_of_sizes(values):
    values[values["a"].shape[0]] = values["a"].sum()
    values[values["a"].shape] = 1


# --- branches on sizes


@over(vector)
def smaller(x):
    return x + 1 if x.shape[0] < 4 else x - 1


@over(matrix)
def equal_sizes(x):
    return x + 1 if x.shape[0] == x.shape[1] else x - 1


@over(two_vectors)
def equal_sizes_of_two(x, y):
    if x.shape == y.shape:
        return x + y
    if x.shape[0] > y.shape[0]:
        return x[: y.shape[0]] - y
    return x.sum() * y


@over(matrix)
def chained(x):
    return x + 1 if 1 < x.shape[0] <= x.shape[1] < 6 else x - 1


@over(vector)
def truths(x):
    n = x.shape[0]
    return (x + 1 if n else x - 1), n and n - 1, n or "none", not n, bool(n), n > 2 and n < 5


@over(vector)
def known_sizes(x):
    return x * (2 if x.shape[0] in (1, 3, 5) else 3), x.shape == (3,), x.shape[0] is None


@over(matrix)
def size_mapping(x):
    return x * {0: 1, 1: 2, 2: 5}.get(x.shape[0], 9), {x.shape[1]: "m"}, {x.shape[0], x.shape[1]} == {2, 3}


@over(matrix)
def matching(x):
    match x.shape:
        case (0, _) | (_, 0):
            return "empty"
        case (1, m):
            return x * m
        case (n, m) if n == m:
            return x.t()
        case _:
            return x + 1


@over(vector)
def loop_by_size(x):
    total = x.sum()
    for i in range(x.shape[0]):
        total = total + i
    return total


@over(vector)
def halving(x):
    steps = 0
    while x.shape[0] > 1:
        x = x[: x.shape[0] // 2] + x[x.shape[0] - x.shape[0] // 2 :]
        steps += 1
    return x, steps


@over(vector)
def loop_with_zip(x):
    return [a * b for a, b in zip(x, range(3))], [i for i, _ in enumerate(x)]


@over(vector)
def checked(x):
    assert x.shape[0] != 3, f"three of {x.shape}"
    if x.numel() == 5:
        raise ValueError("five", x.shape[0])
    return x * 2


@over(vector)
def caught(x):
    try:
        return x.view(2, -1)
    except RuntimeError as error:
        return str(error)


@over(matrix)
def divides(x):
    n, m = x.shape
    return x + n // m, n % m, divmod(n, m)


# --- numbers that reach the program


@over(matrix)
def numbers(x):
    n, m = x.shape
    return [
        n,
        m,
        n * m,
        n - m,
        n // 2,
        n % 3,
        -n,
        n**2,
        n / 2,
        n << 1,
        n >> 1,
        n & 3,
        n | 1,
        n ^ m,
        ~n,
        abs(n - m),
        +n,
    ], x + 1


@over(matrix)
def more_numbers(x):
    n, m = x.shape
    return (
        [
            max(n, m),
            min(n, m, 3),
            sum(x.shape),
            round(n),
            int(m),
            float(n),
            pow(n, 2),
            divmod(n, 3),
            hash(n),
            bin(m),
            n == m,
        ],
        [n.bit_length(), str(n), repr(m), f"{n:>4}|{m}", f"{x.shape}", "%d" % n, "{}".format(m), chr(65 + n), n.real],
        [
            isinstance(n, int),
            type(n),
            callable(n),
            n is n,
            id(n) == id(n),
            math.prod(x.shape),
            math.gcd(n, m),
            complex(n),
        ],
        x * 2,
    )


@over(matrix)
def shapes(x):
    shape = x.shape
    return (
        [shape, shape[1:], shape[-1], shape + (1,), (1, *shape), shape * 2, tuple(shape), list(shape), len(shape)],
        [
            shape == x.size(),
            shape < (3, 3),
            hash(shape),
            str(shape),
            shape.numel(),
            shape.index(shape[0]),
            shape.count(1),
        ],
        [sorted(shape), tuple(reversed(shape)), {shape: 1}, 3 in shape, [*shape], dict(zip("nm", shape)), x.size(-1)],
        x.reshape(shape[::-1]),
    )


@over(matrix)
def facts(x):
    return [x.stride(), x.is_contiguous(), x.numel(), x.nbytes, x.storage_offset(), len(x), x.dim(), x.T.shape], x + 1


@over(matrix)
def facts_of_results(x):
    y = (x + 1).t()
    return [y.stride(), y.is_contiguous(), y.contiguous().stride(), (y * 2).stride(), x.sum(0).stride()], y


@over(matrix)
def sequences(x):
    n, m = x.shape
    return (
        [0] * n,
        "a" * m,
        list(range(n)),
        (1, 2, 3)[:n],
        [1, 2, 3, 4][min(m, 3)],
        [*range(n, m)],
        slice(n, m),
        range(n),
        x + 1,
    )


@over(matrix)
def through_functions(x):
    def inner(n, *more, scale=1, **named):
        return n * scale + len(more) + sum(named.values())

    return x * inner(*x.shape, scale=x.shape[0], k=x.shape[1]), (lambda n: n + 1)(x.shape[0]), list(map(str, x.shape))


Pair = namedtuple("Pair", "n m")


@over(matrix)
def through_objects(x):
    holder = Holder(x.shape[0])
    pair = Pair(*x.shape)
    return x[: holder.n // 2] * holder.double, pair, pair.m, vars(holder), x + pair.n


@over(matrix)
def through_generators(x):
    def sizes():
        for n in x.shape:
            yield n
            yield n + 1

    return list(sizes()), x * sum(sizes()), [n for n in sizes() if n > 2]


@over(state_and_vector)
def state_that_counts(state, x):
    state.n += x.shape[0]
    state.kept = state.kept[: state.n] * 2
    state.double = len(state.kept) + state.double
    return x * state.n, state.kept.shape, minidynamo.cat([x, state.kept])


@over(state_and_vector)
def state_that_decides(state, x):
    if state.n > x.shape[0]:
        state.kept = x
        return x + state.double
    state.n = x.shape[0]
    return state.kept.sum() + x


@over(numbers_and_vector)
def numbers_in_a_list(x, numbers, flag, ratio):
    a, b = numbers
    numbers[0] = x.shape[0]
    numbers.append(a + len(x))
    y = x[: a % 4] * ratio
    return (y + b if flag else y - b), minidynamo.ones(b) * ratio, int(ratio) + x.shape[0], max(a, b, x.shape[0])


# --- output in between


@over(matrix)
def prints(x):
    n = x.shape[0]
    x = x[1:]
    print(x.shape, n, f"{x.shape[1]}")
    x = x[1:] + n
    print(len(x), x.numel(), sep="-")
    return x, n, x.shape


def printed_inside(x, n):
    x = x * n
    print("inside", n, x.shape[1])
    return x[: n // 2]


@over(matrix)
def prints_in_a_callee(x):
    n, m = x.shape
    x = printed_inside(x, m)
    return printed_inside(x + n, x.shape[0]), n - m


@minidynamo.library.custom_op("size_functions::doubled", mutates_args=())
def doubled(x: minidynamo.Tensor, n: int) -> minidynamo.Tensor:
    return minidynamo.zeros(n) + x.sum()


@doubled.register_fake
def _(x, n):
    return minidynamo.empty(n)


@over(matrix)
def custom_operator(x):
    n = x.shape[0]
    return doubled(x, n + 1) + n, doubled(x + 1, x.shape[1]), n


@over(dict_of_matrices)
def writes_before_output(values):
    n = values["a"].shape[0]
    values["a"] = values["a"] * n
    print(n, values["b"].shape)
    values["n"] = values["a"].shape[1]
    return values["a"][1:], n


# --- after a break


@over(matrix)
def after_a_break(x):
    y = x[: x.shape[0] // 2] + 1
    n = y.shape[0]
    minidynamo._dynamo.graph_break()
    return y * n, n, x.shape[0] - n, minidynamo.zeros(n)


@over(matrix)
def breaks_in_a_loop(x):
    sizes = []
    for i in range(2):
        x = x[i:]
        minidynamo._dynamo.graph_break()
        sizes.append(x.shape[0])
        x = x * len(x)
    return x, sizes


@over(vector)
def break_on_data(x):
    n = x.shape[0]
    if x.sum() > 0:
        return x * n, n + 1
    return x[: n - 1], f"{n}"


@over(vector_and_number)
def number_after_a_break(x, n):
    y = x + n
    minidynamo._dynamo.graph_break()
    if n > 3:
        return y[:n], n * 2
    return y * n, minidynamo.zeros(abs(n))


@over(matrix)
def closure_over_a_size(x):
    n = x.shape[0]

    def scale(y):
        return y * n

    minidynamo._dynamo.graph_break()
    return scale(x), n


@over(matrix)
def item_and_sizes(x):
    n = int(x.abs().sum().item()) % 4
    return minidynamo.zeros(n, x.shape[0]), x[:n], n
