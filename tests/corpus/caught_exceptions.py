"""Exceptions that are raised and caught in one function: captured unless they need something that only the interpreter has."""

import contextlib
import sys
import traceback

from differential import snippet, whole

from minidynamo import tensor


class Failure(Exception):
    def __init__(self, code, text="none"):
        super().__init__(text)
        self.code = code

    def doubled(self):
        return self.code * 2


class Narrower(Failure):
    pass


class Bare(ValueError):
    """Without a user-defined __init__."""


class Counter:
    def __init__(self, stop):
        self.count, self.stop = 0, stop

    def __iter__(self):
        return self

    def __next__(self):
        self.count += 1
        if self.count > self.stop:
            raise StopIteration
        return self.count


class Suppresses:
    def __init__(self, kind):
        self.kind, self.seen = kind, None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, found):
        self.seen = (kind is self.kind, found is None, str(value))
        return kind is self.kind


@contextlib.contextmanager
def plus(value):
    yield value + 1


@contextlib.contextmanager
def swallows(log):
    try:
        yield
    except ValueError as error:
        log.append(str(error))
    finally:
        log.append("left")


def fail(text="deep"):
    raise ValueError(text)


@whole()
def arguments_of_a_caught_exception(x):
    try:
        raise ValueError("a", 2)
    except (KeyError, ValueError) as error:
        return x + error.args[1], error.args


@whole()
def text_of_a_caught_exception(x):
    try:
        fail()
    except Exception as error:
        return x * 2, str(error), repr(error), f"{error}", f"{error!r:>20}"


@whole()
def finally_then_caught(x):
    try:
        try:
            fail()
        finally:
            x = x + 1
    except ValueError:
        return x


@whole()
def user_exception_class(x):
    try:
        raise Narrower(7, "seven")
    except Failure as error:
        return x + error.code, error.args, error.doubled(), isinstance(error, Narrower), type(error) is Narrower


@whole()
def class_without_init(x):
    try:
        raise Bare("b", 1)
    except ValueError as error:
        return x, error.args


@whole()
def raised_by_a_subscript(x):
    found = []
    for make in (lambda: {}["k"], lambda: [1][3], lambda: (1,)[-4], lambda: "ab"[5], lambda: {1: 2}.pop(3)):
        try:
            make()
        except (KeyError, IndexError) as error:
            found.append((str(error), error.args, isinstance(error, LookupError)))
    return x, found


@whole()
def raised_by_an_operation(x):
    found = []
    for make in (lambda: 1 // 0, lambda: 1 + "a", lambda: int("z"), lambda: "a" < 1, lambda: -"a", lambda: 2.0 % 0):
        try:
            make()
        except (ArithmeticError, TypeError, ValueError) as error:
            found.append(str(error))
    return x, found


@whole()
def iterator_that_ends(x):
    for value in Counter(3):
        x = x + value
    return x


@whole()
def next_that_ends(x):
    values = iter([1])
    first = next(values)
    try:
        next(values)
    except StopIteration as error:
        return x + first, error.value


@whole()
def value_of_a_generator(x):
    def inner():
        yield 1
        return 5

    values = inner()
    next(values)
    try:
        next(values)
    except StopIteration as error:
        return x + error.value


@whole()
def generated_manager(x):
    with plus(1) as value:
        x = x + value
    return x


@whole()
def generated_manager_that_swallows(x):
    log = []
    with swallows(log):
        x = x + 1
        raise ValueError("inside")
    with swallows(log):
        x = x * 2
    return x, log


@snippet(raises=KeyError)
def generated_manager_that_propagates(x):
    log = []
    with swallows(log):
        x = x + 1
        raise KeyError("not swallowed")


@whole()
def suppressed(x):
    with contextlib.suppress(KeyError, IndexError):
        x = x + 1
        {}["a"]
        x = x + 100
    return x


@whole()
def exit_receives_the_exception(x):
    manager = Suppresses(ValueError)
    with manager:
        fail("text")
    return x, manager.seen


@snippet(raises=KeyError)
def exit_propagates(x):
    with Suppresses(ValueError):
        x = x + 1
        raise KeyError("through")


@whole()
def raised_again(x):
    try:
        raise ValueError(1)
    except ValueError:
        try:
            raise
        except ValueError as error:
            return x + error.args[0]


@whole()
def raised_again_by_a_callee(x):
    def again():
        raise

    try:
        try:
            fail("first")
        except ValueError:
            again()
    except ValueError as error:
        return x, str(error)


@whole()
def another_exception_in_the_handler(x):
    try:
        try:
            fail("first")
        except ValueError:
            raise KeyError("second") from None
    except KeyError as error:
        return x, str(error)


@whole()
def else_and_continue(x):
    for step in range(5):
        try:
            if step == 2:
                raise IndexError(step)
            if step == 4:
                break
            x = x + step
        except IndexError:
            continue
        else:
            x = x * 2
        finally:
            x = x + 1
    return x


@whole()
def assertion(x):
    try:
        assert x.shape[0] == 7, "shape"
    except AssertionError as error:
        return x + 1, str(error)


@whole()
def changes_before_the_exception_stay(x):
    log, seen = [], {}
    try:
        log.append(1)
        seen["a"] = x + 1
        fail()
        log.append(2)
    except ValueError:
        log.append(3)
    return log, seen


@whole()
def leaves_a_generator(x):
    def inner():
        yield 1
        raise KeyError("inside")

    total = 0
    try:
        for value in inner():
            total += value
    except KeyError as error:
        return x + total, str(error)


@whole()
def leaves_a_key_function(x):
    def key(value):
        if value == 3:
            raise ValueError(value)
        return -value

    values = [1, 3, 2]
    try:
        values.sort(key=key)
    except ValueError as error:
        return x + error.args[0]


@whole()
def thrown_into_a_generator(x):
    def inner():
        try:
            yield 1
        except KeyError as error:
            yield error.args[0]

    values = inner()
    first = next(values)
    return x + first + values.throw(KeyError(5))


@snippet()
def stop_iteration_inside_a_generator(x):
    def inner():
        yield 1
        raise StopIteration(3)

    try:
        return list(inner())
    except RuntimeError as error:
        return x, str(error), str(error.__cause__)


@snippet()
def traceback_read(x):
    try:
        fail("seen")
    except ValueError as error:
        lines = traceback.extract_tb(error.__traceback__)
        return x + 1, [(line.name, line.lineno - lines[0].lineno) for line in lines]


@whole()
def context_read(x):
    try:
        try:
            fail("first")
        except ValueError:
            raise KeyError("second")
    except KeyError as error:
        return x, repr(error.__context__), error.__cause__, error.__suppress_context__


@whole()
def exc_info_read(x):
    try:
        fail("seen")
    except ValueError:
        kind, value, _ = sys.exc_info()
        return x + 1, kind.__name__, str(value), sys.exc_info()[0] is ValueError


@snippet()
def kept_after_the_handler(x):
    kept = None
    try:
        x = x + 1
        fail("kept")
    except ValueError as error:
        kept = error
    return x, str(kept), len(traceback.extract_tb(kept.__traceback__))


@snippet()
def break_in_the_handler(x):
    try:
        x = x + 1
        fail("handled")
    except ValueError as error:
        print("caught", error)
        x = x * 2
    return x


@snippet()
def break_in_a_callee_of_the_handler(x):
    def note(text):
        print(text)
        return 2

    try:
        x = x + 1
        fail("handled")
    except ValueError as error:
        x = x * note(str(error))
    return x + 1


@snippet(raises=Failure)
def user_exception_leaves(x):
    x = x + 1
    raise Failure(3, "leaves")


@snippet(raises=ValueError)
def exception_of_another_class(x):
    try:
        x = x + 1
        fail("passes")
    except KeyError:
        return x


@snippet(raises=TypeError)
def clause_that_is_not_a_class(x):
    try:
        fail()
    except "ValueError":
        return x


@snippet(raises=ValueError)
def callee_that_leaves(x):
    def inner(a):
        a = a + 1
        fail("two deep")

    try:
        inner(x)
    finally:
        x = x * 2


@snippet(lambda: (tensor([1.0, 2.0]), tensor([[1.0]])))
def failing_op_is_caught(x, other):
    try:
        return x @ other @ x
    except RuntimeError as error:
        return x + 1, type(error) is RuntimeError


@whole()
def update_from_a_generator_that_raises(x):
    def pairs():
        yield "first", x + 1
        raise KeyError("second")

    made = {"first": x, "kept": 1}
    try:
        made.update(pairs(), kept=2)
    except KeyError:
        made["caught"] = True
    return made
