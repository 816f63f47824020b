// Random graphs over the op table, and inputs for them, from a seed.
#pragma once
#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "graph/graph.h"
#include "graph/text.h"

namespace md_test {

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {
    // Exact graphs contain only ops whose results do not depend on rounding, so that they may compare and truncate.
    exact = chance(60);
    add_inputs();
    int ops = 2 + below(12);
    for (int tries = 0; tries < 6 * ops && graph->op_count() < ops; ++tries) {
      try {
        add_random_op();
      } catch (const md::Error& error) {
        if (error.kind() == md::ErrorKind::Internal) throw;  // else shapes or dtypes that do not fit: retry
      }
    }
    choose_outputs();
  }

  std::unique_ptr<md::Graph> graph = std::make_unique<md::Graph>();
  bool exact;

  std::vector<md::GraphInput> make_inputs() {
    std::vector<md::GraphInput> inputs;
    for (const md::Node* node : graph->inputs()) {
      if (node->kind == md::NodeKind::ScalarInput) {
        bool is_float = node->outs[0].scalar_kind == md::Scalar::Kind::Float;
        inputs.push_back({.scalar = is_float ? md::Scalar(real()) : md::Scalar(int64_t{below(7)} - 3)});
      } else {
        inputs.push_back({.tensor = make_tensor(node->outs[0].spec)});
      }
    }
    return inputs;
  }

 private:
  using Node = md::Node;
  using Operand = md::Operand;
  using ValueRef = md::ValueRef;

  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  double real() { return static_cast<double>(below(2001) - 1000) / (exact ? 250.0 : 1000.0); }
  template <typename T>
  const T& any_of(const std::vector<T>& items) {
    return items[static_cast<size_t>(below(static_cast<int>(items.size())))];
  }

  md::Tensor make_tensor(const md::TensorSpec& spec) {
    md::Reach reach = md::reach_of(spec);
    int64_t offset = (chance(30) ? 1 + below(5) : 0) - reach.low;
    size_t nbytes = static_cast<size_t>(offset + reach.end) * md::item_size(spec.dtype);
    md::Tensor tensor = md::Tensor::from_storage(md::Storage::allocate(nbytes), offset, spec);
    for (int64_t i = 0; i < tensor->numel(); ++i) {
      if (md::is_floating(spec.dtype)) {
        md::set_element(tensor, i, md::Scalar(real()));
      } else {
        md::set_element(tensor, i, md::Scalar(int64_t{below(spec.dtype == md::DType::bool_ ? 2 : 9)} - 4));
      }
    }
    return tensor;
  }

  // Sizes that broadcast to base_, in a random layout.
  md::TensorSpec random_spec(md::DType dtype) {
    std::vector<int64_t> sizes = base_;
    for (int64_t& size : sizes) {
      if (chance(15)) size = 1;
    }
    if (!sizes.empty() && chance(15)) sizes.erase(sizes.begin());
    if (chance(8)) sizes.clear();
    size_t rank = sizes.size();
    std::vector<size_t> order(rank);
    for (size_t d = 0; d < rank; ++d) order[d] = d;
    if (chance(30)) std::shuffle(order.begin(), order.end(), random_);
    std::vector<int64_t> strides(rank);
    int64_t step = chance(15) ? 2 : 1;
    for (size_t k = rank; k-- > 0;) {
      strides[order[k]] = step;
      step *= std::max<int64_t>(sizes[order[k]], 1) + (chance(8) ? 1 : 0);
    }
    if (rank > 0 && chance(8)) strides[static_cast<size_t>(below(static_cast<int>(rank)))] = 0;
    if (rank > 0 && chance(12)) strides[static_cast<size_t>(below(static_cast<int>(rank)))] *= -1;
    md::TensorSpec spec;
    spec.dtype = dtype;
    for (size_t d = 0; d < rank; ++d) {
      spec.sizes.push_back(sizes[d]);
      spec.strides.push_back(strides[d]);
    }
    return spec;
  }

  void add_inputs() {
    const std::vector<int64_t> extents = {0, 1, 2, 3, 3, 5, 8, 17, 70};
    int rank = below(4);
    for (int d = 0; d < rank; ++d) base_.push_back(any_of(extents));
    if (rank == 1 && chance(40)) base_[0] = 1 + below(3000);
    dtype_ = chance(70)
                 ? md::DType::float32
                 : any_of<md::DType>({md::DType::float64, md::DType::int64, md::DType::int32, md::DType::bfloat16});
    int count = 1 + below(3);
    for (int i = 0; i < count; ++i) values_.push_back({graph->add_tensor_input("x", random_spec(dtype_))});
    if (chance(20)) values_.push_back({graph->add_tensor_input("mask", random_spec(md::DType::bool_))});
    if (chance(30)) {
      scalars_.push_back(
          {graph->add_scalar_input("n", md::is_floating(dtype_) ? md::Scalar::Kind::Float : md::Scalar::Kind::Int)});
    }
  }

  md::DType dtype_of(ValueRef value) const { return graph->info(value).spec.dtype; }
  int rank_of(ValueRef value) const { return graph->info(value).spec.rank(); }
  ValueRef any_value() { return chance(50) ? values_.back() : any_of(values_); }
  ValueRef value_of(md::DType dtype) {
    std::vector<ValueRef> fitting;
    for (ValueRef value : values_) {
      if (dtype_of(value) == dtype) fitting.push_back(value);
    }
    if (fitting.empty()) md::raise(md::ErrorKind::Value, "no value of this dtype");
    return chance(40) ? fitting.back() : any_of(fitting);
  }
  md::Scalar number(md::DType dtype) {
    return md::is_floating(dtype) ? md::Scalar(real()) : md::Scalar(int64_t{below(7)} - 3);
  }
  // A second operand for `first`: another value, or a number.
  Operand second_for(ValueRef first) {
    if (chance(20)) return number(dtype_of(first));
    bool takes_scalar = !scalars_.empty() && md::is_floating(dtype_of(first)) == md::is_floating(dtype_);
    if (takes_scalar && chance(30)) return scalars_[0];
    return value_of(dtype_of(first));
  }
  Operand dim_of(ValueRef value) { return md::Scalar(int64_t{rank_of(value) == 0 ? 0 : below(rank_of(value))}); }

  Node* add(const char* name, std::vector<Operand> operands) {
    const md::OpRow* row = md::find_op(name);
    MD_ASSERT(row != nullptr, "no op ", name);
    Node* node = graph->add_op(*row, std::move(operands));
    for (int out = 0; out < static_cast<int>(node->outs.size()); ++out) {
      if (graph->info({node, out}).spec.numel().value() <= 60000) values_.push_back({node, out});
    }
    return node;
  }

  void add_random_op() {
    int kind = below(100);
    if (kind < 30) return add_unary();
    if (kind < 60) return add_binary();
    if (kind < 68) return add_comparison();
    if (kind < 75) return add_cast();
    if (kind < 90) return add_view();
    return add_other();
  }

  void add_unary() {
    ValueRef x = any_value();
    const std::vector<const char*> plain = {"neg", "abs", "square", "relu", "sign"};
    const std::vector<const char*> smooth = {"tanh", "sigmoid", "exp", "sin", "gelu", "silu", "neg", "relu", "square"};
    if (dtype_of(x) == md::DType::bool_) {
      add("logical_not", {x});
    } else if (!exact && md::is_floating(dtype_of(x))) {
      add(any_of(smooth), {x});
    } else {
      add(any_of(plain), {x});
    }
  }

  void add_binary() {
    ValueRef x = any_value();
    Operand y = second_for(x);
    if (dtype_of(x) == md::DType::bool_) {
      add(chance(50) ? "logical_and" : "logical_or", {x, value_of(md::DType::bool_)});
      return;
    }
    switch (below(7)) {
      case 0:
        // One rounding or two, with fused multiply-add: not exact.
        if (exact && md::is_floating(dtype_of(x))) return;
        add("add", {x, y, number(dtype_of(x))});
        break;
      case 1:
        add("sub", {y, x});
        break;
      case 2:
        add("maximum", {x, value_of(dtype_of(x))});
        break;
      case 3:
        add("clamp", {x, chance(50) ? Operand(number(dtype_of(x))) : Operand(std::monostate()), number(dtype_of(x))});
        break;
      case 4:
        if (!md::is_floating(dtype_of(x))) {
          add("remainder", {x, md::Scalar(int64_t{3})});
          break;
        }
        [[fallthrough]];
      default:
        add(chance(50) ? "add" : "mul", {x, y});
    }
  }

  void add_comparison() {
    if (!exact) return;
    ValueRef x = any_value();
    if (dtype_of(x) == md::DType::bool_) {
      ValueRef y = value_of(dtype_);
      add("where", {x, y, chance(50) ? Operand(number(dtype_)) : Operand(value_of(dtype_))});
    } else {
      add(any_of<const char*>({"gt", "le", "eq", "ne"}), {x, second_for(x)});
    }
  }

  void add_cast() {
    ValueRef x = any_value();
    std::vector<md::DType> targets = {md::DType::float32, md::DType::float64};
    if (exact)
      targets.insert(targets.end(), {md::DType::int32, md::DType::int64, md::DType::bfloat16, md::DType::float16});
    add("cast", {x, any_of(targets)});
  }

  void add_view() {
    ValueRef x = any_value();
    int rank = rank_of(x);
    switch (below(8)) {
      case 0:
        add("transpose", {x, dim_of(x), dim_of(x)});
        break;
      case 1:
        add("unsqueeze", {x, dim_of(x)});
        break;
      case 2:
        add("select", {x, dim_of(x), md::Scalar(int64_t{0})});
        break;
      case 3: {
        bool goes_back = chance(40);
        Operand start = goes_back && chance(60) ? Operand() : md::Scalar(int64_t{below(3)});
        int64_t step = 1 + below(2);
        add("slice", {x, dim_of(x), start, std::monostate(), md::Scalar(goes_back ? -step : step)});
        break;
      }
      case 4:
        add("reshape", {x, md::DimVec({graph->info(x).spec.numel()})});
        break;
      case 5:
        add("split", {x, md::Scalar(int64_t{2}), dim_of(x)});
        break;
      case 6: {
        if (rank > 3) return;
        md::DimVec sizes = graph->info(x).spec.sizes;
        sizes.insert(0, 2);
        add("expand", {x, sizes});
        break;
      }
      default:
        add("detach", {x});
    }
  }

  void add_other() {
    ValueRef x = any_value();
    switch (below(7)) {
      case 0:
        add("sum", {x, md::DimVec({rank_of(x) == 0 ? 0 : below(rank_of(x))}), md::Scalar(chance(50))});
        break;
      case 1:
        add("amax", {x, md::DimVec({rank_of(x) == 0 ? 0 : below(rank_of(x))}), md::Scalar(chance(70))});
        break;
      case 2:
        add("cat", {std::vector<ValueRef>{x, value_of(dtype_of(x))}, dim_of(x)});
        break;
      case 3:
        add("clone", {x});
        break;
      case 4:
        add("copy", {x, second_for(x), md::Scalar(false)});
        break;
      default:
        if (exact || !md::is_floating(dtype_of(x)) || rank_of(x) < 2) return;
        add_product(x);
    }
  }

  void add_product(ValueRef x) {
    ValueRef y = value_of(dtype_of(x));
    if (rank_of(y) < 2) return;
    if (chance(30)) {
      add("softmax", {x, dim_of(x)});
      return;
    }
    ValueRef swapped = {add("transpose", {y, md::Scalar(int64_t{-1}), md::Scalar(int64_t{-2})})};
    add("matmul", {x, swapped});
    if (chance(50)) add("relu", {values_.back()});
    if (chance(50)) add("mul", {values_.back(), number(dtype_of(x))});
  }

  void choose_outputs() {
    std::vector<ValueRef> outputs = {values_.back()};
    int more = below(4);
    for (int i = 0; i < more; ++i) outputs.push_back(any_of(values_));
    graph->set_outputs(std::move(outputs));
  }

  std::mt19937 random_;
  std::vector<int64_t> base_;
  md::DType dtype_ = md::DType::float32;
  std::vector<ValueRef> values_;
  std::vector<ValueRef> scalars_;
};

}  // namespace md_test
