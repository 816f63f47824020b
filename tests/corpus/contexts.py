"""with statements: user-defined managers, contextlib, the managers of minidynamo."""

import contextlib
import io
import threading

from differential import snippet, whole, whole_on_311

import minidynamo

LOG = []


class Manager:
    def __init__(self, log, swallow=False):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(kind.__name__ if kind else "exit")
        return self.swallow


@whole()
def user_manager(x):
    log = []
    with Manager(log) as manager:
        x = x + 1
        log.append("body")
    return x, log, manager is not None


@snippet()
def user_manager_swallows(x):
    log = []
    with Manager(log, swallow=True):
        x = x + 1
        raise ValueError
    return x, log


@snippet(raises=ValueError)
def user_manager_lets_through(x):
    with Manager([]):
        raise ValueError("through")


@whole()
def user_manager_and_return(x):
    log = []

    def inner():
        with Manager(log):
            return x + 1

    return inner(), log


@whole()
def user_manager_in_loop(x):
    log = []
    for i in range(4):
        with Manager(log):
            if i == 1:
                continue
            if i == 2:
                break
            x = x + i
    return x, log


@whole()
def two_managers(x):
    log = []
    with Manager(log) as a, Manager(log) as b:
        x = x + (a is not b)
    return x, log


@snippet()
def print_inside_with(x):
    log = []
    with Manager(log):
        x = x + 1
        print("inside")
        x = x * 2
    return x, log


class Printing:
    def __enter__(self):
        print("enter")
        return 3

    def __exit__(self, *args):
        print("exit")


@snippet()
def manager_that_prints(x):
    with Printing() as n:
        x = x * n
    return x + 1


@contextlib.contextmanager
def managed(log):
    log.append("before")
    try:
        yield len(log)
    finally:
        log.append("after")


@snippet()
def contextmanager_function(x):
    log = []
    with managed(log) as n:
        x = x + n
    return x, log


@snippet(raises=KeyError)
def contextmanager_function_raises(x):
    with managed([]):
        raise KeyError("k")


@whole()
def suppress(x):
    with contextlib.suppress(ZeroDivisionError):
        x = x + 1
        1 / 0
        x = x * 100
    return x


@whole()
def nullcontext(x):
    with contextlib.nullcontext(5) as n:
        return x + n


@whole_on_311()
def exit_stack(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(Manager(log))
        stack.callback(log.append, "callback")
        x = x + 1
    return x, log


@whole()
def no_grad(x):
    with minidynamo.no_grad():
        y = x + 1
        inside = minidynamo.is_grad_enabled()
    return y, inside, minidynamo.is_grad_enabled()


@whole()
def enable_grad_inside_no_grad(x):
    with minidynamo.no_grad():
        with minidynamo.enable_grad():
            inside = minidynamo.is_grad_enabled()
        x = x + 1
    return x, inside


@snippet()
def print_inside_no_grad(x):
    with minidynamo.no_grad():
        x = x + 1
        print(minidynamo.is_grad_enabled())
        x = x * 2
    return x, minidynamo.is_grad_enabled()


@snippet(raises=ValueError)
def no_grad_left_by_exception(x):
    with minidynamo.no_grad():
        raise ValueError("left")


@whole()
def no_grad_as_decorator(x):
    @minidynamo.no_grad()
    def inner(y):
        return y * 2, minidynamo.is_grad_enabled()

    return inner(x)


LOCK = threading.Lock()


@snippet()
def lock(x):
    with LOCK:
        y = x + 1
        held = LOCK.locked()
    return y, held, LOCK.locked()


@snippet()
def redirect_stdout(x):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print("captured")
        x = x + 1
    return x, out.getvalue()


@snippet(raises=TypeError)
def with_not_a_manager(x):
    with len(x):
        return x
