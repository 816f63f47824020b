"""The names below torch.nn that are not layers' own: nn.modules.*, nn.parallel, nn.attention, SyncBatchNorm, RNNBase."""

import importlib
import pickle
import pkgutil

import pytest
from value_or_error import value_or_error

import minidynamo
from minidynamo import nn

SUBMODULES = sorted(info.name for info in pkgutil.iter_modules(nn.modules.__path__))

# Names with an underscore that public programs use, by torch's submodule.
PRIVATE = {
    "batchnorm": ["_BatchNorm", "_NormBase"],
    "conv": ["_ConvNd", "_ConvTransposeNd"],
    "dropout": ["_DropoutNd"],
    "instancenorm": ["_InstanceNorm", "_NormBase"],
    "linear": ["NonDynamicallyQuantizableLinear"],
    "loss": ["_Loss", "_WeightedLoss"],
    "module": ["_IncompatibleKeys", "_addindent"],
    "padding": ["_CircularPadNd", "_ConstantPadNd", "_ReflectionPadNd", "_ReplicationPadNd"],
    "pooling": ["_AdaptiveAvgPoolNd", "_AdaptiveMaxPoolNd", "_AvgPoolNd", "_LPPoolNd", "_MaxPoolNd"],
    "transformer": ["_get_activation_fn", "_get_clones"],
    "utils": ["_list_with_default", "_ntuple", "_pair", "_quadruple", "_reverse_repeat_tuple", "_single", "_triple"],
}


@pytest.mark.parametrize("name", SUBMODULES)
def test_the_same_classes_by_both_paths(name):
    module = importlib.import_module(f"minidynamo.nn.modules.{name}")
    for each in module.__all__:
        # In torch, too, the module alone has hooks of all modules, and LazyModuleMixin.
        if name not in ("lazy", "utils") and not each.startswith("register_module_"):
            assert getattr(module, each) is getattr(nn, each)
            assert getattr(nn.modules, each) is getattr(nn, each)


@pytest.mark.parametrize("name", SUBMODULES)
def test_names_are_where_torch_has_them(name):
    pytest.importorskip("torch")
    theirs = importlib.import_module(f"torch.nn.modules.{name}")
    ours = importlib.import_module(f"minidynamo.nn.modules.{name}")
    wanted = [each for each in theirs.__all__ if hasattr(nn, each) or name == "utils"]
    assert [each for each in wanted if not hasattr(ours, each)] == []
    assert [each for each in ours.__all__ if not hasattr(theirs, each)] == []


@pytest.mark.parametrize("name", sorted(PRIVATE))
def test_private_names(name):
    module = importlib.import_module(f"minidynamo.nn.modules.{name}")
    assert [each for each in PRIVATE[name] if not hasattr(module, each)] == []
    torch = pytest.importorskip("torch")
    theirs = importlib.import_module(f"torch.nn.modules.{name}")
    for each in PRIVATE[name]:
        cls = getattr(theirs, each)
        if isinstance(cls, type) and issubclass(cls, torch.nn.Module):
            names = [k for k, v in vars(torch.nn).items() if isinstance(v, type) and issubclass(v, cls)]
            for child in names:
                if hasattr(nn, child):
                    assert issubclass(getattr(nn, child), getattr(module, each)), child


def test_pickles_name_classes_by_either_path():
    layer = nn.Conv2d(1, 2, 3)
    text = pickle.dumps(layer, protocol=0)
    other = pickle.loads(text.replace(b"minidynamo.nn.convolution", b"minidynamo.nn.modules.conv"))
    assert type(other) is nn.Conv2d
    assert (other.weight == layer.weight).all()


@pytest.mark.parametrize("argument", [3, 2.5, None, "ab", (1, 2), [1, 2], (1, 2, 3)])
def test_tuples(argument):
    torch = pytest.importorskip("torch")
    for name in ("_single", "_pair", "_triple", "_quadruple"):
        ours, theirs = getattr(nn.modules.utils, name), getattr(torch.nn.modules.utils, name)
        assert ours(argument) == theirs(argument)
        assert ours.__name__ == theirs.__name__


def test_functions_about_sizes():
    torch = pytest.importorskip("torch")
    from torch.nn import _reduction as theirs

    from minidynamo.nn import _reduction as ours

    for args in (((1, 2), 2), ((), 3), ([3], 1)):
        assert nn.modules.utils._reverse_repeat_tuple(*args) == torch.nn.modules.utils._reverse_repeat_tuple(*args)
    for args in (([None, 2], [3, 4, 5]), (3, [1]), ([None, 2], [3]), ([None], [3, 4])):
        results = [value_or_error(each.nn.modules.utils._list_with_default, *args) for each in (minidynamo, torch)]
        assert results[0] == results[1]
    for reduction in ("none", "mean", "sum", "x"):
        assert value_or_error(ours.get_enum, reduction) == value_or_error(theirs.get_enum, reduction)
    for args in ((True, None), (False, None), (None, False), (None, None), (False, True)):
        assert ours.legacy_get_string(*args, False) == theirs.legacy_get_string(*args, False)
    for text in ("", "a", "a\nb", "a\n\nb\n"):
        assert nn.modules.module._addindent(text, 2) == torch.nn.modules.module._addindent(text, 2)
    for shape in ((3,), (3, 4), (3, 4, 5), (2, 3, 4, 5)):
        results = [
            value_or_error(each.nn.init._calculate_fan_in_and_fan_out, each.empty(shape))
            for each in (minidynamo, torch)
        ]
        assert results[0] == results[1]
        for mode in ("fan_in", "fan_out", "FAN_IN", "x"):
            results = [
                value_or_error(each.nn.init._calculate_correct_fan, each.empty(shape), mode)
                for each in (minidynamo, torch)
            ]
            assert results[0] == results[1]


def test_prefix_of_a_state():
    torch = pytest.importorskip("torch")
    states = []
    for library in (minidynamo, torch):
        state = library.nn.DataParallel(library.nn.Linear(1, 1)).state_dict()
        library.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
        states.append(list(state))
    assert states[0] == states[1] == ["weight", "bias"]


def test_convolutions_on_the_shared_base():
    torch = pytest.importorskip("torch")
    for library in (minidynamo, torch):

        class Own(library.nn.modules.conv._ConvNd):
            def forward(self, x, library=library):
                return library.nn.functional.conv2d(x, self.weight, self.bias, self.stride, self.padding, groups=2)

        pair = library.nn.modules.utils._pair
        args = (4, 6, pair(3), pair(1), pair(1), pair(1), False, pair(0), 2, True, "zeros")
        layer = Own(*args)
        assert layer.weight.shape == (6, 2, 3, 3)
        assert layer(library.ones(1, 4, 5, 5)).shape == (1, 6, 5, 5)
        assert (layer.transposed, layer.output_padding) == (False, (0, 0))
        padded = library.nn.Conv2d(1, 1, 3, padding=(1, 2), padding_mode="reflect")
        assert tuple(padded._reversed_padding_repeated_twice) == (2, 2, 1, 1)
        x = library.ones(1, 1, 8, 8)
        assert (padded._conv_forward(x, padded.weight, padded.bias) == padded(x)).all()


RECURRENT = [
    lambda nn: nn.RNNBase("X", 1, 1),
    lambda nn: nn.RNNBase("LSTM", 2, 3).weight_ih_l0.shape[0],
    lambda nn: nn.RNNBase("GRU", 2, 3, 2, bidirectional=True).mode,
    lambda nn: nn.GRU(2, 3, proj_size=1),
    lambda nn: nn.LSTM(2, 3, proj_size=3),
    lambda nn: repr(nn.LSTM(2, 3, 2, proj_size=1)),
    lambda nn: nn.RNN(2, 3, nonlinearity="relu").mode,
    lambda nn: nn.GRU(2, 3).mode,
    lambda nn: repr(nn.GRU(2, 3)),
]


@pytest.mark.parametrize("number", range(len(RECURRENT)))
def test_recurrent_base(number):
    torch = pytest.importorskip("torch")
    assert value_or_error(RECURRENT[number], nn) == value_or_error(RECURRENT[number], torch.nn)


def synced(library, shape, training=True, **kwargs):
    layer = library.nn.SyncBatchNorm(3, **kwargs)
    layer.train(training)
    numbers = library.arange(0.0, 120.0)[: int(library.ones(shape).numel())].reshape(shape) if shape else None
    result = layer(library.ones(()) if numbers is None else numbers)
    return result.tolist(), layer.running_mean.tolist() if layer.track_running_stats else None


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("kwargs", [{}, {"affine": False}, {"momentum": None}, {"bias": False}])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 5), (2, 3, 2, 2), (2, 3, 2, 2, 2), (3,), (2, 0, 3)])
def test_synchronized_batch_norm(shape, kwargs, training):
    torch = pytest.importorskip("torch")
    ours, theirs = (
        value_or_error(lambda: synced(minidynamo, shape, training, **kwargs)),
        value_or_error(lambda: synced(torch, shape, training, **kwargs)),
    )
    if isinstance(theirs[0], str):
        assert ours == theirs
    else:
        assert torch.tensor(ours[0]).allclose(torch.tensor(theirs[0]), atol=1e-5)
        assert ours[1] == pytest.approx(theirs[1], abs=1e-5)


def test_conversion_to_synchronized():
    torch = pytest.importorskip("torch")
    texts = []
    for library in (minidynamo, torch):
        inner = library.nn.Sequential(library.nn.BatchNorm1d(2, affine=False))
        model = library.nn.Sequential(library.nn.BatchNorm2d(3), inner, library.nn.InstanceNorm2d(3, affine=True))
        weight = model[0].weight
        converted = library.nn.SyncBatchNorm.convert_sync_batchnorm(model.eval())
        assert converted is model
        assert model[0].weight is weight
        assert not model[0].training
        texts.append(repr(converted))
    assert texts[0] == texts[1]


def test_converted_model_is_captured():
    model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3))).eval()
    x = minidynamo.randn(2, 1, 6, 6)
    assert minidynamo.compile(model, fullgraph=True)(x).allclose(model(x), atol=1e-5)


def test_data_parallel_passes_through():
    torch = pytest.importorskip("torch")
    for library in (minidynamo, torch):
        inner = library.nn.Linear(2, 3)
        model = library.nn.DataParallel(inner)
        x = library.ones(4, 2)
        assert (model(x) == inner(x)).all()
        assert list(model.state_dict()) == ["module.weight", "module.bias"]
        assert model.module is inner
    assert (
        nn.parallel.data_parallel(inner := nn.Linear(2, 3), minidynamo.ones(1, 2)) == inner(minidynamo.ones(1, 2))
    ).all()
    with pytest.raises(RuntimeError, match="use the module itself"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))


def entered(context):
    with context():
        return "entered"


@pytest.mark.parametrize(
    "argument", [lambda b: b.MATH, lambda b: [b.MATH, b.FLASH_ATTENTION], lambda b: [], lambda b: 3, lambda b: "x"]
)
def test_attention_backends(argument):
    torch = pytest.importorskip("torch")
    results = []
    for library in (minidynamo, torch):
        attention = importlib.import_module(f"{library.__name__}.nn.attention")
        results.append(value_or_error(entered, lambda a=attention: a.sdpa_kernel(argument(a.SDPBackend))))
        results.append({name: int(each) for name, each in attention.SDPBackend.__members__.items()})
    assert results[:2] == results[2:]


def test_flex_attention_says_what_to_use():
    flex = importlib.import_module("minidynamo.nn.attention.flex_attention")
    for call in (flex.flex_attention, flex.create_block_mask, flex.BlockMask):
        with pytest.raises(RuntimeError, match="scaled_dot_product_attention"):
            call(None, None, None)
    torch = pytest.importorskip("torch")
    theirs = importlib.import_module("torch.nn.attention.flex_attention")
    for function in (lambda b, h, q, k: q >= k, lambda b, h, q, k: (q - k < 2) & (b == h), flex.noop_mask):
        for sizes in ((None, None, 3, 4), (2, 3, 4, 4)):
            ours = flex.create_mask(function, *sizes)
            if function is not flex.noop_mask:
                assert ours.tolist() == theirs.create_mask(function, *sizes, device="cpu").tolist()
            assert ours.dtype is minidynamo.bool
            assert ours.shape == torch.Size([sizes[0] or 1, sizes[1] or 1, *sizes[2:]])
