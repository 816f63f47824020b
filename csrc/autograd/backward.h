// Runs the nodes behind results, from last to first.
#pragma once
#include <span>
#include <vector>

#include "autograd/grad_node.h"

namespace md {

struct BackwardOptions {
  bool keeps_graph = false;    // what nodes saved stays
  bool creates_graph = false;  // gradients have a history of their own
  // Raises for NaN in a gradient; named at the node that made it.
  bool checks_nan = false;
};

// roots: where gradients start, one for each; gradients: theirs. Without inputs the gradients of all leaves are
// accumulated; with some, theirs are returned, undefined for those that were not reached, and only nodes on the way
// run. Called under the GIL; may be called by a node that runs. Serves interrupts between nodes.
std::vector<Tensor> run_backward(std::span<const GradEdge> roots, std::vector<Tensor> gradients,
                                 std::span<const GradEdge> inputs, const BackwardOptions& options);

// Whether leaves other than these are reached from the roots.
bool reaches_others(std::span<const GradEdge> roots, std::span<const GradEdge> leaves);

// Of the innermost backward that this thread runs: its number, 0 if there is none, whether it ends at inputs, and
// whether a node is going to be run or to be passed.
uint64_t backward_number();
bool backward_has_inputs();
bool will_run(const GradNode& node);

// The node that this thread applies; null outside a backward.
GradNode* applied_node();

}  // namespace md
