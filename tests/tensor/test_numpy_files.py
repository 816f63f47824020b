"""load() of .npy and .npz, by a reader that needs no NumPy; files that lie."""

import io
import pickle
import subprocess
import sys

import pytest

import minidynamo

REFUSALS = (ValueError, EOFError, pickle.UnpicklingError)


def npy(header, values=b"", version=1):
    text = header.encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little") + text + values


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"
VALUES = b"\0\0\x80\x3f\0\0\0\x40"


def test_values_of_numpy():
    numpy = pytest.importorskip("numpy")
    for dtype in "? i1 <i2 >i2 i4 >i8 u1 u2 >u4 u8 f2 >f2 f4 >f8".split():
        for shape in ((), (0,), (3,), (2, 3), (2, 0), (2, 3, 4)):
            for order in "CF":
                array = numpy.asarray(numpy.arange(numpy.prod(shape)).reshape(shape).astype(dtype), order=order)
                file = io.BytesIO()
                numpy.save(file, array)
                file.seek(0)
                found = minidynamo.load(file)
                assert found.tolist() == array.tolist() and tuple(found.shape) == shape
                assert str(found.dtype).endswith(array.dtype.name)


def test_npz_of_numpy(tmp_path):
    numpy = pytest.importorskip("numpy")
    numpy.savez(tmp_path / "a.npz", weight=numpy.arange(6.0).reshape(2, 3), bias=numpy.ones(2, dtype=numpy.int32))
    found = minidynamo.load(tmp_path / "a.npz")
    assert {name: value.tolist() for name, value in found.items()} == {"weight": [[0, 1, 2], [3, 4, 5]], "bias": [1, 1]}
    numpy.savez_compressed(tmp_path / "b.npz", weight=numpy.ones(2))
    with pytest.raises(ValueError, match=r"b\.npz.*record 'weight\.npy' is compressed"):
        minidynamo.load(tmp_path / "b.npz")
    numpy.savez(tmp_path / "c.npz", weight=numpy.array([{}]))
    with pytest.raises(ValueError, match=r"'weight\.npy': arrays of dtype '\|O' are not supported"):
        minidynamo.load(tmp_path / "c.npz")


def test_without_numpy(tmp_path):
    (tmp_path / "a.npy").write_bytes(npy(HEADER, VALUES))
    program = "import sys; sys.modules['numpy'] = None; import minidynamo; print(minidynamo.load(sys.argv[1]).tolist())"
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "a.npy"], capture_output=True, text=True)
    assert done.stdout == "[1.0, 2.0]\n", done.stderr


BAD = {
    "cut off": npy(HEADER, VALUES)[:-1],
    "too long": npy(HEADER, VALUES + b"\0"),
    "a later version": npy(HEADER, VALUES, version=4),
    "a huge header": npy(HEADER, VALUES, version=2)[:8] + b"\xff" * 4,
    "a header cut off": npy(HEADER)[:30],
    "no dict": npy("[]"),
    "code": npy("__import__('os').system('true')"),
    "deep nesting": npy("(" * 60_000),
    "a name more": npy(HEADER[:-1] + ", 'x': 1}", VALUES),
    "a size that is negative": npy(HEADER.replace("2,", "-2,"), VALUES),
    "a size that is a bool": npy(HEADER.replace("2,", "True,"), VALUES[:4]),
    "a size that overflows": npy(HEADER.replace("2,", f"{2**62}, 0, 8"), b""),
    "a shape of 2**40": npy(HEADER.replace("2,", f"{2**40},"), VALUES),
    "an order of 3": npy(HEADER.replace("False", "3"), VALUES),
    "objects": npy(HEADER.replace("<f4", "|O"), VALUES),
    "records": npy(HEADER.replace("'<f4'", "[('a', '<f4')]"), VALUES),
    "complex": npy(HEADER.replace("<f4", "<c8"), VALUES * 2),
    "float of one byte": npy(HEADER.replace("<f4", "<f1"), VALUES[:2]),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(case, tmp_path):
    (tmp_path / "bad.npy").write_bytes(BAD[case])
    with pytest.raises(REFUSALS, match=r"bad\.npy"):
        minidynamo.load(tmp_path / "bad.npy")
