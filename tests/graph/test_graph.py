"""minidynamo._C.Graph: text form, checks, plans."""

import pytest

import minidynamo
from minidynamo import _C

MLP = """\
%l_x_ = input L_x_ : f32[2, 3][3, 1]
%w = constant w : f32[3][1] {1.0, 2.0, 4.0}
%mul = mul(%l_x_, %w) : f32[2, 3][3, 1]
%relu = relu(%mul) : f32[2, 3][3, 1] method
return %relu, %mul
"""
SCALED = """\
%l_x_ = input L_x_ : f32[3][1]
%l_n_ = scalar L_n_ : {kind}
%mul = mul(%l_x_, %l_n_) : f32[3][1]
return %mul
"""


def parse(text):
    return _C.Graph.parse(text)


@pytest.fixture(params=["eager", "lower"])
def make_plan(request):
    return lambda graph: getattr(graph, request.param)()


@pytest.fixture
def x():
    return minidynamo.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])


def test_text_is_kept():
    graph = parse(MLP)
    assert str(graph) == MLP and str(parse(str(graph))) == MLP
    graph.verify()
    assert graph.op_count == 2 and [str(value) for value in graph.outputs] == ["%relu.0", "%mul.0"]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("relu(", "nope(", "nope"),
        ("%relu = relu(%mul)", "%relu = relu(%later)", "later"),
        ("f32[2, 3][3, 1] method", "f32[2, 4][4, 1] method", "relu"),
        ("return %relu, %mul", "return %relu, %gone", "gone"),
        ("input L_x_", "inputs L_x_", "input"),
    ],
)
def test_bad_text_is_refused(old, new, text):
    with pytest.raises(Exception, match=text):
        parse(MLP.replace(old, new))


def test_run(make_plan, x):
    relu, mul = make_plan(parse(MLP))(x)
    assert mul.tolist() == [[1.0, -4.0, 12.0], [-4.0, 10.0, -24.0]]
    assert relu.tolist() == [[1.0, 0.0, 12.0], [0.0, 10.0, 0.0]]


@pytest.mark.parametrize(("kind", "good", "bad"), [("int", 2, 2.0), ("float", 2.0, 2), ("bool", True, 1)])
def test_a_number_as_input(make_plan, kind, good, bad):
    plan = make_plan(parse(SCALED.format(kind=kind)))
    x = minidynamo.tensor([1.0, 2.0, 3.0])
    assert plan(x, good)[0].tolist() == [value * good for value in (1.0, 2.0, 3.0)]
    with pytest.raises(TypeError, match=f"input L_n_ must be {kind}, not {type(bad).__name__}"):
        plan(x, bad)


def test_a_number_too_large(make_plan):
    with pytest.raises(OverflowError):
        make_plan(parse(SCALED.format(kind="int")))(minidynamo.ones(3), 2**80)


def test_wrong_inputs(make_plan, x):
    plan = make_plan(parse(MLP))
    for values in ((), (x, x)):
        with pytest.raises(TypeError, match=f"takes 1 inputs, got {len(values)}"):
            plan(*values)
    with pytest.raises(TypeError, match="input L_x_ must be a tensor, not list"):
        plan([1.0])
    with pytest.raises(ValueError, match=r"input L_x_ was captured as f32.*got i64"):
        plan(minidynamo.ones(2, 3, dtype=minidynamo.int64))
    with pytest.raises(ValueError, match=r"input L_x_ was captured as f32\[2, 3\].*got f32\[3\]"):
        plan(minidynamo.ones(3))
    with pytest.raises(TypeError):
        plan(x, key=1)


def test_a_plan_is_for_one_layout(x):
    graph = parse(MLP)
    with pytest.raises(ValueError, match="captured as"):
        graph.lower()(minidynamo.ones(4, 3))
    with pytest.raises(ValueError, match="captured as"):
        graph.lower()(minidynamo.ones(3, 2).t())
    assert graph.eager()(minidynamo.ones(4, 3))[1].tolist() == [[1.0, 2.0, 4.0]] * 4


def test_a_plan_describes_itself():
    plan = parse(MLP).lower()
    assert str(plan) and plan.estimated_ns >= 0


def test_optimized_is_a_copy():
    text = MLP.replace("return %relu, %mul", "return %mul")
    graph = parse(text)
    assert "relu" not in str(graph.optimized()) and str(graph) == text


def test_nodes_outlive_the_name_of_the_graph():
    nodes = parse(MLP).nodes
    assert [node.kind for node in nodes] == ["tensor input", "constant", "op", "op"]
    assert [node.name for node in nodes] == ["l_x_", "w", "mul", "relu"]
    assert [node.op for node in nodes] == ["", "", "mul", "relu"]
    graph = parse(MLP)
    assert [graph.form(node) for node in graph.nodes[2:]] == ["function", "method"]
    value = graph.arguments(graph.nodes[2])[0][0]
    del nodes, graph
    assert (value.node, value.out) == ("l_x_", 0)


WRITES = """\
%l_x_ = input L_x_ : f32[3][1]
%l_y_ = input L_y_ : f32[3][1]
%neg = neg(%l_x_) : f32[3][1]
%copy = copy(%neg, %l_y_, False) : f32[3][1]
%relu = relu(%l_y_) : f32[3][1]
%copy_1 = copy(%copy, %relu, False) : f32[3][1]
{more}return %copy_1{outs}
"""


@pytest.mark.parametrize(
    ("more", "outs", "copies"),
    [
        ("", "", 1),
        ("", ", %copy", 2),
        ("%exp = exp(%copy) : f32[3][1]\n", ", %exp", 1),
        ("%exp = exp(%l_y_) : f32[3][1]\n%copy_2 = copy(%copy_1, %exp, False) : f32[3][1]\n", ", %copy_2", 2),
    ],
    ids=["replaced", "returned", "read", "replaced and returned"],
)
def test_what_a_copy_replaces_is_not_written(more, outs, copies, x):
    graph = parse(WRITES.format(more=more, outs=outs))
    optimized = graph.optimized()
    assert str(optimized).count("= copy(") == copies
    for found, expected in zip(optimized.lower()(x[0], x[1]), graph.eager()(x[0], x[1])):
        assert found.tolist() == pytest.approx(expected.tolist())
