"""Code objects carry values of minidynamo in addition to those of other libraries, which are not affected."""

import subprocess
import sys

import pytest

# Another library: it has a slot for its values on code objects, and a callback for the death of one of them.
LIBRARY = """
import ctypes
import sys

unstable = sys.version_info >= (3, 12)
api = ctypes.pythonapi
request = api.PyUnstable_Eval_RequestCodeExtraIndex if unstable else api._PyEval_RequestCodeExtraIndex
request.argtypes, request.restype = (ctypes.CFUNCTYPE(None, ctypes.c_voidp),), ctypes.c_ssize_t
write = api.PyUnstable_Code_SetExtra if unstable else api._PyCode_SetExtra
write.argtypes, write.restype = (ctypes.py_object, ctypes.c_ssize_t, ctypes.c_voidp), ctypes.c_int
read = api.PyUnstable_Code_GetExtra if unstable else api._PyCode_GetExtra
read.argtypes, read.restype = (ctypes.py_object, ctypes.c_ssize_t, ctypes.POINTER(ctypes.c_voidp)), ctypes.c_int

released = []


@ctypes.CFUNCTYPE(None, ctypes.c_voidp)
def release(value):
    released.append(value)


def value_on(code):
    value = ctypes.c_voidp()
    assert read(code, place, value) == 0
    return value.value
"""

REQUEST = """
place = request(release)
"""
# The interpreter calls a release callback with NULL for each code object that has a value in a later slot, even at
# exit.
REQUEST_BEFORE = """
ctypes.pythonapi.Py_IncRef(ctypes.py_object(release))
place = request(release)
"""

# The ways in which code of the program comes under the evaluator: `call(function)` calls it twice.
WAYS = """
import minidynamo
from minidynamo._dynamo import graph_break
from minidynamo._dynamo.eval_frame import enable_everywhere

x = minidynamo.tensor([1.0, 2.0])


def call_compiled(function):
    compiled = minidynamo.compile(function)
    return [compiled(x).tolist() for _ in range(2)]


def call_inlined(function):
    compiled = minidynamo.compile(lambda y: function(y) * 1)
    return [compiled(x).tolist() for _ in range(2)]


def call_after_a_break(function):
    def caller(y):
        graph_break()
        return function(y)

    compiled = minidynamo.compile(caller)
    return [compiled(x).tolist() for _ in range(2)]


def call_from_a_disabled_function(function):
    @minidynamo._dynamo.disable(recursive=False)
    def disabled(y):
        return function(y)

    compiled = minidynamo.compile(lambda y: disabled(y) * 1)
    return [compiled(x).tolist() for _ in range(2)]


def call_everywhere(function):
    with enable_everywhere():
        return [function(x).tolist() for _ in range(2)]


def made():
    namespace = {}
    exec("def function(y):\\n    return y * 2 + 1", namespace)
    return namespace.pop("function")


WANTED = [[3.0, 5.0]] * 2
"""

ALONE = """
for i in range(3):
    function = made()
    assert call(function) == WANTED
    del function
    minidynamo._dynamo.reset()
assert released == [], released
"""

# Values of both on one code object, whichever is first.
BESIDE = """
for before in (True, False):
    del released[:]
    function = made()
    if before:
        assert write(function.__code__, place, 100) == 0
    assert call(function) == WANTED
    if not before:
        assert write(function.__code__, place, 100) == 0
    assert value_on(function.__code__) == 100
    assert call(function) == WANTED
    assert write(function.__code__, place, 200) == 0
    assert [value for value in released if value] == [100], released
    assert call(function) == WANTED
    assert value_on(function.__code__) == 200
    del function
    minidynamo._dynamo.reset()
    assert [value for value in released if value] == [100, 200], released
"""

# The library's callback dies with the module, before the code objects that the collector finds at exit.
AT_EXIT = """
function = made()
assert call(function) == WANTED
function.cycle = [function]
del function, call
"""

ORDERS = {"before minidynamo": REQUEST_BEFORE + WAYS, "after minidynamo": WAYS + REQUEST}
CALLS = ["compiled", "inlined", "after_a_break", "from_a_disabled_function", "everywhere"]


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("way", CALLS)
def test_code_dies_without_calling_back_a_later_library(way):
    run(f"{LIBRARY}{WAYS}{REQUEST}call = call_{way}\n{ALONE}")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("way", CALLS)
def test_values_of_both_on_one_code_object(order, way):
    run(f"{LIBRARY}{ORDERS[order]}call = call_{way}\n{BESIDE}")


@pytest.mark.parametrize("way", CALLS)
def test_code_that_outlives_the_callback_of_a_later_library(way):
    run(f"{LIBRARY}{WAYS}{REQUEST}call = call_{way}\n{AT_EXIT}")
