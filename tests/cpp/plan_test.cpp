// Plans: each one has the results of running the graph op by op, and the same sharing of memory.
#include "executor/plan.h"
#include "graph/merge_products.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "check.h"
#include "executor/ceilings.h"
#include "executor/memory_plan.h"
#include "graph/passes.h"
#include "random_graphs.h"
#include "rounding_bounds.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

std::vector<Tensor> run(const Plan& plan, const Graph& graph, std::span<const GraphInput> inputs) {
  std::vector<Tensor> outputs(graph.outputs().size());
  plan.run(inputs, outputs);
  return outputs;
}

double largest(const Tensor& tensor) {
  double found = 1;
  for (int64_t i = 0; i < tensor->numel(); ++i) {
    double value = std::fabs(get_element(tensor, i).as_double());
    if (std::isfinite(value)) found = std::max(found, value);
  }
  return found;
}

// tolerance 0: the same bits, or both NaN.
std::string difference(const Tensor& got, const Tensor& expected, double tolerance) {
  if (got.spec().str() != expected.spec().str()) return got.spec().str() + " is not " + expected.spec().str();
  if (got.requires_grad() != expected.requires_grad()) return "requires_grad differs";
  double allowed = tolerance == 0 ? 0 : tolerance * largest(expected);
  for (int64_t i = 0; i < got->numel(); ++i) {
    double a = get_element(got, i).as_double();
    double b = get_element(expected, i).as_double();
    bool close = a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= allowed;
    if (!close) return str_cat("element ", i, " is ", a, ", not ", b);
  }
  return "";
}

// Which outputs share storage with which input or other output.
std::vector<bool> sharing(std::span<const GraphInput> inputs, const std::vector<Tensor>& outputs) {
  std::vector<bool> shared;
  for (const Tensor& output : outputs) {
    for (const GraphInput& input : inputs) {
      shared.push_back(input.tensor.defined() && input.tensor->storage().get() == output->storage().get());
    }
    for (const Tensor& other : outputs) {
      shared.push_back(other->storage().get() == output->storage().get());
      shared.push_back(is_same(other, output));
    }
  }
  return shared;
}

double tolerance_of(const md_test::RandomGraph& random, const Tensor& tensor) {
  if (random.exact) return 0;
  return tensor->dtype() == DType::bfloat16 ? 0.1 : 2e-4;
}

std::string compare(const md_test::RandomGraph& random, const Plan& plan, const Graph& graph,
                    std::span<const GraphInput> inputs, const std::vector<Tensor>& expected) {
  std::vector<Tensor> outputs = run(plan, graph, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string different = difference(outputs[i], expected[i], tolerance_of(random, expected[i]));
    if (!different.empty()) return str_cat("output ", i, ": ", different);
  }
  return sharing(inputs, outputs) == sharing(inputs, expected) ? "" : "outputs share memory differently";
}

std::string check_random_graph(uint32_t seed) {
  md_test::RandomGraph random(seed);
  verify(*random.graph);
  if (print(*parse_graph(print(*random.graph))) != print(*random.graph)) return "the text form changes by parsing";
  std::vector<GraphInput> inputs = random.make_inputs();
  std::vector<Tensor> expected = run_eagerly(*random.graph, inputs);
  std::shared_ptr<const Plan> plan = lower(*random.graph);
  std::string wrong = compare(random, *plan, *random.graph, inputs, expected);
  if (!wrong.empty()) return wrong + "\n" + plan->print();

  // The results of a run stay unchanged when the plan runs again and reuses its memory.
  std::vector<Tensor> first = run(*plan, *random.graph, inputs);
  std::vector<GraphInput> others = random.make_inputs();
  wrong = compare(random, *plan, *random.graph, others, run_eagerly(*random.graph, others));
  if (!wrong.empty()) return "second run: " + wrong + "\n" + plan->print();
  for (size_t i = 0; i < first.size(); ++i) {
    if (!difference(first[i], expected[i], tolerance_of(random, expected[i])).empty())
      return "a run changed an earlier result";
  }

  std::unique_ptr<Graph> passed = random.graph->clone();
  run_passes(*passed);
  verify(*passed);
  std::shared_ptr<const Plan> after = lower(*passed);
  wrong = compare(random, *after, *passed, inputs, expected);
  if (!wrong.empty()) return "after passes: " + wrong + "\n" + print(*passed) + after->print();
  return "";
}

void check_random_graphs(uint32_t first, uint32_t count) {
  for (uint32_t seed = first; seed < first + count; ++seed) {
    std::string wrong;
    try {
      wrong = check_random_graph(seed);
    } catch (const Error& error) {
      wrong = std::string("throws ") + error.what();
    }
    if (wrong.empty()) continue;
    md_test::fail(__FILE__, __LINE__, str_cat("seed ", seed).c_str(), wrong.c_str());
    std::cerr << print(*md_test::RandomGraph(seed).graph);
    if (md_test::failures > 3) return;
  }
}

// Products of all forms, followed by ops that their primitive can fuse.
class RandomProduct {
 public:
  explicit RandomProduct(uint32_t seed) : random_(seed) {
    int64_t m = 1 + below(40), n = 1 + below(40), k = 1 + below(40);
    std::vector<int64_t> batch;
    for (int d = below(3); d > 0; --d) batch.push_back(1 + below(3));
    Node* product = nullptr;
    switch (below(4)) {
      case 0:
        product = add("linear", {matrix(batch, m, k), matrix({}, n, k),
                                 chance(50) ? Operand(vector(n)) : Operand(std::monostate())});
        break;
      case 1:
        batch.clear();
        product = add("addmm", {vector(n), matrix({}, m, k), matrix({}, k, n)});
        break;
      case 2:
        product = add("matmul", {matrix(batch, m, k), matrix({}, k, n)});
        break;
      default: {
        std::vector<int64_t> repeated = batch;
        for (int64_t& size : repeated) size = chance(30) ? 1 : size;
        product = add("matmul", {matrix(batch, m, k), matrix(repeated, k, n)});
      }
    }
    last_ = {product};
    for (int i = below(4); i > 0; --i) add_epilogue(batch, m, n);
    std::vector<ValueRef> outputs = {last_};
    if (chance(20)) outputs.push_back({product});
    graph.set_outputs(outputs);
  }

  Graph graph;
  std::vector<GraphInput> inputs;

 private:
  int below(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }
  bool chance(int percent) { return below(100) < percent; }

  ValueRef input(const std::vector<int64_t>& sizes, bool transposed) {
    TensorSpec spec;
    for (int64_t size : sizes) spec.sizes.push_back(size);
    spec.strides = contiguous_strides(spec.sizes.span());
    int rank = spec.rank();
    if (transposed && rank >= 2) {
      spec.strides[rank - 2] = 1;
      spec.strides[rank - 1] = spec.sizes[rank - 2];
    }
    Tensor tensor = Tensor::empty(spec);
    for (int64_t i = 0; i < tensor->numel(); ++i) set_element(tensor, i, Scalar(below(2001) / 1000.0 - 1));
    inputs.push_back({.tensor = tensor});
    return {graph.add_tensor_input("x", spec)};
  }
  ValueRef matrix(std::vector<int64_t> sizes, int64_t rows, int64_t columns) {
    sizes.insert(sizes.end(), {rows, columns});
    return input(sizes, chance(30));
  }
  ValueRef vector(int64_t size) { return input({size}, false); }

  Node* add(const char* name, std::vector<Operand> operands) {
    return graph.add_op(*find_op(name), std::move(operands));
  }

  void add_epilogue(const std::vector<int64_t>& batch, int64_t m, int64_t n) {
    if (chance(40)) {
      last_ = {add(md_test::kUnaryBounds[below(8)].name, {last_})};
      return;
    }
    Operand other = operand(batch, m, n);
    if (std::holds_alternative<Scalar>(other) || graph.info(std::get<ValueRef>(other)).is_scalar) {
      last_ = {add(md_test::kBinaryBounds[below(3)].name, {last_, other})};
    } else {
      bool swap = chance(30);
      last_ = {
          add(md_test::kBinaryBounds[below(5)].name, {swap ? other : Operand(last_), swap ? Operand(last_) : other})};
    }
  }

  Operand operand(const std::vector<int64_t>& batch, int64_t m, int64_t n) {
    switch (below(6)) {
      case 0:
        return Scalar(1.5);
      case 1:
        inputs.push_back({.scalar = Scalar(0.25)});
        return ValueRef{graph.add_scalar_input("n", Scalar::Kind::Float)};
      case 2:
        return vector(n);
      case 3:
        return matrix({}, m, 1);
      case 4:
        return matrix({}, m, n);
      default:
        return matrix(batch, m, n);
    }
  }

  std::mt19937 random_;
  ValueRef last_;
};

std::string difference(const Tensor& got, const Tensor& expected, const std::vector<double>& bounds) {
  if (got.spec().str() != expected.spec().str()) return got.spec().str() + " is not " + expected.spec().str();
  for (int64_t i = 0; i < got->numel(); ++i) {
    double a = get_element(got, i).as_double(), b = get_element(expected, i).as_double();
    double bound = bounds[static_cast<size_t>(i)];
    if (!std::isfinite(bound) || a == b || std::fabs(a - b) <= bound) continue;
    return str_cat("element ", i, " is ", a, ", not ", b, "; they may differ by ", bound);
  }
  return "";
}

// How many of the products took an op along.
uint32_t check_products(uint32_t first, uint32_t count) {
  uint32_t fused = 0;
  for (uint32_t seed = first; seed < first + count; ++seed) {
    RandomProduct random(seed);
    std::vector<Tensor> expected = run_eagerly(random.graph, random.inputs);
    std::shared_ptr<const Plan> plan = lower(random.graph);
    std::vector<Tensor> outputs = run(*plan, random.graph, random.inputs);
    fused += plan->print().find(" + ") != std::string::npos;
    md_test::RoundingBounds bounds(random.graph, random.inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      std::string wrong = difference(outputs[i], expected[i], bounds.of(*random.graph.outputs()[i].node));
      if (wrong.empty()) continue;
      md_test::fail(__FILE__, __LINE__, str_cat("product ", seed).c_str(), wrong.c_str());
      std::cerr << print(random.graph) << plan->print();
    }
  }
  return fused;
}

// What runs on the pieces of a product treats NaN, infinities and signed zeros as the op itself does.
TEST(special_values) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> special = {std::nan(""), infinity, -infinity, 0.0,   -0.0, 100,
                                       -100,         1e30,     -1e30,     1e-40, -3,   0.5};
  const int64_t m = 4, n = static_cast<int64_t>(special.size());
  TensorSpec left = TensorSpec::contiguous(DType::float32, DimVec({m, 8}));
  TensorSpec right = TensorSpec::contiguous(DType::float32, DimVec({8, n}));
  TensorSpec result = TensorSpec::contiguous(DType::float32, DimVec({m, n}));
  for (const OpRow* op : op_rows()) {
    bool unary = op->kind == OpKind::PointwiseUnary, binary = op->kind == OpKind::PointwiseBinary;
    // Ops with a further operand without default are covered by another test.
    size_t taken = unary ? 1 : 2;
    if (op->schema.params.size() > taken && !op->schema.params[taken].default_value) continue;
    if ((!unary && !binary) || op->pointwise < 0) continue;
    // Integer functions are covered by another test, too.
    if (pointwise_loop(op->pointwise, DType::float32, 0) == nullptr) continue;
    Graph graph;
    Node* a = graph.add_tensor_input("a", left);
    Node* b = graph.add_tensor_input("b", right);
    Node* c = graph.add_tensor_input("c", result);
    Node* d = graph.add_tensor_input("d", result);
    Node* product = graph.add_op(*find_op("matmul"), {ValueRef{a}, ValueRef{b}});
    Node* sum = graph.add_op(*find_op("add"), {ValueRef{product}, ValueRef{c}});
    Node* last = unary ? graph.add_op(*op, {ValueRef{sum}}) : graph.add_op(*op, {ValueRef{sum}, ValueRef{d}});
    graph.set_outputs({{last}});
    std::vector<GraphInput> inputs;
    for (const TensorSpec& spec : {left, right, result, result}) inputs.push_back({.tensor = Tensor::empty(spec)});
    for (const GraphInput& input : inputs) {
      for (int64_t i = 0; i < input.tensor->numel(); ++i) set_element(input.tensor, i, Scalar(0.0));
    }
    for (int64_t i = 0; i < m * n; ++i) {
      set_element(inputs[2].tensor, i, Scalar(special[static_cast<size_t>(i % n)]));
      set_element(inputs[3].tensor, i, Scalar(special[static_cast<size_t>((i * 5 + i / n) % n)]));
    }
    Tensor expected = run_eagerly(graph, inputs)[0];
    auto plan = lower(graph);
    Tensor got = run(*plan, graph, inputs)[0];
    for (int64_t i = 0; i < m * n; ++i) {
      double x = get_element(got, i).as_double(), y = get_element(expected, i).as_double();
      bool close = (std::isnan(x) && std::isnan(y)) || x == y || std::fabs(x - y) <= 1e-5 * (std::fabs(y) + 1);
      if (close) continue;
      std::string text = str_cat(op->name, "(", get_element(inputs[2].tensor, i).str(), ") is ", x, ", not ", y);
      md_test::fail(__FILE__, __LINE__, text.c_str(), plan->print().c_str());
      break;
    }
  }
}

Tensor filled(std::initializer_list<int64_t> sizes, double first) {
  Tensor tensor = Tensor::empty(DType::float32, std::vector<int64_t>(sizes));
  for (int64_t i = 0; i < tensor->numel(); ++i) set_element(tensor, i, Scalar(first + static_cast<double>(i)));
  return tensor;
}

void check_steps(const std::string& text, std::initializer_list<const char*> steps) {
  auto graph = parse_graph(text);
  std::string printed = lower(*graph)->print();
  size_t lines = static_cast<size_t>(std::count(printed.begin(), printed.end(), '\n')) - 1;
  bool as_expected = lines == steps.size();
  for (const char* step : steps) as_expected = as_expected && printed.find(step) != std::string::npos;
  CHECK(as_expected);
  if (!as_expected) std::cerr << printed;
}

TEST(fusion) {
  check_steps(
      "%x = input x : f32[3][1]\n%add = add(%x, 1, alpha=1) : f32[3][1]\n%mul = mul(%add, 2) : f32[3][1]\nreturn "
      "%mul\n",
      {"fused loop add, mul -> mul (1 x 3)"});
  // Branches that join, a cast, a broadcast operand and a run-time scalar: one step. An
  // intermediate that escapes is stored.
  check_steps(
      "%x = input x : f32[4, 100][100, 1]\n%b = input b : f32[100][1]\n%n = scalar n : float\n"
      "%p = mul(%x, %n) : f32[4, 100][100, 1]\n%q = add(%x, %b, alpha=1) : f32[4, 100][100, 1]\n"
      "%r = sub(%p, %q, alpha=1) : f32[4, 100][100, 1]\n%d = cast(%r, float64) : f64[4, 100][100, 1]\n"
      "return %d, %q\n",
      {"fused loop mul, add, sub, cast -> q d (4 x 100)"});
  // A reduction in between is a step of its own, and its readers come after it.
  check_steps(
      "%x = input x : f32[4, 8][8, 1]\n%e = square(%x) : f32[4, 8][8, 1]\n"
      "%s = sum(%e, (1,), True, dtype=None) : f32[4, 1][1, 1]\n%d = div(%e, %s) : f32[4, 8][8, 1]\nreturn %d\n",
      {"loop square", "kernel sum", "loop div"});
  // Through a view, elements come in another order.
  check_steps(
      "%x = input x : f32[4, 4][4, 1]\n%e = square(%x) : f32[4, 4][4, 1]\n%t = t(%e) : f32[4, 4][1, 4]\n"
      "%d = add(%e, %t, alpha=1) : f32[4, 4][4, 1]\nreturn %d\n",
      {"loop square", "loop add"});
  check_steps(
      "%x = input x : f32[64, 32][32, 1]\n%w = input w : f32[48, 32][32, 1]\n%b = input b : f32[48][1]\n"
      "%y = linear(%x, %w, %b) : f32[64, 48][48, 1]\n%r = abs(%y) : f32[64, 48][48, 1]\n"
      "%z = mul(%r, 0.5) : f32[64, 48][48, 1]\nreturn %z\n",
      {"linear + abs + mul -> z (1 x 64 x 48 x 32)"});
  // A product used twice by its followers, and an operand computed before it: still one step, after that operand's.
  check_steps(
      "%x = input x : f32[64, 32][32, 1]\n%w = input w : f32[48, 32][32, 1]\n%r = input r : f32[64, 48][48, 1]\n"
      "%n = neg(%r) : f32[64, 48][48, 1]\n%y = linear(%x, %w, None) : f32[64, 48][48, 1]\n"
      "%s = sigmoid(%y) : f32[64, 48][48, 1]\n%p = mul(%y, %s) : f32[64, 48][48, 1]\n"
      "%z = add(%p, %n, alpha=1) : f32[64, 48][48, 1]\nreturn %z, %y\n",
      {"linear + neg + sigmoid + mul + add -> z (1 x 64 x 48 x 32)"});
  // The operands of a product are computed before it although they have its sizes.
  check_steps(
      "%x = input x : f32[32, 32][32, 1]\n%n = neg(%x) : f32[32, 32][32, 1]\n"
      "%y = mm(%n, %x) : f32[32, 32][32, 1]\n%z = add(%y, %n, alpha=1) : f32[32, 32][32, 1]\nreturn %z\n",
      {"loop neg", "mm + add -> z (1 x 32 x 32 x 32)"});
  // Attention; if its weights escape, it is three steps.
  const std::string attention =
      "%q = input q : f32[2, 3, 32, 16][1536, 512, 16, 1]\n%k = input k : f32[2, 3, 40, 16][1920, 640, 16, 1]\n"
      "%v = input v : f32[2, 3, 40, 8][960, 320, 8, 1]\n%m = input m : f32[32, 40][40, 1]\n"
      "%t = transpose(%k, 2, 3) : f32[2, 3, 16, 40][1920, 640, 1, 16]\n"
      "%s = matmul(%q, %t) : f32[2, 3, 32, 40][3840, 1280, 40, 1]\n"
      "%d = mul(%s, 0.25) : f32[2, 3, 32, 40][3840, 1280, 40, 1]\n"
      "%a = add(%d, %m, alpha=1) : f32[2, 3, 32, 40][3840, 1280, 40, 1]\n"
      "%w = softmax(%a, 3, None) : f32[2, 3, 32, 40][3840, 1280, 40, 1]\n"
      "%o = matmul(%w, %v) : f32[2, 3, 32, 8][768, 256, 8, 1]\n%z = neg(%o) : f32[2, 3, 32, 8][768, 256, 8, 1]\n";
  check_steps(attention + "return %z\n",
              {"matmul + mul + add -> a (6 x 32 x 40 x 16), softmax, matmul + neg -> z (6 x"});
  check_steps(attention + "return %z, %w\n", {"matmul + mul + add -> a", "kernel softmax", "matmul + neg -> z"});
  // Products of slices with one matrix become one product of the whole.
  std::string slices = "%x = input x : f32[4, 8, 16][128, 16, 1]\n%w = input w : f32[16, 16][16, 1]\n";
  for (int i = 0; i < 4; ++i) {
    slices += str_cat("%s", i, " = select(%x, 0, ", i, ") : f32[8, 16][16, 1]\n%p", i, " = mm(%s", i,
                      ", %w) : f32[8, 16][16, 1]\n");
  }
  slices +=
      "%a = add(%p0, %p1, alpha=1) : f32[8, 16][16, 1]\n%b = mul(%p2, %p3) : f32[8, 16][16, 1]\n"
      "%z = sub(%a, %b, alpha=1) : f32[8, 16][16, 1]\nreturn %z\n";
  auto sliced = parse_graph(slices);
  CHECK(merge_products(*sliced) != nullptr);
  // Nothing to run: views and inputs.
  check_steps("%x = input x : f32[2, 3][3, 1]\n%t = t(%x) : f32[3, 2][1, 3]\nreturn %t, %x\n", {});
}

TEST(aliases) {
  auto graph = parse_graph(
      "%x = input x : f32[2, 3][3, 1]\n%t = t(%x) : f32[3, 2][1, 3]\n%y = neg(%x) : f32[2, 3][3, 1]\n"
      "%a = select(%y, 0, 1) : f32[3][1]\n%b = t(%y) : f32[3, 2][1, 3]\nreturn %t, %x, %a, %b, %b\n");
  GraphInput inputs[] = {{.tensor = filled({2, 3}, 1)}};
  std::vector<Tensor> outputs = run(*lower(*graph), *graph, inputs);
  CHECK(is_same(outputs[1], inputs[0].tensor));
  CHECK(outputs[0]->storage().get() == inputs[0].tensor->storage().get());
  CHECK(outputs[2]->storage().get() == outputs[3]->storage().get());
  CHECK(is_same(outputs[3], outputs[4]) && !is_same(outputs[2], outputs[3]));
  CHECK(get_element(outputs[2], 0).as_double() == -4);
  // Writing to one of them changes the other, and does not affect the next run.
  set_element(outputs[2], 0, Scalar(7.0));
  CHECK(get_element(outputs[3], 1).as_double() == 7);
  CHECK(get_element(run(*lower(*graph), *graph, inputs)[2], 0).as_double() == -4);
}

TEST(failure) {
  auto graph = parse_graph(
      "%x = input x : f32[4][1]\n%i = input i : i64[2][1]\n%y = neg(%x) : f32[4][1]\n"
      "%s = index_select(%y, 0, %i) : f32[2][1]\n%z = square(%s) : f32[2][1]\nreturn %y, %z\n");
  auto plan = lower(*graph);
  Tensor index = Tensor::empty(DType::int64, std::vector<int64_t>{2});
  set_element(index, 0, Scalar(int64_t{1}));
  set_element(index, 1, Scalar(int64_t{9}));
  GraphInput inputs[] = {{.tensor = filled({4}, 1)}, {.tensor = index}};
  Tensor before = filled({1}, 0);
  std::vector<Tensor> outputs = {before, before};
  CHECK_THROWS(plan->run(inputs, outputs), Error, "[index_select]");
  CHECK(is_same(outputs[0], before) && is_same(outputs[1], before));
  set_element(index, 1, Scalar(int64_t{3}));
  plan->run(inputs, outputs);
  CHECK(get_element(outputs[1], 0).as_double() == 4 && get_element(outputs[1], 1).as_double() == 16);
}

int host_call_runs = 0;
Tensor kept_by_host_call;
void doubling_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  OutSpec out;
  out.spec = TensorSpec::contiguous(DType::float32, std::get<Tensor>(call.args[0]).spec().sizes);
  outs.push_back(out);
}
void doubling(void*, const OpCall& call, std::span<Tensor> outs) {
  ++host_call_runs;
  const Tensor& x = std::get<Tensor>(call.args[0]);
  if (host_call_runs == 1) kept_by_host_call = x;
  if (x->numel() == 1) raise(ErrorKind::Value, "one element is too few");
  outs[0] = Tensor::empty(TensorSpec::contiguous(DType::float32, x.spec().sizes));
  for (int64_t i = 0; i < x->numel(); ++i) set_element(outs[0], i, Scalar(2 * get_element(x, i).as_double()));
}

TEST(call_out) {
  OpRow row{};
  row.schema = parse_schema("plan_test::double(Tensor x) -> Tensor");
  row.name = row.schema.name;
  row.kind = OpKind::HostCall;
  row.shape_rule = doubling_shape;
  row.host_call.run = doubling;
  row.host_call.needs_gil = true;
  add_op_row(row);
  auto graph = parse_graph(
      "%x = input x : f32[3][1]\n%y = neg(%x) : f32[3][1]\n%a = plan_test::double(%y) : f32[3][1]\n"
      "%unused = plan_test::double(%a) : f32[3][1]\n%z = add(%a, %y, alpha=1) : f32[3][1]\nreturn %z, %a\n");
  run_passes(*graph);
  CHECK(graph->has_host_call() && graph->op_count() == 4);
  auto plan = lower(*graph);
  CHECK(plan->needs_gil());
  GraphInput inputs[] = {{.tensor = filled({3}, 1)}};
  std::vector<Tensor> outputs = run(*plan, *graph, inputs);
  CHECK(host_call_runs == 2);
  // The arguments of a host call remain its own, also when the plan runs again.
  GraphInput others[] = {{.tensor = filled({3}, 50)}};
  run(*plan, *graph, others);
  CHECK(get_element(kept_by_host_call, 0).as_double() == -1);
  CHECK(get_element(outputs[0], 2).as_double() == -9 && get_element(outputs[1], 2).as_double() == -6);
  auto failing = parse_graph("%x = input x : f32[1][1]\n%a = plan_test::double(%x) : f32[1][1]\nreturn %a\n");
  GraphInput one[] = {{.tensor = filled({1}, 1)}};
  CHECK_THROWS(run(*lower(*failing), *failing, one), Error, "too few");
}

TEST(threads) {
  auto graph = std::shared_ptr<Graph>(parse_graph(
      "%x = input x : f32[33, 65][65, 1]\n%e = tanh(%x) : f32[33, 65][65, 1]\n"
      "%s = sum(%e, (1,), True, dtype=None) : f32[33, 1][1, 1]\n%d = mul(%e, %s) : f32[33, 65][65, 1]\n"
      "%t = t(%d) : f32[65, 33][1, 65]\n%m = matmul(%d, %t) : f32[33, 33][33, 1]\n%r = relu(%m) : f32[33, 33][33, 1]\n"
      "return %r, %s\n"));
  auto plan = lower(*graph);
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(4);
  for (size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      GraphInput inputs[] = {{.tensor = filled({33, 65}, static_cast<double>(t) - 1000)}};
      std::vector<Tensor> expected = run_eagerly(*graph, inputs);
      for (int i = 0; i < 100 && wrong[t].empty(); ++i) {
        std::vector<Tensor> outputs = run(*plan, *graph, inputs);
        for (size_t k = 0; k < outputs.size(); ++k) wrong[t] += difference(outputs[k], expected[k], 1e-4);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) {
    CHECK(text.empty());
    if (!text.empty()) std::cerr << text << "\n";
  }
}

TEST(gradients_and_constants) {
  auto graph = parse_graph(
      "%x = input x : f32[2][1] grad\n%w = constant w : f32[2][1] {1.0, 2.0}\n%y = mul(%x, %w) : f32[2][1] grad\n"
      "%d = detach(%y) : f32[2][1]\nreturn %y, %d, %w\n");
  Tensor x = filled({2}, 3);
  x.set_requires_grad(true);
  GraphInput inputs[] = {{.tensor = x}};
  std::vector<Tensor> outputs = run(*lower(*graph), *graph, inputs);
  CHECK(outputs[0].requires_grad() && !outputs[1].requires_grad());
  CHECK(get_element(outputs[1], 1).as_double() == 8);
  CHECK(is_same(outputs[2], graph->nodes()[1]->constant));
  auto eager = eager_plan(std::shared_ptr<const Graph>(graph->clone()));
  std::vector<Tensor> again = run(*eager, *graph, inputs);
  CHECK(again[0].requires_grad() && difference(again[0], outputs[0], 0).empty());
}

TEST(memory_plan) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<ArenaBlock> blocks(1 + random() % 30);
    for (ArenaBlock& block : blocks) {
      block.nbytes = static_cast<int64_t>(random() % 1000);
      block.first = static_cast<int>(random() % 20);
      block.last = block.first + static_cast<int>(random() % 5);
    }
    int64_t size = plan_arena(blocks);
    int64_t sum = 0;
    for (const ArenaBlock& a : blocks) {
      sum += a.nbytes + kArenaAlignment;
      CHECK(a.offset % kArenaAlignment == 0 && a.offset + a.nbytes <= size);
      for (const ArenaBlock& b : blocks) {
        bool together = &a != &b && a.first <= b.last && b.first <= a.last && a.nbytes > 0 && b.nbytes > 0;
        CHECK(!together || a.offset + a.nbytes <= b.offset || b.offset + b.nbytes <= a.offset);
      }
    }
    CHECK(size <= sum);
  }
  // A chain needs two blocks, however long it is.
  std::vector<ArenaBlock> chain(50);
  for (int i = 0; i < 50; ++i) chain[static_cast<size_t>(i)] = {.nbytes = 64, .first = i, .last = i + 1};
  CHECK(plan_arena(chain) == 128);
}

// A value that dies where an output begins lies in the output's memory; two that do so do not lie in the same.
TEST(guests_of_outputs) {
  struct Case {
    const char* text;
    int64_t arena;
  };
  const Case cases[] = {
      {"%x = input x : f32[64][1]\n%c = cumsum(%x, 0) : f32[64][1]\n%y = add(%c, %x) : f32[64][1]\nreturn %y\n", 0},
      {"%x = input x : f32[64][1]\n%c = cumsum(%x, 0) : f32[64][1]\n%d = add(%c, %x) : f32[64][1]\n"
       "%e = cumsum(%d, 0) : f32[64][1]\n%y = add(%e, %d) : f32[64][1]\nreturn %y\n",
       256},
      {"%x = input x : f32[64][1]\n%c = cumsum(%x, 0) : f32[64][1]\n%y = add(%c, %x) : f32[64][1]\n"
       "%z = mul(%c, %x) : f32[64][1]\n%s = cumsum(%z, 0) : f32[64][1]\nreturn %y, %z, %s\n",
       0},
  };
  for (const Case& c : cases) {
    auto graph = parse_graph(c.text);
    std::shared_ptr<const Plan> plan = lower(*graph);
    CHECK(plan->facts().arena_nbytes == c.arena);
    GraphInput inputs[] = {{.tensor = filled({64}, 3)}};
    auto eager = eager_plan(std::shared_ptr<const Graph>(graph->clone()));
    for (int round = 0; round < 2; ++round) {
      std::vector<Tensor> outputs = run(*plan, *graph, inputs);
      std::vector<Tensor> expected = run(*eager, *graph, inputs);
      for (size_t i = 0; i < outputs.size(); ++i) CHECK(difference(expected[i], outputs[i], 0).empty());
    }
  }
}

TEST(products) { CHECK(check_products(1, 300) > 30); }

// More work takes no less time, whichever of both binds it.
TEST(ceilings) {
  const Ceilings& ceilings = Ceilings::measured();
  CHECK(&ceilings == &Ceilings::measured());
  CHECK(ceilings.least_ns({}) == 0);
  for (double bytes : {1e2, 1e5, 3e6, 1e9}) {
    CHECK(ceilings.bytes_per_ns(bytes) > 0);
    CHECK(ceilings.least_ns({.bytes = bytes}) == bytes / ceilings.bytes_per_ns(bytes));
  }
  for (DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::int8, DType::int64}) {
    Work work = {.bytes = 8, .flops = 1e12, .dtype = dtype};
    CHECK(ceilings.least_ns(work) == 1e12 / ceilings.flops_per_ns(dtype));
  }
}

DType multiplied_by(const char* text, const ProductRules& rules) {
  auto graph = std::shared_ptr<const Graph>(parse_graph(text));
  return lower(graph, {}, rules)->facts().steps[0].work.dtype;
}

// The bound of a step is that of the numbers which it multiplies.
TEST(ceilings_in_reduced_precision) {
  const char* product =
      "%a = input a : f32[64, 64][64, 1]\n%b = input b : f32[64, 64][64, 1]\n%y = mm(%a, %b) : f32[64, 64][64, "
      "1]\nreturn "
      "%y\n";
  CHECK(multiplied_by(product, {}) == DType::float32);
  if (!is_fast(Precision::BFloat16) || !is_fast(Precision::Int8)) return;
  CHECK(multiplied_by(product, {.precision = {.products = Precision::BFloat16}}) == DType::bfloat16);
  CHECK(multiplied_by(product, {.precision = {.weights = Precision::Int8}}) == DType::float32);
  CHECK(multiplied_by(product, {.precision = {.weights = Precision::Int8}, .weights = {false, true}}) == DType::int8);
}

TEST(random_graphs) { check_random_graphs(1, 3000); }

DRAWN(products) { check_products(first, count); }

DRAWN(graphs) {
  if (count == 1) {
    md_test::RandomGraph random(first);
    std::cout << print(*random.graph) << lower(*random.graph)->print();
  }
  check_random_graphs(first, count);
}

}  // namespace
}  // namespace md
