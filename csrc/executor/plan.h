// A Plan runs a graph for one set of concrete shapes. Immutable; shared by threads, each run checks out its own arena.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "executor/plan_facts.h"
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
  // Of a plan for any sizes: of the sizes that came last.
  virtual PlanFacts facts() const { return {}; }
  // Estimated work of one run; the caller releases the GIL above a threshold and only if !needs_gil().
  virtual double estimated_ns() const = 0;
  virtual bool needs_gil() const { return false; }
  // Estimated bytes that it holds.
  virtual size_t nbytes() const { return 4096; }
  // Of a plan that depends on the sizes: the one for these inputs; throws as run() does. Null: this one.
  virtual std::shared_ptr<const Plan> for_inputs(std::span<const GraphInput>) const { return nullptr; }
};

// Lowers to a flat plan on oneDNN primitives and fused loops. The graph's specs must be concrete.
std::shared_ptr<const Plan> lower(const Graph& graph);
// The same, and a graph over symbolic sizes for each set of sizes that comes.
std::shared_ptr<const Plan> lower(const std::shared_ptr<const Graph>& graph);
// Runs the graph op by op, likewise.
std::shared_ptr<const Plan> eager_plan(std::shared_ptr<const Graph> graph);

}  // namespace md
