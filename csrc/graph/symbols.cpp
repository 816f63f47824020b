#include "graph/symbols.h"

#include "graph/views.h"
#include "tensor/ops/kernels.h"

namespace md {
namespace {

void add_dims(SymbolList& symbols, const DimVec& dims) {
  for (Dim dim : dims) symbols.add(dim);
}

// Substitutes numbers for symbols in a clone of a graph, node by node.
class Substitution {
 public:
  Substitution(const SymbolList& symbols, std::span<const int64_t> values)
      : symbols_(symbols), values_(values), extents_(values.begin(), values.end()) {
    for (int64_t& extent : extents_)
      if (extent == 0) extent = 1;
  }

  void apply(Node& node) const {
    node.size = 0;
    if (node.kind == NodeKind::TensorInput) {
      TensorSpec& spec = node.outs[0].spec;
      put(spec.sizes);
      // In the strides of an input an extent of zero counts as one.
      for (Dim& stride : spec.strides) stride = evaluate(stride, symbols_, extents_);
      return;
    }
    if (node.kind != NodeKind::Op) return;
    for (Operand& operand : node.operands) {
      if (auto* dims = std::get_if<DimVec>(&operand)) put(*dims);
      if (auto* scalar = std::get_if<Scalar>(&operand); scalar != nullptr && scalar->is_symbolic())
        operand = Scalar(number(scalar->as_dim()));
    }
    std::vector<ValueInfo> captured = std::move(node.outs);
    for (ValueInfo& info : captured) put(info.spec);
    // The shape rule of a host call is user code; its operands had these sizes at capture.
    node.outs = is_op(node, OpKind::HostCall) ? captured : infer_outs(*node.op, node.operands);
    keep_room(node, captured);
    check_as_captured(node, captured);
  }

 private:
  int64_t number(Dim dim) const { return evaluate(dim, symbols_, values_); }
  void put(DimVec& dims) const {
    for (Dim& dim : dims)
      if (dim.is_symbolic()) dim = number(dim);
  }
  void put(TensorSpec& spec) const {
    put(spec.sizes);
    put(spec.strides);
  }

  // The strides of a result in memory with room follow from no shape rule (graph/appends.h).
  static void keep_room(Node& node, const std::vector<ValueInfo>& captured) {
    if (node.op->kernel != cat_kernel) return;
    TensorSpec& now = node.outs[0].spec;
    const TensorSpec& then = captured[0].spec;
    if (same(now.sizes, then.sizes) && now.numel().value() > 0) now.strides = then.strides;
  }

  // A stride only matters if the dim has at least two elements.
  static bool same_strides(const TensorSpec& a, const TensorSpec& b) {
    if (a.numel().value() == 0) return true;
    for (int i = 0; i < a.rank(); ++i)
      if (a.sizes[i].value() > 1 && !same(a.strides[i], b.strides[i])) return false;
    return true;
  }

  static void check_as_captured(Node& node, const std::vector<ValueInfo>& captured) {
    bool fits = node.outs.size() == captured.size();
    for (size_t i = 0; fits && i < captured.size(); ++i) {
      const TensorSpec &now = node.outs[i].spec, &then = captured[i].spec;
      fits = now.dtype == then.dtype && node.outs[i].copies == captured[i].copies && same(now.sizes, then.sizes) &&
             same_strides(now, then);
      node.outs[i].spec.requires_grad = then.requires_grad;
    }
    if (!fits) raise_op(ErrorKind::Runtime, node.op->name, "the sizes are not those that the graph was captured for");
  }

  const SymbolList& symbols_;
  std::span<const int64_t> values_;
  std::vector<int64_t> extents_;
};

}  // namespace

void add_symbols(SymbolList& symbols, const Node& node) {
  if (node.kind != NodeKind::Op) symbols.add(node.size);
  for (const ValueInfo& info : node.outs) {
    add_dims(symbols, info.spec.sizes);
    add_dims(symbols, info.spec.strides);
  }
  for (const Operand& operand : node.operands) {
    if (const auto* dims = std::get_if<DimVec>(&operand)) add_dims(symbols, *dims);
    if (const auto* scalar = std::get_if<Scalar>(&operand); scalar != nullptr && scalar->is_symbolic())
      symbols.add(scalar->as_dim());
  }
}

SymbolList symbols_of(const Graph& graph) {
  SymbolList symbols;
  for (const auto& node : graph.nodes()) add_symbols(symbols, *node);
  for (const RuntimeAssert& runtime_assert : graph.runtime_asserts()) {
    symbols.add(runtime_assert.a);
    symbols.add(runtime_assert.b);
  }
  return symbols;
}

std::vector<SymbolPlace> symbol_places(const Graph& graph, const SymbolList& symbols) {
  std::vector<SymbolPlace> places(symbols.symbols().size());
  auto set = [&](Dim dim, int input, int index) {
    int at = is_symbol(dim) ? symbols.find(dim) : -1;
    if (at >= 0 && places[static_cast<size_t>(at)].input < 0) places[static_cast<size_t>(at)] = {input, index};
  };
  for (int input = 0; input < static_cast<int>(graph.inputs().size()); ++input) {
    const Node& node = *graph.inputs()[static_cast<size_t>(input)];
    set(node.size, input, -1);
    const DimVec& sizes = node.outs[0].spec.sizes;
    for (int i = 0; i < sizes.size(); ++i) set(sizes[i], input, i);
  }
  return places;
}

std::vector<int64_t> symbol_values(std::span<const SymbolPlace> places, std::span<const GraphInput> inputs) {
  std::vector<int64_t> values;
  values.reserve(places.size());
  for (const SymbolPlace& place : places) {
    MD_ASSERT(place.input >= 0, "no input of the graph tells a symbol");
    const GraphInput& input = inputs[static_cast<size_t>(place.input)];
    if (place.dim >= 0)
      values.push_back(input.tensor->sizes()[place.dim]);
    else
      values.push_back(input.tensor.defined() ? *input.tensor.data<int64_t>() : input.scalar.as_int());
  }
  return values;
}

std::vector<bool> symbols_of_places(const Graph& graph, const SymbolList& symbols) {
  SymbolList others;
  for (const auto& node : graph.nodes()) {
    for (const ValueInfo& info : node->outs) {
      add_dims(others, info.spec.sizes);
      add_dims(others, info.spec.strides);
    }
    if (node->kind != NodeKind::Op || is_op(*node, OpKind::View) || writes_view(*node->op)) continue;
    add_symbols(others, *node);
    for (const Operand& operand : node->operands)
      for_each_value(operand, [&](const ValueRef& value) { add_symbols(others, *value.node); });
  }
  std::vector<bool> are_places;
  for (Dim symbol : symbols.symbols()) are_places.push_back(others.find(symbol) < 0);
  return are_places;
}

std::shared_ptr<Graph> with_numbers(const Graph& graph, const SymbolList& symbols, std::span<const int64_t> values) {
  for (const RuntimeAssert& each : graph.runtime_asserts()) {
    if (!holds(each.relation, evaluate(each.a, symbols, values), evaluate(each.b, symbols, values)))
      raise(ErrorKind::Runtime, "the graph was captured for ", each.a.str(), " ", relation_sign(each.relation), " ",
            each.b.str());
  }
  std::shared_ptr<Graph> copy = graph.clone();
  copy->set_runtime_asserts({});
  Substitution substitution(symbols, values);
  for (const auto& node : copy->nodes()) substitution.apply(*node);
  return copy;
}

}  // namespace md
