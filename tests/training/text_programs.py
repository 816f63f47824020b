"""Programs as text, run with torch and with minidynamo under the name `torch`: results, errors and warnings are compared."""

import re
import textwrap
import warnings

import pytest

import minidynamo


def _plain(value, library):
    """Tensors as their dtype, shape, flags and elements; containers by type; other objects by their text."""
    if isinstance(value, library.Tensor):
        facts = str(value.dtype).rpartition(".")[2], tuple(value.shape), value.requires_grad
        return ("Tensor", *facts, _plain(value.detach().tolist(), library))
    if isinstance(value, dict):
        return "dict", [(key, _plain(each, library)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [_plain(each, library) for each in value]
    if isinstance(value, (bool, int, float, complex, type(None))):
        return value
    return str(value).replace("minidynamo", "torch")


def outcome(source, library, names=None):
    """What `result` is behind the program, or the error; and the warnings."""
    space = {"torch": library, "warnings": warnings, **(names or {})}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        # Otherwise a warning that another test has met already is not given again.
        library.set_warn_always(True)
        try:
            exec(compile(textwrap.dedent(source), "<program>", "exec"), space)  # noqa: S102  # the programs of the tests
            end = "result", _plain(space.get("result"), library)
        except Exception as error:
            end = type(error).__name__, str(error).replace("minidynamo", "torch")
        finally:
            library.set_warn_always(False)
    return (*end, [_warning(each) for each in seen if not _is_of_tools(each)])


def _is_of_tools(seen):
    """What torch's own tracers, in which some transforms run, say of themselves."""
    return seen.category is DeprecationWarning or "get_attr Node" in str(seen.message)


def _warning(seen):
    text = str(seen.message).replace("minidynamo", "torch")
    return seen.category.__name__, re.sub(r" \(Triggered internally at .*\)", "", text)


def is_close(one, other):
    """The same structure, floats to 1e-9."""
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(is_close, one, other))
    if isinstance(one, (float, complex)) and isinstance(other, (float, complex)):
        if one != one or other != other:
            return one != one and other != other
        return one == other or abs(one - other) <= 1e-9 * max(1.0, abs(one), abs(other))
    return type(one) is type(other) and one == other


def table(programs):
    """A parameter `source`, one for each named program."""
    return pytest.mark.parametrize("source", programs.values(), ids=programs.keys())


def check(source, torch):
    """The program does the same with both libraries."""
    theirs, ours = outcome(source, torch), outcome(source, minidynamo)
    assert is_close(ours, theirs), f"\nours:   {ours}\ntorch:  {theirs}"
