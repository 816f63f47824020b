// A Plan runs a graph for one set of concrete shapes. Immutable; shared by threads, each run checks out its own arena.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "executor/plan_facts.h"
#include "graph/graph.h"
#include "graph/input_write.h"
#include "graph/product_rules.h"

namespace md {

// What a run needs of its caller.
class RunHost {
 public:
  virtual ~RunHost() = default;
  // A tensor with this layout whose storage the output will have, in memory of another library; undefined: the plan
  // allocates it. Called before the first step, with or without the GIL.
  virtual Tensor allocate(size_t output, const TensorSpec& spec) = 0;
  // Called before the first write to an input, with or without the GIL. Throws if the run must not be completed; from
  // there on it serves no interrupts, and what fails later has only repeated what Python will do again.
  virtual void commit() = 0;
};

class Plan {
 public:
  virtual ~Plan() = default;
  // inputs: in graph input order; outputs: one element per graph output, filled in. Throws Error (or PythonError from a
  // backend's callable), leaving outputs unchanged and without effects that would be seen when Python runs instead.
  virtual void run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const = 0;
  // The same; asks `host` for the memory of outputs whose layout is known before the run. Their tensors may be
  // elsewhere all the same.
  virtual void run_into(std::span<const GraphInput> inputs, std::span<Tensor> outputs, RunHost&) const {
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
// The same; a graph with symbolic sizes is lowered once per set of sizes. The plan makes those of the writes itself
// that it can: the output is then the tensor of the input.
std::shared_ptr<const Plan> lower(const std::shared_ptr<const Graph>& graph, const std::vector<InputWrite>& writes = {},
                                  const ProductRules& rules = {});
// Runs the graph op by op; symbolic sizes as above.
std::shared_ptr<const Plan> eager_plan(const std::shared_ptr<const Graph>& graph);

}  // namespace md
