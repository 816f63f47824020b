"""The Tensor type: construction, protocols, attributes, interchange, printing."""

import array
import copy
import gc
import pickle
import weakref

import pytest

import minidynamo as md

np = pytest.importorskip("numpy")

DTYPES = [
    *(md.bool, md.uint8, md.int8, md.int16, md.int32, md.int64, md.float16, md.bfloat16, md.float32, md.float64),
    *(md.uint16, md.uint32, md.uint64),
]


def base():
    return md.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


# ---- construction ----


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (True, md.bool, ()),
        (3, md.int64, ()),
        (2.5, md.float32, ()),
        ([], md.float32, (0,)),
        ([[], []], md.float32, (2, 0)),
        ([True, 2], md.int64, (2,)),
        ([1, 2.5], md.float32, (2,)),
        ((1, (2,)[0]), md.int64, (2,)),
        ([[1, 2], [3, 4]], md.int64, (2, 2)),
        (range(3), md.int64, (3,)),
        (np.float32(1.5), md.float32, ()),
        (np.arange(3, dtype=np.int16), md.int16, (3,)),
        ([np.int8(1), np.int8(2)], md.int8, (2,)),
        (array.array("d", [1.0, 2.0]), md.float64, (2,)),
    ],
)
def test_tensor_finds_dtype_and_shape(data, dtype, shape):
    x = md.tensor(data)
    assert x.dtype is dtype
    assert x.shape == shape
    assert x.tolist() == np.array(data).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensor_with_dtype(dtype):
    assert md.tensor([0, 1, 3.0], dtype=dtype).tolist() == ([False, True, True] if dtype is md.bool else [0, 1, 3])
    assert md.tensor([[1]], dtype=dtype).dtype is dtype


def test_tensor_of_tensors():
    x = base()
    assert md.tensor(x).tolist() == x.tolist()
    assert md.tensor(x).data_ptr() != x.data_ptr()
    assert md.tensor(x, dtype=md.int32).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert md.tensor([md.tensor(1.0), md.tensor(2.0)]).tolist() == [1.0, 2.0]
    assert md.tensor([x, x]).shape == (2, 2, 3)
    assert not md.tensor(md.tensor([1.0], requires_grad=True)).requires_grad


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([[1], [2, 3]], ValueError, r"expected sequence of length 1 at dim 1 \(got 2\)"),
        ([[1, 2], 3], TypeError, "expected a sequence at dim 1"),
        ([1, [2]], TypeError, "expected a number at dim 1"),
        (["a"], ValueError, "too many dimensions 'str'"),
        ("abc", TypeError, "'str'"),
        (None, RuntimeError, "NoneType"),
        ([None], RuntimeError, "NoneType"),
        (object(), RuntimeError, "dtype of object"),
        ([2**70], ValueError, "Overflow"),
    ],
)
def test_tensor_of_bad_data(data, error, message):
    with pytest.raises(error, match=message):
        md.tensor(data)


def test_tensor_of_a_list_that_contains_itself():
    data = []
    data.append(data)
    with pytest.raises(ValueError, match="too many dimensions"):
        md.tensor(data)


def test_tensor_of_a_list_that_shrinks_during_the_call():
    class Number:
        def __float__(self):
            data.clear()
            return 1.0

    data = [Number(), 2.0, 3.0]
    with pytest.raises(ValueError, match="changed its length"):
        md.tensor(data, dtype=md.float32)


def test_values_that_do_not_fit():
    with pytest.raises(RuntimeError, match="300"):
        md.tensor([300], dtype=md.uint8)
    assert md.tensor([1.9, -1.9], dtype=md.int64).tolist() == [1, -1]


def test_tensor_arguments():
    with pytest.raises(TypeError, match=r"tensor\(\) got an unexpected keyword argument 'q'"):
        md.tensor([1], q=1)
    with pytest.raises(TypeError, match=r"tensor\(\) missing 1 required argument: 'data'"):
        md.tensor()
    with pytest.raises(TypeError, match="argument 'dtype' must be minidynamo.dtype, not str"):
        md.tensor([1], dtype="float32")
    with pytest.raises(RuntimeError, match="the only device is 'cpu', got 'cuda'"):
        md.tensor([1], device="cuda")
    assert md.tensor([1], device=md.device("cpu")).device == md.device("cpu")


def test_as_tensor():
    x = base()
    assert md.as_tensor(x) is x
    assert md.as_tensor(x, dtype=md.float64).dtype is md.float64
    a = np.ones(3, dtype=np.float32)
    assert md.as_tensor(a).data_ptr() == a.ctypes.data
    assert md.as_tensor([1, 2]).tolist() == [1, 2]


def test_constructor():
    assert md.Tensor([1, 2]).dtype is md.float32
    assert md.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert md.Tensor(2, 3).shape == (2, 3)
    assert md.Tensor().shape == (0,)
    with pytest.raises(TypeError):
        md.Tensor(1, "a")


# ---- attributes ----


def test_facts():
    x = base()
    assert x.shape == (2, 3) and isinstance(x.shape, md.Size)
    assert x.size() == (2, 3) and x.size(0) == 2 and x.size(-1) == 3 and x.size(dim=1) == 3
    assert x.stride() == (3, 1) and x.stride(0) == 3 and x.T.stride() == (1, 3)
    assert x.dtype is md.float32
    assert x.device == md.device("cpu") and x.device.type == "cpu"
    assert x.ndim == x.dim() == 2
    assert x.numel() == x.nelement() == 6
    assert x.itemsize == x.element_size() == 4 and x.nbytes == 24
    assert x.is_contiguous() and not x.T.is_contiguous()
    assert x.is_floating_point() and not x.long().is_floating_point()
    assert x.storage_offset() == 0 and x[1].storage_offset() == 3
    assert not x.is_cuda and x.is_cpu
    assert not x.requires_grad and x.grad is None and x.is_leaf and x.grad_fn is None


def test_facts_of_bad_dims():
    x, scalar = base(), md.tensor(1.0)
    with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 2"):
        x.size(2)
    with pytest.raises(IndexError, match="no dimensions"):
        scalar.size(0)
    with pytest.raises(TypeError, match="'dim' must be int, not str"):
        x.stride("a")
    with pytest.raises(TypeError, match="takes no arguments"):
        x.dim(1)
    with pytest.raises(AttributeError):
        x.shape = (1, 6)


def test_transposes():
    x = base()
    assert x.T.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert x.mT.shape == (3, 2)
    assert md.ones(2, 3, 4).T.shape == (4, 3, 2)
    assert md.ones(2, 3, 4).mT.shape == (2, 4, 3)
    assert md.ones(3).T.shape == (3,)
    assert md.tensor(1.0).T.shape == ()
    with pytest.raises(RuntimeError, match="mT"):
        md.ones(3).mT


def test_own_attributes_and_the_collector():
    x = md.ones(3)
    x.label = "here"
    assert x.label == "here" and x.__dict__ == {"label": "here"}
    with pytest.raises(AttributeError):
        x.other
    x.me = x
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


def test_subclasses():
    class Named(md.Tensor):
        def __init__(self, data):
            self.name = "n"

    x = Named([1.0, 2.0])
    assert isinstance(x, md.Tensor) and x.name == "n"
    assert type(x + 1) is md.Tensor and (x + 1).tolist() == [2.0, 3.0]
    assert md.add(x, x).tolist() == [2.0, 4.0]
    y = md.Tensor._make_subclass(Named, md.ones(2), True)
    assert type(y) is Named and y.requires_grad and y.is_leaf
    with pytest.raises(TypeError, match="subclass of Tensor"):
        md.Tensor._make_subclass(int, md.ones(2))
    alive = weakref.ref(y)
    del y
    gc.collect()
    assert alive() is None


def test_tensors_come_and_go():
    tensors = [md.ones(2) for _ in range(200)]
    refs = [weakref.ref(x) for x in tensors]
    del tensors
    assert all(ref() is None for ref in refs)
    again = [md.ones(2) for _ in range(200)]
    assert len({id(x) for x in again}) == 200


# ---- grad flags ----


def test_requires_grad():
    x = md.ones(2)
    x.requires_grad = True
    assert x.requires_grad and x.is_leaf
    y = x * 2
    assert y.requires_grad and not y.is_leaf
    assert not (y > 1).requires_grad
    assert not y.detach().requires_grad and y.detach().data_ptr() == y.data_ptr()
    assert not y.data.requires_grad
    with pytest.raises(RuntimeError, match="leaf variables"):
        y.requires_grad = False
    x.requires_grad_(False)
    assert not x.requires_grad and not (x * 2).requires_grad
    assert md.tensor([1.0], requires_grad=True).requires_grad


def test_requires_grad_of_integers():
    with pytest.raises(RuntimeError, match="floating point"):
        md.ones(2, dtype=md.int64).requires_grad_()
    with pytest.raises(RuntimeError, match="floating point"):
        md.tensor([1], requires_grad=True)
    with pytest.raises(RuntimeError, match="must be a bool"):
        md.ones(2).requires_grad = 1


def test_grad_modes():
    x = md.ones(2).requires_grad_()
    assert md.is_grad_enabled()
    with md.no_grad():
        assert not md.is_grad_enabled() and not (x * 2).requires_grad
        with md.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    with md.inference_mode():
        assert md.is_inference_mode_enabled() and not (x * 2).requires_grad
        with md.inference_mode(False):
            assert not md.is_inference_mode_enabled() and md.is_grad_enabled()
    assert md.is_grad_enabled() and not md.is_inference_mode_enabled()
    with md.set_grad_enabled(False):
        assert not md.is_grad_enabled()
    assert md.is_grad_enabled()
    md.set_grad_enabled(False)
    assert not md.is_grad_enabled()
    md.set_grad_enabled(True)


def test_grad_modes_are_restored_after_an_exception():
    with pytest.raises(ZeroDivisionError), md.no_grad():
        1 / 0  # noqa: B018
    assert md.is_grad_enabled()


def test_grad_modes_as_decorators():
    @md.no_grad()
    def called(depth):
        """doc"""
        return md.is_grad_enabled() or (called(depth - 1) if depth else False)

    @md.no_grad
    def bare():
        return md.is_grad_enabled()

    @md.inference_mode
    def inference():
        return md.is_inference_mode_enabled()

    @md.set_grad_enabled(False)
    def disabled():
        return md.is_grad_enabled()

    class Holder:
        @md.no_grad
        def method(self):
            return self, md.is_grad_enabled()

        @md.no_grad()
        def items(self):
            yield md.is_grad_enabled()
            received = yield md.is_grad_enabled()
            return received

    assert called(2) is False and called.__name__ == "called" and called.__doc__ == "doc"
    assert bare() is False and inference() is True and disabled() is False
    assert bare.__name__ == "bare"
    holder = Holder()
    assert holder.method() == (holder, False)
    generator = holder.items()
    assert next(generator) is False
    assert md.is_grad_enabled()
    assert next(generator) is False
    with pytest.raises(StopIteration) as stop:
        generator.send(7)
    assert stop.value.value == 7
    assert md.is_grad_enabled()


# ---- protocols ----


def test_numbers():
    assert bool(md.tensor([True])) and not md.tensor(0)
    assert int(md.tensor(2.7)) == 2 and float(md.tensor(3)) == 3.0 and complex(md.tensor(3.0)) == 3
    assert [10, 20, 30][md.tensor(1)] == 20 and list(range(md.tensor(2))) == [0, 1]
    assert md.tensor([[7]]).item() == 7 and isinstance(md.tensor(True).item(), bool)
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        bool(md.ones(2))
    with pytest.raises(RuntimeError, match="no values is ambiguous"):
        bool(md.ones(0))
    with pytest.raises(ValueError, match="only one element tensors"):
        int(md.ones(2))
    with pytest.raises(RuntimeError, match="with 2 elements cannot be converted to Scalar"):
        md.ones(2).item()
    with pytest.raises(TypeError, match="only integer tensors"):
        range(md.tensor(2.0))


def test_sequence():
    x = base()
    assert len(x) == 2
    assert [row.tolist() for row in x] == x.tolist()
    a, b = x
    assert b.tolist() == [4, 5, 6]
    assert 5.0 in x and 7 not in x
    with pytest.raises(TypeError, match="len\\(\\) of a 0-d tensor"):
        len(md.tensor(1))
    with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
        iter(md.tensor(1))
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        "a" in x  # noqa: B015


def test_hash_is_identity():
    x, y = md.ones(2), md.ones(2)
    assert {x: 1, y: 2}[y] == 2 and hash(x) == hash(x)
    assert (x == None) is False  # noqa: E711
    assert (x != "a") is True


KEYS = [
    0,
    -1,
    (1, 1),
    slice(None),
    slice(1, None),
    slice(-2, -1),
    slice(0, 10, 2),
    slice(5, 2),
    ...,
    None,
    (..., 0),
    (0, ...),
    (slice(None), slice(1, 3)),
    (None, 1, None, slice(None, None, 2)),
    (..., None, 1),
    (slice(1, 2), ..., slice(None, 1), None),
    (),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_indexing_as_numpy(key):
    data = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = md.tensor(data)
    for ours, theirs in ((x, data), (x.permute(2, 0, 1)[:, :, :], data.transpose(2, 0, 1))):
        assert ours[key].shape == theirs[key].shape
        assert ours[key].tolist() == theirs[key].tolist()


def test_indexing_makes_views():
    x = base()
    assert x[1].data_ptr() == x.data_ptr() + 12
    assert x[...] is not x and x[...].data_ptr() == x.data_ptr()
    assert md.tensor(1.0)[...].item() == 1.0 and md.tensor(1.0)[None].shape == (1,)
    assert x[np.int64(1)].tolist() == [4, 5, 6]


def test_bad_indices():
    x = base()
    with pytest.raises(IndexError, match="out of bounds for dimension 0 with size 2"):
        x[2]
    with pytest.raises(IndexError, match="too many indices for tensor of dimension 2"):
        x[0, 0, 0]
    with pytest.raises(IndexError, match="only integers, slices"):
        x[1.0]
    with pytest.raises(ValueError, match="step must be greater than zero"):
        x[::-1]
    with pytest.raises(IndexError):
        x[2**70]


def test_operators_with_other_types():
    x = md.ones(2)
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'minidynamo.Tensor' and 'str'"):
        x + "a"
    with pytest.raises(TypeError):
        "a" + x
    with pytest.raises(TypeError, match="'<' not supported"):
        x < "a"  # noqa: B015
    with pytest.raises(TypeError):
        x @ 2
    with pytest.raises(OverflowError, match="too big"):
        x + 2**70

    class Right:
        def __radd__(self, other):
            return "right"

    assert x + Right() == "right"


def test_formatting():
    assert f"{md.tensor(1.5):.2f}" == "1.50"
    assert f"{md.tensor([1, 2])}" == "tensor([1, 2])"
    with pytest.raises(TypeError, match="unsupported format string"):
        format(md.ones(2), ".2f")


def test_copies_and_pickles():
    x = md.tensor([[1.0, 2.0]], requires_grad=True)
    x.tag = [1]
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.tolist() == x.tolist() and y.requires_grad and y.is_leaf and y.tag == [1]
        assert y.data_ptr() != x.data_ptr()
    t = base().T
    assert pickle.loads(pickle.dumps(t)).tolist() == t.tolist()
    for dtype in DTYPES:
        assert pickle.loads(pickle.dumps(dtype)) is dtype and copy.copy(dtype) is dtype
        assert pickle.loads(pickle.dumps(md.ones(2, dtype=dtype))).dtype is dtype
    size = md.Size([2, 3])
    assert pickle.loads(pickle.dumps(size)) == size and type(pickle.loads(pickle.dumps(size))) is md.Size
    assert pickle.loads(pickle.dumps(md.device("cpu"))) == md.device("cpu")


# ---- conversions ----


def test_conversions():
    x = md.tensor([0.0, 1.5])
    for name, dtype in [
        ("float", md.float32),
        ("double", md.float64),
        ("half", md.float16),
        ("bfloat16", md.bfloat16),
        ("int", md.int32),
        ("long", md.int64),
        ("short", md.int16),
        ("char", md.int8),
        ("byte", md.uint8),
        ("bool", md.bool),
    ]:
        y = getattr(x, name)()
        assert y.dtype is dtype
        assert (y is x) == (dtype is md.float32)
    assert x.cpu() is x
    assert x.to() is x and x.to("cpu") is x and x.to(md.float32) is x and x.to(None) is x
    assert x.to(md.device("cpu"), md.float64).dtype is md.float64
    assert x.to("cpu", dtype=md.int64).tolist() == [0, 1]
    assert x.to(dtype=md.int64, non_blocking=True).dtype is md.int64
    assert x.to(md.ones(1, dtype=md.int8)).dtype is md.int8
    assert x.to(md.float32, copy=True).data_ptr() != x.data_ptr()
    assert x.to(md.float32, False, True) is not x
    assert x.type_as(md.ones(1, dtype=md.float64)).dtype is md.float64


@pytest.mark.parametrize("args", [(3,), ("cpu", "a"), (md.float32, md.float32), (md.float32, False, False, 1)])
def test_bad_conversions(args):
    with pytest.raises((TypeError, RuntimeError), match=r"to\(\)"):
        md.ones(2).to(*args)
    with pytest.raises(TypeError, match="unexpected keyword argument 'q'"):
        md.ones(2).to(q=1)
    with pytest.raises(RuntimeError, match="cuda"):
        md.ones(2).to("cuda")


# ---- interchange ----


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype is not md.bfloat16])
def test_numpy_shares_memory(dtype):
    x = md.tensor([[0, 1, 2], [3, 4, 5]], dtype=dtype)
    a = x.numpy()
    assert a.dtype == str(dtype).partition(".")[2]
    assert a.ctypes.data == x.data_ptr()
    assert a.tolist() == x.tolist()
    a[0, 0] = 1
    assert x.tolist()[0][0] == 1
    assert x.T.numpy().tolist() == a.T.tolist() and x[:, 1:].numpy().strides == a[:, 1:].strides
    y = md.from_numpy(a)
    assert y.dtype is dtype and y.data_ptr() == x.data_ptr()


def test_memory_outlives_its_owner():
    a = np.arange(6.0).reshape(2, 3)
    x = md.from_numpy(a)
    del a
    gc.collect()
    b = x.numpy()
    row = x[1]
    del x
    gc.collect()
    assert b.tolist() == [[0, 1, 2], [3, 4, 5]] and row.tolist() == [3, 4, 5]


def test_from_numpy_layouts():
    a = np.arange(24.0).reshape(2, 3, 4)
    for view in (
        a.transpose(2, 0, 1),
        a[:, ::2],
        a[1:, :, 1],
        a[:0],
        np.broadcast_to(a[0, 0], (3, 4)).copy(),
        np.array(5.0),
    ):
        x = md.from_numpy(view)
        assert x.shape == view.shape and x.tolist() == view.tolist()


def test_from_numpy_of_arrays_that_cannot_be_shared():
    with pytest.raises(ValueError, match="negative"):
        md.from_numpy(np.ones(3)[::-1])
    with pytest.raises(ValueError, match="byte order"):
        md.from_numpy(np.ones(3, ">f4"))
    with pytest.raises(ValueError, match="multiple of the element"):
        md.from_numpy(np.zeros(3, dtype=[("a", "i4"), ("b", "i1")])["a"])
    for dtype in ("U3", "c32", "O", "M8[s]"):
        with pytest.raises((TypeError, ValueError)):
            md.from_numpy(np.zeros(2, dtype))
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        md.from_numpy([1])
    frozen = np.ones(2)
    frozen.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        assert md.from_numpy(frozen).tolist() == [1, 1]


def test_array_protocol():
    x = md.tensor([1.5, 2.5])
    assert np.asarray(x).ctypes.data == x.data_ptr()
    assert np.array(x).ctypes.data != x.data_ptr()
    assert np.asarray(x, dtype=np.int32).tolist() == [1, 2]
    assert x.__array__().tolist() == [1.5, 2.5]
    assert x.__array__(np.float64).dtype == np.float64
    assert x.__array__(copy=True).ctypes.data != x.data_ptr()
    assert np.concatenate([x, x]).tolist() == [1.5, 2.5, 1.5, 2.5]


def test_numpy_refusals():
    with pytest.raises(RuntimeError, match="requires grad"):
        md.ones(2).requires_grad_().numpy()
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(md.ones(2).requires_grad_())
    assert md.ones(2).requires_grad_().numpy(force=True).tolist() == [1, 1]
    with pytest.raises(TypeError, match="BFloat16"):
        md.ones(2, dtype=md.bfloat16).numpy()
    with pytest.raises(TypeError):
        md.ones(2).numpy(1)


def test_buffer_protocol():
    x = md.tensor([[1, 2], [3, 4]], dtype=md.int32)
    view = memoryview(x)
    assert view.shape == (2, 2) and view.format == "i" and view.tolist() == [[1, 2], [3, 4]] and not view.readonly
    view[0, 0] = 9
    assert x.tolist()[0][0] == 9
    assert bytes(x) == x.numpy().tobytes()
    assert memoryview(x.T).strides == (4, 8)
    with pytest.raises(BufferError):
        memoryview(md.ones(2, dtype=md.bfloat16))
    assert memoryview(md.tensor(7)).tolist() == 7


def test_mixed_with_arrays():
    x, a = md.tensor([1.0, 2.0]), np.array([10.0, 20.0])
    for result in (x + a, a + x, a * x / x + a * 0 + x):
        assert isinstance(result, md.Tensor) and result.dtype is md.float64
    assert (a - x).tolist() == [9.0, 18.0]
    assert isinstance(np.float32(2) * x, md.Tensor) and (np.float32(2) * x).tolist() == [2.0, 4.0]
    assert (a == x).tolist() == [False, False]


# ---- printing ----


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (lambda: md.tensor([1.0, 2.0]), "tensor([1., 2.])"),
        (lambda: md.tensor(1.5), "tensor(1.5000)"),
        (lambda: md.tensor([1, -20]), "tensor([  1, -20])"),
        (lambda: md.tensor([True, False]), "tensor([ True, False])"),
        (lambda: md.tensor([1.0, 2.5], dtype=md.float64), "tensor([1.0000, 2.5000], dtype=minidynamo.float64)"),
        (lambda: md.tensor([1], dtype=md.uint8), "tensor([1], dtype=minidynamo.uint8)"),
        (lambda: md.tensor([]), "tensor([])"),
        (lambda: md.tensor([], dtype=md.int64), "tensor([], dtype=minidynamo.int64)"),
        (lambda: md.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: md.tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: md.tensor([[1.0, 2.0], [3.0, 4.0]]), "tensor([[1., 2.],\n        [3., 4.]])"),
        (lambda: md.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
        (lambda: md.tensor([float("nan"), float("inf"), 1.0]), "tensor([nan, inf, 1.])"),
        (lambda: md.tensor([0.5], dtype=md.bfloat16), "tensor([0.5000], dtype=minidynamo.bfloat16)"),
    ],
)
def test_repr(x, text):
    assert repr(x()) == text


def test_repr_of_many_elements():
    text = repr(md.arange(2000))
    assert text == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"
    lines = repr(md.zeros(2, 100, 100)).splitlines()
    assert lines[0] == "tensor([[[0., 0., 0.,  ..., 0., 0., 0.],"
    assert lines[3] == "         ..."[:12] + "," and len(lines) == 15


def test_repr_is_torchs():
    torch = pytest.importorskip("torch")
    data = [
        np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32),
        np.random.default_rng(0).normal(size=(40, 60)).astype(np.float32) * 1e3,
        np.random.default_rng(1).normal(size=(2, 3, 30)),
        np.arange(1500).reshape(30, 50),
        np.array([0.0, 1e-9, 1e9]),
        np.array([0.0, np.nan, -np.inf], dtype=np.float32),
        np.array([-1.0, 1e10]),
        np.zeros((2, 0, 3)),
        np.array(3.0),
        np.array([[True, False]]),
        np.full(100, 1.25),
        np.array([1000.5, -0.0]),
    ]
    for a in data:
        assert repr(md.tensor(a)).replace("minidynamo.", "torch.") == repr(torch.tensor(a))


def test_print_options():
    x = md.tensor([1.23456, 2.0])
    md.set_printoptions(precision=2)
    assert repr(x) == "tensor([1.23, 2.00])"
    md.set_printoptions(profile="default", sci_mode=True)
    assert repr(x) == "tensor([1.2346e+00, 2.0000e+00])"
    md.set_printoptions(profile="default")
    assert repr(x) == "tensor([1.2346, 2.0000])"
    with pytest.raises(ValueError, match="unknown profile"):
        md.set_printoptions(profile="q")


# ---- the small types ----


def test_dtypes():
    assert repr(md.float32) == "minidynamo.float32" and str(md.bool) == "minidynamo.bool"
    assert md.float is md.float32 and md.double is md.float64 and md.long is md.int64 and md.half is md.float16
    assert md.float32.itemsize == 4 and md.float32.is_floating_point and not md.int8.is_floating_point
    assert md.int8.is_signed and not md.uint8.is_signed
    with pytest.raises(TypeError):
        md.dtype()
    assert md.zeros(2, dtype=float).dtype is md.float64 and md.zeros(2, dtype=int).dtype is md.int64


def test_default_dtype():
    assert md.get_default_dtype() is md.float32
    md.set_default_dtype(md.float64)
    try:
        assert md.tensor(1.0).dtype is md.float64 and md.ones(2).dtype is md.float64
    finally:
        md.set_default_dtype(md.float32)
    for wrong in (md.int32, 1, float):
        with pytest.raises(TypeError, match="floating-point"):
            md.set_default_dtype(wrong)


def test_size():
    size = md.Size([2, 3])
    assert repr(size) == "minidynamo.Size([2, 3])" and size == (2, 3) and size.numel() == 6
    assert type(size + (1,)) is md.Size and type((1,) + size) is md.Size and type(size[:1]) is md.Size
    assert type(size * 2) is md.Size and size[0] == 2 and isinstance(size, tuple)
    assert md.Size(md.tensor([2, 3])) == (2, 3)
    with pytest.raises(TypeError, match="item 0 is 'str'"):
        md.Size(["a"])
    with pytest.raises(TypeError):
        size + [1]


def test_device():
    assert repr(md.device("cpu")) == "device(type='cpu')" and str(md.device("cpu:0")) == "cpu:0"
    assert md.device("cpu", 0).index == 0 and md.device("cpu").index is None
    assert md.device("cpu") != md.device("cpu:0") and hash(md.device("cpu")) == hash(md.device("cpu"))
    assert md.device(md.device("cpu")) == md.device("cpu")
    assert md.device("cuda:1") == md.device("cuda", 1) != md.device("cuda")
    for wrong in ("foo", "cpu:x", ""):
        with pytest.raises(RuntimeError, match="device string"):
            md.device(wrong)
    with pytest.raises(TypeError):
        md.device(3)


def test_limits():
    assert md.finfo(md.float32).max == np.finfo(np.float32).max and md.finfo().eps == 2.0**-23
    assert md.finfo(md.float64).min == np.finfo(np.float64).min and md.finfo(md.bfloat16).bits == 16
    assert md.iinfo(md.int8).min == -128 and md.iinfo(md.uint8).max == 255
    with pytest.raises(TypeError):
        md.finfo(md.int32)
    with pytest.raises(TypeError):
        md.iinfo(md.float32)


def test_threads():
    before = md.get_num_threads()
    md.set_num_threads(1)
    assert md.get_num_threads() == 1
    md.set_num_threads(before)
    for wrong in (0, -1, "a"):
        with pytest.raises(RuntimeError, match="set_num_threads"):
            md.set_num_threads(wrong)


def test_is_tensor():
    assert md.is_tensor(md.ones(1)) and not md.is_tensor([1])
