"""Runs a call once and records everything observable about it."""

import io
import sys
import warnings
from dataclasses import dataclass


@dataclass
class Outcome:
    result: object
    args: tuple
    state: dict
    printed: str
    warned: list
    error: BaseException | None
    traceback: list


def observe(function, args, namespace=None, state=()):
    """Calls function(*args). `state` names globals of `namespace` whose values afterwards belong to the outcome."""
    # An exact TextIOWrapper, as sys.stdout is in a program; a StringIO would be treated as a user-defined object.
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    saved, sys.stdout = sys.stdout, stdout
    result = error = None
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = function(*args)
            except Exception as raised:
                error = raised
    finally:
        sys.stdout = saved
    stdout.flush()
    return Outcome(
        result=result,
        args=args,
        state={name: namespace.get(name, "(deleted)") for name in state},
        printed=stdout.buffer.getvalue().decode("utf-8"),
        warned=[(w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught],
        error=error,
        traceback=frames_of(error),
    )


def frames_of(error):
    """The user's frames that an exception passed through, outermost first."""
    frames = []
    step = error.__traceback__ if error is not None else None
    while step is not None:
        code = step.tb_frame.f_code
        if code is not observe.__code__:
            frames.append((code.co_filename, code.co_name, step.tb_lineno))
        step = step.tb_next
    return frames
