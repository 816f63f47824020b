"""What a program says about capture from inside its own code.

Capture knows these functions by identity; called by plain Python they do what is written here.
"""

from .._C import PolicyFunction
from .._C import _exchange_error_on_graph_break as _exchange


def graph_break(msg=""):
    """Ends the captured region here; does nothing in plain Python. The message is shown in the record."""


class error_on_graph_break:
    """Makes graph breaks errors, or allows them again, for a block or for each call of a function.

    As a decorator of a class it applies to every function written in the class body, and returns the same class.
    compile(fullgraph=True) takes precedence. The setting belongs to the thread.
    """

    def __init__(self, error_on_graph_break):
        if error_on_graph_break is not True and error_on_graph_break is not False:
            raise TypeError(f"error_on_graph_break() takes a bool, not {type(error_on_graph_break).__name__}")
        self._value = error_on_graph_break
        self._previous = []

    def __enter__(self):
        self._previous.append(_exchange(self._value))

    def __exit__(self, exc_type, exc_value, traceback):
        _exchange(self._previous.pop())

    def __call__(self, function):
        return _decorate(function, error_on_graph_break=self._value)


def disable(fn=None, recursive=True, *, reason=None):
    """Leaves a function to Python, together with all that it calls, or with recursive=False its own frame only.

    disable(function), @disable and @disable(reason="...") are the forms. A class is treated as by error_on_graph_break.
    """
    if not isinstance(recursive, bool):
        raise TypeError(f"disable(): recursive must be a bool, not {type(recursive).__name__}")
    if reason is not None and not isinstance(reason, str):
        raise TypeError(f"disable(): reason must be a str, not {type(reason).__name__}")
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)
    return _decorate(fn, disable=True, recursive=recursive, reason=reason)


def _decorate(function, **change):
    if isinstance(function, type):
        return _decorate_class(function, change)
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(PolicyFunction(function.__func__, **change))
    return PolicyFunction(function, **change)


def _decorate_class(cls, change):
    for name, value in list(vars(cls).items()):
        if isinstance(value, property):
            accessors = (value.fget, value.fset, value.fdel)
            changed = property(*(PolicyFunction(f, **change) if f else None for f in accessors), value.__doc__)
        elif isinstance(value, (staticmethod, classmethod)) or hasattr(value, "__code__"):
            changed = _decorate(value, **change)
        else:
            continue
        setattr(cls, name, changed)
    return cls
