"""The table of generators that make programs, calls or files from a seed and compare them with an oracle.

The suite itself runs a smaller number of each, with other seeds, in the module that the row names.
"""

import importlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
# The modules import each other by name, as under pytest.
_folders = {path.parent for path in TESTS.rglob("test_*.py")}
FOLDERS = (TESTS, *sorted(path for path in _folders if not (path / "__init__.py").exists()))


@dataclass(frozen=True)
class Generator:
    """The generator of a module: `run(count, seed)` makes count programs, or `check(seed)` makes one. Raises if one
    is wrong."""

    module: str = ""
    binary: tuple = ()  # or a C++ test and its subcommand, which takes a seed and a number itself
    run: str = ""
    check: str = ""
    checked: bool = (
        True  # whether config.check_captures may be on: the generator compiles, and draws no other random numbers
    )
    needs: str = ""  # the module that it is compared with


GENERATORS = {
    "programs": Generator("random_programs.test_random_programs", check="check_seed"),
    "arithmetic": Generator("random_programs.test_arithmetic", check="check_seed"),
    "iterators": Generator("test_iterators_over_changing_containers", check="check"),
    "set_orders": Generator("test_set_orders", check="check_drawn"),
    "grad_flags": Generator("test_captured_grad_flags", check="check_drawn"),
    "loops": Generator("test_loops_drawn", check="check_drawn"),
    "writes": Generator("test_captured_writes", check="run_program"),
    "windows": Generator("test_writes_in_place", check="check_drawn"),
    "torch_writes": Generator("test_torch_writes", check="check_drawn", needs="torch"),
    "numpy_programs": Generator("test_numpy_programs", check="check_drawn", needs="numpy"),
    "appends": Generator("test_appends", check="check_drawn", needs="torch"),
    "size_decisions": Generator("test_size_decisions", run="run_drawn"),
    "size_sequences": Generator("test_size_sequences", check="check_drawn"),
    "symbolic_sizes": Generator("test_symbolic_sizes", check="check_drawn"),
    "changing_sizes": Generator("test_changing_sizes", check="check_drawn"),
    "guarded_objects": Generator("test_guard_memo", run="run_objects", checked=False),
    "changed_modules": Generator("test_guard_memo", run="run_modules"),
    "order_of_deaths": Generator("test_order_of_deaths", check="check_drawn", checked=False),
    "calls": Generator("test_op_fuzz", run="run_calls", needs="torch"),
    "operations": Generator("test_ops_differential", run="run_drawn"),
    "mean_pools": Generator("test_mean_pool_layouts", check="check_drawn", checked=False),
    "interpolation": Generator("test_interpolation", check="check_drawn", checked=False, needs="torch"),
    "byte_images": Generator("test_byte_interpolation", check="check_drawn", checked=False, needs="torch"),
    "bad_arguments": Generator("test_bad_input", check="check_drawn", checked=False),
    "row_loops": Generator("test_plan_row_reductions", check="check_drawn"),
    "indexed_rows": Generator("test_plan_indexed_rows", check="check_drawn"),
    "rolls": Generator("test_plan_rolls", check="check_drawn"),
    "machine_code": Generator("test_machine_code", check="check_drawn"),
    "torch_gradients": Generator("test_torch_gradients_drawn", check="check_drawn", needs="torch", checked=False),
    "torch_steps": Generator("test_torch_steps_drawn", check="check_drawn", needs="torch", checked=False),
    "own_steps": Generator("test_torch_steps_drawn", check="check_own", needs="torch", checked=False),
    "convolution_gradients": Generator("test_convolution_gradients", check="check_drawn", needs="torch", checked=False),
    "depthwise": Generator("test_depthwise", check="check_drawn", checked=False),
    "channels_last": Generator("test_torch_channels_last", check="check_drawn", needs="torch"),
    "max_pool": Generator("test_max_pool", check="check_drawn", needs="torch", checked=False),
    "gradients": Generator("test_gradients_drawn", check="check_drawn", checked=False, needs="torch"),
    "texts": Generator("test_repr", run="run_drawn", checked=False, needs="torch"),
    "graphs": Generator(binary=("plan_test", "graphs"), checked=False),
    "products": Generator(binary=("plan_test", "products"), checked=False),
    "instructions": Generator(binary=("machine_code_test", "instructions"), checked=False),
    "tensor_files": Generator("test_safetensors_fuzz", run="run_drawn", checked=False),
    "checkpoints": Generator("test_checkpoint_fuzz", check="check", checked=False),
}


def run_binary(name, what, count, seed):
    """The most recent build of the binary in the build folders."""
    built = sorted((TESTS.parent / "build").glob(f"*/{name}"), key=lambda path: path.stat().st_mtime)
    assert built, f"{name} is not built: tools/dev_build.sh, or make test"
    done = subprocess.run([built[-1], "--drawn", what, str(seed), str(count)], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"


def load(name):
    """Returns run(count, seed) of a row."""
    row = GENERATORS[name]
    if row.binary:
        return lambda count, seed: run_binary(*row.binary, count, seed)
    for folder in map(str, FOLDERS):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    module = importlib.import_module(row.module)
    if row.run:
        return getattr(module, row.run)
    check = getattr(module, row.check)

    def run(count, seed):
        for number in range(seed, seed + count):
            try:
                check(number)
            except BaseException as error:
                error.add_note(f"{name}: seed {number}")
                raise

    return run
