// Gradients appended to the graph that they are of.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace md {

struct AppendedGradients {
  std::vector<std::pair<ValueRef, ValueRef>> leaves;  // inputs and stops that gradients arrive at, with these
  std::vector<ValueRef> ends;                         // of the ends that were asked for; no node: none arrives
  std::vector<const Node*> applied;                   // whose results' gradients were handed on
  std::vector<const Node*> saving;                    // those of them for which eager code saves elements
  std::vector<ValueRef> saved;                        // what it saves
  std::vector<ValueRef> reached;                      // values that gradients arrive at
};

struct GradientStart {
  ValueRef value, gradient;
};

using AppendOp = std::function<Node*(const OpRow& row, std::vector<Operand> operands)>;

// What the gradients themselves are to be: with histories, so that they have gradients.
enum class GradientHistory : uint8_t { None, Recorded };

// ends: go no further than needed for their gradients; nullopt: to all inputs. stops: values that count as inputs.
// Raises Error for an op without a derivative, and where a rule needs a number that is known at run time only.
AppendedGradients append_gradients(Graph& graph, std::span<const GradientStart> starts,
                                   std::optional<std::span<const ValueRef>> ends, std::span<const ValueRef> stops,
                                   GradientHistory history, const AppendOp& append);

}  // namespace md
