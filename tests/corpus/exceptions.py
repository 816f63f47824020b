"""try, except, finally, raise; exceptions that leave the function."""

from differential import snippet, whole

import minidynamo
from minidynamo import tensor


class Problem(Exception):
    def __init__(self, code, text="none"):
        super().__init__(text)
        self.code = code


def fail(x):
    raise ValueError("failed in callee")


def fail_deep(x):
    y = x + 1
    return fail(y)


@whole()
def try_without_exception(x):
    try:
        y = x + 1
    except ValueError:
        y = x
    return y * 2


@whole()
def try_else_finally(x):
    order = []
    try:
        order.append("try")
    except ValueError:
        order.append("except")
    else:
        order.append("else")
    finally:
        order.append("finally")
    return x, order


@whole()
def raise_and_catch(x):
    try:
        raise ValueError("a")
    except ValueError:
        x = x + 1
    return x


@whole()
def caught_exception_used(x):
    try:
        raise Problem(3, "text")
    except Problem as problem:
        return x + problem.code, str(problem), problem.args


@snippet()
def catch_from_callee(x):
    try:
        y = fail_deep(x)
    except ValueError as error:
        return x * 2, str(error)
    return y


@snippet()
def catch_base_class(x):
    try:
        {}["k"]
    except LookupError as error:
        return x + 1, type(error).__name__


@whole()
def catch_tuple_of_types(x):
    try:
        [][0]
    except (KeyError, IndexError):
        return x + 1


@whole()
def catch_second_clause(x):
    try:
        int("z")
    except KeyError:
        return x
    except ValueError:
        return x + 1
    except Exception:
        return x + 2


@whole()
def bare_except(x):
    try:
        1 / 0
    except:  # noqa: E722
        x = x + 1
    return x


@snippet(raises=ValueError)
def uncaught(x):
    y = x + 1
    raise ValueError("uncaught")
    return y


@snippet(raises=ValueError)
def uncaught_from_callee(x):
    y = x + 1
    return fail_deep(y)


@snippet(raises=KeyError)
def wrong_clause(x):
    try:
        {}["k"]
    except IndexError:
        return x


@snippet(raises=RuntimeError)
def raise_from(x):
    try:
        1 / 0
    except ZeroDivisionError as error:
        raise RuntimeError("outer") from error


@snippet(raises=RuntimeError)
def raise_from_none(x):
    try:
        1 / 0
    except ZeroDivisionError:
        raise RuntimeError("outer") from None


@snippet(raises=KeyError)
def raise_in_handler(x):
    try:
        1 / 0
    except ZeroDivisionError:
        raise KeyError("k")


@snippet(raises=ZeroDivisionError)
def reraise(x):
    try:
        1 / 0
    except ZeroDivisionError:
        x = x + 1
        raise


@snippet(raises=RuntimeError)
def reraise_with_nothing(x):
    raise


@snippet(raises=ValueError)
def raise_class(x):
    raise ValueError


@snippet(raises=TypeError)
def raise_not_an_exception(x):
    raise 3


@whole()
def finally_runs_on_return(x):
    order = []

    def inner():
        try:
            return x + 1
        finally:
            order.append("finally")

    return inner(), order


@whole()
def finally_overrides_return(x):
    def inner():
        try:
            return 1
        finally:
            return 2  # noqa: B012

    return x, inner()


@snippet(raises=ValueError)
def finally_runs_on_exception(x):
    try:
        raise ValueError("a")
    finally:
        print("finally")


@whole()
def finally_in_loop(x):
    order = []
    for i in range(4):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            x = x + i
        finally:
            order.append(i)
    return x, order


@whole()
def nested_try(x):
    try:
        try:
            [][0]
        except KeyError:
            return x
        finally:
            x = x + 1
    except IndexError:
        x = x * 2
    return x


@snippet()
def exception_name_is_deleted(x):
    error = 1
    try:
        raise ValueError
    except ValueError as error:
        pass
    try:
        return error
    except NameError as missing:
        return x, type(missing).__name__


@whole()
def try_in_loop(x):
    bad = 0
    for text in ("1", "x", "3"):
        try:
            x = x + int(text)
        except ValueError:
            bad += 1
    return x, bad


@snippet()
def stop_iteration_caught(x):
    items = iter([1])
    next(items)
    try:
        next(items)
    except StopIteration as stop:
        return x, stop.value


@snippet()
def try_around_failing_op(x):
    try:
        y = x + tensor([1.0, 2.0])
    except RuntimeError as error:
        return x * 2, type(error).__name__
    return y


@snippet(raises=RuntimeError)
def failing_op(x):
    y = x + 1
    return y + tensor([1.0, 2.0])


@snippet(raises=RuntimeError)
def failing_op_in_callee(x):
    def inner(a):
        return a @ tensor([[1.0, 2.0]])

    y = x + 1
    return inner(y)


@snippet(raises=TypeError)
def op_on_none(x):
    return x + None


@snippet(raises=IndexError)
def failing_index(x):
    y = x * 2
    return y[5]


@snippet()
def print_inside_try(x):
    try:
        y = x + 1
        print("in try")
        y = y * 2
    except ValueError:
        y = x
    return y


@snippet()
def print_inside_except(x):
    try:
        raise ValueError("v")
    except ValueError as error:
        x = x + 1
        print("caught", error)
        x = x * 2
    return x


@snippet()
def print_inside_finally(x):
    try:
        x = x + 1
    finally:
        x = x * 2
        print("finally")
        x = x - 1
    return x


@snippet()
def raise_after_print_caught(x):
    try:
        x = x + 1
        print("before")
        fail(x)
    except ValueError as error:
        return x * 2, str(error)


@whole()
def exception_notes_and_groups(x):
    error = ValueError("a")
    error.add_note("note")
    return x, error.__notes__


@whole()
def exception_group(x):
    seen = []
    try:
        raise ExceptionGroup("many", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        seen.append(len(group.exceptions))
    except* KeyError:
        seen.append("key")
    return x, seen


@snippet()
def exception_stored(x):
    try:
        1 / 0
    except ZeroDivisionError as error:
        kept = error
    return x, type(kept).__name__, kept.__traceback__.tb_lineno > 0


@snippet(raises=KeyError)
def exception_while_iterating_dict(x):
    for key in ["a", "b"]:
        x = x + {"a": 1}[key]
    return x


@whole()
def not_implemented(x):
    try:
        raise NotImplementedError
    except NotImplementedError:
        return minidynamo.relu(x)


@whole()
def sys_exc_info(x):
    import sys

    try:
        raise ValueError("v")
    except ValueError:
        kind = sys.exc_info()[0]
    return x, kind, sys.exc_info()[0]


@snippet()
def warning(x):
    import warnings

    y = x + 1
    warnings.warn("careful", UserWarning, stacklevel=1)
    return y * 2
