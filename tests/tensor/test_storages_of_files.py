"""Memory of files as storages, and parts of storages: as torch's, where it is here."""

import pytest

LIBRARIES = ["minidynamo", "torch"]


@pytest.fixture(params=LIBRARIES)
def library(request):
    return pytest.importorskip(request.param)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(10)))
    return str(path)


def test_bytes_of_a_file(library, path):
    storage = library.UntypedStorage.from_file(path, False, 8)
    assert type(storage) is library.UntypedStorage and storage.nbytes() == len(storage) == 8
    assert storage.tolist() == list(range(8))
    library.asarray(storage, dtype=library.uint8)[0] = 77
    assert storage[0] == 77 and open(path, "rb").read()[0] == 0
    assert library.UntypedStorage.from_file(path).nbytes() == 0


def test_what_is_written_to_a_shared_file(library, path):
    storage = library.UntypedStorage.from_file(path, shared=True, nbytes=12)
    library.asarray(storage, dtype=library.uint8)[2] = 99
    assert open(path, "rb").read() == bytes([0, 1, 99, *range(3, 10), 0, 0])
    made = path + "2"
    assert library.UntypedStorage.from_file(made, True, 3).tolist() == [0, 0, 0]
    assert open(made, "rb").read() == bytes(3)


@pytest.mark.parametrize(
    "name, nbytes, text",
    [
        ("", 20, "file <{}> size <10> is smaller than the required mapping size <20>"),
        (" not here", 4, "unable to open file <{}> in read-only mode: No such file or directory (2)"),
        ("", -1, "unable to mmap -1 bytes from file <{}>: Cannot allocate memory (12)"),
    ],
)
def test_files_that_do_not_do(library, path, name, nbytes, text):
    with pytest.raises(RuntimeError) as caught:
        library.UntypedStorage.from_file(path + name, False, nbytes)
    assert str(caught.value) == text.format(path + name)


def test_parts(library):
    x = library.arange(10, dtype=library.int16)
    for storage, size in ((x.untyped_storage(), 1), (x[3:].untyped_storage(), 1)):
        part = storage[4:9]
        assert part.nbytes() == 5 * size and part.data_ptr() - storage.data_ptr() == 4 * size
        assert part.tolist() == [2, 0, 3, 0, 4] and part[1:3].tolist() == [0, 3]
        assert storage[7:3].nbytes() == 0 and storage[18:].tolist() == [9, 0]
        with pytest.raises(RuntimeError, match="Trying to slice with a step of 2, but only a step of 1 is supported"):
            storage[::2]
    bytes_of_x = library.asarray(x.untyped_storage()[2:6], dtype=library.uint8)
    assert bytes_of_x.dtype == library.uint8 and bytes_of_x.view(library.int16).tolist() == [1, 2]
    assert bytes_of_x.data_ptr() == x.data_ptr() + 2


def test_safetensors_reads_files(tmp_path):
    """The package itself, with minidynamo in torch's place."""
    pytest.importorskip("safetensors")
    import subprocess
    import sys

    program = f"""
import torch
from safetensors.torch import load_file, save_file
x = {{"a": torch.arange(6.0).reshape(2, 3), "b": torch.arange(3, dtype=torch.bfloat16)}}
save_file(x, {str(tmp_path / "x")!r})
found = load_file({str(tmp_path / "x")!r})
assert torch.__name__ == "minidynamo" and sorted(found) == ["a", "b"]
assert all(torch.equal(found[name], x[name]) and found[name].dtype is x[name].dtype for name in x)
"""
    script = tmp_path / "script.py"
    script.write_text(program)
    subprocess.run([sys.executable, "-m", "minidynamo", "run", script], check=True)
