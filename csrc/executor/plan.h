// A Plan runs a graph for one set of concrete shapes. Immutable; shared by threads, each run checks out its own arena.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "executor/plan_facts.h"
#include "graph/graph.h"

namespace md {

// Memory for the outputs of a run that belongs to another library.
class OutputMemory {
 public:
  virtual ~OutputMemory() = default;
  // A tensor with this layout whose storage the output will have; undefined: the plan allocates it. Called before the
  // first step, with or without the GIL.
  virtual Tensor allocate(size_t output, const TensorSpec& spec) = 0;
};

class Plan {
 public:
  virtual ~Plan() = default;
  // inputs: in graph input order; outputs: one element per graph output, filled in. Throws Error (or PythonError from a
  // backend's callable), leaving outputs unchanged and without visible effects.
  virtual void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const = 0;
  // The same; asks `memory` for outputs whose layout is known before the run. Their tensors may be elsewhere all the same.
  virtual void run_into(std::span<const GraphInput> inputs, std::span<Tensor> outputs, OutputMemory&) const {
    run(inputs, outputs);
  }
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
std::shared_ptr<const Plan> eager_plan(const std::shared_ptr<const Graph>& graph);

}  // namespace md
