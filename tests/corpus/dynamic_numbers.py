"""Numbers that differ from run to run and are branched on, computed with, formatted."""

from differential import snippet, whole

from minidynamo import tensor
from minidynamo._dynamo import graph_break

NUMBERS = tuple((lambda n=n: (tensor([1.0, 2.0]), n)) for n in (3, 4, 0, -2, 7, 10**30))
FLOATS = tuple((lambda n=n: (tensor([1.0, 2.0]), n)) for n in (3.5, 4.0, 0.0, -0.0, float("nan"), float("inf")))


@snippet(*NUMBERS[:3])
def while_counter_with_break(x, n):
    while n:
        x = x + 1
        graph_break()
        n -= 1
    return x, n


@snippet()
def fed_back_into_the_loop(x):
    n = 0
    while n < 30:
        x = x + n
        graph_break()
        n = n + 1
    return x, n


@snippet()
def branch_on_a_loop_variable(x):
    for i in range(20):
        graph_break()
        if i % 3 == 0:
            x = x * 0.5
        elif i > 10 and not i % 2:
            x = x + i
        else:
            x = x - i * 2
    return x


@snippet()
def conditional_expression_and_bool(x):
    out = []
    for i in range(12):
        graph_break()
        out.append((i if i > 5 else -i, bool(i), not i, i > 3 or i, i < 3 and i))
    return x, out


@snippet()
def formatted(x):
    lines = []
    for i in range(10):
        graph_break()
        lines.append(f"step {i} {i / 2:.2f} {i!r:>4} {str(i)}{abs(i - 5)}")
    return x, lines


@snippet()
def float_that_accumulates(x):
    total = 0.0
    for i in range(12):
        graph_break()
        total += i * 0.5
        x = x + total
        if total > 5.0:
            total = total / 3
    return x, total


@snippet(*NUMBERS)
def arithmetic(x, n):
    graph_break()
    return x, n + 1, n - 1, n * 3, n // 2, n % 5, n / 4, n**2, -n, +n, ~n, n & 6, n | 1, n ^ 3, n >> 1


@snippet(*NUMBERS)
def comparisons(x, n):
    graph_break()
    return x + 1, n < 3, n <= 3, n == 3, n != 3, n > 3, n >= 3, n == 3.0, n is None, int(n), float(n), str(n), repr(n)


@snippet(*FLOATS)
def floats(x, n):
    graph_break()
    return x * 2, n + 1, n - 1, n * 3, n / 4, n**2, -n, abs(n), n < 3, n == n, bool(n), f"{n:.3f}"


@whole(*NUMBERS[:5])
def argument_plus_one(x, n):
    return x * (n + 1), n * 2


@whole(*NUMBERS[:5])
def division_by_a_possible_zero(x, n):
    x = x + 1
    try:
        y = 10 // n
    except ZeroDivisionError as error:
        y = str(error)
    return x, y


@snippet((lambda: (tensor([1.0]), 2)), (lambda: (tensor([1.0]), 3)), (lambda: (tensor([1.0]), 0)), raises=None)
def modulo_then_use(x, n):
    graph_break()
    y = x * (n + 2)
    k = 7 % (n + 1)
    return y + k


class Counter:
    def __init__(self):
        self.count = 0


@whole(lambda: (tensor([1.0]), Counter()))
def counter_on_an_object(x, counter):
    counter.count += 1
    return x * counter.count


STEP = 0


@whole(state="STEP")
def counter_in_a_global(x):
    global STEP
    STEP += 1
    return x + STEP


@snippet()
def closure_counter(x):
    n = 0

    def bump():
        nonlocal n
        n += 1
        return n

    for _ in range(10):
        graph_break()
        x = x + bump()
    return x, n


@snippet()
def used_as_index_and_shape(x):
    parts = []
    for i in range(6):
        graph_break()
        parts.append((x[: i % 3], [10, 20, 30][i % 3], x.reshape(i // 7 + 1, -1)))
    return parts


@snippet()
def range_of_a_dynamic_number(x):
    for i in range(8):
        graph_break()
        for j in range(i):
            x = x + j
    return x


@snippet()
def is_and_identity(x):
    out = []
    for i in range(6):
        graph_break()
        out.append((i is None, i is not None, (i > 2) is True, type(i), isinstance(i + 1, int)))
    return x, out


@snippet()
def as_key_and_argument(x):
    seen = {}
    for i in range(10):
        graph_break()
        seen[i % 4] = max(i, 5)
        if i in (3, 4):
            x = x + min(i, 2)
    return x, seen


@snippet()
def in_a_user_bool(x):
    class Odd:
        def __init__(self, n):
            self.n = n

        def __bool__(self):
            return self.n % 2 == 1

    for i in range(8):
        graph_break()
        if Odd(i):
            x = x + i
    return x
