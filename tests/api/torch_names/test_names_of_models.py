"""Names that public models meet: devices, data, operators by schemas, quantization, containers, hub, types of TorchScript."""

import importlib

import pytest

import minidynamo


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()


def outcome(text, library):
    try:
        return str(eval(text, {"t": library})).replace("minidynamo", "torch")
    except Exception as error:
        return type(error)


DEVICES = [
    "t.device('cuda')",
    "repr(t.device('cuda', 1))",
    "t.device('cuda:3').index",
    "t.device('meta').type",
    "t.device('cuda') == t.device('cuda:0'), t.device('cpu') == t.ones(1).device, t.device('cuda') == t.ones(1).device",
    "t.device(t.device('xpu', 2))",
    "t.device('cuda:x')",
    "t.device('cuda:01')",
    "t.device('foo')",
    "t.device('cuda:1', 1)",
    "t.device(None)",
    "{t.device('cuda'): 1}[t.device('cuda')]",
]


@pytest.mark.parametrize("text", DEVICES)
def test_devices(text):
    torch = pytest.importorskip("torch")
    assert outcome(text, minidynamo) == outcome(text, torch)


@pytest.mark.parametrize(
    "text", ["t.ones(1).to(d)", "t.ones(1, device=d)", "t.tensor(1, device=d)", "t.ones(1).cuda()"]
)
def test_other_devices_have_no_tensors(text):
    with pytest.raises(RuntimeError, match="the only device is 'cpu', got 'cuda"):
        eval(text, {"t": minidynamo, "d": minidynamo.device("cuda")})
    with pytest.raises(RuntimeError, match="the only device is 'cpu', got 'cuda'"), minidynamo.device("cuda"):
        pass
    with minidynamo.device("cpu"):
        assert minidynamo.ones(1).device.type == "cpu"


DATA = [
    "(x.__setattr__('data', t.ones(2, 3)), x.tolist(), x.requires_grad)",
    "(x.requires_grad_(), x.__setattr__('data', t.zeros(4)), x.shape, x.requires_grad)",
    "(x.__setattr__('data', t.ones(2).double()), x.dtype)",
    "x.__setattr__('data', 3)",
    "x.__delattr__('data')",
    "x.resize_(2).shape",
    "x.resize_(3, 2).shape",
    "(x.resize_(1, 2).tolist(),)",
    "x.resize_(-1)",
    "x.resize_as_(t.ones(2, 2)).shape",
    "x.as_strided_((2, 2), (1, 1)).tolist()",
    "x.t().resize_(4).shape",
]


@pytest.mark.parametrize("text", DATA)
def test_data(text):
    torch = pytest.importorskip("torch")
    found = []
    for library in (minidynamo, torch):
        try:
            found.append(str(eval(text, {"t": library, "x": library.arange(4.0)})).replace("minidynamo", "torch"))
        except Exception as error:
            found.append(type(error))
    if isinstance(found[1], str) and "tensor" in found[1]:
        found = [each.partition("None, ")[2] for each in found]
    assert found[0] == found[1]


def test_data_in_compiled_code():
    def run(x):
        y = minidynamo.ones(3)
        y.data = x
        return y + 1

    x = minidynamo.arange(2.0)
    assert minidynamo.compile(run)(x).tolist() == run(x).tolist() == [1.0, 2.0]


def test_numbers_in_tensors_stay_in_the_graph():
    compiled = minidynamo.compile(lambda x: minidynamo.arange(x.max()) + 1, fullgraph=True)
    for last in (4, 7):
        assert compiled(minidynamo.tensor([1, last])).tolist() == list(range(1, last + 1))


def test_library():
    library = minidynamo.library.Library("models_test", "DEF")
    assert library.define("scaled(Tensor x, float factor=2.0, *, bool negative=False) -> Tensor") == "scaled"
    operator = minidynamo.ops.models_test.scaled
    with pytest.raises(NotImplementedError):
        operator(minidynamo.ones(2))

    def scaled(x, factor=2.0, *, negative=False):
        return x * (-factor if negative else factor)

    library.impl("scaled", scaled, "CPU")
    library._register_fake("scaled", lambda x, factor=2.0, *, negative=False: minidynamo.empty_like(x))
    assert operator(minidynamo.ones(2), negative=True).tolist() == [-2.0, -2.0]
    compiled = minidynamo.compile(lambda x: operator(x, 3.0) + 1, fullgraph=True)
    assert compiled(minidynamo.ones(2)).tolist() == [4.0, 4.0]

    minidynamo.library.define("models_test::twice", "(Tensor x) -> Tensor")
    minidynamo.library.impl("models_test::twice", "cpu", lambda x: x * 2)
    assert minidynamo.ops.models_test.twice(minidynamo.ones(1)).tolist() == [2.0]

    @minidynamo.library.impl(library, "scaled", "CUDA")
    def never(x):
        raise AssertionError

    assert operator(minidynamo.ones(1)).tolist() == [2.0]


REFUSED = [
    ("Library('a', 'NO')", ValueError),
    ("Library('a', 'IMPL').define('f(Tensor x) -> Tensor')", ValueError),
    ("Library('a', 'DEF').define('f(Tensor x)')", ValueError),
    ("Library('a', 'DEF').define('f(Unknown x) -> Tensor')", ValueError),
    ("Library('aten', 'IMPL').impl('add', len)", RuntimeError),
    ("Library('a', 'DEF').impl('f', 3)", TypeError),
    ("define('name', '(Tensor x) -> Tensor')", ValueError),
]


@pytest.mark.parametrize(("text", "error"), REFUSED)
def test_library_refuses(text, error):
    with pytest.raises(error):
        eval(f"library.{text}", {"library": minidynamo.library})


def test_fakes_before_operators():
    minidynamo.library.register_fake("models_late::f", lambda x: minidynamo.empty_like(x))
    minidynamo.library.Library("models_late", "FRAGMENT").define("f(Tensor x) -> Tensor")
    minidynamo.library.impl("models_late::f", "default", lambda x: x + 1)
    compiled = minidynamo.compile(lambda x: minidynamo.ops.models_late.f(x), fullgraph=True)
    assert compiled(minidynamo.ones(1)).tolist() == [2.0]


CONTAINERS = [
    "len(t.nn.ModuleList([t.nn.ReLU()]) + [t.nn.Tanh()])",
    "[type(m).__name__ for m in t.nn.ModuleList([t.nn.ReLU()]).__iadd__([t.nn.Tanh()])]",
    "[type(m).__name__ for m in t.nn.Sequential(t.nn.ReLU()) + t.nn.Sequential(t.nn.Tanh())]",
    "type(t.nn.Sequential(t.nn.ReLU(), t.nn.Tanh()).pop(0)).__name__",
    "t.ao.quantization.QuantStub()(3), t.ao.quantization.DeQuantStub()(4)",
    "t.ao.nn.quantized.FloatFunctional().add(t.ones(1), t.ones(1))",
    "t.ao.nn.quantized.FloatFunctional().mul_scalar(t.ones(1), 3.0)",
    "t.ao.nn.quantized.FloatFunctional().cat([t.ones(1), t.ones(1)])",
    "t.ao.nn.quantized.FloatFunctional()(t.ones(1))",
    "isinstance(3, t.SymInt), isinstance(True, t.SymBool), isinstance(0.5, t.SymFloat)",
    "t.nn.parallel.parallel_apply([t.nn.ReLU()], [])",
]


@pytest.mark.parametrize("text", CONTAINERS)
def test_as_torch(text):
    torch = pytest.importorskip("torch")
    importlib.import_module("torch.ao.nn.quantized")
    assert outcome(text, minidynamo) == outcome(text, torch)


IMPORTS = {
    "_ops": ["ops", "OpOverload"],
    "ao.quantization": ["DeQuantStub", "QuantStub", "fuse_modules", "prepare"],
    "hub": ["HASH_REGEX", "_get_torch_home", "download_url_to_file", "urlparse"],
    "nn.parallel.parallel_apply": ["parallel_apply"],
    "nn.parallel.replicate": ["replicate"],
    "nn.parallel.scatter_gather": ["gather", "scatter"],
    "quantization": ["DeQuantStub", "QuantStub"],
    "utils.dlpack": ["from_dlpack", "to_dlpack"],
    "utils.model_zoo": ["load_url", "tqdm"],
    "func": ["functional_call", "grad", "vmap"],
}


@pytest.mark.parametrize("name", IMPORTS)
def test_imports(name):
    torch = pytest.importorskip("torch")
    for library in (minidynamo, torch):
        module = importlib.import_module(f"{library.__name__}.{name}")
        assert [each for each in IMPORTS[name] if not hasattr(module, each)] == []


def test_types_of_torchscript():
    torch = pytest.importorskip("torch")
    names = minidynamo._NAMES_OF_MODULES["jit.type_names"]
    assert [each for each in names if not isinstance(getattr(torch, each), type)] == []
    assert all(isinstance(getattr(minidynamo, each), type) for each in names)


def test_parallel_apply_without_devices():
    relu = minidynamo.nn.ReLU()
    found = minidynamo.nn.parallel.parallel_apply([relu, relu], [minidynamo.ones(1), (minidynamo.zeros(1),)])
    assert [each.tolist() for each in found] == [[1.0], [0.0]]


def test_refusals():
    for text in ("ao.quantization.prepare(3)", "quantization.convert(3)", "nn.parallel.replicate(3, [0])"):
        with pytest.raises((NotImplementedError, RuntimeError), match="minidynamo"):
            eval(f"t.{text}", {"t": minidynamo})


def test_capsules():
    dlpack = importlib.import_module("minidynamo.utils.dlpack")
    x = minidynamo.ones(2)
    for given in (dlpack.to_dlpack(x), x):
        y = dlpack.from_dlpack(given)
        assert y.tolist() == [1.0, 1.0] and y.data_ptr() == x.data_ptr()
