// Which outputs of a graph are views, for the histories of what is written in place later.
#pragma once
#include <span>
#include <vector>

#include "autograd/grad_history.h"
#include "graph/graph.h"

namespace md {

struct OutputView {
  int output;
  int of;  // an input, or an output: what it is a view of, or one before it that is a view of that, too
  bool of_input;
  ViewOrigin origin;
};

// Of floating and complex outputs among the first `count`; through detach() nothing is a view.
std::vector<OutputView> output_views(const Graph& graph, size_t count);

// Behind a run, once some tensor of the process requires grad. Under the GIL.
void note_output_views(std::span<const OutputView> views, std::span<const GraphInput> inputs,
                       std::span<const Tensor> outputs);

}  // namespace md
