// Graphs with symbolic sizes: their symbols, the symbols' values at a run, and the graph specialised to a run.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "tensor/dim_code.h"

namespace md {

// Adds the symbols of the node's operands and results, and the symbol that it defines as an input.
void add_symbols(SymbolList& symbols, const Node& node);
// The symbols of all nodes and runtime assertions.
SymbolList symbols_of(const Graph& graph);

// Where a run reads the value of a symbol: a size of a tensor input, or a scalar input.
struct SymbolPlace {
  int input = -1;  // position among the graph's inputs; -1 if none has it
  int dim = -1;    // -1: the scalar itself, or the only element
};
// In the order of the list.
std::vector<SymbolPlace> symbol_places(const Graph& graph, const SymbolList& symbols);
std::vector<int64_t> symbol_values(std::span<const SymbolPlace> places, std::span<const GraphInput> inputs);

// By symbol: whether it says nothing but where views and windows lie. Of others a zero changes how tensors lie.
std::vector<bool> symbols_of_places(const Graph& graph, const SymbolList& symbols);

// While it lives, shape rules decide by the sizes at capture: the guards hold for all sizes that are asked for.
class DecidesByHint : public ShapeGuardSink {
 public:
  DecidesByHint() : outer_(exchange_shape_guard_sink(this)) {}
  ~DecidesByHint() override { exchange_shape_guard_sink(outer_); }
  DecidesByHint(const DecidesByHint&) = delete;
  DecidesByHint& operator=(const DecidesByHint&) = delete;
  void relation(Dim, DimRelation, Dim) override {}

 private:
  ShapeGuardSink* outer_;
};

// Substitutes numbers for the symbols and re-runs the shape rules. Throws what a shape rule throws, and Error(Runtime)
// if the result contradicts what the capture relied on, or if a runtime assertion fails.
std::shared_ptr<Graph> with_numbers(const Graph& graph, const SymbolList& symbols, std::span<const int64_t> values);

}  // namespace md
