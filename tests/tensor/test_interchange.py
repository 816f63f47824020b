"""DLPack both ways, NumPy in expressions, memory reused for new tensors."""

import gc
import weakref

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    "dtype",
    [
        *(md.bool, md.uint8, md.int8, md.int16, md.int32, md.int64, md.float16, md.float32, md.float64),
        *(md.uint16, md.uint32, md.uint64),
    ],
)
def test_numpy_imports_and_exports_dlpack(dtype):
    x = md.tensor([[1, 0, 1], [0, 1, 1]]).to(dtype)
    array = np.from_dlpack(x.t())
    assert array.shape == (3, 2) and array.tolist() == x.t().tolist()
    array = np.array([[1, 0], [1, 1]]).astype(array.dtype)[:, ::-1][:, ::-1]
    back = md.from_dlpack(array)
    assert back.dtype is dtype and back.tolist() == array.tolist() and back.data_ptr() == array.ctypes.data


def test_memory_is_shared_and_kept():
    x = md.zeros(3)
    array = np.from_dlpack(x)
    x.add_(1)
    assert array.tolist() == [1.0, 1.0, 1.0]
    pointer = x.data_ptr()
    del x
    gc.collect()
    assert array.ctypes.data == pointer and array.tolist() == [1.0, 1.0, 1.0]
    owner = np.ones(3)
    died = weakref.ref(owner)
    y = md.from_dlpack(owner)[1:]
    del owner
    gc.collect()
    assert died() is not None and y.tolist() == [1.0, 1.0]
    del y
    gc.collect()
    assert died() is None


def test_a_capsule_is_used_once():
    x = md.arange(4)
    assert x.__dlpack_device__() == (1, 0)
    for capsule in (x.__dlpack__(), x.__dlpack__(max_version=(1, 0)), x.__dlpack__(copy=True)):
        assert md.from_dlpack(capsule).tolist() == [0, 1, 2, 3]
        with pytest.raises(RuntimeError, match="consumed only once"):
            md.from_dlpack(capsule)
    assert md.from_dlpack(x).data_ptr() == x.data_ptr() != md.from_dlpack(x, copy=True).data_ptr()
    unused = x.__dlpack__()
    del unused
    gc.collect()
    assert x.tolist() == [0, 1, 2, 3]


def test_bfloat16_and_empty_and_scalar():
    for x in (md.tensor([1.5, -2.0], dtype=md.bfloat16), md.zeros(0, 3), md.tensor(7)):
        back = md.from_dlpack(x)
        assert back.dtype is x.dtype and back.shape == x.shape and back.tolist() == x.tolist()


def test_tensors_that_cannot_be_shared():
    with pytest.raises(BufferError, match="require gradient"):
        md.zeros(2, requires_grad=True).__dlpack__()
    with pytest.raises(RuntimeError, match="stream"):
        md.zeros(2).__dlpack__(stream=1)
    with pytest.raises(BufferError, match="on the CPU"):
        md.zeros(2).__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="__dlpack__"):
        md.from_dlpack([1, 2])
    with pytest.raises(ValueError, match="negative strides"):
        md.from_dlpack(np.ones(3)[::-1])


def test_read_only_memory_stays_so():
    array = np.ones(3)
    array.setflags(write=False)
    x = md.from_dlpack(array)
    for write in (lambda: x.add_(1), lambda: x.__setitem__(0, 2), lambda: md.add(x, 1, out=x), lambda: x[1:].zero_()):
        with pytest.raises(RuntimeError, match="read-only"):
            write()
    with pytest.raises(BufferError):
        x.__dlpack__()
    assert not np.from_dlpack(x).flags.writeable and memoryview(x).readonly
    assert (x + 1).add_(1).tolist() == [3.0, 3.0, 3.0]


def test_expressions_with_arrays_go_to_the_tensor():
    x, array = md.ones(3), np.arange(3, dtype=np.float32)
    for result in (array + x, x + array, array * x, np.float32(2) * x, np.float64(2) - x, x / np.int64(2), array < x):
        assert type(result) is md.Tensor
    assert (array - x).tolist() == [-1.0, 0.0, 1.0]
    x += array
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert np.asarray(x).tolist() == [1.0, 2.0, 3.0] and np.array(x, dtype=np.int64).dtype == np.int64


def test_memory_kept_for_new_tensors_has_a_limit():
    limit = md.get_cache_limit()
    try:
        md.empty_cache()
        assert md.cached_bytes() == 0
        md.zeros(100_000)
        assert md.cached_bytes() >= 400_000
        md.set_cache_limit(1000)
        assert md.cached_bytes() <= 1000
        md.zeros(100_000)
        assert md.cached_bytes() <= 1000
        with pytest.raises(ValueError, match="negative"):
            md.set_cache_limit(-1)
        with pytest.raises(TypeError, match="int"):
            md.set_cache_limit(1.5)
    finally:
        md.set_cache_limit(limit)
