"""minidynamo in torch's place: `python -m minidynamo run`, `import minidynamo.compat.torch`, missing names."""

import importlib
import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import minidynamo
from minidynamo.compat.in_place import module_of

ROOT = Path(__file__).parents[2]


def run_python(*arguments, folder, **more):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **more,
    )
    return done.returncode, done.stdout, done.stderr


def written(folder, **files):
    """Files by their stems; a double underscore is a folder."""
    for name, source in files.items():
        path = folder / (name.replace("__", "/", 1) + ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(source))
    return folder


sys.path.insert(0, str(ROOT / "tools"))

import torch_names  # noqa: E402

# Each public module of torch that minidynamo has.
MODULES = sorted(filter(None, map(module_of, torch_names.read().keys() - {"torch.Tensor"})))


@pytest.mark.parametrize("name", MODULES)
def test_missing_names_say_so(name):
    module = importlib.import_module(name)
    with pytest.raises(AttributeError) as raised:
        module.no_such_name  # noqa: B018
    expected = f"module {name!r} has no attribute 'no_such_name': not in minidynamo; docs/torch_names.md lists"
    assert str(raised.value).startswith(expected)
    assert not hasattr(module, "no_such_name") and getattr(module, "no_such_name", 3) == 3
    # What the interpreter and libraries ask of any module is no name of torch's.
    with pytest.raises(AttributeError, match=f"^module '{name}' has no attribute '__no_such__'$"):
        module.__no_such__  # noqa: B018


def test_submodules_need_no_import():
    code = "import minidynamo; print([getattr(minidynamo, name).__name__ for name in minidynamo._LAZY_MODULES])"
    status, output, _ = run_python("-c", code, folder=ROOT)
    assert status == 0 and output.strip() == str([f"minidynamo.{name}" for name in minidynamo._LAZY_MODULES])
    assert {"nn", "safetensors", "compat", "ones", "ops"} <= set(dir(minidynamo))


# How a script ends -> what it does. Each is compared with what Python itself does with it.
ENDINGS = {
    "end": "print(__name__, __file__, sys.argv, sys.path[0], __spec__, __doc__)",
    "argument": "print(sys.argv[1:], 'torch' in sys.modules or True)",
    "raises": "def f():\n    raise ValueError('bad')\nf()",
    "chained": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError(2) from error",
    "syntax": "x = = 3",
    "status": "sys.exit(3)",
    "text": "sys.exit('no such thing')",
    "none": "raise SystemExit",
    "at_exit": "import atexit\natexit.register(print, 'last')\nprint('first')",
    "main": "import __main__\nprint(__main__.x if hasattr(__main__, 'x') else sorted(vars(__main__))[:4])",
    "pickle": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
    "hook": "sys.excepthook = lambda *error: print(error[0], error[1])\nraise ValueError(4)",
    "nested": "exec('raise OSError(5)')",
}


@pytest.mark.parametrize("name", ENDINGS)
def test_scripts_end_as_under_python(name, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("'A program.'\nimport sys\n" + ENDINGS[name] + "\n")
    plain = run_python("script.py", "a", "--names", "-x", folder=tmp_path)
    ours = run_python("-m", "minidynamo", "run", "script.py", "a", "--names", "-x", folder=tmp_path)
    assert ours == plain


def test_a_script_that_is_not_there(tmp_path):
    plain = run_python("no.py", folder=tmp_path)
    ours = run_python("-m", "minidynamo", "run", "no.py", folder=tmp_path)
    assert ours == plain and ours[0] == 2


def test_an_interrupt_ends_it_by_its_signal(tmp_path):
    written(tmp_path, script="import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "minidynamo", "run", "script.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT and error.rstrip().endswith("KeyboardInterrupt")


def test_modules_of_torch_are_ours(tmp_path):
    written(
        tmp_path,
        script="""
            import importlib.util
            import sys
            import torch
            import torch.nn as nn
            import torch.nn.functional as F
            from torch import Tensor, nn as also_nn
            from torch.nn import Linear
            from torch.nn.init import ones_
            import minidynamo
            assert torch is minidynamo and nn is also_nn is minidynamo.nn and F is minidynamo.nn.functional
            assert nn.__name__ == "minidynamo.nn" and nn.__spec__.name == "minidynamo.nn" and nn.__spec__.loader
            assert Tensor is minidynamo.Tensor and Linear is minidynamo.nn.Linear and ones_ is nn.init.ones_
            assert sys.modules["torch.nn"] is nn and sys.modules["minidynamo.nn"] is nn
            compiled = torch.compile(lambda x: torch.relu(x) + 1, fullgraph=True)
            assert compiled(torch.ones(2)).tolist() == [2, 2]
            model = torch.compile(nn.Sequential(Linear(2, 3), nn.ReLU()), fullgraph=True)
            with torch.no_grad():
                assert model(torch.ones(4, 2)).shape == (4, 3)
            for name in ("torch.compat", "torch._families", "torch.safetensors", "torch.no_such"):
                try:
                    __import__(name)
                except ModuleNotFoundError as error:
                    assert error.name == name and 'not in minidynamo' in str(error), error
                else:
                    raise AssertionError(name)
            assert importlib.util.find_spec("torch.no_such") is None
            assert importlib.util.find_spec("torch.nn").name == "minidynamo.nn"
            print("done")
        """,
    )
    status, output, error = run_python("-m", "minidynamo", "run", "script.py", folder=tmp_path)
    assert (status, output) == (0, "done\n"), error


def test_it_refuses_where_torch_is(tmp_path):
    code = "import sys, types\nsys.modules['torch'] = types.ModuleType('torch')\nimport minidynamo.compat.torch"
    status, _, error = run_python("-c", code, folder=tmp_path)
    assert status == 1 and "ImportError: torch is already imported" in error and "cannot take its place" in error
    status, output, _ = run_python(
        "-c", "import minidynamo.compat.torch, minidynamo.compat.torch, torch; print(torch.__name__)", folder=tmp_path
    )
    assert (status, output) == (0, "minidynamo\n")


def test_the_missing_names_are_reported(tmp_path):
    written(
        tmp_path,
        script="""
            import torch
            import inner
            if hasattr(torch, "no_such") or getattr(torch, "nor_this", None):
                pass
            try:
                from torch.package import PackageImporter
            except ImportError:
                pass
            for i in range(2):
                try:
                    torch.quantize_per_tensor
                except AttributeError:
                    pass
            inner.work()
            print("goes on")
        """,
        inner="""
            import torch
            def work():
                try:
                    torch.nn.NoLayer(3)
                except AttributeError:
                    pass
                try:
                    torch.quantize_per_tensor(1)
                except AttributeError:
                    pass
        """,
    )
    status, output, error = run_python("-m", "minidynamo", "run", "script.py", folder=tmp_path)
    assert (status, output) == (0, "goes on\n")
    assert error.splitlines() == [
        "Names of torch that are not in minidynamo:",
        "  torch.package",
        f"    {tmp_path}/script.py:7: from torch.package import PackageImporter",
        "  torch.quantize_per_tensor (and 1 more)",
        f"    {tmp_path}/script.py:12: torch.quantize_per_tensor",
        "  torch.nn.NoLayer",
        f"    {tmp_path}/inner.py:5: torch.nn.NoLayer(3)",
    ]


def test_names_are_listed_without_running(tmp_path):
    written(
        tmp_path,
        script="""
            import torch as th
            from torch import nn, no_name as renamed
            from torch.no_module import thing
            import torch.nn.functional as F
            from package.inner import work
            from . import nothing
            raise SystemExit("it ran")
            x = nn.Linear(2, 3).weight.no_attribute + th.Tensor.no_method + F.relu + th.ones(3).also_none
            y = th.nn.NoLayer.deeper
        """,
        package____init__="",
        package__inner="""
            import torch
            from .other import more
            def work():
                torch.no_name
        """,
        package__other="import torch.no_other\nimport numpy\n",
    )
    status, output, error = run_python("-m", "minidynamo", "run", "--names", "script.py", folder=tmp_path)
    lines = [line.replace(f"{tmp_path}/", "") for line in output.splitlines()]
    assert status == 1 and not error
    assert lines == [
        "11 names of torch are used, 5 of them are not in minidynamo",
        "  torch.Tensor.no_method: script.py:9",
        "  torch.nn.NoLayer: script.py:10",
        "  torch.no_module: script.py:4",
        "  torch.no_name: script.py:3, package/inner.py:5",
        "  torch.no_other: package/other.py:1",
    ]
    written(tmp_path, script="import torch\nprint(torch.ones(2))\n")
    assert run_python("-m", "minidynamo", "run", "--names", "script.py", folder=tmp_path) == (
        0,
        "2 names of torch are used, 0 of them are not in minidynamo\n",
        "",
    )
    written(tmp_path, script="x = = 3\n")
    status, output, error = run_python("-m", "minidynamo", "run", "--names", "script.py", folder=tmp_path)
    assert status == 2 and not output and "invalid syntax" in error


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_processes_that_it_starts_have_it_too(method, tmp_path):
    written(
        tmp_path,
        script=f"""
            import multiprocessing
            import torch
            def work(n):
                return torch.ones(n).sum().item(), torch.__name__
            if __name__ == "__main__":
                with multiprocessing.get_context("{method}").Pool(1) as pool:
                    print(pool.map(work, [2, 3]))
        """,
    )
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    status, output, error = run_python("-m", "minidynamo", "run", "script.py", folder=tmp_path, env=environment)
    assert (status, output) == (0, "[(2.0, 'minidynamo'), (3.0, 'minidynamo')]\n"), error


@pytest.mark.parametrize("arguments", [["walk"], ["run"], ["run", "--no-such-flag", "x.py"]])
def test_wrong_commands(arguments, tmp_path):
    status, output, error = run_python("-m", "minidynamo", *arguments, folder=tmp_path)
    assert status == 2 and not output and error.startswith("usage: python -m minidynamo")


def test_the_list_of_names_is_that_of_torch():
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("2.13."):
        pytest.skip("the list is of torch 2.13")
    status, _, error = run_python("-W", "ignore", ROOT / "tools" / "torch_names.py", "--check", folder=ROOT)
    assert status == 0, error
