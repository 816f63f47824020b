"""Layers: parameters, repr and results as in torch where it is installed; compiled into one graph; the main ones
against NumPy."""

import inspect

import numpy as np
import pytest
from test_functional import T

import minidynamo as md
from minidynamo import nn

torch = None
try:
    import torch
except ImportError:
    pass


def call(*args, **keywords):
    return args, keywords


def layer(name, options, *inputs, train=False):
    return name, options, inputs, train


IMAGE, LINE, VOLUME, ROWS = T(2, 4, 7, 9), T(2, 4, 11), T(2, 4, 5, 6, 7), T(3, 4)
STEPS = T(5, 2, 4)
PADDED = T(values=[[False, False, False, False, True], [False] * 5], dtype="bool")

CASES = [
    *(layer(name, call(), ROWS) for name in (
        "ReLU", "GELU", "SiLU", "Sigmoid", "Tanh", "ELU", "LeakyReLU", "ReLU6", "Hardsigmoid", "Hardswish", "SELU", "Mish", "CELU",
        "Hardtanh", "Softplus", "Softshrink", "Hardshrink", "LogSigmoid", "Softsign", "Tanhshrink", "Identity", "GLU", "PReLU",
    )),
    layer("ReLU", call(inplace=True), ROWS),
    layer("ELU", call(0.5, True), ROWS),
    layer("Hardtanh", call(-0.5, 0.5, True), ROWS),
    layer("PReLU", call(4, 0.3), ROWS),
    layer("RReLU", call(0.1, 0.2), ROWS),
    layer("LPPool3d", call(2, 2), VOLUME),
    layer("MaxUnpool1d", call(2), T(3, 4), T(values=[[0, 2, 5, 7]] * 3, dtype="int64")),
    layer("MaxUnpool2d", call((2, 3), 2, 1), T(2, 3, 4, 2), T(2, 3, 4, 2, below=3)),
    layer("MaxUnpool3d", call(2), T(2, 3, 4, 2, 2), T(2, 3, 4, 2, 2, below=4)),
    layer("MultiMarginLoss", call(2, 0.5), T(6, 5), T(6, below=5)),
    layer("MultiLabelMarginLoss", call(), T(2, 4), T(values=[[3, 0, -1, 1], [-1, 0, 1, 2]], dtype="int64")),
    layer("MultiLabelSoftMarginLoss", call(), T(6, 5), T(6, 5, below=2)),
    layer("TripletMarginWithDistanceLoss", call(swap=True), ROWS, T(3, 4, positive=True), T(1, 4)),
    layer("CTCLoss", call(reduction="sum"), T(7, 3, 5), T(3, 2, below=4), (7, 5, 6), (2, 1, 1)),
    layer("AdaptiveLogSoftmaxWithLoss", call(8, 10, [3, 6], 2.0), T(3, 8), T(3, below=10)),
    layer("Threshold", call(0.1, 3.0), ROWS),
    layer("Softmax", call(1), ROWS),
    layer("LogSoftmax", call(dim=0), ROWS),
    layer("Softmin", call(1), ROWS),
    layer("Softmax2d", call(), IMAGE),
    *(layer(name, call(0.3), IMAGE) for name in ("Dropout", "Dropout2d", "AlphaDropout", "FeatureAlphaDropout")),
    layer("Dropout1d", call(), LINE),
    layer("Dropout3d", call(), VOLUME),
    layer("Linear", call(4, 3), ROWS),
    layer("Linear", call(4, 3, bias=False), ROWS),
    layer("Bilinear", call(4, 5, 3), ROWS, T(3, 5)),
    layer("Conv1d", call(4, 6, 3, 2, 1), LINE),
    layer("Conv2d", call(4, 6, 3), IMAGE),
    layer("Conv2d", call(4, 6, (3, 2), padding="same"), IMAGE),
    layer("Conv2d", call(4, 8, 3, stride=2, padding=1, groups=4, bias=False), IMAGE),
    layer("Conv2d", call(4, 6, 3, padding=(1, 2), dilation=2, padding_mode="reflect"), IMAGE),
    layer("Conv2d", call(4, 6, 3, padding="same", padding_mode="circular"), IMAGE),
    layer("Conv3d", call(4, 6, 3, padding=1), VOLUME),
    layer("ConvTranspose1d", call(4, 6, 3, 2), LINE),
    layer("ConvTranspose2d", call(4, 6, 3, 2, 1, 1), IMAGE),
    layer("ConvTranspose3d", call(4, 2, 2, groups=2), VOLUME),
    layer("MaxPool1d", call(3), LINE),
    layer("MaxPool2d", call(2, 1, 1), IMAGE),
    layer("MaxPool2d", call((3, 2), return_indices=True), IMAGE),
    layer("MaxPool3d", call(2), VOLUME),
    layer("AvgPool1d", call(3), LINE),
    layer("AvgPool2d", call(2, 1), IMAGE),
    layer("AvgPool3d", call(2), VOLUME),
    layer("AdaptiveAvgPool1d", call(3), LINE),
    layer("AdaptiveAvgPool2d", call((2, 3)), IMAGE),
    layer("AdaptiveAvgPool3d", call(2), VOLUME),
    layer("AdaptiveMaxPool1d", call(3), LINE),
    layer("AdaptiveMaxPool2d", call((None, 3)), IMAGE),
    layer("AdaptiveMaxPool3d", call(2), VOLUME),
    layer("LPPool1d", call(2, 3), LINE),
    layer("LPPool2d", call(2, 3), IMAGE),
    layer("LayerNorm", call(4), ROWS),
    layer("LayerNorm", call((7, 9), bias=False), IMAGE),
    layer("RMSNorm", call(4), ROWS),
    layer("GroupNorm", call(2, 4), IMAGE),
    layer("GroupNorm", call(2, 4, affine=False), IMAGE),
    *(layer("SyncBatchNorm", call(4), data, train=train) for data in (ROWS, LINE) for train in (True, False)),
    *(layer("BatchNorm1d", call(4), data, train=train) for data in (ROWS, LINE) for train in (True, False)),
    *(layer("BatchNorm2d", call(4, momentum=how), IMAGE, train=True) for how in (0.1, None)),
    layer("BatchNorm2d", call(4, track_running_stats=False), IMAGE),
    layer("BatchNorm3d", call(4, affine=False), VOLUME, train=True),
    layer("InstanceNorm1d", call(4), LINE),
    layer("InstanceNorm2d", call(4, affine=True, track_running_stats=True), IMAGE, train=True),
    layer("InstanceNorm2d", call(4), T(4, 7, 9)),
    layer("InstanceNorm3d", call(4), VOLUME),
    layer("LocalResponseNorm", call(2), IMAGE),
    layer("Embedding", call(6, 5), T(2, 3, below=6)),
    layer("Embedding", call(6, 5, padding_idx=-1), T(2, 3, below=6)),
    layer("EmbeddingBag", call(6, 5), T(2, 3, below=6)),
    layer("Flatten", call(), IMAGE),
    layer("Unflatten", call(1, (2, 2)), IMAGE),
    layer("Upsample", call(scale_factor=2), IMAGE),
    layer("Upsample", call(size=(3, 4), mode="bilinear"), IMAGE),
    layer("UpsamplingNearest2d", call(scale_factor=2), IMAGE),
    layer("UpsamplingBilinear2d", call(scale_factor=2), IMAGE),
    layer("PixelShuffle", call(2), IMAGE),
    layer("PixelUnshuffle", call(3), T(2, 4, 6, 9)),
    layer("ChannelShuffle", call(2), IMAGE),
    layer("Unfold", call(2), IMAGE),
    layer("Fold", call((7, 9), 3), T(2, 36, 35)),
    layer("CosineSimilarity", call(), ROWS, T(1, 4)),
    layer("PairwiseDistance", call(), ROWS, T(1, 4)),
    layer("ConstantPad1d", call(2, 1.5), LINE),
    layer("ConstantPad2d", call((1, 2, 3, 4), 1.5), IMAGE),
    layer("ConstantPad3d", call(1, 1.5), VOLUME),
    *(layer(f"{kind}Pad1d", call((1, 2)), LINE) for kind in ("Zero", "Reflection", "Replication", "Circular")),
    *(layer(f"{kind}Pad2d", call(2), IMAGE) for kind in ("Zero", "Reflection", "Replication", "Circular")),
    *(layer(f"{kind}Pad3d", call(1), VOLUME) for kind in ("Zero", "Reflection", "Replication", "Circular")),
    *(layer(name, options, *inputs) for name, inputs in (
        ("MSELoss", (ROWS, T(3, 4, positive=True))),
        ("L1Loss", (ROWS, T(3, 4, positive=True))),
        ("SmoothL1Loss", (ROWS, T(3, 4, positive=True))),
        ("HuberLoss", (ROWS, T(3, 4, positive=True))),
        ("NLLLoss", (ROWS, T(3, below=4))),
        ("CrossEntropyLoss", (ROWS, T(3, below=4))),
        ("BCELoss", (T(3, 4, positive=True), T(3, 4, positive=True))),
        ("BCEWithLogitsLoss", (ROWS, T(3, 4, positive=True))),
        ("KLDivLoss", (ROWS, T(3, 4, positive=True))),
        ("MarginRankingLoss", (T(3), T(1), T(values=[1.0, -1.0, 1.0]))),
        ("HingeEmbeddingLoss", (T(3), T(values=[1.0, -1.0, 1.0]))),
        ("SoftMarginLoss", (T(3), T(values=[1.0, -1.0, 1.0]))),
        ("CosineEmbeddingLoss", (ROWS, T(3, 4, positive=True), T(values=[1.0, -1.0, 1.0]))),
        ("TripletMarginLoss", (ROWS, T(3, 4, positive=True), T(1, 4))),
        ("PoissonNLLLoss", (ROWS, T(3, 4, positive=True))),
        ("GaussianNLLLoss", (ROWS, T(3, 4, positive=True), T(3, 4, positive=True))),
    ) for options in (call(), call(reduction="sum"))),
    layer("CrossEntropyLoss", call(label_smoothing=0.1, ignore_index=2), ROWS, T(3, below=4)),
    *(layer(name, options, STEPS) for name in ("LSTM", "GRU", "RNN") for options in (
        call(4, 3), call(4, 3, 2, batch_first=True, bidirectional=True), call(4, 3, num_layers=2, bias=False),
    )),
    *(layer(name, call(4, 3), T(6, 4)) for name in ("LSTM", "GRU", "RNN")),
    layer("RNN", call(4, 3, nonlinearity="relu"), STEPS),
    layer("GRU", call(4, 3), STEPS, T(1, 2, 3)),
    *(layer(name, call(4, 3), data) for name in ("LSTMCell", "GRUCell", "RNNCell") for data in (ROWS, T(4))),
    layer("GRUCell", call(4, 3, bias=False), ROWS, T(3, 3)),
    layer("MultiheadAttention", call(8, 2), *[T(5, 2, 8)] * 3),
    layer("MultiheadAttention", call(8, 2, batch_first=True), T(2, 5, 8), T(2, 6, 8), T(2, 6, 8)),
    layer("MultiheadAttention", call(8, 2, kdim=6, vdim=4, bias=False), T(5, 2, 8), T(3, 2, 6), T(3, 2, 4)),
    layer("MultiheadAttention", call(8, 2, batch_first=True), *[T(2, 5, 8)] * 3, PADDED),
    layer("MultiheadAttention", call(8, 2, batch_first=True), *[T(2, 5, 8)] * 3, None, False, T(5, 5)),
    layer("MultiheadAttention", call(8, 2, add_bias_kv=True, add_zero_attn=True), *[T(5, 2, 8)] * 3),
    layer("MultiheadAttention", call(8, 2), *[T(5, 8)] * 3),
    layer("TransformerEncoderLayer", call(8, 2, 16), T(5, 2, 8)),
    layer("TransformerEncoderLayer", call(8, 2, 16, norm_first=True, batch_first=True, activation="gelu"), T(2, 5, 8)),
    layer("TransformerEncoderLayer", call(8, 2, 16, batch_first=True), T(2, 5, 8), None, PADDED),
    layer("TransformerDecoderLayer", call(8, 2, 16), T(5, 2, 8), T(6, 2, 8)),
    layer("Transformer", call(8, 2, 1, 2, 16), T(6, 2, 8), T(5, 2, 8)),
]  # fmt: skip
CONTAINERS = {
    "Module",
    "Sequential",
    "ModuleList",
    "ModuleDict",
    "ParameterList",
    "ParameterDict",
    "TransformerEncoder",
}
CONTAINERS |= {"TransformerDecoder"}


def case_id(case):
    return f"{CASES.index(case)}-{case[0]}"


@pytest.fixture(autouse=True)
def fresh():
    md._dynamo.reset()
    md.manual_seed(0)


def build(case, library):
    name, (args, keywords), inputs, train = case
    module = getattr(library.nn, name)(*args, **keywords).train(train)
    return module, lambda: make(inputs, library)


def make(inputs, library):
    """Tensors with the same description are the same tensor, as in self-attention."""
    made = {}
    return [made.setdefault(id(part), part.make(library)) if isinstance(part, T) else part for part in inputs]


def flat(result):
    if isinstance(result, (tuple, list)):
        return [part for item in result for part in flat(item)]
    return [] if result is None else [result]


def assert_same(a, b):
    a, b = flat(a), flat(b)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=5e-5, atol=3e-5)


def test_every_layer_has_a_case():
    layers = {name for name in nn.__all__ if inspect.isclass(getattr(nn, name))} - {
        "Buffer",
        "Parameter",
        "UninitializedBuffer",
        "UninitializedParameter",
    }
    layers = {name for name in layers if not name.startswith("Lazy")}
    layers -= {"DataParallel", "RNNBase", "RNNCellBase"}  # tests/nn/test_names_of_modules.py
    assert layers - {case[0] for case in CASES} - CONTAINERS == set()
    for name in layers:
        assert getattr(nn, name).__doc__, name


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_one_graph(case):
    module, inputs = build(case, md)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    plain = module(*inputs())
    changed = {name: value.clone() for name, value in module.state_dict().items()}
    breaks = case[1][1].get("momentum", 0) is None  # the mean of all batches divides by a counted number
    compiled = md.compile(module, fullgraph=not breaks)
    for _ in range(2):
        module.load_state_dict(state)
        assert_same(compiled(*inputs()), plain)
        for name, value in module.state_dict().items():
            assert md.allclose(value.double(), changed[name].double(), atol=1e-6), name


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_against_torch(case):
    if torch is None:
        pytest.skip("torch is not installed")
    module, inputs = build(case, md)
    theirs, their_inputs = build(case, torch)
    ours, expected = module.state_dict(), theirs.state_dict()
    assert list(ours) == list(expected)
    for name, value in expected.items():
        assert tuple(ours[name].shape) == tuple(value.shape) and str(ours[name].dtype)[11:] == str(value.dtype)[6:], (
            name
        )
    assert repr(module) == repr(theirs)
    theirs.load_state_dict({name: torch.from_numpy(value.numpy().copy()) for name, value in ours.items()})
    with torch.no_grad():
        assert_same(module(*inputs()), theirs(*their_inputs()))
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(module.state_dict()[name].numpy(), value.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted({case[0] for case in CASES} - {"Identity"}))
def test_arguments_have_torchs_names_and_order(name):
    if torch is None:
        pytest.skip("torch is not installed")
    ours = list(inspect.signature(getattr(nn, name).__init__).parameters)
    theirs = list(inspect.signature(getattr(torch.nn, name).__init__).parameters)
    if name in ("LSTM", "GRU", "RNN"):
        assert ours[:2] == ["self", "input_size"]
    else:
        assert [part for part in ours if part not in ("args", "kwargs")] == [
            part for part in theirs if part not in ("args", "kwargs")
        ]


@pytest.mark.parametrize(
    "name", ["Linear", "Conv2d", "ConvTranspose2d", "Embedding", "Bilinear", "LSTM", "MultiheadAttention"]
)
def test_initial_values_are_distributed_as_torchs(name):
    if torch is None:
        pytest.skip("torch is not installed")
    options = {"Linear": (300, 200), "Conv2d": (32, 64, 3), "ConvTranspose2d": (32, 64, 3), "Embedding": (500, 60), "Bilinear": (40, 50, 60),
               "LSTM": (100, 120), "MultiheadAttention": (128, 4)}[name]  # fmt: skip
    md.manual_seed(0)
    torch.manual_seed(0)
    ours, theirs = getattr(nn, name)(*options), getattr(torch.nn, name)(*options)
    for (key, value), expected in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        a, b = value.detach().numpy(), expected.detach().numpy()
        assert abs(a.std() - b.std()) <= 0.1 * b.std() + 1e-9, key
        assert abs(np.abs(a).max() - np.abs(b).max()) <= 0.35 * np.abs(b).max() + 1e-9, key


# ---- NumPy


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_lstm_follows_its_formulas():
    lstm = nn.LSTM(4, 3, dtype=md.float64)
    x = np.random.default_rng(0).standard_normal((5, 2, 4))
    weights = {name: value.detach().numpy() for name, value in lstm.named_parameters()}
    h, c, outputs = np.zeros((2, 3)), np.zeros((2, 3)), []
    for step in x:
        gates = (
            step @ weights["weight_ih_l0"].T
            + weights["bias_ih_l0"]
            + h @ weights["weight_hh_l0"].T
            + weights["bias_hh_l0"]
        )
        i, f, g, o = np.split(gates, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    output, (last, cell) = lstm(md.tensor(x))
    np.testing.assert_allclose(output.detach().numpy(), outputs, rtol=1e-10)
    np.testing.assert_allclose(last[0].detach().numpy(), h, rtol=1e-10)
    np.testing.assert_allclose(cell[0].detach().numpy(), c, rtol=1e-10)


def test_gru_follows_its_formulas():
    gru = nn.GRU(4, 3, dtype=md.float64)
    x = np.random.default_rng(0).standard_normal((5, 2, 4))
    weights = {name: value.detach().numpy() for name, value in gru.named_parameters()}
    h = np.zeros((2, 3))
    for step in x:
        a = np.split(step @ weights["weight_ih_l0"].T + weights["bias_ih_l0"], 3, 1)
        b = np.split(h @ weights["weight_hh_l0"].T + weights["bias_hh_l0"], 3, 1)
        r, z = sigmoid(a[0] + b[0]), sigmoid(a[1] + b[1])
        h = (1 - z) * np.tanh(a[2] + r * b[2]) + z * h
    np.testing.assert_allclose(gru(md.tensor(x))[1][0].detach().numpy(), h, rtol=1e-10)


def test_attention_follows_its_formula():
    attention = nn.MultiheadAttention(6, 1, batch_first=True, dtype=md.float64)
    x = np.random.default_rng(0).standard_normal((1, 4, 6))
    q, k, v = np.split(x @ attention.in_proj_weight.detach().numpy().T, 3, -1)
    scores = q[0] @ k[0].T / np.sqrt(6)
    weights = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    result, given = attention(*[md.tensor(x)] * 3)
    np.testing.assert_allclose(given[0].detach().numpy(), weights, rtol=1e-10)
    expected = weights @ v[0] @ attention.out_proj.weight.detach().numpy().T
    np.testing.assert_allclose(result[0].detach().numpy(), expected, rtol=1e-9, atol=1e-12)


def test_batch_norm_counts_batches_and_forgets_them_in_eval():
    norm = nn.BatchNorm1d(4)
    x = md.randn(8, 4) * 3 + 1
    for _ in range(3):
        norm(x)
    assert norm.num_batches_tracked.item() == 3
    before = norm.running_mean.clone()
    y = norm.eval()(x)
    assert md.equal(norm.running_mean, before) and norm.num_batches_tracked.item() == 3
    expected = (x - norm.running_mean) / (norm.running_var + norm.eps).sqrt()
    assert md.allclose(y.detach(), expected, atol=1e-5)
    norm.reset_running_stats()
    assert norm.running_mean.tolist() == [0] * 4 and norm.num_batches_tracked.item() == 0


def test_dropout_is_off_in_eval():
    drop, x = nn.Dropout(0.5), md.ones(100)
    assert (drop(x) == 0).any() and drop.eval()(x) is x
    compiled = md.compile(drop)
    assert md.equal(compiled(x), x)
    drop.train()
    assert (compiled(x) == 0).any()


def test_a_network_of_them_in_one_graph():
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3), nn.GroupNorm(4, 16), nn.SiLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, 10),
    ).eval()  # fmt: skip
    x = md.randn(3, 1, 12, 12)
    plain = net(x)
    compiled = md.compile(net, fullgraph=True)
    assert md.allclose(compiled(x), plain, atol=1e-5) and compiled(x).requires_grad
    assert md.allclose(compiled(x[:2]), plain[:2], atol=1e-5)


def test_an_encoder_of_copies():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8)).eval()
    assert len(list(encoder.parameters())) == 2 * 12 + 2
    x = md.randn(2, 5, 8)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    plain = encoder(x, mask)
    assert md.allclose(md.compile(encoder, fullgraph=True)(x, mask), plain, atol=1e-5)
    assert md.allclose(encoder(x[:, :3], mask[:3, :3]), plain[:, :3], atol=1e-5)


@pytest.mark.parametrize(
    "wrong, kind, words",
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
        (lambda: nn.Conv2d(4, 4, 3, padding="odd"), ValueError, "Invalid padding string"),
        (lambda: nn.GroupNorm(3, 4), ValueError, "divisible by num_groups"),
        (lambda: nn.Dropout(2), ValueError, "between 0 and 1"),
        (lambda: nn.MultiheadAttention(7, 2), AssertionError, "divisible by num_heads"),
        (lambda: nn.LSTM(4, 0), ValueError, "greater than zero"),
        (lambda: nn.BatchNorm2d(4)(md.ones(2, 4)), ValueError, "expected 4D input"),
        (lambda: nn.LSTM(4, 3)(md.ones(5, 2, 3)), RuntimeError, "Expected 4, got 3"),
        (lambda: nn.GRU(4, 3)(md.ones(5, 2, 4), md.ones(1, 2, 4)), RuntimeError, "Expected hidden size"),
        (lambda: nn.Conv2d(4, 6, 3)(md.ones(2, 3, 7, 7)), RuntimeError, "channels"),
        (lambda: nn.ConvTranspose2d(4, 6, 3, 2)(md.ones(1, 4, 3, 3), (20, 20)), ValueError, "requested an output size"),
        (lambda: nn.Embedding(4, 2, padding_idx=9), AssertionError, "num_embeddings"),
    ],
)
def test_wrong_arguments(wrong, kind, words):
    with pytest.raises(kind, match=words):
        wrong()


# ---- init


@pytest.mark.parametrize(
    "name, options, bound",
    [
        ("uniform_", (-2.0, 3.0), (-2, 3)),
        ("normal_", (1.0, 0.5), None),
        ("trunc_normal_", (0.0, 1.0, -1.0, 1.0), (-1, 1)),
        ("xavier_uniform_", (2.0,), None),
        ("xavier_normal_", (), None),
        ("kaiming_uniform_", (0.1, "fan_out"), None),
        ("kaiming_normal_", (), None),
        ("orthogonal_", (), None),
        ("sparse_", (0.5,), None),
    ],
)
def test_init_draws_as_torch_does(name, options, bound):
    x = md.empty(120, 200)
    assert getattr(nn.init, name)(x, *options) is x
    if bound is not None:
        assert x.min().item() >= bound[0] and x.max().item() <= bound[1]
    if torch is not None:
        theirs = getattr(torch.nn.init, name)(torch.empty(120, 200), *options)
        assert abs(x.std().item() - theirs.std().item()) < 0.03 * theirs.std().item()
        assert abs(x.mean().item() - theirs.mean().item()) < 0.05 * theirs.std().item()


def test_init_of_fixed_values():
    assert nn.init.eye_(md.empty(2, 3)).tolist() == md.eye(2, 3).tolist()
    assert nn.init.constant_(nn.Parameter(md.empty(2)), 3.0).tolist() == [3, 3]
    x = md.randn(2, 4, 9)
    assert md.allclose(nn.functional.conv1d(x, nn.init.dirac_(md.empty(4, 4, 3)), padding=1), x)
    rows = nn.init.orthogonal_(md.empty(5, 9, dtype=md.float64))
    assert md.allclose(rows @ rows.t(), md.eye(5, dtype=md.float64), atol=1e-10)
    columns = nn.init.orthogonal_(md.empty(9, 5, dtype=md.float64), 2.0)
    assert md.allclose(columns.t() @ columns, 4 * md.eye(5, dtype=md.float64), atol=1e-10)
    with pytest.raises(ValueError, match="fewer than 2"):
        nn.init.xavier_uniform_(md.empty(3))
