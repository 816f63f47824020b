"""minidynamo.fx: what a backend receives."""

import operator

import pytest

import minidynamo
from minidynamo import _C, fx

TEXT = """\
%l_x_ = input L_x_ : f32[2, 4][4, 1]
%l_n_ = scalar L_n_ : float
%w = constant w : f32[4][1] {1, 2, 3, 4}
%add = add(%l_x_, %w, alpha=2) : f32[2, 4][4, 1]
%mul = mul(%add, %l_n_) : f32[2, 4][4, 1]
%split = split(%mul, 1, 0) : f32[1, 4][4, 1], f32[1, 4][4, 1]
%cat = cat([%split.1, %split.0], 0) : f32[2, 4][4, 1]
%relu = relu(%cat) : f32[2, 4][4, 1] method
return %relu, %split.0
"""


@pytest.fixture
def gm():
    return fx.GraphModule(_C.Graph.parse(TEXT))


def by_name(gm):
    return {node.name: node for node in gm.graph.nodes}


def test_nodes(gm):
    nodes = by_name(gm)
    assert [(node.op, node.name) for node in gm.graph.nodes] == [
        ("placeholder", "l_x_"),
        ("placeholder", "l_n_"),
        ("get_attr", "w"),
        ("call_function", "add"),
        ("call_function", "mul"),
        ("call_function", "split"),
        ("call_function", "split_item_0"),
        ("call_function", "split_item_1"),
        ("call_function", "cat"),
        ("call_method", "relu"),
        ("output", "output"),
    ]
    assert nodes["l_x_"].target == "L_x_" and nodes["w"].target == "w" and nodes["relu"].target == "relu"
    assert nodes["add"].target is minidynamo.add and nodes["cat"].target is minidynamo.cat
    assert nodes["add"].args == (nodes["l_x_"], nodes["w"]) and nodes["add"].kwargs == {"alpha": 2}
    assert nodes["split"].args == (nodes["mul"], 1) and nodes["split"].kwargs == {}
    assert nodes["split_item_1"].target([10, 20], 1) == 20
    assert nodes["cat"].args == ([nodes["split_item_1"], nodes["split_item_0"]],)
    assert nodes["output"].args == ((nodes["relu"], nodes["split_item_0"]),)
    assert list(nodes["split_item_0"].users) == [nodes["cat"], nodes["output"]]
    assert nodes["output"].all_input_nodes == [nodes["relu"], nodes["split_item_0"]]
    assert gm.graph.output_node is nodes["output"] and gm.graph is gm.graph


def test_meta(gm):
    nodes = by_name(gm)
    value = nodes["mul"].meta["val"]
    assert tuple(value.shape) == (2, 4) and value.dtype == minidynamo.float32
    assert nodes["mul"].meta["example_value"] is value
    assert nodes["l_n_"].meta["val"] is float
    assert [tuple(item.shape) for item in nodes["split"].meta["val"]] == [(1, 4), (1, 4)]


def test_find_nodes(gm):
    assert [node.name for node in gm.graph.find_nodes(op="placeholder")] == ["l_x_", "l_n_"]
    assert [node.name for node in gm.graph.find_nodes(op="call_function", target=minidynamo.mul)] == ["mul"]


def interpret(gm, *inputs):
    """Runs the nodes as torch.fx.Interpreter does: the attributes suffice for that."""
    values, remaining = {}, list(inputs)

    def value_of(arg):
        if isinstance(arg, fx.Node):
            return values[arg]
        return type(arg)(map(value_of, arg)) if isinstance(arg, (list, tuple)) else arg

    for node in gm.graph.nodes:
        args = [value_of(arg) for arg in node.args]
        kwargs = {key: value_of(arg) for key, arg in node.kwargs.items()}
        if node.op == "placeholder":
            values[node] = remaining.pop(0)
        elif node.op == "get_attr":
            values[node] = getattr(gm, node.target)
        elif node.op == "call_function":
            values[node] = node.target(*args, **kwargs)
        elif node.op == "call_method":
            values[node] = getattr(args[0], node.target)(*args[1:], **kwargs)
        else:
            return args[0]


def test_call(gm):
    x = minidynamo.tensor([[1.0, -20.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    first, second = gm(x, 0.5)
    assert first.tolist() == [[3.5, 5.0, 6.5, 8.0], [1.5, 0.0, 4.5, 6.0]]
    assert second.tolist() == [[1.5, -8.0, 4.5, 6.0]]
    assert [t.tolist() for t in gm.forward(x, 0.5)] == [first.tolist(), second.tolist()]
    assert [t.tolist() for t in interpret(gm, x, 0.5)] == [first.tolist(), second.tolist()]
    assert gm.w.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_code(gm, capsys):
    assert gm.code.startswith("def forward(self, L_x_, L_n_):\n")
    compile(gm.code, "code", "exec")
    text = gm.print_readable()
    assert capsys.readouterr().out == text + "\n"
    assert 'mul: "f32[2, 4][4, 1]cpu"' in text and text.startswith("class GraphModule(")
    gm.print_readable(print_output=False)
    assert capsys.readouterr().out == ""


def test_text_of_the_graph(gm, capsys):
    lines = str(gm.graph).splitlines()
    assert lines[0] == "graph(%L_x_, %L_n_):"
    assert lines[1] == "    %l_x_ : [num_users=1] = placeholder[target=L_x_]"
    assert lines[4] == (
        "    %add : [num_users=1] = call_function[target=minidynamo.add](args = (%l_x_, %w), kwargs = {alpha: 2})"
    )
    assert lines[-1] == "    return (relu, split_item_0)"
    gm.graph.print_tabular()
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert table[2].split() == ["placeholder", "l_x_", "L_x_", "()", "{}"]
    assert len(table) == 2 + len(gm.graph.nodes)
    gm.graph.lint()


def test_an_op_without_a_function():
    text = "%x = input x : f32[2][1]\n%slice = slice(%x, 0, 1, None, 1) : f32[1][1]\nreturn %slice\n"
    node = by_name(fx.GraphModule(_C.Graph.parse(text)))["slice"]
    assert node.target is minidynamo.ops.prims.slice
    assert node.target(minidynamo.tensor([1, 2, 3]), 0, 1).tolist() == [2, 3]


def captured_graph(function, *args):
    found = []

    def keep(gm, example_inputs):
        found.append(gm)
        return gm.forward

    minidynamo.compile(function, backend=keep, fullgraph=True)(*args)
    return found[0]


@pytest.mark.counts_regions
def test_calls_are_recorded_as_they_were_written():
    def step(x, n, weights):
        return minidynamo.add(-x * n, 1).sub(2 / weights["w"]) // 3 >= ~weights["mask"]

    weights = {"w": minidynamo.ones(3), "mask": minidynamo.tensor([1, 2, 3])}
    gm = captured_graph(step, minidynamo.ones(3), 2, weights)
    calls = [(node.op, node.target) for node in gm.graph.nodes if node.op.startswith("call")]
    assert calls == [
        ("call_function", operator.neg),
        ("call_function", operator.mul),
        ("call_function", minidynamo.add),
        ("call_function", operator.truediv),
        ("call_method", "sub"),
        ("call_function", operator.floordiv),
        ("call_function", operator.invert),
        ("call_method", "to"),
        ("call_function", operator.ge),
    ]
    for sign in (
        "-l_x_",
        "neg * l_n_",
        "minidynamo.add(mul, 1)",
        "2 / l_weights_w_",
        "add.sub(div)",
        "// 3",
        ".to(minidynamo.float32)",
        "floor_divide >= ",
    ):
        assert sign in gm.code


@pytest.mark.counts_regions
def test_code_is_python():
    """forward() of the printed source returns the results of the graph, whatever the arguments are called."""

    def step(self, x, *more, **named):
        return x + self["a b"] + self["a_b"][:] * more[0] - named["L_x_"].long()

    args = ({"a b": minidynamo.ones(2), "a_b": minidynamo.ones(2) * 3}, minidynamo.ones(2), minidynamo.ones(2) * 5)
    found = []
    compiled = minidynamo.compile(step, backend=lambda gm, inputs: found.append((gm, inputs)) or gm.forward)
    expected = compiled(*args, L_x_=minidynamo.ones(2) * 7)
    [(gm, inputs)] = found
    namespace = {"minidynamo": minidynamo}
    exec(gm.code, namespace)
    assert namespace["forward"](None, *inputs)[0].tolist() == expected.tolist() == [10.0, 10.0]
    assert [node.target for node in gm.graph.nodes if node.op == "placeholder"] == [
        "L_x_", "L_self_a_b_", "L_self_a_b__", "L_more_0_", "L_named_L_x_",
    ]  # fmt: skip


def test_dot(gm):
    text = gm.graph.to_dot()
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "digraph {" and lines[-1] == "}"
    assert '"l_x_" [label="l_x_", style=filled, fillcolor=lightblue];' in lines
    assert any(line.startswith('"add" [label="add\\nminidynamo') for line in lines)
    arrows = [line for line in lines if "->" in line]
    assert arrows == [f'"{used.name}" -> "{node.name}";' for node in gm.graph.nodes for used in node.all_input_nodes]
    assert '"add" -> "mul";' in arrows
