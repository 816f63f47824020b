"""Exceptions of user code are unchanged: type, text, place, handlers, cause and context."""

import minidynamo as torch
from minidynamo import tensor
from minidynamo._dynamo import graph_break

from .registry import program, whole


class Problem(Exception):
    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


def fails(x, n):
    y = x + 1
    if n > 2:
        raise Problem(f"of {len(y)}", n)
    return y


@whole(raises=Problem)
def uncaught_of_a_callee(x, log):
    x = x * 2
    return fails(x, 3)


@whole()
def caught_of_a_callee(x, log):
    try:
        return fails(x, 3)
    except Problem as problem:
        return x * problem.code, type(problem) is Problem


@program(raises=Problem)
def uncaught_after_a_break(x, log):
    x = x * 2
    graph_break()  # break
    log.append("before")
    return fails(x, 3)


@program()
def caught_after_a_break(x, log):
    x = x * 2
    try:
        graph_break()  # break
        fails(x, 3)
    except Problem as problem:
        log.append(problem.code)
    return x + 1


class Coded(Problem):
    """Without a user-defined __init__."""


class Bare(ValueError):
    pass


@whole(raises=Coded)
def of_a_derived_class(x, log):
    y = x + 1
    raise Coded("derived", len(y))


@program()
def with_its_arguments(x, log):
    y = x + 1
    try:
        raise Bare(len(y), "two", y)
    except ValueError as error:
        return error.args[0], error.args[2] * 2, str(error)  # break


@whole(raises=TypeError)
def made_with_a_wrong_keyword(x, log):
    y = x + 1
    raise Bare(y, k=1)


@whole(raises=TypeError)
def made_with_too_few_arguments(x, log):
    y = x + 1
    raise Problem("text")


@whole()
def made_and_not_raised(x, log):
    problem = Problem("text", 5)
    return x + problem.code, problem


@program()
def made_before_a_break_and_raised_after_it(x, log):
    problem = Problem("text", x + 1)
    graph_break()  # break
    try:
        raise problem
    except Problem as caught:
        return caught.code * 2, caught is problem


@whole(raises=TypeError)
def none_is_added(x, log):
    y = x + 1
    return y + None


@whole(raises=TypeError)
def a_string_is_added(x, log):
    y = x + 1
    return "s" + y


@whole(raises=TypeError)
def an_argument_too_many(x, log):
    y = x + 1
    return fails(y, 1, 2)


@whole(raises=TypeError)
def a_keyword_unknown(x, log):
    y = x + 1
    return fails(y, m=1)


@whole(raises=TypeError)
def a_number_is_called(x, log):
    y = x + 1
    number = 3
    return number(y)


@whole(raises=AttributeError)
def an_attribute_of_a_tensor_that_is_absent(x, log):
    y = x + 1
    return y.nothing


@whole(raises=AttributeError)
def an_attribute_of_an_argument_that_is_absent(x, log):
    return (x + 1) * x.nothing


@whole()
def an_attribute_that_is_absent_is_caught(x, log):
    try:
        return x.nothing
    except AttributeError:
        return x + 1


@whole(raises=AttributeError)
def an_attribute_of_none(x, log):
    y = x + 1
    return None.nothing + y


@whole(raises=NameError)
def an_unknown_name(x, log):
    y = x + 1
    return y + unknown  # noqa: F821


@whole(raises=UnboundLocalError)
def a_local_that_is_unset(x, log):
    y = x + 1
    if len(log) > 3:
        z = y
    return z


@whole(raises=KeyError)
def a_key_that_is_absent(x, log):
    y = x + 1
    return {"a": y}["b"]


@whole(raises=IndexError)
def an_index_of_a_list(x, log):
    y = x + 1
    return [y][3]


@whole(raises=IndexError)
def an_index_of_a_tensor(x, log):
    y = x + 1
    return y[5]


@whole()
def an_index_of_a_tensor_is_caught(x, log):
    try:
        y = x + 1
        return y[5]
    except IndexError:
        return x * 2


@whole(raises=IndexError)
def a_dimension_that_is_absent(x, log):
    y = x + 1
    return y.sum(dim=4)


@whole()
def a_dimension_that_is_absent_is_caught(x, log):
    y = x + 1
    try:
        y = y.sum(dim=4)
    except IndexError:
        log.append("caught")
    return y * 2


@whole(raises=RuntimeError)
def shapes_that_do_not_fit(x, log):
    y = x + 1
    return y + tensor([1.0, 2.0])


@whole()
def shapes_that_do_not_fit_are_caught(x, log):
    try:
        y = x + 1
        log.append("before")
        y = y @ tensor([1.0, 2.0])
        log.append("not reached")
    except RuntimeError as error:
        log.append(error is not None)
    return x * 2


@program(raises=RuntimeError)
def shapes_that_do_not_fit_after_a_break(x, log):
    y = x + 1
    graph_break()  # break
    log.append("before")
    return y.view(7)


@whole(raises=AssertionError)
def an_assert_of_a_number(x, log):
    y = x + 1
    assert len(y) == 2, f"has {len(y)}"
    return y


@whole(raises=AssertionError)
def an_assert_of_a_tensor(x, log):
    y = x + 1
    assert y.sum() > 100, "is small"
    return y


@whole(raises=ZeroDivisionError)
def a_division_by_zero(x, log):
    y = x + 1
    return y * (1 // len(log))


@whole(raises=ValueError)
def too_few_to_unpack(x, log):
    y = x + 1
    a, b, c = y, x
    return a + b + c


@whole(raises=ValueError)
def raise_from_a_cause(x, log):
    try:
        x = x + 1
        raise KeyError("cause")
    except KeyError as error:
        raise ValueError("effect") from error


@whole(raises=ValueError)
def raise_in_a_handler(x, log):
    try:
        x = x + 1
        {}["k"]
    except KeyError:
        x = x * 2
        raise ValueError("second")


@program(raises=ValueError)
def raise_in_a_handler_after_a_break(x, log):
    try:
        x = x + 1
        {}["k"]
    except KeyError:
        graph_break()  # break
        raise ValueError("second") from None


@whole(raises=Problem)
def raised_again(x, log):
    try:
        fails(x, 3)
    except Problem:
        log.append("seen")
        raise


@program(raises=Problem)
def raised_again_after_a_break(x, log):
    try:
        fails(x, 3)
    except Problem:
        log.append("seen")
        graph_break()  # break
        raise


@whole(raises=StopIteration)
def next_of_nothing(x, log):
    y = x + 1
    return next(iter([])), y


@whole()
def the_value_of_stop_iteration(x, log):
    def numbers():
        yield x + 1
        return x * 5

    made = numbers()
    next(made)
    try:
        next(made)
    except StopIteration as stop:
        return stop.value
    return None


@program(raises=RuntimeError)
def stop_iteration_in_a_generator(x, log):
    def numbers():
        yield x + 1
        graph_break()  # break
        raise StopIteration

    return [y * 2 for y in numbers()]


@whole(raises=Problem)
def finally_runs_when_it_raises(x, log):
    try:
        return fails(x, 3)
    finally:
        log.append("finally")


@program()
def finally_takes_the_exception(x, log):
    for _ in range(2):
        try:
            x = x + 1
            graph_break()  # break
            raise Problem("lost", 1)
        finally:
            log.append("finally")
            break
    return x


class Swallowing:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


@whole()
def swallowed_by_exit(x, log):
    with Swallowing():
        x = x + 1
        raise Problem("swallowed", 1)
    return x * 2


@program()
def swallowed_by_exit_after_a_break(x, log):
    with Swallowing():
        x = x + 1
        graph_break()  # break
        log.append(x.nothing)
    return x * 2


@program(raises=KeyError)
def raised_by_code_that_runs_at_a_break(x, log):
    try:
        x = x + 1
        log.append(raises_key_error(log))  # break
    except ValueError:
        log.append("wrong handler")
    return x


@torch.compiler.disable
def raises_key_error(log):
    raise KeyError(len(log))


@program()
def raised_by_code_that_runs_at_a_break_and_caught_above(x, log):
    def callee(y):
        y = y + 1
        try:
            raises_key_error(log)  # break
        finally:
            log.append("finally")
        return y

    try:
        callee(x * 2)
    except KeyError:
        log.append("caught")
        x = x + 1
    return x


@whole(raises=Problem)
def with_a_note(x, log):
    problem = Problem("noted", 1)
    problem.add_note("the note")
    y = x + 1
    raise problem


@program(raises=ExceptionGroup)
def a_group_that_is_left_over(x, log):
    try:
        x = x + 1
        graph_break()  # break
        raise ExceptionGroup("several", [ValueError(1), KeyError(2)])
    except* ValueError:
        log.append("value")
    return x


@program(raises=KeyError)
def on_several_lines(x, log):
    x = x + 1
    graph_break()  # break
    return x + fails(
        x,
        {
            "a": 1,
        }["b"],
    )


@whole(raises=TypeError)
def a_wrong_argument_of_an_op(x, log):
    y = x + 1
    return torch.relu(y, 3, 4)
