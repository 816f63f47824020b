"""Pure functions of modules that importing minidynamo does not load: known once the program has loaded them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import minidynamo

LATE = ["cmath", "zlib", "binascii", "_struct", "re", "textwrap"]

UNLOADED = f"""
import sys
before = set(sys.modules)
import minidynamo
print(sorted(({{*sys.modules}} - before).intersection({LATE!r})))
"""

# CALL in a function that is captured with all of its tensors in one graph.
CAPTURED = """
import minidynamo
{imports}

@minidynamo.compile(fullgraph=True)
def f(x):
    value = {call}
    return x * 2, value

for _ in range(3):
    found, value = f(minidynamo.ones(2))
    assert found.tolist() == [2.0, 2.0] and value == {call}, value
"""

CALLS = {
    "cmath": ("import cmath", "cmath.sqrt(-4)"),
    "zlib": ("import zlib", "zlib.crc32(b'a')"),
    "binascii": ("import binascii", "binascii.hexlify(b'ab')"),
    "struct": ("import struct", "struct.pack('<i', 5)"),
    "re": ("import re", "re.sub('a+', 'b', 'caat')"),
    "a pattern": ("import re\nPATTERN = re.compile('(a)(b)?')", "PATTERN.match('ab').group(2) + PATTERN.pattern"),
    "textwrap": ("import textwrap", "textwrap.dedent('  a')"),
}

# The program puts a function of its own in the place of the module's before anything is captured.
REPLACED = """
import minidynamo, {module}
calls = []

def mine(*arguments):
    calls.append(arguments)
    return len(calls)

{module}.{name} = mine

@minidynamo.compile
def f(x):
    return x + {module}.{name}(*{arguments})

assert [f(minidynamo.zeros(())).item() for _ in range(4)] == [1, 2, 3, 4]
"""

FUNCTIONS = {
    "zlib": ("crc32", "(b'a',)"),
    "binascii": ("crc32", "(b'a',)"),
    "re": ("escape", "('a.',)"),
    "textwrap": ("dedent", "(' a',)"),
    "cmath": ("phase", "(1j,)"),
}


# Without site, which may load them.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(minidynamo.__file__).parents[1])}


def run(program):
    found = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, env=ENVIRONMENT)
    assert found.returncode == 0, found.stderr
    return found.stdout.strip()


def test_importing_minidynamo_loads_none_of_them():
    assert run(UNLOADED) == "[]"


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_a_constant(name):
    imports, call = CALLS[name]
    run(CAPTURED.format(imports=imports, call=call))


@pytest.mark.parametrize("module", FUNCTIONS)
def test_a_function_that_the_program_replaced_is_called(module):
    name, arguments = FUNCTIONS[module]
    run(REPLACED.format(module=module, name=name, arguments=arguments))
