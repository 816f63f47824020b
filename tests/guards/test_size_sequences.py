"""Functions over sizes, called with one set of shapes after another: compiled as in eager Python.

The functions and their arguments are in size_functions.py. `python -m tests.drawn size_sequences` runs more.
"""

import contextlib
import io
import random
import traceback

import pytest
from size_functions import FUNCTIONS, Draw

import minidynamo
from minidynamo._dynamo import config

MODES = {
    "automatic": ({}, True),
    "dynamic": ({"dynamic": True}, True),
    "from_the_start": ({}, False),
    "eager": ({"dynamic": True, "backend": "eager"}, True),
}
CALLS = 12


def describe(value):
    """A value with everything that a program can observe about it."""
    if isinstance(value, minidynamo.Tensor):
        return (
            "tensor",
            tuple(value.shape),
            value.stride(),
            str(value.dtype),
            value.storage_offset(),
            repr(value.tolist()),
        )
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [describe(item) for item in value]
    if isinstance(value, dict):
        return "dict", [(describe(key), describe(item)) for key, item in value.items()]
    return type(value).__name__, repr(value)


def outcome(function, arguments, seed):
    """The result or exception, the state of the arguments afterwards, the output, and which results share memory
    with arguments."""
    args = arguments(Draw(seed))
    tensors = [arg for arg in args if isinstance(arg, minidynamo.Tensor)]
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            result = function(*args)
    except Exception as error:
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.endswith("functions.py")
        ]
        return type(error).__name__, str(error), lines, describe(args), output.getvalue()
    results = result if isinstance(result, tuple) else (result,)
    shared = [
        [item is tensor, item.numel() > 0 and item.data_ptr() == tensor.data_ptr()]
        for item in results
        if isinstance(item, minidynamo.Tensor)
        for tensor in tensors
    ]
    return describe(result), describe(args), shared, output.getvalue()


def check(mode, arguments, function, seeds):
    options, assume_static = MODES[mode]
    minidynamo._dynamo.reset()
    with config.patch(assume_static_by_default=assume_static):
        compiled = minidynamo.compile(function, recompile_limit=64, **options)
        for call, seed in enumerate(seeds):
            expected = outcome(function, arguments, seed)
            found = outcome(compiled, arguments, seed)
            assert found == expected, f"call {call} of seeds {seeds}: {describe(arguments(Draw(seed)))}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("arguments, function", FUNCTIONS, ids=[function.__name__ for _, function in FUNCTIONS])
def test_sequence(arguments, function, mode):
    for start in range(2):
        check(mode, arguments, function, range(start * CALLS, (start + 1) * CALLS))


def check_drawn(number):
    draw = random.Random(number)
    check(draw.choice(list(MODES)), *draw.choice(FUNCTIONS), range(number * CALLS, (number + 1) * CALLS))
