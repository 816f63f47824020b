"""How a program declares its outcome in each mode."""

from dataclasses import dataclass

PROGRAMS = {}
RUNS = None  # as in eager Python


@dataclass(frozen=True)
class Program:
    name: str
    function: object
    raises: type | None  # the exception of eager Python
    # For each mode: RUNS, or the contents of the list when the policy's error has left the function.
    default: list | None
    error_on_graph_break: list | None
    fullgraph: list | None


def program(*, raises=None, default=RUNS, strict=(), fullgraph=()):
    """A program that breaks: under both stricter modes an error before anything has happened, unless it declares
    otherwise."""

    def register(function):
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        if name in PROGRAMS:
            raise ValueError(f"two programs are named {name}")
        logs = [RUNS if log is RUNS else list(log) for log in (default, strict, fullgraph)]
        PROGRAMS[name] = Program(name, function, raises, *logs)
        return function

    return register


def whole(*, raises=None):
    """A program that is captured without a break in each mode."""
    return program(raises=raises, strict=RUNS, fullgraph=RUNS)
