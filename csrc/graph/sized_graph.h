// A graph with numbers in place of its symbolic sizes, which take other numbers without a new graph.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/symbols.h"
#include "tensor/dim_code.h"

namespace md {

// The pattern of some sizes is which of them are 0, 1 or more: layouts may depend on it.
class SizedGraph {
 public:
  // Throws as with_numbers() does.
  // Of no values, here and below, is one a tensor without elements.
  SizedGraph(std::shared_ptr<const Graph> symbolic, const SymbolList& symbols, std::span<const int64_t> values);
  SizedGraph(const SizedGraph&) = delete;
  SizedGraph& operator=(const SizedGraph&) = delete;

  const Graph& graph() const { return *graph_; }
  const std::shared_ptr<Graph>& shared_graph() const { return graph_; }
  // The node with its symbols.
  const Node& symbolic(const Node& node) const { return *symbolic_->nodes()[static_cast<size_t>(node.index)]; }
  // Whether take_sizes() may ever succeed: all shapes follow from the captured expressions.
  bool can_change() const { return can_change_; }
  // Puts other numbers into the nodes' operands and results. False, with nothing changed: only with_numbers() can tell
  // these shapes, or their pattern is another one.
  bool take_sizes(std::span<const int64_t> values);
  // All that follows from the sizes, each number once.
  std::span<const int64_t> numbers() const { return values_; }
  // What of a node is one of them, by their indices.
  struct NodeNumbers {
    std::vector<size_t> operands = {};
    std::vector<std::vector<size_t>> outs = {};  // sizes and strides
    std::vector<size_t> offsets = {};            // of a view's results in operand 0
  };
  const NodeNumbers& numbers_of(const Node& node) const { return by_node_[static_cast<size_t>(node.index)]; }
  // The offset of a view's result in operand 0.
  int64_t view_offset(const Node& node, int out) const {
    return values_[numbers_of(node).offsets[static_cast<size_t>(out)]];
  }
  // Of a value in the memory of the value that it is a view of, in elements, with symbols.
  Dim offset_in_base(ValueRef value) const { return place_in_base(value).offset; }
  // Whether one lies at a constant distance from the other in memory, as views of one value, for all sizes.
  bool keep_distance(ValueRef a, ValueRef b) const;

 private:
  struct InBase {
    ValueRef base;
    Dim offset;
  };
  InBase place_in_base(ValueRef value) const;
  enum class Pattern : uint8_t { Empty, One, More };
  struct Number {
    DimCode code;
    std::vector<size_t> symbols;  // by which it changes
    bool is_size = false;
    Pattern pattern = Pattern::More;  // of a size
    std::vector<Dim*> dims = {};      // where it is, and
    std::vector<Operand*> scalars = {};
  };
  using KnownNumbers = std::vector<std::pair<Dim, size_t>>;

  size_t number_of(Dim dim, const SymbolList& symbols, KnownNumbers& known);
  std::vector<size_t> add_dims(const DimVec& from, DimVec& to, bool are_sizes, const SymbolList& symbols,
                               KnownNumbers& known);
  void add_node(const Node& from, Node& to, const SymbolList& symbols, KnownNumbers& known);
  void add_view(const Node& from, const Node& to, const SymbolList& symbols, KnownNumbers& known);
  void find_changing(std::span<const int64_t> values);
  bool evaluate(std::span<const int64_t> values);
  bool is_as_evaluated() const;
  static Pattern pattern_of(int64_t size) {
    return size == 0 ? Pattern::Empty : size == 1 ? Pattern::One : Pattern::More;
  }

  std::shared_ptr<const Graph> symbolic_;
  std::shared_ptr<Graph> graph_;
  bool can_change_ = true;
  std::vector<Number> numbers_;                // without duplicates
  std::vector<int64_t> sizes_;                 // by symbol; empty before there are values
  std::vector<int64_t> values_;                // by number
  std::vector<int64_t> fresh_;                 // by number, while it is evaluated
  std::vector<uint8_t> changed_symbols_;       // from sizes_ to the values that take_sizes() was given last, and
  std::vector<size_t> changing_;               // the numbers that depend on one of these symbols
  std::vector<NodeNumbers> by_node_;           // by node index
  std::vector<std::vector<Dim>> offset_dims_;  // by node index, of a view: the offsets with symbols
};

// Whether a size, a stride or an operand of the node is symbolic.
bool has_symbols(const Node& node);
// Whether a number among the operands is.
bool has_symbolic_operand(const Node& node);

}  // namespace md
