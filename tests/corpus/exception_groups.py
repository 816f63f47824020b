"""except*, exception groups and the state of an exception: notes, context, cause, and which one is being handled."""

import contextlib
import sys

from differential import snippet, whole, whole_on_311


def _raise(*errors):
    raise ExceptionGroup("several", list(errors))


@whole()
def all_clauses(x):
    seen = []
    try:
        _raise(ValueError(1), KeyError("k"), ValueError(2))
    except* ValueError as group:
        seen.append([error.args for error in group.exceptions])
        seen.append((group.message, len(group.exceptions)))
    except* KeyError as group:
        seen.append(group.exceptions[0].args)
    return x + len(seen), seen


@whole()
def one_clause_of_several(x):
    seen = []
    try:
        _raise(ValueError(1), ValueError(2))
    except* KeyError:
        seen.append("no")
    except* (ValueError, TypeError) as group:
        seen.append(len(group.exceptions))
    else:
        seen.append("else")
    finally:
        seen.append("finally")
    return x, seen


@whole()
def nothing_raised(x):
    seen = []
    try:
        seen.append(1)
    except* ValueError:
        seen.append(2)
    else:
        seen.append(3)
    return x, seen


@whole()
def naked_exception(x):
    try:
        raise ValueError("bare")
    except* ValueError as group:
        seen = group.message, len(group.exceptions), group.exceptions[0].args, isinstance(group, ExceptionGroup)
    return x, seen


@whole()
def rest_propagates(x):
    seen = []
    try:
        try:
            _raise(ValueError(1), KeyError(2), TypeError(3))
        except* KeyError as group:
            seen.append(len(group.exceptions))
    except ExceptionGroup as group:
        seen.append([type(error).__name__ for error in group.exceptions])
    return x, seen


@whole()
def nested_groups(x):
    seen = []
    inner = ExceptionGroup("inner", [ValueError(1), TypeError(2)])
    try:
        try:
            _raise(inner, KeyError(3))
        except* ValueError as group:
            seen.append((len(group.exceptions), group.exceptions[0].message, group.exceptions[0].exceptions[0].args))
    except* (TypeError, KeyError) as group:
        seen.append(([type(error).__name__ for error in group.exceptions], group.exceptions[0].message))
    return x, seen


@snippet(raises=ExceptionGroup)
def rest_leaves(x):
    try:
        _raise(ValueError(1), KeyError(2))
    except* KeyError:
        x = x + 1
    return x


@snippet(raises=ExceptionGroup)
def raised_in_a_clause(x):
    try:
        _raise(ValueError(1), KeyError(2))
    except* KeyError:
        raise TypeError("new")
    return x


@snippet()
def raised_in_a_clause_and_caught(x):
    seen = []
    try:
        try:
            _raise(ValueError(1), KeyError(2))
        except* KeyError:
            raise TypeError("new")
    except* TypeError as group:
        seen.append((type(group.exceptions[0]).__name__, type(group.exceptions[0].__context__).__name__))
    except* ValueError as group:
        seen.append(len(group.exceptions))
    return x, seen


@snippet()
def raised_again_in_a_clause(x):
    seen = []
    try:
        try:
            _raise(ValueError(1), KeyError(2))
        except* KeyError:
            raise
    except* (KeyError, ValueError) as group:
        seen.append([type(error).__name__ for error in group.exceptions])
    return x, seen


@snippet(raises=TypeError)
def group_in_a_clause(x):
    try:
        _raise(ValueError(1))
    except* ExceptionGroup:
        x = x + 1
    return x


@whole()
def split_and_subgroup(x):
    group = ExceptionGroup("g", [ValueError(1), KeyError(2), ExceptionGroup("h", [ValueError(3)])])
    match, rest = group.split(ValueError)
    none = group.subgroup(TypeError)
    by_function = group.subgroup(lambda error: isinstance(error, KeyError))
    return (
        x,
        len(match.exceptions),
        match.exceptions[1].message,
        rest.exceptions[0].args,
        none,
        by_function.exceptions[0] is group.exceptions[1],
        group.split((ValueError, KeyError))[1],
        group.split(ExceptionGroup)[0] is group,
    )


@whole()
def derived(x):
    group = ExceptionGroup("g", [ValueError(1)])
    other = group.derive([KeyError(2)])
    return x, other.message, other.exceptions[0].args, type(other).__name__


@whole()
def base_group(x):
    plain = BaseExceptionGroup("g", [ValueError(1)])
    base = BaseExceptionGroup("g", [KeyboardInterrupt(), ValueError(1)])
    return x, type(plain).__name__, type(base).__name__, base.args[0], len(base.args[1])


@snippet()
def group_kept(x):
    return x, ExceptionGroup("g", [ValueError(1), KeyError(2)])


@snippet()
def wrong_groups(x):
    seen = []
    for arguments in (("g", []), ("g", [1]), (1, [ValueError()]), ("g", [KeyboardInterrupt()]), ("g",)):
        try:
            ExceptionGroup(*arguments)
        except (TypeError, ValueError) as error:
            seen.append((type(error).__name__, error.args))
    return x, seen


class Group(ExceptionGroup):
    def derive(self, exceptions):
        return Group(self.message + "'", exceptions)


@snippet()
def user_group(x):
    try:
        raise Group("own", [ValueError(1), KeyError(2)])
    except* ValueError as group:
        seen = group.message, type(group).__name__
    except* KeyError:
        pass
    return x, seen


@whole()
def notes(x):
    try:
        error = ValueError("v")
        error.add_note("first")
        error.add_note("second")
        raise error
    except ValueError as caught:
        return x, list(caught.__notes__)


@whole()
def notes_of_parts(x):
    group = ExceptionGroup("g", [ValueError(1), KeyError(2)])
    group.add_note("whole")
    part = group.subgroup(KeyError)
    part.add_note("part")
    return x, group.__notes__, part.__notes__


@snippet()
def noted_and_kept(x):
    error = ValueError("v")
    error.add_note("kept")
    return x, error, error.__notes__


@snippet(raises=ValueError)
def noted_and_raised(x):
    error = ValueError("v")
    error.add_note("kept")
    raise error


@snippet(raises=TypeError)
def note_that_is_not_a_string(x):
    ValueError("v").add_note(1)
    return x


@whole()
def cause(x):
    try:
        try:
            {}["missing"]
        except KeyError as error:
            raise ValueError("v") from error
    except ValueError as error:
        return x, error.__cause__.args, error.__suppress_context__, error.__context__ is error.__cause__


@whole()
def cause_that_is_a_class(x):
    try:
        raise ValueError("v") from KeyError
    except ValueError as error:
        return x, type(error.__cause__).__name__, error.__suppress_context__, error.__context__


@whole()
def cause_that_is_none(x):
    try:
        try:
            {}["missing"]
        except KeyError:
            raise ValueError("v") from None
    except ValueError as error:
        return x, error.__cause__, error.__suppress_context__, type(error.__context__).__name__


@whole()
def context(x):
    try:
        try:
            try:
                raise KeyError("k")
            except KeyError:
                raise TypeError("t")
        except TypeError:
            raise ValueError("v")
    except ValueError as error:
        return x, error.__context__.args, error.__context__.__context__.args, error.__context__.__context__.__context__


@whole()
def context_that_would_be_a_cycle(x):
    first = ValueError("first")
    try:
        try:
            raise first
        except ValueError:
            raise KeyError("second")
    except KeyError as second:
        try:
            raise first
        except ValueError as error:
            return x, error.__context__ is second, second.__context__


@snippet(raises=ValueError)
def cause_kept_and_raised(x):
    error = ValueError("v")
    error.__cause__ = KeyError("k")
    raise error


@snippet()
def cause_kept(x):
    error = ValueError("v")
    error.__cause__ = KeyError("k")
    return x, error, error.__cause__


@whole()
def handled_now(x):
    before = sys.exc_info()
    try:
        raise ValueError("v")
    except ValueError as error:
        during = sys.exc_info()[0] is ValueError, sys.exc_info()[1] is error, sys.exception() is error
    return x, before, during, sys.exception()


def _handled_in(value):
    try:
        raise KeyError(value)
    except KeyError:
        yield sys.exception().args
    yield sys.exception() is None


@whole()
def handled_by_a_generator(x):
    seen = []
    generator = _handled_in(1)
    try:
        raise ValueError("v")
    except ValueError:
        seen.append(next(generator))
        seen.append(sys.exception().args)
        try:
            raise
        except ValueError as error:
            seen.append(error.args)
    seen.extend(generator)
    return x, seen


@snippet(raises=ValueError)
def raised_again_around_a_generator(x):
    generator = _handled_in(1)
    try:
        raise ValueError("v")
    except ValueError:
        next(generator)
        raise


def _called_while_handling(x):
    return x + 1, sys.exc_info()[0], sys.exception()


@snippet()
def handled_by_the_caller(x):
    from minidynamo import compile

    compiled = compile(_called_while_handling)
    plain = compiled(x)
    try:
        raise ValueError("v")
    except ValueError:
        handled = compiled(x)
    return x, plain[1:], handled[1], handled[2].args


class _Exits:
    def __init__(self, seen, name, swallows=False, error=None):
        self.seen, self.name, self.swallows, self.error = seen, name, swallows, error

    def __enter__(self):
        self.seen.append(("enter", self.name))
        return self

    def __exit__(self, kind, error, traceback):
        self.seen.append((self.name, kind and kind.__name__, error and error.args, traceback is not None))
        if self.error is not None:
            raise self.error
        return self.swallows


@whole_on_311()
def stack_that_catches(x):
    seen = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(_Exits(seen, "outer", swallows=True))
        stack.enter_context(_Exits(seen, "inner"))
        raise ValueError("v")
    return x, seen


@snippet(raises=ValueError)
def stack_that_propagates(x):
    seen = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(_Exits(seen, "only"))
        raise ValueError("v")
    return x


@snippet()
def stack_with_a_failing_exit(x):
    seen = []
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_Exits(seen, "outer"))
            stack.enter_context(_Exits(seen, "inner", error=KeyError("k")))
            raise ValueError("v")
    except KeyError as error:
        seen.append((error.args, type(error.__context__).__name__))
    return x, seen


@snippet()
def stack_under_a_handler(x):
    seen = []
    try:
        raise TypeError("t")
    except TypeError:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_Exits(seen, "outer", swallows=True))
            raise ValueError("v")
    return x, seen


@snippet()
def stack_moved_by_pop_all(x):
    seen = []
    with contextlib.ExitStack() as stack:
        stack.callback(seen.append, 1)
        stack.push(lambda *details: seen.append(details))
        kept = stack.pop_all()
    seen.append("left")
    kept.close()
    return x, seen
