"""Only the program imports modules while one of its frames runs: the modules that capture needs are imported before.

A module may be loading at that time, or be a test's replacement for another one (CPython's test_ordered_dict).
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minidynamo

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "csrc"
PACKAGE = ROOT / "python" / "minidynamo"

IMPORTS = re.compile(r"\bPyImport_(Import\w*|AddModule\w*|ExecCodeModule\w*|ReloadModule)\b|\bmodule_::import\b")
# Where C++ may import: the function for all library modules, imports before any capture, and imports that a program
# requests.
IN_CPP = {
    "cpython/imports.cpp": "import_library_modules(), with minidynamo",
    "cpython/cached_function.c": "functools and builtins, loaded by then, when the first cached function is met",
    "bindings/engine.cpp": "os and minidynamo, with minidynamo",
    "frontends/minidynamo/grad_node_object.cpp": "minidynamo.autograd.graph, with the first grad_fn",
    "frontends/minidynamo/tensor_gradients.cpp": "minidynamo.autograd, by Tensor.backward() and kin",
    "frontends/minidynamo/tensor_interchange.cpp": "numpy, by Tensor.numpy()",
}

# Functions of the package that import, and that a program calls for that purpose.
CALLED_BY_PROGRAMS = {
    "__init__.py": {"show_config", "__getattr__"},
    "__main__.py": {"main"},
    "_dynamo/_compile.py": {"_compiled_module", "_split_options", "_chosen_backend", "_caller_of"},
    "_numpy_routines/__init__.py": {"run"},  # NumPy computes decompositions
    "_numpy_routines/lapack.py": {"_lstsq"},
    "_logging.py": {"_tell_steps", "_tell_summary", "_is_module"},
    "_log_records.py": {"use_logging"},
    "_missing_names.py": {"explain_missing", "__getattr__"},
    "_serialization/saving.py": {"load", "save"},
    "_serialization/checkpoint_writing.py": {"_tensor"},
    "_serialization/stored_tensors.py": {"_rebuild_parameter"},
    "_tensor/names.py": {"set_printoptions"},
    "_tensor/typed_tensors.py": {"__or__", "__ror__"},  # an annotation is evaluated
    "_families/torch_backend.py": {"minidynamo"},
    "autograd/anomaly_mode.py": {"_stack"},  # a program turned the mode on
    "compat/in_place.py": {"_install_in_children"},
    "_dynamo/__init__.py": {"optimize", "explain", "why", "__getattr__"},
    "_dynamo/_explain.py": None,
    "_dynamo/backends.py": {"lookup_backend"},
    "_dynamo/config.py": {"_get_debug", "_set_debug", "__call__", "get_config_copy", "save_config", "load_config"},
    "_dynamo/decorators.py": {"_forced", "_compare_signatures"},
    "_dynamo/module_wrapper.py": {"wrapper_class"},
    "_dynamo/eval_frame.py": {"enable_everywhere"},
    "_dynamo/exc.py": {"real_stack", "__init__"},
    "hub.py": {"_bar"},
    "library/operator_gradients.py": {"_mapped"},
    "library/opcheck.py": {"_check_capture"},
    "nn/init.py": None,
    "nn/module.py": {"compile"},
    "utils/data/dataloader.py": {"_get_iterator", "_checked_context", "__getattr__"},
}
# Reached while frames run.
OF_LOADED_MODULES = {
    "_log_records.py": {"_loggers": "minidynamo._logging, if `logging` is loaded"},
    "_families/__init__.py": {"load": "modules of the package, when a library that is wholly imported is met"},
}


def test_cpp_sources():
    found = {
        str(path.relative_to(SOURCES))
        for path in SOURCES.rglob("*")
        if path.suffix in (".h", ".cpp", ".c", ".inl") and IMPORTS.search(path.read_text())
    }
    assert found == set(IN_CPP)


def importing_functions(tree):
    """Names of the functions and methods that contain an import."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner = [each for each in ast.walk(node) if isinstance(each, (ast.Import, ast.ImportFrom))]
            calls = [
                each
                for each in ast.walk(node)
                if isinstance(each, ast.Call) and ast.unparse(each.func) in ("__import__", "import_module")
            ]
            if inner or calls:
                yield node.name


def test_python_sources():
    for path in PACKAGE.rglob("*.py"):
        name = str(path.relative_to(PACKAGE))
        allowed = CALLED_BY_PROGRAMS.get(name, set())
        if allowed is None:
            continue
        found = set(importing_functions(ast.parse(path.read_text())))
        assert found <= allowed | set(OF_LOADED_MODULES.get(name, {})), name


def test_the_lists_name_existing_files():
    for name, allowed in CALLED_BY_PROGRAMS.items():
        found = set(importing_functions(ast.parse((PACKAGE / name).read_text())))
        assert found and (allowed is None or allowed <= found), (name, (allowed or set()) - found)


# No statement of it imports after `seen` has started to record.
PROGRAM = """
import sys
import minidynamo as md
{imports}
from minidynamo._dynamo.eval_frame import enable_everywhere

class Meta(type):
    def __instancecheck__(cls, value):
        return value == 3

class Odd(metaclass=Meta):
    pass

Sized = sys.modules["_collections_abc"].Sized
Base = sys.modules["abc"].ABCMeta("Base", (), {{}})
Base.register(dict)

class Kind(sys.modules["enum"].Enum):
    one = 1

def backend(gm, inputs):
    return gm.forward

def keep(entries):
    return [True for entry in entries]

def generator(x):
    yield x * 2
    yield x * 3

@md.compiler.disable
def kept_out(x):
    return x

def raising(x):
    return x + "a"

def breaking(x):
    md._dynamo.graph_break()
    return x + 1

def in_a_loop(x, n):
    for i in range(n):
        x = x + i
    return x

FUNCTIONS = [
    lambda x: isinstance(x, Odd) or isinstance([], Sized) or isinstance({{}}, Base) or x + 1,
    lambda x: (Kind.one, Kind(1), hash(Kind.one), x + 1),
    lambda x: "{{:>5}} {{!r}}".format(3, "a") + f"{{x.shape}}",
    lambda x: (repr(x), str(x + 1), x.tolist()),
    lambda x: sorted([3, 1, 2], key=lambda n: -n) + [max([1, 2]), sum([1, 2])],
    lambda x: [each + 1 for each in generator(x)],
    lambda x: kept_out(x) + 1,
    lambda x: (x.sum().item(), float(x.sum()), x.numel()),
    lambda x: md.tensor([1.0, 2.0]) + x,
    lambda x: md.linalg.norm(x),
    lambda x: print(x),
    breaking,
    raising,
]

def call(function, *args):
    try:
        return function(*args)
    except (TypeError, RuntimeError):
        return None

compiled = [md.compile(f, **options) for f in FUNCTIONS
            for options in ({{}}, {{"backend": backend}}, {{"options": {{"guard_filter_fn": keep}}}}, {{"fullgraph": True}})]
loops = md.compile(in_a_loop, recompile_limit=2)
seen = []
watching = True
sys.addaudithook(lambda event, args: seen.append(args[0]) if watching and event == "import" else None)
x = md.ones(2)
for function in compiled:
    for _ in range(2):
        call(function, x)
for n in range(5):
    loops(x, n)
with enable_everywhere():
    for function in FUNCTIONS:
        call(function, x)
watching = False
print("SEEN", seen)
"""


@pytest.mark.parametrize("imports", ["", "import logging, linecache"], ids=["bare", "with logging"])
def test_nothing_is_imported_while_programs_run(imports):
    program = PROGRAM.format(imports=imports)
    # Without site, which imports modules of its own; the package is imported from the same place.
    environment = {**os.environ, "PYTHONPATH": str(Path(minidynamo.__file__).parent.parent)}
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    seen = ast.literal_eval(done.stdout.splitlines()[-1].removeprefix("SEEN "))
    allowed = {"minidynamo._logging"} if imports else set()
    assert set(seen) <= allowed


HALF = """
import sys
import minidynamo as md
from minidynamo._dynamo.eval_frame import enable_everywhere
enable_everywhere()
import abc, collections.abc

class Sized(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        return NotImplemented

# Modules that only half are there, while frames go on.
from types import ModuleType
for name in ("typing", "logging", "warnings", "linecache", "collections", "re", "functools"):
    sys.modules[name] = ModuleType(name)
    md._dynamo.reset()

    def function(x):
        found = isinstance(x, Sized), isinstance([], collections.abc.Iterable), issubclass(dict, collections.abc.Mapping)
        return found, [each for each in sorted([2, 1])], "%s" % name

    assert function(1) == ((False, True, True), [1, 2], name)
    assert md.compile(function)(md.ones(1))[0] == (False, True, True)
print("DONE")
"""


def test_half_of_a_module():
    done = subprocess.run([sys.executable, "-c", HALF], capture_output=True, text=True, timeout=120)
    assert done.stdout.endswith("DONE\n"), done.stderr


REPLACED = """
import builtins, functools, logging, operator, sys
import minidynamo as md

def mine(*args, **kwargs):
    return "mine"

# Before anything is captured.
for module, names in ((builtins, ("sum", "sorted", "repr", "format", "abs")), (operator, ("getitem", "lt", "or_")),
                      (functools, ("cmp_to_key",)), (logging, ("info", "getLogger"))):
    for name in names:
        setattr(module, name, mine)
logging.Logger.info = mine

def function(x, items):
    return (sum(items), sorted(items), repr(items), format(3), abs(-1), operator.getitem(items, 0), operator.lt(1, 2),
            functools.cmp_to_key(3), logging.info("a"), logging.getLogger("a"), logging.root.info("b")), x + 1

plain = function(1, [1, 2])[0]
found = md.compile(function)(md.ones(1), [1, 2])[0]
assert plain == found == ("mine",) * 11, found
print("DONE")
"""


def test_modules_that_the_program_has_replaced():
    done = subprocess.run([sys.executable, "-c", REPLACED], capture_output=True, text=True, timeout=120)
    assert done.stdout.endswith("DONE\n"), done.stderr
