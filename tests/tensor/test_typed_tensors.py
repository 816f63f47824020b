"""The legacy constructors, Tensor, FloatTensor and the like, eager and captured, beside torch's."""

import pickle

import pytest

import minidynamo

NAMES = {
    "Tensor": "float32",
    "BFloat16Tensor": "bfloat16",
    "BoolTensor": "bool",
    "ByteTensor": "uint8",
    "CharTensor": "int8",
    "DoubleTensor": "float64",
    "FloatTensor": "float32",
    "HalfTensor": "float16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "ShortTensor": "int16",
}

ARGUMENTS = {
    "nothing": lambda md: (),
    "a size": lambda md: (3,),
    "sizes": lambda md: (2, 3),
    "a list": lambda md: ([1, 0],),
    "a tuple": lambda md: ((1, 0),),
    "nested": lambda md: ([[1, 0], [1, 1]],),
    "a Size": lambda md: (md.ones(2, 3).shape,),
    "a bool": lambda md: (True,),
    "a float": lambda md: (2.5,),
    "text": lambda md: ("ab",),
    "ragged": lambda md: ([[1], [2, 3]],),
    "a size and a bool": lambda md: (2, True),
    "a size and a float": lambda md: (2, 2.5),
    "an element of another dtype": lambda md: ([md.ones(1, dtype=md.int16)[0]],),
}


def _observed(make, args):
    try:
        result = make(*args)
    except Exception as error:
        return type(error)
    return result.tolist(), str(result.dtype).rpartition(".")[2], tuple(result.shape)


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("name", NAMES)
def test_as_torch_makes_them(name, arguments):
    torch = pytest.importorskip("torch")
    args = ARGUMENTS[arguments](torch)
    wanted = _observed(getattr(torch, name), args)
    # Elements that are not set in torch are zeros here.
    if args and all(isinstance(arg, int) for arg in args) or isinstance(args[0] if args else None, torch.Size):
        if not isinstance(wanted, type):
            wanted = getattr(torch, name)(*args).zero_().tolist(), *wanted[1:]
    assert _observed(getattr(minidynamo, name), ARGUMENTS[arguments](minidynamo)) == wanted


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize("name", NAMES)
def test_captured(name, arguments):
    make = getattr(minidynamo, name)
    args = ARGUMENTS[arguments](minidynamo)
    wanted = _observed(make, args)
    minidynamo._dynamo.reset()
    # That an element fits a narrower dtype is not known.
    is_whole = not isinstance(wanted, type) and not arguments.startswith("an element")
    compiled = minidynamo.compile(lambda *args: make(*args), fullgraph=is_whole)
    for _ in range(2):
        assert _observed(compiled, args) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_types_of_tensors(name):
    dtype = getattr(minidynamo, NAMES[name])
    typed = getattr(minidynamo, name)
    for other in NAMES.values():
        x = minidynamo.zeros(2, dtype=getattr(minidynamo, other))
        if name == "Tensor":
            assert isinstance(x, typed)
            continue
        assert isinstance(x, typed) == (x.dtype is dtype)
        assert x.type(typed).dtype is dtype
        assert isinstance(x, (int, typed)) == (x.dtype is dtype)
    assert not isinstance(3, typed)
    assert pickle.loads(pickle.dumps(typed)) is typed


def test_a_tensor_is_aliased():
    x = minidynamo.zeros(2)
    assert minidynamo.FloatTensor(x).data_ptr() == x.data_ptr()
    with pytest.raises(TypeError, match="LongTensor"):
        minidynamo.LongTensor(x)


def test_the_default_dtype_that_is_set_already():
    def function(x):
        minidynamo.set_default_dtype(minidynamo.float32)
        return x + minidynamo.Tensor([1.5])

    compiled = minidynamo.compile(function, fullgraph=True)
    x = minidynamo.ones(1)
    assert compiled(x).item() == 2.5
    minidynamo.set_default_dtype(minidynamo.float64)
    try:
        assert minidynamo.compile(function)(x).dtype is minidynamo.float32
        assert minidynamo.get_default_dtype() is minidynamo.float32
    finally:
        minidynamo.set_default_dtype(minidynamo.float32)
