"""Counts how often each program of number_programs.py is compiled in torch, and writes number_counts.json.

python tests/guards/torch_numbers.py
"""

import logging
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
STORE = HERE / "number_counts.json"
LIMIT = 64


def outcome(function, arguments):
    """The result, or the exception, with everything that a program can observe about it."""
    try:
        return repr(function(*arguments))
    except Exception as error:
        lines = []
        traceback = error.__traceback__
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == "<program>":
                lines.append((traceback.tb_frame.f_code.co_name, traceback.tb_lineno))
            traceback = traceback.tb_next
        return type(error).__name__, str(error), lines


def run(library, program, calls):
    """The number of compilations after all calls, and the outcome of each."""
    compiled = 0

    def backend(gm, example_inputs):
        nonlocal compiled
        compiled += 1
        return gm.forward

    library._dynamo.reset()
    function = library.compile(program, backend=backend)
    outcomes = [outcome(function, call()) for call in calls]
    return compiled, outcomes


def is_exception(outcome):
    return isinstance(outcome, tuple)


def count_in_torch(torch, program, calls):
    """null if the compiled function raises where the program does not, or the reverse: then there is nothing to compare."""
    expected = [outcome(program, call()) for call in calls]
    compiled, found = run(torch, program, calls)
    works = list(map(is_exception, expected)) == list(map(is_exception, found))
    return compiled if works else "null"


def main():
    import torch
    import torch._dynamo

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    sys.path.insert(0, str(HERE))
    from number_programs import PROGRAMS, program_of

    torch._dynamo.config.recompile_limit = LIMIT
    torch._dynamo.config.accumulated_recompile_limit = 100 * LIMIT
    rows = ",\n".join(f' "{name}": {count_in_torch(torch, *program_of(torch, *row))}' for name, row in PROGRAMS.items())
    STORE.write_text("{\n" + rows + "\n}\n")


if __name__ == "__main__":
    main()
