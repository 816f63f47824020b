"""minidynamo works in the main interpreter only; importing it in another one raises at once."""

import subprocess
import sys

import pytest

PROGRAM = """
import faulthandler
faulthandler.dump_traceback_later(60, exit=True)
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

TRY = '''
for _ in range(2):
    try:
        {statement}
        print("imported", flush=True)
    except ImportError as error:
        print(error, flush=True)
'''

def try_in_another():
    number = interpreters.create({options})
    excinfo = interpreters.run_string(number, TRY)
    assert excinfo is None, excinfo
    interpreters.destroy(number)

{before}
try_in_another()
try_in_another()
import minidynamo as md
print(md.compile(lambda x: (x * 2).relu())(md.ones(1)).item(), flush=True)
try_in_another()
def breaks(x):
    try_in_another()
    return x + 1
print(md.compile(lambda x: breaks(x) * 2)(md.ones(1)).item())
"""

REFUSAL = "minidynamo does not support sub-interpreters: it can be imported in the main interpreter only"
OPTIONS = {"default": ""}
if sys.version_info >= (3, 13):
    OPTIONS["legacy"] = "'legacy'"
elif sys.version_info >= (3, 12):
    OPTIONS["shared GIL"] = "isolated=False"


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("before", ["", "import minidynamo", "import decimal"])
@pytest.mark.parametrize("statement", ["import minidynamo", "from minidynamo import _C", "import minidynamo.nn"])
def test_import(statement, before, options):
    program = PROGRAM.replace("{statement}", statement).replace("{before}", before)
    program = program.replace("{options}", OPTIONS[options])
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
    refusals = [REFUSAL] * 2
    assert ended.stdout.splitlines() == refusals * 2 + ["2.0"] + refusals * 2 + ["4.0"]
