"""Generators and their consumers."""

from differential import snippet, whole

from minidynamo import tensor
from minidynamo._dynamo import graph_break


def count(n):
    for i in range(n):
        yield i


def scaled(x, n):
    for i in range(n):
        yield x * i


def echo():
    received = []
    while True:
        value = yield len(received)
        if value is None:
            return received
        received.append(value)


def delegating(x):
    result = yield from scaled(x, 2)
    yield x
    return result


def with_result():
    yield 1
    return "result"


def noisy(x):
    print("first")
    yield x + 1
    print("second")
    yield x + 2


@whole()
def for_over_generator(x):
    for i in count(3):
        x = x + i
    return x


@whole()
def for_over_generator_of_tensors(x):
    total = x
    for y in scaled(x, 3):
        total = total + y
    return total


@whole()
def list_of_generator(x):
    return list(scaled(x, 3))


@whole()
def sum_of_generator(x):
    return sum(scaled(x, 3))


@whole()
def unpack_generator(x):
    a, b = scaled(x, 2)
    return a + b, [*count(3)]


@whole()
def next_of_generator(x):
    g = scaled(x, 3)
    next(g)
    return next(g), next(g), next(g, "end")


@whole()
def send_to_generator(x):
    g = echo()
    next(g)
    n = g.send(x)
    m = g.send(2)
    return x, n, m


@snippet()
def generator_return_value(x):
    g = with_result()
    next(g)
    try:
        next(g)
    except StopIteration as stop:
        return x, stop.value


@whole()
def yield_from(x):
    return list(delegating(x))


@whole()
def yield_from_result(x):
    def outer():
        result = yield from with_result()
        yield result

    return x, list(outer())


@whole()
def close_generator(x):
    log = []

    def inner():
        try:
            yield x
        finally:
            log.append("closed")

    g = inner()
    next(g)
    g.close()
    return x + 1, log


@whole()
def throw_into_generator(x):
    def inner():
        try:
            yield 1
        except ValueError as error:
            yield str(error)

    g = inner()
    next(g)
    return x, g.throw(ValueError("thrown"))


@whole()
def generator_that_prints(x):
    total = x
    for y in noisy(x):
        total = total * y
    return total


@whole()
def list_of_generator_that_prints(x):
    return list(noisy(x))


@snippet()
def return_generator(x):
    return scaled(x, 2)


@snippet()
def return_suspended_generator(x):
    g = scaled(x, 3)
    next(g)
    return g


@snippet(lambda: (tensor([1.0]), count(3)), breaks=0, fullgraph=False)
def generator_argument(x, g):
    for i in g:
        x = x + i
    return x


@whole()
def infinite_generator(x):
    def naturals():
        n = 0
        while True:
            yield n
            n += 1

    for n in naturals():
        if n > 3:
            break
        x = x + n
    return x


@whole()
def generator_pipeline(x):
    squares = (i * i for i in count(5))
    even = (i for i in squares if i % 2 == 0)
    return x + sum(even)


@snippet(raises=ValueError)
def generator_raises(x):
    def inner():
        yield 1
        raise ValueError("inside")

    for i in inner():
        x = x + i
    return x


@whole()
def this_is_a_generator(x):
    def run():
        yield x + 1
        print("between")
        yield x + 2

    return [y * 2 for y in run()]


class Numbers:
    def __init__(self, *values):
        self.values = values

    def __iter__(self):
        return iter(self.values)


class Counting:
    def __init__(self, stop):
        self.stop = stop

    def __iter__(self):
        for number in range(self.stop):
            yield number


@whole()
def builtins_over_objects_with_iter(x):
    total = x
    for index, number in enumerate(Numbers(1, 2, 3), 1):
        total = total + index * number
    pairs = list(zip(Numbers(4, 5), Counting(3)))
    doubled = list(map(lambda number: number * 2, Counting(3)))
    first = next(iter(Numbers(7, 8)))
    return total * first, pairs, doubled, any(Numbers(0, 1)), all(Counting(2)), list(filter(None, Counting(3)))


class Fails:
    def __iter__(self):
        raise KeyError("no elements")


@snippet(raises=KeyError)
def enumerate_of_an_iter_that_raises(x):
    x = x + 1
    return [x * index for index, _ in enumerate(Fails())]


class Odd:
    def __iter__(self):
        return 3


@snippet(raises=TypeError)
def zip_of_an_iter_that_returns_no_iterator(x):
    x = x + 1
    return list(zip(Odd(), [x]))


@whole()
def close_runs_handlers(x):
    seen = []

    def raising():
        try:
            yield 1
        except GeneratorExit:
            seen.append("exit")
            raise
        finally:
            seen.append("finally")

    def returning():
        try:
            yield 1
        except GeneratorExit:
            return 5

    first, second = raising(), returning()
    next(first), next(second)
    first.close(), first.close()
    return x, seen, second.close()


@whole()
def close_that_fails(x):
    def failing():
        try:
            yield 1
        finally:
            raise KeyError("k")

    generator = failing()
    next(generator)
    try:
        generator.close()
    except KeyError as error:
        return x, error.args, type(error.__context__).__name__
    return None


@whole()
def throw_a_class(x):
    def catching():
        try:
            yield x
        except ValueError as error:
            yield x + 5, error.args

    generator = catching()
    next(generator)
    result = generator.throw(ValueError)
    generator.close()
    return result


def noting(log, name, values=(1, 2, 3)):
    try:
        yield from values
    finally:
        log.append(name)


def careful(log, name):
    try:
        yield 1
        yield 2
    finally:
        log.append(name)


def with_log():
    return tensor([1.0]), []


@whole(with_log)
def dropped_where_the_function_ends(x, log):
    first, second = careful(log, "first"), careful(log, "second")
    log.append("start")
    return x * next(second), next(first)


@whole(with_log)
def dropped_where_a_callee_ends(x, log):
    def first():
        generator = careful(log, "callee")
        return next(generator)

    log.append(first())
    return x, len(log)


@whole(with_log)
def dropped_by_another_value(x, log):
    generator = careful(log, "old")
    x = x + next(generator)
    generator = careful(log, "new")
    log.append("stored")
    x = x + next(generator)
    del generator
    log.append("deleted")
    return x


@whole(with_log)
def dropped_by_a_loop_that_is_left(x, log):
    for value in careful(log, "closed"):
        x = x + value
        break
    log.append("after")
    return x


@whole(with_log)
def dropped_inside_a_with(x, log):
    class Noting:
        def __enter__(self):
            log.append("enter")

        def __exit__(self, *error):
            log.append(error[0].__name__ if error[0] else None)

    def managed():
        with Noting():
            yield 1
            yield 2

    for value in managed():
        x = x * (value + 1)
        break
    return x, len(log)


@whole(with_log)
def dropped_in_a_handler(x, log):
    def handling():
        try:
            raise KeyError("k")
        except KeyError:
            try:
                yield 1
            finally:
                log.append("inner")

    generator = handling()
    next(generator)
    return x


@snippet(with_log)
def dropped_through_a_container(x, log):
    held = [careful(log, "held")]
    next(held[0])
    log.append("ends")
    return x


@snippet(with_log)
def dropped_while_delegating(x, log):
    generator = noting(log, "outer", careful(log, "inner"))
    log.append(next(generator))
    return x


@snippet(with_log)
def dropped_while_a_closure_holds_it(x, log):
    generator = careful(log, "closure")
    more = lambda: next(generator)  # noqa: E731
    log.append(more())
    return x


@snippet(with_log)
def dropped_on_the_way_of_an_exception(x, log):
    def failing():
        generator = careful(log, "failing")
        next(generator)
        raise ValueError("v")

    try:
        failing()
    except ValueError as error:
        log.append(str(error))
    return x


@snippet(with_log)
def dropped_with_a_break_in_its_handler(x, log):
    def breaking():
        try:
            yield 1
        finally:
            graph_break()
            log.append("broken")

    generator = breaking()
    return x * next(generator), log


@whole(with_log)
def dropped_with_a_zip_that_ends_before_it(x, log):
    for number, item in zip([1, 2], careful(log, "zipped")):
        x = x + number * item
    log.append("after the loop")
    return x, log


@whole(with_log)
def dropped_with_an_iterator_over_it(x, log):
    pairs = enumerate(map(lambda item: item * 2, careful(log, "mapped")))
    x = x * next(pairs)[1]
    del pairs
    log.append("deleted")
    return x, log


@whole(with_log)
def kept_by_another_name_than_the_zip(x, log):
    kept = careful(log, "kept")
    for number, item in zip([1], kept):
        x = x + number * item
    log.append("after the loop")
    return x, list(kept), log
