// Graphs: building, verify, text form, source form, passes.
#include "graph/graph.h"

#include "check.h"
#include "graph/passes.h"
#include "graph/text.h"

namespace md {
namespace {

const OpRow& op(const char* name) {
  const OpRow* row = find_op(name);
  MD_ASSERT(row != nullptr, "no op ", name);
  return *row;
}

TensorSpec f32(std::initializer_list<Dim> sizes) { return TensorSpec::contiguous(DType::float32, DimVec(sizes)); }

void round_trip(const std::string& text) {
  std::unique_ptr<Graph> graph = parse_graph(text);
  verify(*graph);
  std::string printed = print(*graph);
  CHECK(printed == text);
  if (printed != text) std::cerr << printed << "expected\n" << text;
  CHECK(print(*graph->clone()) == text);
}

TEST(text) {
  round_trip("return\n");
  round_trip(
      "%l_x_ = input L_x_ : f32[3][1]\n"
      "%l_n_ = scalar L_n_ : int\n"
      "%w = constant w : f32[2, 2][2, 1] {0.5, 2.0, -inf, nan}\n"
      "%big = constant big : i64[17][1] {...}\n"
      "%add = add(%l_x_, %l_n_, alpha=1) : f32[3][1] grad\n"
      "%mul = mul(%add, 0.1) : f32[3][1] method\n"
      "%sum_1 = sum(%mul, (0,), True, dtype=None) : f32[1][1]\n"
      "%cast = cast(%sum_1, int64) : i64[1][1]\n"
      "return %cast, %add, %w\n");
  round_trip(
      "%x = input x : f32[2, 4][4, 1]\n"
      "%split = split(%x, 2, 1) : f32[2, 2][4, 1], f32[2, 2][4, 1]\n"
      "%max_1 = max.dim(%split.0, 1, False) : f32[2][1], i64[2][1]\n"
      "%cat = cat([%split.1, %split.0], 0) : f32[4, 2][2, 1]\n"
      "%gelu = gelu(%cat, approximate=\"tanh\") : f32[4, 2][2, 1]\n"
      "return %gelu, %max_1.1\n");
}

TEST(bad_text) {
  CHECK_THROWS(parse_graph(""), Error, "a graph ends with return");
  CHECK_THROWS(parse_graph("%x = input x : f32[3]\nreturn\n"), Error, "line 1");
  CHECK_THROWS(parse_graph("%x = input x : f32[3][1]\n%y = nosuch(%x) : f32[3][1]\nreturn\n"), Error,
               "no op is called nosuch");
  CHECK_THROWS(parse_graph("%x = input x : f32[3][1]\n%y = add(%x, %z, alpha=1) : f32[3][1]\nreturn\n"), Error,
               "line 2");
  CHECK_THROWS(parse_graph("%x = input x : f32[3][1]\n%y = relu(%x) : f32[4][1]\nreturn\n"), Error, "gives f32[3][1]");
  CHECK_THROWS(parse_graph("%x = input x : f32[3][1]\n%y = relu(2) : f32[3][1]\nreturn\n"), Error, "'self'");
  CHECK_THROWS(parse_graph("%x = input x : f32[3][1]\n%x = input x : f32[3][1]\nreturn\n"), Error, "defined twice");
  CHECK_THROWS(parse_graph("%x = input x : f32[s0][1]\nreturn\n"), Error, "line 1");
  CHECK_THROWS(parse_graph("%x = input x : f32[3][1]\nreturn %x.1\n"), Error, "no such result");
  CHECK_THROWS(parse_graph("return\nreturn\n"), Error, "nothing may follow");
}

TEST(code) {
  Graph graph;
  Node* x = graph.add_tensor_input("L_x_", f32({3}));
  auto here = std::make_shared<const std::vector<SourceLine>>(
      std::vector<SourceLine>{{"main.py", 3, "main"}, {"t.py", 5, "fn"}});
  auto below = std::make_shared<const std::vector<SourceLine>>(std::vector<SourceLine>{{"t.py", 6, "fn"}});
  Node* add = graph.add_op(op("add"), {ValueRef{x}, Scalar(int64_t{1})}, here);
  Node* mul = graph.add_op(op("mul"), {ValueRef{add}, ValueRef{add}}, here);
  Node* sum = graph.add_op(op("sum"), {ValueRef{mul}}, below);
  add->form = mul->form = CallForm::Operator;
  sum->form = CallForm::Method;
  graph.set_outputs({{sum}, {add}});
  verify(graph);
  CHECK(add->name == "add" && mul->name == "mul" && sum->name == "sum_1" && x->name == "l_x_");
  auto source = [](const SourceLine& line) { return line.line == 5 ? std::string("    y = x + 1\n") : std::string(); };
  std::string code = print_code(graph, true, source);
  const char* expected =
      "class GraphModule(minidynamo.nn.Module):\n"
      "    def forward(self, L_x_: \"f32[3][1]cpu\"):\n"
      "        l_x_ = L_x_\n"
      "\n"
      "         # File: t.py:5 in fn, code: y = x + 1\n"
      "        add: \"f32[3][1]cpu\" = l_x_ + 1;  l_x_ = None\n"
      "        mul: \"f32[3][1]cpu\" = add * add\n"
      "\n"
      "         # File: t.py:6 in fn\n"
      "        sum_1: \"f32[][]cpu\" = mul.sum();  mul = None\n"
      "        return (sum_1, add)\n";
  CHECK(code == expected);
  if (code != expected) std::cerr << code;
  CHECK(print_code(graph, false) ==
        "def forward(self, L_x_):\n"
        "    l_x_ = L_x_\n"
        "    add = l_x_ + 1;  l_x_ = None\n"
        "    mul = add * add\n"
        "    sum_1 = mul.sum();  mul = None\n"
        "    return (sum_1, add)\n");
}

TEST(building) {
  Graph graph;
  Node* x = graph.add_tensor_input("x", f32({2, 3}));
  Node* w = graph.add_tensor_input("x", f32({4, 5}));
  CHECK(w->name == "x_1");
  // A failing shape rule leaves the graph unchanged.
  CHECK_THROWS(graph.add_op(op("matmul"), {ValueRef{x}, ValueRef{w}}), Error, "[matmul]");
  CHECK_THROWS(graph.add_op(op("relu"), {Scalar(1.0)}), Error, "[relu]");
  CHECK(graph.nodes().size() == 2);
  Node* a = graph.add_op(op("relu"), {ValueRef{x}});
  Node* b = graph.add_op(op("relu"), {ValueRef{a}});
  graph.set_outputs({{b}});
  CHECK(b->name == "relu_1" && graph.op_count() == 2);
  CHECK(graph.users(a) == std::vector<Node*>{b});
  graph.replace_uses({a}, {x});
  CHECK(graph.users(a).empty());
  CHECK(drop_unused_inputs(graph) == std::vector<int>{0});
  CHECK(graph.inputs().size() == 1);
  verify(graph);
  eliminate_dead_code(graph);
  CHECK(print(graph) == "%x = input x : f32[2, 3][3, 1]\n%relu_1 = relu(%x) : f32[2, 3][3, 1]\nreturn %relu_1\n");
}

TEST(verify) {
  auto broken = [](void (*damage)(Graph&)) {
    auto graph = parse_graph(
        "%x = input x : f32[3][1]\n%relu = relu(%x) : f32[3][1]\n%neg = neg(%relu) : f32[3][1]\nreturn %neg\n");
    damage(*graph);
    verify(*graph);
  };
  CHECK_THROWS(broken([](Graph& g) { g.nodes()[2]->name = "relu"; }), Error, "not unique");
  CHECK_THROWS(broken([](Graph& g) { g.nodes()[1]->operands[0] = ValueRef{g.nodes()[2].get()}; }), Error,
               "not defined before");
  CHECK_THROWS(broken([](Graph& g) { g.nodes()[1]->operands[0] = Scalar(1.0); }), Error, "'self'");
  CHECK_THROWS(broken([](Graph& g) { g.nodes()[1]->outs[0].spec.sizes[0] = 4; }), Error, "shape rule says");
  CHECK_THROWS(broken([](Graph& g) { g.nodes()[1]->outs[0].spec.dtype = DType::float64; }), Error, "%relu");
  CHECK_THROWS(broken([](Graph& g) { g.set_outputs({{nullptr}}); }), Error, "output");
  CHECK_THROWS(broken([](Graph& g) { g.nodes()[1]->index = 7; }), Error, "position");
}

void check_passes(const std::string& before, const std::string& after) {
  auto graph = parse_graph(before);
  run_passes(*graph);
  verify(*graph);
  std::string printed = print(*graph);
  CHECK(printed == after);
  if (printed != after) std::cerr << printed << "expected\n" << after;
}

TEST(passes) {
  // Equal ops once; unused ones go; unused inputs stay.
  check_passes(
      "%x = input x : f32[3][1]\n"
      "%y = input y : f32[3][1]\n"
      "%a = exp(%x) : f32[3][1]\n"
      "%b = exp(%x) : f32[3][1]\n"
      "%c = mul(%a, %b) : f32[3][1]\n"
      "%d = sin(%x) : f32[3][1]\n"
      "return %c\n",
      "%x = input x : f32[3][1]\n"
      "%y = input y : f32[3][1]\n"
      "%a = exp(%x) : f32[3][1]\n"
      "%c = mul(%a, %a) : f32[3][1]\n"
      "return %c\n");
  // Two returned results stay two tensors, also behind views.
  std::string two =
      "%x = input x : f32[2, 3][3, 1]\n"
      "%a = exp(%x) : f32[2, 3][3, 1]\n"
      "%b = exp(%x) : f32[2, 3][3, 1]\n"
      "%t = t(%b) : f32[3, 2][1, 3]\n"
      "return %a, %t\n";
  check_passes(two, two);
  // Random ops are never merged or removed; an index that may be out of range must still fail.
  std::string random =
      "%x = input x : f32[3][1]\n"
      "%i = input i : i64[2][1]\n"
      "%a = rand_like(%x, dtype=None, device=None, requires_grad=False, memory_format=None) : f32[3][1]\n"
      "%b = rand_like(%x, dtype=None, device=None, requires_grad=False, memory_format=None) : f32[3][1]\n"
      "%s = index_select(%x, 0, %i) : f32[2][1]\n"
      "return %b\n";
  check_passes(random, random);
  // Constants; a result that escapes is created anew by each run.
  check_passes(
      "%x = input x : f32[2][1]\n"
      "%z = ones((2,), dtype=float32, device=None, requires_grad=False) : f32[2][1]\n"
      "%n = neg(%z) : f32[2][1]\n"
      "%y = add(%x, %n, alpha=1) : f32[2][1]\n"
      "%out = zeros((2,), dtype=float32, device=None, requires_grad=False) : f32[2][1]\n"
      "return %y, %out\n",
      "%x = input x : f32[2][1]\n"
      "%n = constant n : f32[2][1] {-1.0, -1.0}\n"
      "%y = add(%x, %n, alpha=1) : f32[2][1]\n"
      "%out = zeros((2,), dtype=float32, device=None, requires_grad=False) : f32[2][1]\n"
      "return %y, %out\n");
  // Casts through a wider type, and transposes that cancel each other.
  check_passes(
      "%x = input x : f32[2, 3][3, 1]\n"
      "%d = cast(%x, float64) : f64[2, 3][3, 1]\n"
      "%h = cast(%d, int32) : i32[2, 3][3, 1]\n"
      "%t = t(%x) : f32[3, 2][1, 3]\n"
      "%u = t(%t) : f32[2, 3][3, 1]\n"
      "%r = relu(%u) : f32[2, 3][3, 1]\n"
      "return %h, %r, %u\n",
      "%x = input x : f32[2, 3][3, 1]\n"
      "%h = cast(%x, int32) : i32[2, 3][3, 1]\n"
      "%t = t(%x) : f32[3, 2][1, 3]\n"
      "%u = t(%t) : f32[2, 3][3, 1]\n"
      "%r = relu(%x) : f32[2, 3][3, 1]\n"
      "return %h, %r, %u\n");
  // A copy that nothing keeps is not made; one that is returned, also as a view, is.
  check_passes(
      "%x = input x : f32[2, 3][3, 1]\n"
      "%c = clone(%x, memory_format=None) : f32[2, 3][3, 1]\n"
      "%y = exp(%c) : f32[2, 3][3, 1]\n"
      "%z = copy(%y, %x, False) : f32[2, 3][3, 1]\n"
      "%r = relu(%z) : f32[2, 3][3, 1]\n"
      "return %y, %r\n",
      "%x = input x : f32[2, 3][3, 1]\n"
      "%y = exp(%x) : f32[2, 3][3, 1]\n"
      "%r = relu(%x) : f32[2, 3][3, 1]\n"
      "return %y, %r\n");
  std::string kept =
      "%x = input x : f32[2, 3][3, 1]\n"
      "%c = clone(%x, memory_format=None) : f32[2, 3][3, 1]\n"
      "%t = t(%c) : f32[3, 2][1, 3]\n"
      "return %t\n";
  check_passes(kept, kept);
  // Narrowing first loses digits, so it stays.
  std::string narrowing =
      "%x = input x : f32[2][1]\n"
      "%h = cast(%x, float16) : f16[2][1]\n"
      "%y = cast(%h, float64) : f64[2][1]\n"
      "return %y\n";
  check_passes(narrowing, narrowing);
}

TEST(gradients) {
  Graph graph;
  TensorSpec spec = f32({3});
  spec.requires_grad = true;
  Node* x = graph.add_tensor_input("x", spec);
  CHECK(graph.add_op(op("exp"), {ValueRef{x}})->outs[0].spec.requires_grad);
  CHECK(!graph.add_op(op("detach"), {ValueRef{x}})->outs[0].spec.requires_grad);
  CHECK(!graph.add_op(op("gt"), {ValueRef{x}, Scalar(0.0)})->outs[0].spec.requires_grad);
  CHECK(!graph.add_op(op("zeros_like"), {ValueRef{x}})->outs[0].spec.requires_grad);
}

TEST(run_eagerly) {
  auto graph = parse_graph(
      "%x = input x : f32[3][1]\n"
      "%n = scalar n : float\n"
      "%add = add(%x, %n, alpha=1) : f32[3][1]\n"
      "%mul = mul(%add, 2.0) : f32[3][1]\n"
      "return %mul, %x\n");
  Tensor x = Tensor::empty(f32({3}));
  for (int64_t i = 0; i < 3; ++i) set_element(x, i, Scalar(static_cast<double>(i)));
  GraphInput inputs[] = {{.tensor = x}, {.scalar = Scalar(1.0)}};
  std::vector<Tensor> outputs = run_eagerly(*graph, inputs);
  for (int64_t i = 0; i < 3; ++i) CHECK(get_element(outputs[0], i).as_double() == static_cast<double>(2 * (i + 1)));
  CHECK(is_same(outputs[1], x));
}

// Building and passes are linear: five thousand nodes of one stem, each value used several times.
TEST(large) {
  Graph graph;
  Node* x = graph.add_tensor_input("x", f32({3}));
  Node* last = x;
  for (int i = 0; i < 5000; ++i) {
    last = graph.add_op(op("add"), {ValueRef{last}, i % 2 == 0 ? Operand(ValueRef{last}) : Operand(ValueRef{x})});
  }
  graph.set_outputs({{last}});
  run_passes(graph);
  verify(graph);
  CHECK(graph.op_count() == 5000);
  CHECK(print(*parse_graph(print(graph))) == print(graph));
}

}  // namespace
}  // namespace md
