"""for, while, break, continue, else, iterables of every kind."""

from differential import snippet, whole

from minidynamo import tensor
from minidynamo._dynamo import graph_break


@whole()
def for_range(x):
    for i in range(4):
        x = x + i
    return x


@whole()
def for_range_step(x):
    for i in range(10, 0, -3):
        x = x * 1.5 + i
    return x, i


@whole()
def for_list(x):
    for scale in [1.0, 2.0, 3.0]:
        x = x * scale
    return x


@whole()
def for_tuple_of_tensors(x):
    total = x
    for y in (x, x + 1, x + 2):
        total = total + y
    return total


@whole()
def for_string(x):
    for letter in "abc":
        x = x + ord(letter)
    return x


@whole()
def for_enumerate(x):
    for i, scale in enumerate([2.0, 3.0], start=1):
        x = x * scale + i
    return x


@whole()
def for_zip(x):
    for a, b in zip([1, 2, 3], (x, x + 1)):
        x = x + a * b
    return x


@whole()
def for_zip_strict(x):
    for a, b in zip([1, 2], [3, 4], strict=True):
        x = x + a * b
    return x


@snippet(raises=ValueError)
def for_zip_strict_fails(x):
    for a, b in zip([1, 2], [3], strict=True):
        x = x + a * b
    return x


@whole()
def for_dict_items(x):
    for name, value in {"a": 1, "b": 2}.items():
        x = x * value + len(name)
    return x


@whole()
def for_reversed(x):
    for i in reversed([1, 2, 3]):
        x = x * 2 + i
    for i in reversed(range(3)):
        x = x - i
    return x


@whole()
def for_sorted(x):
    for i in sorted([3, 1, 2]):
        x = x * i + i
    return x


@whole()
def for_map(x):
    for y in map(lambda i: x + i, range(3)):
        x = x * y
    return x


@whole()
def for_filter(x):
    for i in filter(lambda i: i % 2, range(5)):
        x = x + i
    return x


@snippet()
def for_set_of_one(x):
    for i in {7}:
        x = x + i
    return x


@whole()
def for_empty(x):
    for i in []:
        x = x + i
    return x


@whole()
def for_else(x):
    for i in range(3):
        x = x + i
    else:
        x = x * 10
    return x


@whole()
def for_break(x):
    for i in range(10):
        if i == 3:
            break
        x = x + i
    else:
        x = x * 100
    return x, i


@whole()
def for_continue(x):
    for i in range(6):
        if i % 2:
            continue
        x = x + i
    return x


@whole()
def for_return_inside(x):
    for i in range(10):
        x = x * 2
        if i == 2:
            return x, i
    return x


@whole()
def for_nested(x):
    for i in range(3):
        for j in range(i):
            x = x + i * j
    return x


@whole()
def for_nested_break(x):
    for i in range(3):
        for j in range(3):
            if j > i:
                break
            x = x + 1
        else:
            x = x * 2
    return x


@whole()
def for_target_is_subscript(x):
    box = [0]
    for box[0] in range(3):
        x = x + box[0]
    return x, box


@whole()
def for_unpacks_star(x):
    for first, *rest in [(1, 2, 3), (4,)]:
        x = x + first + len(rest)
    return x


@whole()
def while_counter(x):
    n = 0
    while n < 4:
        x = x + n
        n += 1
    return x, n


@whole()
def while_else_break(x):
    n = 0
    while n < 10:
        n += 1
        if n == 5:
            break
    else:
        x = x * 100
    return x + n


@whole()
def while_true(x):
    n = 0
    while True:
        n += 1
        x = x * 2
        if n >= 3:
            return x


@whole()
def while_list(x):
    todo = [1, 2, 3]
    while todo:
        x = x * 2 + todo.pop()
    return x


@whole()
def while_walrus(x):
    items = iter([1, 2, 0])
    while n := next(items):
        x = x + n
    return x


@snippet()
def while_on_tensor(x):
    n = 0
    while x.abs().sum() < 100:
        x = x * 2
        n += 1
    return x, n


@snippet()
def for_with_if_on_tensor(x):
    for i in range(4):
        if x.sum() > i:
            x = x + 1
        else:
            x = x - 1
    return x


@snippet()
def for_break_on_tensor(x):
    for i in range(10):
        x = x * 2
        if x.sum() > 20:
            break
    else:
        i = -1
    return x, i


@snippet()
def for_continue_on_tensor(x):
    for i in range(4):
        if (x.sum() + i).item() % 2 == 0:
            continue
        x = x + i
    return x


@snippet()
def for_with_print(x):
    for i in range(3):
        print("step", i)
        x = x + i
    return x


@snippet()
def while_with_print(x):
    n = 3
    while n:
        x = x * 2
        print(n)
        n -= 1
    return x


@snippet()
def for_nested_with_print(x):
    for i in range(2):
        x = x + 1
        for j in range(2):
            print(i, j)
            x = x * 2
        x = x - j
    return x


@whole()
def for_over_tensor(x):
    total = 0
    for row in x:
        total = total + row
    return total


@snippet(lambda: (tensor([1.0]), iter([1, 2, 3])))
def for_over_iterator_argument(x, items):
    for item in items:
        x = x + item
    return x, next(items, "empty")


@snippet(lambda: (tensor([1.0]), iter([1, 2, 3])))
def part_of_iterator_argument(x, items):
    first = next(items)
    for item in items:
        x = x * item + first
        break
    return x


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


@whole()
def for_user_iterator(x):
    for i in Countdown(3):
        x = x + i
    return x


class Rows:
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return self.rows[index]


@snippet()
def for_old_sequence_protocol(x):
    for row in Rows([1, 2, 3]):
        x = x * 2 + row
    return x


@snippet()
def iter_with_sentinel(x):
    items = [1, 2, 0, 5]
    for item in iter(lambda: items.pop(0), 0):
        x = x + item
    return x, items


@whole()
def next_of_iter(x):
    items = iter([x, x + 1])
    a = next(items)
    b = next(items)
    return a * b, next(items, None)


@snippet(raises=StopIteration)
def next_past_the_end(x):
    items = iter([x])
    next(items)
    return next(items)


@snippet(raises=TypeError)
def for_over_number(x):
    for i in len(x):
        x = x + i
    return x


@whole()
def loop_variable_after_loop(x):
    for i in range(3):
        y = x + i
    return y, i


@whole(lambda: (tensor([1.0]), 2), lambda: (tensor([1.0]), 3), lambda: (tensor([1.0]), 0))
def range_of_argument(x, n):
    for i in range(n):
        x = x * 2 + i
    return x


@snippet()
def many_turns(x):
    for i in range(60):
        x = x + i
        if i == 50:
            print("fifty")
    return x


@whole()
def for_reversed_over_a_list_that_changes(x):
    grows, shrinks, seen = [1, 2, 3, 4], [1, 2, 3, 4], []
    for value in reversed(grows):
        seen.append(value)
        if value == 3:
            grows.append(9)
    for value in reversed(shrinks):
        seen.append(value)
        del shrinks[1:]
    return x + 1, seen, grows, shrinks


@whole(lambda: (tensor([1.0, -2.0]), [1, 2, 3, 4]))
def for_reversed_over_an_argument_that_grows(x, values):
    seen = []
    for value in reversed(values):
        seen.append(value)
        if value == 3:
            values.append(9)
    return x + 1, seen


@snippet()
def reversed_list_kept_while_it_changes(x):
    values = [1, 2, 3]
    backwards, ended = reversed(values), reversed(values)
    first, rest = next(backwards), list(ended)
    values.extend((5, 6))
    graph_break()
    values.append(7)
    return x + 1, first, rest, list(backwards), list(ended), values
