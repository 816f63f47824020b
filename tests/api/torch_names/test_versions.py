"""__version__: minidynamo's own, and torch's where minidynamo stands in its place."""

import subprocess
import sys

import pytest

import minidynamo
from minidynamo.torch_version import TorchVersion


def test_own_version():
    assert minidynamo.__version__ == minidynamo._C.__version__ == minidynamo.version.__version__


PROGRAM = """
import sys, minidynamo
sys.modules["torch"] = minidynamo
sys.modules["torch.version"] = minidynamo.version
import torch
from torch.version import __version__
assert torch.__version__ == __version__ == "2.13.0+minidynamo"
assert torch.__version__ >= "1.8" and torch.__version__ >= (1, 8) and not torch.__version__ < "2.0"
assert torch.__version__.split("+")[0] == "2.13.0"
assert tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) >= (1, 8)
assert [int(part) for part in torch.__version__.split(".")[:2]] == [2, 13]
assert torch.__version__.startswith("2.")
assert minidynamo._C.__version__ in torch.show_config()
del sys.modules["torch"]
assert minidynamo.__version__ == minidynamo._C.__version__
try:
    from packaging import version
except ModuleNotFoundError:
    pass
else:
    sys.modules["torch"] = minidynamo
    assert version.parse(torch.__version__) >= version.parse("2.0")
    assert torch.__version__ >= version.parse("2.0")
print("done")
"""


def test_in_torchs_place():
    assert subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True).stdout == "done\n"


VERSIONS = (
    "2.13.0 2.13 1.0rc1 1.0.dev3 1.0.post1 1.0 1!0.1 1.0a2 1.0+cu1 1.0+cpu 1.0-3 v1.0 1.0+abc.5 1.10 1.9 foo".split()
)


@pytest.mark.parametrize("mine", VERSIONS)
@pytest.mark.parametrize("name", ["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
def test_compared_as_torch_does(mine, name):
    pytest.importorskip("torch")
    from torch.torch_version import TorchVersion as Theirs

    for other in [*VERSIONS, (1, 0), (2,), [1, 9], 3, None]:
        results = []
        for cls in (TorchVersion, Theirs):
            try:
                results.append(getattr(cls(mine), name)(other))
            except Exception as error:
                results.append(type(error))
        assert results[0] == results[1] or NotImplemented in results, (mine, name, other, results)
    assert hash(TorchVersion(mine)) == hash(mine)
