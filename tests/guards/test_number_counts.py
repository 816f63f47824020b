"""Functions over numbers and sizes that vary: each call as in eager Python, and no more compilations than in torch 2.13.

The programs are in number_programs.py; torch_numbers.py writes torch's counts.
"""

import json
import sys
from pathlib import Path

import pytest
from number_programs import COMPARISONS, PLACES, PROGRAMS, program_of
from torch_numbers import LIMIT, outcome, run

import minidynamo
from minidynamo._dynamo import config

COUNTS = json.loads((Path(__file__).parent / "number_counts.json").read_text())

# Programs that are compiled more often than in torch, and why.
IN_PYTHON = "torch leaves the calls to Python after the first"
BEYOND = "a number beyond 64 bits is guarded by another guard than one that may be a size"
CHOICE = "the choice between two sizes is a guard"
NOT_A_SIZE = "a size computed through a float, or by abs(), is specialised"
OF_BOOL = "a bool that becomes an operand is specialised"
HELD = "a number that the dtype does not hold, or that is not finite, is specialised"
LARGE = "the results may be huge"
SEVERAL = "a function that returns, or takes, several numbers is called at capture"
SUM = "sum() of floats is called at capture: since Python 3.12 it compensates for rounding"
DECIDES = "the operation, or the comparison with each element, is a guard on the size"
MORE = {
    **dict.fromkeys(
        (f"{kind} {name}" for kind in ("int", "float") for name in ("divmod_first", "divmod_second", "divmod_by")),
        IN_PYTHON,
    ),
    "int invert": IN_PYTHON,
    "float math.acosh": IN_PYTHON,
    **dict.fromkeys(
        (
            "int if_greater",
            "int if_equal",
            "int if_true",
            "int if_not",
            "int if_between",
            "int if_and",
            "int in_tuple",
            "int parity",
            "int even_by_bits",
            "int power_of_two",
            *(
                f"{place}: int if_greater"
                for place in PLACES
                if place not in ("default", "global", "attribute of module")
            ),
        ),
        BEYOND,
    ),
    **dict.fromkeys(("int bool", "int not", *(f"int {sign} 3" for sign in COMPARISONS)), OF_BOOL),
    **dict.fromkeys(("size of_max", "size of_min", "tuple largest", "shape largest"), CHOICE),
    "size of_int_of_half": NOT_A_SIZE,
    "size of_abs": NOT_A_SIZE,
    "float add_alpha": HELD,
    **dict.fromkeys(("int math.factorial", "int math.comb", "int math.perm"), LARGE),
    **dict.fromkeys(("float math.modf", "float math.frexp", "float fsum"), SEVERAL),
    **dict.fromkeys(
        ("float sum_of_list", "float sum_of_tuple", "float sum_of_generator", "float in_comprehension"), SUM
    ),
    **dict.fromkeys(
        (
            "size pad",
            "size slice_from",
            "tuple pad",
            "list pad",
            "tuple interpolate",
            "shape interpolate",
            "tuple contains",
            "shape contains",
        ),
        DECIDES,
    ),
}


@pytest.mark.counts_regions
@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_and_values(name):
    program, calls = program_of(minidynamo, *PROGRAMS[name])
    expected = [outcome(program, call()) for call in calls]
    with config.patch(recompile_limit=LIMIT, suppress_internal_errors=False):
        compiled, found = run(minidynamo, program, calls)
    assert found == expected
    count_in_torch = COUNTS[name]
    if count_in_torch is not None:  # null: torch fails
        # The counts are those of torch on 3.11; later versions inline comprehensions.
        is_more = compiled > count_in_torch
        assert is_more == (name in MORE) or (sys.version_info >= (3, 12) and not is_more), (compiled, count_in_torch)
