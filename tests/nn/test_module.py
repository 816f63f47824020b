"""nn.Module: registration, hooks and modes, its state, and that it is captured without a break."""

import copy
import pickle

import pytest

import minidynamo
from minidynamo import nn
from minidynamo._dynamo.testing import CompileCounter


class Block(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(minidynamo.full((width,), 2.0))
        self.register_buffer("shift", minidynamo.ones(width))
        self.register_buffer("scratch", minidynamo.zeros(1), persistent=False)
        self.times = 3

    def forward(self, x, *, add=0.0):
        return minidynamo.relu(self.linear(x)) * self.scale + self.shift * self.times + add


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(Block(), nn.ReLU(), Block())
        self.head = nn.Linear(4, 2, bias=False)

    def forward(self, x):
        return self.head(self.body(x))


@pytest.fixture(autouse=True)
def fresh():
    minidynamo._dynamo.reset()
    minidynamo.manual_seed(0)


def same(a, b):
    return minidynamo._dynamo.testing.same(a, b, tol=1e-6)


def test_attributes_are_registered_by_their_kind():
    block = Block()
    assert [name for name, _ in block.named_parameters()] == ["scale", "linear.weight", "linear.bias"]
    assert [name for name, _ in block.named_buffers()] == ["shift", "scratch"]
    assert [name for name, _ in block.named_modules()] == ["", "linear"]
    assert list(block.children()) == [block.linear]
    assert block.times == 3
    assert "scale" not in block.__dict__ and "times" in block.__dict__
    block.linear = None
    assert block.linear is None and [n for n, _ in block.named_modules()] == [""]
    del block.scale
    with pytest.raises(AttributeError, match="'Block' object has no attribute 'scale'"):
        _ = block.scale


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scale", 1.0, "cannot assign 'float' as parameter 'scale'"),
        ("linear", 1, "cannot assign 'int' as child module 'linear'"),
        ("shift", "s", "cannot assign 'str' as buffer 'shift'"),
    ],
)
def test_a_registered_name_keeps_its_kind(name, value, message):
    with pytest.raises(TypeError, match=message):
        setattr(Block(), name, value)


def test_bad_registrations():
    block = Block()
    with pytest.raises(KeyError, match="already exists"):
        block.register_buffer("times", minidynamo.ones(1))
    with pytest.raises(KeyError, match="module name can"):
        block.add_module("a.b", nn.ReLU())
    with pytest.raises(KeyError, match="be empty string"):
        block.add_module("", nn.ReLU())
    with pytest.raises(TypeError, match="is not a Module subclass"):
        block.add_module("x", 3)
    with pytest.raises(TypeError, match="torch.nn.Parameter or None required"):
        block.register_parameter("p", minidynamo.ones(1))

    class Forgot(nn.Module):
        def __init__(self):
            self.linear = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        Forgot()
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        nn.Module()(1)


def test_a_shared_parameter_is_listed_once():
    net = Net()
    net.body[2].scale = net.body[0].scale
    assert len(list(net.parameters())) == 6
    assert len(net.state_dict()) == 9


def test_hooks_see_and_change_arguments_and_results():
    block = Block()
    x = minidynamo.randn(2, 4)
    plain = block(x)
    seen = []
    first = block.register_forward_pre_hook(lambda module, args: seen.append(("pre", module, len(args))))
    second = block.register_forward_hook(lambda module, args, out: out * 2)
    third = block.register_forward_hook(lambda module, args, kwargs, out: out + kwargs["add"], with_kwargs=True)
    assert same(block(x, add=0.5), (plain + 0.5) * 2 + 0.5)
    assert seen == [("pre", block, 1)]
    third.remove()
    with second:
        assert same(block(x), plain * 2)
    first.remove()
    assert same(block(x), plain)
    changed = block.register_forward_pre_hook(lambda module, args: args[0] * 0)
    assert same(block(x), block(x * 5))
    changed.remove()
    order = []
    a = block.register_forward_hook(lambda *a: order.append("a"))
    b = block.register_forward_hook(lambda *a: order.append("b"), prepend=True)
    block(x)
    assert order == ["b", "a"]
    a.remove(), b.remove()
    block.register_forward_hook(lambda *a: order.append("always"), always_call=True)
    with pytest.raises(Exception):
        block(minidynamo.ones(3, 3))
    assert order[-1] == "always"


def test_modes_reach_every_submodule():
    net = Net()
    assert all(module.training for module in net.modules())
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    assert net.train().body[0].training
    with pytest.raises(ValueError, match="boolean"):
        net.train("yes")
    visited = []
    net.apply(visited.append)
    assert visited[-1] is net and len(visited) == len(list(net.modules()))
    net.requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in net.parameters())


def test_dtype_conversions_keep_parameters():
    net = Net().double()
    assert all(type(p) is nn.Parameter and p.dtype is minidynamo.float64 for p in net.parameters())
    assert net.body[0].shift.dtype is minidynamo.float64
    assert net(minidynamo.ones(1, 4, dtype=minidynamo.float64)).dtype is minidynamo.float64


def test_state_goes_to_another_module():
    one, other = Net(), Net()
    x = minidynamo.randn(2, 4)
    assert not same(one(x), other(x))
    state = one.state_dict()
    assert list(state)[:3] == ["body.0.scale", "body.0.shift", "body.0.linear.weight"]
    assert not any("scratch" in key for key in state)
    before = other.head.weight
    result = other.load_state_dict(state)
    assert result == ([], []) and other.head.weight is before
    assert same(one(x), other(x))
    third = Net()
    third.load_state_dict(state, assign=True)
    assert same(one(x), third(x)) and isinstance(third.head.weight, nn.Parameter)


def test_a_state_that_does_not_fit_changes_nothing():
    net = Net()
    before = {key: value.tolist() for key, value in net.state_dict().items()}
    state = {key: value * 0 for key, value in net.state_dict().items()}
    state["extra"] = state.pop("head.weight")
    state["body.0.scale"] = minidynamo.zeros(5)
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    text = str(caught.value)
    assert text.startswith("Error(s) in loading state_dict for Net:\n\t")
    assert 'Unexpected key(s) in state_dict: "extra".' in text
    assert 'Missing key(s) in state_dict: "head.weight".' in text
    assert "size mismatch for body.0.scale" in text
    assert {key: value.tolist() for key, value in net.state_dict().items()} == before
    del state["body.0.scale"]
    assert net.load_state_dict(state, strict=False) == (["body.0.scale", "head.weight"], ["extra"])


def test_copies_share_nothing():
    net = Net()
    x = minidynamo.randn(2, 4)
    for twin in (copy.deepcopy(net.body), pickle.loads(pickle.dumps(nn.Linear(4, 4)))):
        assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in twin.parameters())
    twin = copy.deepcopy(net)
    assert same(net(x), twin(x))
    assert {p.data_ptr() for p in net.parameters()}.isdisjoint(p.data_ptr() for p in twin.parameters())


def test_text():
    assert repr(nn.Linear(2, 3)) == "Linear(in_features=2, out_features=3, bias=True)"
    assert repr(nn.Sequential(nn.ReLU(), nn.Linear(1, 1, bias=False))) == (
        "Sequential(\n  (0): ReLU()\n  (1): Linear(in_features=1, out_features=1, bias=False)\n)"
    )


def test_containers():
    layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    assert len(layers) == 3 and layers[-1] is layers[2] and len(layers[:2]) == 2
    with pytest.raises(IndexError):
        layers[3]
    del layers[1]
    assert [name for name, _ in layers.named_children()] == ["0", "1"]
    listed = nn.ModuleList([nn.ReLU()]).append(nn.Linear(2, 2))
    listed.insert(0, nn.Tanh())
    assert [type(module).__name__ for module in listed] == ["Tanh", "ReLU", "Linear"]
    named = nn.ModuleDict({"a": nn.ReLU()})
    named["b"] = nn.Linear(1, 1)
    assert list(named) == ["a", "b"] and "b.weight" in named.state_dict()


# ---- capture


def one_graph(target, *args, **kwargs):
    """The result of the captured call, which must be one graph."""
    counter = CompileCounter()
    compiled = minidynamo.compile(target, backend=counter, fullgraph=True)
    compiled(*args, **kwargs)
    result = compiled(*args, **kwargs)
    assert counter.frame_count == 1
    return result


@pytest.mark.counts_regions
def test_a_function_that_calls_a_module_is_one_graph():
    net = Net()
    x = minidynamo.randn(3, 4)
    assert same(one_graph(lambda x: net(x) + 1, x), net(x) + 1)


@pytest.mark.counts_regions
def test_a_module_a_bound_method_and_forward_are_one_graph():
    net = Net()
    x = minidynamo.randn(3, 4)
    assert same(one_graph(net, x), net(x))
    assert same(one_graph(net.forward, x), net(x))
    assert same(one_graph(net.body.forward, x), net.body(x))
    assert same(one_graph(net.body[0], x, add=2.0), net.body[0](x, add=2.0))


@pytest.mark.counts_regions
@pytest.mark.parametrize(
    "layer",
    [
        nn.Linear(4, 3, bias=False),
        nn.ReLU(),
        nn.GELU(),
        nn.GELU(approximate="tanh"),
        nn.SiLU(),
        nn.Sigmoid(),
        nn.Tanh(),
        nn.ELU(0.5),
        nn.LeakyReLU(0.2),
        nn.Softmax(dim=-1),
        nn.LogSoftmax(dim=0),
        nn.LayerNorm(4),
        nn.LayerNorm((3, 4), bias=False),
        nn.Identity(),
    ],
    ids=repr,
)
def test_layers_are_captured(layer):
    x = minidynamo.randn(3, 4)
    assert same(one_graph(lambda x: layer(x) * 1.0, x), layer(x))


@pytest.mark.counts_regions
def test_the_embedding_is_captured():
    table = nn.Embedding(5, 3)
    rows = minidynamo.tensor([[0, 4], [2, 2]])
    assert same(one_graph(table, rows), table(rows))


def test_a_compiled_module_is_a_module():
    net = Net()
    compiled = minidynamo.compile(net)
    assert isinstance(compiled, nn.Module) and compiled._orig_mod is net
    assert compiled.head is net.head
    assert list(compiled.state_dict())[0] == "_orig_mod.body.0.scale"
    compiled.eval()
    assert not net.training and not compiled.training
    compiled.note = 5
    assert net.note == 5
    x = minidynamo.randn(3, 4)
    assert same(compiled(x), net(x))
    net.compile()
    assert type(net).__name__ == "Net" and isinstance(net, Net)
    assert same(net(x), compiled(x))


@pytest.mark.counts_regions
def test_modules_do_not_compete_for_captures():
    x = minidynamo.randn(3, 4)
    counter = CompileCounter()
    layers = [minidynamo.compile(nn.Linear(4, 4), backend=counter) for _ in range(12)]
    for _ in range(2):
        for layer in layers:
            assert same(layer(x), layer._orig_mod(x))
    assert counter.frame_count == 12


@pytest.mark.counts_regions
def test_changes_of_module_attributes_are_noticed():
    block = Block()
    compiled = minidynamo.compile(block, fullgraph=True)
    x = minidynamo.randn(2, 4)
    assert same(compiled(x), block(x))
    block.scale = nn.Parameter(minidynamo.full((4,), -1.0))
    assert same(compiled(x), block(x))
    block.times = 7
    assert same(compiled(x), block(x))
    block.linear = nn.Linear(4, 4)
    assert same(compiled(x), block(x))
    handle = block.register_forward_hook(lambda module, args, out: out * 3)
    assert same(compiled(x), block(x))
    handle.remove()
    assert same(compiled(x), block(x))


@pytest.mark.counts_regions
def test_training_selects_the_branch():
    class Switch(nn.Module):
        def forward(self, x):
            return x * 2 if self.training else x + 100

    switch = Switch()
    compiled = minidynamo.compile(switch, fullgraph=True)
    x = minidynamo.ones(2)
    assert compiled(x).tolist() == [2.0, 2.0]
    switch.eval()
    assert compiled(x).tolist() == [101.0, 101.0]


@pytest.mark.counts_regions
def test_a_break_in_forward_keeps_the_graphs_around_it():
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            x = self.linear(x)
            minidynamo._dynamo.graph_break()
            return self.linear(x) + 1

    net = nn.Sequential(Broken(), nn.ReLU())
    x = minidynamo.randn(2, 4)
    report = minidynamo._dynamo.explain(net)(x)
    assert report.graph_break_count == 1 and report.op_count == 4
    assert same(minidynamo.compile(net)(x), net(x))


def test_a_missing_attribute_is_the_users_error():
    class Missing(nn.Module):
        def forward(self, x):
            return x + self.nothing

    with pytest.raises(AttributeError, match="'Missing' object has no attribute 'nothing'"):
        minidynamo.compile(Missing())(minidynamo.ones(1))


def test_loading_writes_any_layout_and_dtype():
    layer = nn.Linear(3, 2)
    layer.weight = nn.Parameter(minidynamo.zeros(3, 2).T)
    layer.register_buffer("scale", minidynamo.zeros(2, dtype=minidynamo.bfloat16))
    weight, memory = layer.weight, layer.weight.data_ptr()
    values = {"weight": minidynamo.ones(2, 3), "bias": minidynamo.ones(2), "scale": minidynamo.full((2,), 1.5)}
    layer.load_state_dict(values)
    assert layer.weight is weight and layer.weight.data_ptr() == memory and layer.weight.stride() == (1, 2)
    assert layer.weight.tolist() == [[1.0] * 3] * 2 and layer.scale.tolist() == [1.5, 1.5]
    assert layer.scale.dtype == minidynamo.bfloat16


class Running(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", minidynamo.zeros(1))
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])

    def forward(self, x):
        self.steps.add_(1)
        self.steps = self.steps * 2
        for index, layer in enumerate(self.layers):
            x = layer(x) + index
        return x + self.steps


def test_a_buffer_that_forward_assigns_is_one_graph():
    plain, captured = Running(), Running()
    captured.load_state_dict(plain.state_dict())
    compiled = minidynamo.compile(captured, fullgraph=True)
    x = minidynamo.ones(2, 2)
    for _ in range(3):
        assert compiled(x).tolist() == plain(x).tolist()
        assert captured.steps.tolist() == plain.steps.tolist()


def test_a_new_value_keeps_the_place_of_its_name():
    parts = nn.ModuleList([nn.Linear(1, 2), nn.ReLU(), nn.Dropout()])
    parts[0] = nn.Linear(2, 3)
    assert [type(part) for part in parts] == [nn.Linear, nn.ReLU, nn.Dropout] and parts[0].in_features == 2
    module = nn.Module()
    module.a, module.b = nn.ReLU(), nn.Tanh()
    module.p, module.q = nn.Parameter(minidynamo.ones(1)), nn.Parameter(minidynamo.ones(1))
    module.s, module.t = nn.Buffer(minidynamo.ones(1)), nn.Buffer(minidynamo.ones(1))
    module.a, module.p, module.s = nn.Sigmoid(), nn.Parameter(minidynamo.zeros(1)), nn.Buffer(minidynamo.zeros(1))
    assert [list(table) for table in (module._modules, module._parameters, module._buffers)] == [
        ["a", "b"],
        ["p", "q"],
        ["s", "t"],
    ]
    module.b = nn.Parameter(minidynamo.ones(2))
    assert list(module._modules) == ["a"] and list(module._parameters) == ["p", "q", "b"]
