// A Plan runs a graph for one set of concrete shapes. Immutable; shared by threads, each run checks out its own arena.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "graph/graph.h"

namespace md {

class Plan {
 public:
  virtual ~Plan() = default;
  // inputs in graph input order; outputs has one element per graph output and is filled in.
  // Throws Error (or PythonError from a backend's callable); then outputs are untouched and nothing is visible.
  virtual void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const = 0;
  // One line per step, for the plan log.
  virtual std::string print() const = 0;
  // Estimated work of one run; the caller releases the GIL above a threshold and only if !needs_gil().
  virtual double estimated_ns() const = 0;
  virtual bool needs_gil() const { return false; }
};

// Lowers to a flat plan on oneDNN primitives and fused loops. The graph's specs must be concrete.
std::shared_ptr<const Plan> lower(const Graph& graph);
// Runs the graph op by op.
std::shared_ptr<const Plan> eager_plan(std::shared_ptr<const Graph> graph);

}  // namespace md
