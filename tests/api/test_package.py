import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minidynamo

ROOT = Path(__file__).parents[2]


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def test_version_is_the_one_of_pyproject():
    written = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert minidynamo.__version__ == written[1]


def test_command_line_prints_the_configuration():
    printed = run("-m", "minidynamo")
    for text in (minidynamo.__version__, platform.python_version(), "oneDNN", "instruction set", "threads"):
        assert text in printed
    for row in minidynamo._C.config_rows():
        assert row["name"] in printed


def test_show_config_lists_changed_flags():
    with minidynamo._dynamo.config.patch(walk_limit=77):
        assert re.search(r"walk_limit +77 \(default 1000000\)", minidynamo.show_config())
    assert re.search(r"walk_limit +1000000 \(default\)", minidynamo.show_config())


@pytest.mark.parametrize(
    "module", ["numpy", "logging", "inspect", "typing", "ast", "dis", "unittest", "threading", "contextlib"]
)
def test_import_is_lean(module):
    code = f"import sys; before = set(sys.modules); import minidynamo; print({module!r} in set(sys.modules) - before)"
    assert run("-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}") == "False\n"


def test_import_keeps_denormal_numbers():
    assert run("-c", "import minidynamo; print(5e-324 * 1.0, 2.0**-1040 / 2)") == f"5e-324 {2.0**-1041}\n"


def test_onednn_is_beside_the_extension_and_loaded_when_it_is_needed():
    library = Path(minidynamo._C.__file__).parent / "libdnnl.so.3"
    assert library.exists()
    loaded = """
def loaded():
    with open("/proc/self/maps") as maps:
        print(sorted({line.split()[-1] for line in maps if "libdnnl" in line}))
"""
    ours = str([os.path.realpath(library)])
    for use in ("nn.functional.conv1d(minidynamo.ones(1, 3, 9), minidynamo.ones(5, 3, 2))", "show_config()"):
        found = run("-c", f"import minidynamo{loaded}\nloaded(); minidynamo.{use}; loaded()")
        assert found.splitlines() == ["[]", ours]


def test_onednn_is_missing(tmp_path):
    package = Path(minidynamo.__file__).parent
    (tmp_path / "minidynamo").mkdir()
    for entry in package.iterdir():
        if not entry.name.startswith("libdnnl"):
            (tmp_path / "minidynamo" / entry.name).symlink_to(entry)
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import minidynamo
print((minidynamo.ones(2, 3) @ minidynamo.ones(3)).tolist())
try:
    minidynamo.nn.functional.conv1d(minidynamo.ones(1, 3, 9), minidynamo.ones(5, 3, 2))
except ImportError as error:
    print(str(error).startswith("oneDNN cannot be loaded: "))
"""
    assert run("-c", code) == "[3.0, 3.0]\nTrue\n"


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="module 'minidynamo' has no attribute 'zzz'"):
        _ = minidynamo.zzz


def test_all_names_exist():
    for name in minidynamo.__all__:
        assert hasattr(minidynamo, name), name


STANDS_IN = """
import sys
import minidynamo
sys.modules["torch"] = minidynamo
import torch
assert torch.compile(lambda x: x + 1)(torch.ones(2)).tolist() == [2.0, 2.0]
"""


def test_it_stands_in_for_torch_without_a_warning():
    done = subprocess.run([sys.executable, "-c", STANDS_IN], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
