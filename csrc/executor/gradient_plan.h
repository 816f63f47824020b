// Regions whose results require grad: the forward graph also returns what the backward reads, and one node of the tape
// stands for the whole run.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "executor/plan.h"
#include "graph/gradient_graph.h"

namespace md {

// How a region's results get their history.
enum class GradientWay : uint8_t {
  None,    // none requires grad
  Plan,    // GradientPlan
  OpByOp,  // the graph runs op by op, each with a history of its own: history_plan()
  Python,  // the region is left to Python
};

// Of one region; shared by the nodes of its runs.
class GradientPlan {
 public:
  // Our own plan returns what the backward reads as further outputs; the plan of a callable backend does not if it can
  // be run again by the backward.
  enum class Forward : uint8_t { Saves, RunsAgain };
  // Who keeps the histories of results. What is written to one of several views of a value is seen by the others: the
  // value is then an output, too.
  enum class Recorder : uint8_t { Tape, Library };
  struct Chosen {
    GradientWay way = GradientWay::None;
    std::shared_ptr<GradientPlan> plan;  // of GradientWay::Plan
    std::string why = {};                // of the others: what is missing for a plan
  };
  // relied: of the graph's sizes.
  static Chosen choose(const std::shared_ptr<const Graph>& graph, const std::vector<InputWrite>& writes,
                       Forward forward, Recorder recorder, ReliedSizes relied);
  // What must hold of sizes where it runs.
  const std::vector<SizeRelation>& relied() const { return relied_.relations; }

  // The graph with further outputs.
  const std::shared_ptr<const Graph>& forward() const { return forward_; }
  bool saves() const { return saves_ == Forward::Saves; }
  // The gradients of the inputs, by input. outputs, given: by output of forward(), undefined where there is none.
  std::vector<Tensor> run(std::span<const GraphInput> inputs, std::span<const Tensor> outputs,
                          std::span<const Tensor> given, bool creates_graph);

  // The same in parts, for Recorder::Library.
  struct Backward {
    GradientGraph gradients;
    std::vector<size_t> saved;  // outputs of forward()
    std::shared_ptr<const Plan> plan;
    std::vector<SizeRelation> relied;  // of its sizes
    // By which inputs of its graph require grad: for gradients of gradients; null where there are none.
    std::map<std::vector<int64_t>, std::shared_ptr<GradientPlan>> again;
    // Those whose gradients must know the sizes: behind them, the plans of a few sizes, last.
    std::set<std::vector<int64_t>> sized;
  };
  // By which outputs of forward() have gradients. inputs: at least those that the backward reads.
  std::shared_ptr<Backward> backward_for(std::span<const GraphInput> inputs, std::span<const Tensor> given);
  // What its plan takes.
  static std::vector<GraphInput> inputs_of(const Backward& backward, std::span<const GraphInput> inputs,
                                           std::span<const Tensor> outputs, std::span<const Tensor> given);
  static const Plan& plan_of(Backward& backward);
  // The plan of its graph with a history, by which of its inputs require grad: null if nothing has one. Throws Error if
  // there are no gradients of these gradients.
  static std::shared_ptr<GradientPlan> again_for(Backward& backward, std::span<const GraphInput> inputs);
  // Lowered, for run_again() and Recorder::Library.
  const Plan& forward_plan();
  // Whether a result's history goes back to an input, and so to what the input comes from.
  bool reaches(size_t input) const { return reaches_[input]; }
  // Whether the backward reads an input's elements.
  bool reads_input(size_t input) const { return reads_[input]; }
  // By output of forward(): whether the backward reads it.
  bool reads_output(size_t output) const { return saves() && reads_output_[output]; }
  // By output of forward(): whether it goes back to inputs.
  bool has_history(size_t output) const { return has_history_[output]; }
  // Of the first own_outputs(): whether it is a view that may not be written under its history.
  bool is_one_of_several(size_t output) const { return is_one_of_several_[output]; }
  size_t own_outputs() const { return own_outputs_; }
  // With the values that several of these are views of.
  size_t viewed_outputs() const { return viewed_outputs_; }

 private:
  GradientPlan() = default;
  void save(GradientGraph gradients, std::shared_ptr<Graph> graph);
  std::shared_ptr<Backward> make_backward(const Graph& forward, GradientGraph gradients) const;
  std::shared_ptr<Backward> keep(std::vector<bool> given, GradientGraph gradients);
  std::shared_ptr<Backward> backward_for_sizes(const std::vector<bool>& given, std::span<const GraphInput> inputs);
  std::vector<Tensor> run_again(std::span<const GraphInput> inputs);
  // sizes: of all symbols; empty: whatever they are.
  static Chosen choose_again(const Backward& backward, std::span<const int64_t> requires_grad,
                             std::span<const int64_t> sizes);

  ReliedSizes relied_;
  std::shared_ptr<const Graph> forward_;
  Forward saves_ = Forward::Saves;
  size_t own_outputs_ = 0, viewed_outputs_ = 0;
  std::vector<bool> reaches_, reads_, reads_output_, has_history_, is_one_of_several_;
  std::mutex mutex_;
  using Backwards = std::map<std::vector<bool>, std::shared_ptr<Backward>>;
  Backwards backwards_;  // by which outputs have gradients; null: it must know the sizes
  std::map<std::vector<int64_t>, Backwards> sized_backwards_;  // likewise, by sizes
  std::shared_ptr<const Plan> forward_plan_;
};

// GradientWay::OpByOp.
std::shared_ptr<const Plan> history_plan(const std::shared_ptr<const Graph>& graph);

// The history of one run: made before it, finished behind it. Under the GIL.
class RunHistory {
 public:
  // Inputs that the run writes and the backward reads are copied.
  RunHistory(std::shared_ptr<GradientPlan> plan, std::span<const GraphInput> inputs,
             std::span<const InputWrite> writes);
  void finish(std::span<Tensor> outputs);

 private:
  std::shared_ptr<GradientPlan> plan_;
  std::vector<GraphInput> inputs_;
  std::vector<InputWrite> writes_;
  std::vector<Tensor> written_;  // the inputs that are written, by write
};

}  // namespace md
