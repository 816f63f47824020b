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
  // inputs: in graph input order; outputs: one element per graph output, filled in. Throws Error (or PythonError from a
  // backend's callable), leaving outputs unchanged and without visible effects.
  virtual void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const = 0;
  // One line per step, for the plan log.
  virtual std::string print() const = 0;
  // For a plan for any sizes: of the most recent sizes.
  virtual PlanFacts facts() const { return {}; }
  // Estimated work of one run; the caller releases the GIL above a threshold and only if !needs_gil().
  virtual double estimated_ns() const = 0;
  virtual bool needs_gil() const { return false; }
  // Estimated memory use in bytes.
  virtual size_t nbytes() const { return 4096; }
  // For a plan that depends on sizes: the plan for these inputs; throws as run() does. Null: this one.
  virtual std::shared_ptr<const Plan> for_inputs(std::span<const GraphInput>) const { return nullptr; }
};

// Lowers to a flat plan of oneDNN primitives and fused loops. The graph's specs must be concrete.
std::shared_ptr<const Plan> lower(const Graph& graph);
// The same; a graph with symbolic sizes is lowered once per set of sizes.
std::shared_ptr<const Plan> lower(const std::shared_ptr<const Graph>& graph);
// Runs the graph op by op; symbolic sizes as above.
std::shared_ptr<const Plan> eager_plan(std::shared_ptr<const Graph> graph);

}  // namespace md
