// Graphs over symbolic sizes: which symbols they have, what they are at one run, and the graph of that run.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "tensor/dim_code.h"

namespace md {

// Of the operands and results of a node, and what it tells as an input.
void add_symbols(SymbolList& symbols, const Node& node);
// Of all nodes and assumptions.
SymbolList symbols_of(const Graph& graph);

// Where a run finds the number of a symbol: a size of a tensor input, or the number that an input is.
struct SymbolPlace {
  int input = -1;  // position among the graph's inputs; -1: none has it
  int dim = -1;    // -1: the scalar itself, or the only element
};
// In the order of the list.
std::vector<SymbolPlace> symbol_places(const Graph& graph, const SymbolList& symbols);
std::vector<int64_t> symbol_values(std::span<const SymbolPlace> places, std::span<const GraphInput> inputs);

// The graph with numbers in place of its symbols; what the shape rules say of these numbers is what the graph says then.
// Throws what a shape rule throws, and Error(Runtime) where the rule says something else than the capture relied on, or
// one of the graph's assumptions does not hold.
std::shared_ptr<Graph> with_numbers(const Graph& graph, const SymbolList& symbols, std::span<const int64_t> values);

}  // namespace md
