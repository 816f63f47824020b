// Builds the graph of a region during the trace. The graph stays functional: a write creates a new value of the base,
// and every tensor that shares the base is derived from it again on its next read. A write to an input becomes an
// effect at the exit.
#pragma once
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/views.h"
#include "snapshot/snapshot.h"
#include "symbolic/state/frame_stack.h"
#include "symbolic/state/gradient_runs.h"
#include "symbolic/state/masked_parts.h"
#include "symbolic/state/value_reader.h"
#include "tensor/tensor_modes.h"

namespace md {

// A family's modes of this thread, in the course of the trace.
struct TracedModes {
  const TensorFamily* family;
  GradModes initial, now;
  GradModes logged;  // after the effects logged so far

  // visit(kind, flag, count) for each effect that turns the logged modes into those of now.
  template <typename Visit>
  void for_each_change(Visit visit) const {
    if (now.grad != logged.grad) visit(EffectKind::GradMode, now.grad, 0);
    if (now.inference != logged.inference) visit(EffectKind::InferenceMode, now.inference, 0);
    if (now.autocast != logged.autocast) visit(EffectKind::AutocastMode, false, now.autocast.word());
    if (now.autocast_blocks != logged.autocast_blocks)
      visit(EffectKind::AutocastBlocks, false, now.autocast_blocks - logged.autocast_blocks);
  }
};

// Of the alias with a count of its own, if the tensor is one or a view of one: null otherwise.
int* own_counter(const TensorValue& tensor);

class GraphBuilder {
 public:
  GraphBuilder(ValueReader& values, const FrameStack& frames);
  ~GraphBuilder();

  Graph& graph() const { return *graph_; }
  const std::shared_ptr<Graph>& shared_graph() const { return graph_; }
  void replace_graph(std::shared_ptr<Graph> graph) { graph_ = std::move(graph); }
  // Appends a node at the current position of the trace.
  Node* add_op(const OpRow& row, std::vector<Operand> operands);
  // Whether writes for as long are counted by the library whose tensors they write.
  class CountsWrites {
   public:
    CountsWrites(GraphBuilder& builder, bool counts)
        : builder_(builder), before_(std::exchange(builder.counts_writes_, builder.counts_writes_ && counts)) {}
    ~CountsWrites() { builder_.counts_writes_ = before_; }
    CountsWrites(const CountsWrites&) = delete;

   private:
    GraphBuilder& builder_;
    bool before_;
  };

  // Of a node whose results require grad: ends the region before it if a library records its operations and no
  // derivative is known here.
  void require_derivative(const Node& node) const;
  // Of a call of a function as it is: its results require grad in the library's mode, which then records the call.
  void leave_to_library(Node& call);

  // The families whose operations are in the graph.
  const std::vector<const TensorFamily*>& families() const { return families_; }
  // Whether one of them has scalars for results of rank 0.
  bool has_scalars() const;
  void note_family(const TensorFamily& family);
  // From the first of them on the family's default dtype counts for the whole region. False: another one does.
  bool lend_default_dtype(const TensorFamily& family);
  // The program asked something of a family's library that it answers otherwise in eager Python.
  void note_answer_as_capture() { answers_as_capture_ = true; }
  bool answers_as_capture() const { return answers_as_capture_; }

  // At the current point of the trace; at its start those of the thread.
  GradModes& modes(const TensorFamily& family);
  GradModes& modes() { return modes(default_family()); }
  // Restores our own modes.
  class OwnModesScope {
   public:
    explicit OwnModesScope(GraphBuilder& builder) : builder_(builder), before_(builder.modes()) {}
    ~OwnModesScope() { builder_.modes() = before_; }
    OwnModesScope(const OwnModesScope&) = delete;
    OwnModesScope& operator=(const OwnModesScope&) = delete;

   private:
    GraphBuilder& builder_;
    GradModes before_;
  };
  // Of each family whose modes were asked for.
  std::deque<TracedModes>& all_modes() { return modes_; }
  bool modes_changed() const;

  // --- inputs, one per input node
  struct Input {
    const Source* source;  // null: computed
    ValuePtr computed;
  };
  const std::vector<Input>& inputs() const { return inputs_; }
  // A number that is a graph input, guarded by type only.
  ValueRef scalar_input(const ValuePtr& value);

  // --- tensors
  ValueRef graph_value(TensorValue* tensor);
  // A view, made while nothing was recorded, of what requires grad. The libraries that record operations take it for a
  // leaf that requires grad, which no graph has.
  bool is_leaf_apart(const TensorValue& tensor) const;
  const std::shared_ptr<TensorBase>& base_of(TensorValue* tensor);
  // Makes `alias` result `out` of the view op `node` of `viewed`.
  void make_alias(TensorValue* alias, TensorValue* viewed, const Node& node, int out);
  // The value that the exit returns for a tensor that is not an input itself.
  ValueRef output_value(TensorValue* tensor);
  // The same view of the input as it was at the region's start; only for inputs and their views.
  ValueRef original_value(TensorValue* tensor) { return derive(base_of(tensor)->original, *tensor); }
  // In elements of its base; breaks the graph for another dtype.
  StridedView strided_view_of(const TensorValue& tensor);

  // The input has the elements of `data` from here on, in its memory.
  void replace_data(TensorValue& input, TensorValue* data);

  // --- writes
  // The tensor holds this value from here on.
  void write_tensor(TensorValue* tensor, ValueRef value);
  // Whether a tensor without a history, that the region computes, may have one once it is written.
  bool may_gain_history(const TensorValue& tensor) const;
  // Stores the value, already in the target's dtype, in the target.
  void write_result(TensorValue* target, ValueRef value);
  // In the order of their first writes.
  const std::vector<std::shared_ptr<TensorBase>>& written_inputs() const { return written_inputs_; }
  // The pairs (original value, current value) of all written inputs.
  std::vector<std::pair<ValueRef, ValueRef>> written_values() const;

  MaskedParts& masked_parts() { return masked_parts_; }
  GradientRuns& gradient_runs() { return gradient_runs_; }
  const GradientRuns& gradient_runs() const { return gradient_runs_; }

 private:
  ValueRef value_in_graph(TensorValue* tensor);
  // A view of a base, in elements of the view.
  struct Window {
    StridedView view;
    Dim first_byte = 0;
  };
  Window window_of(const TensorValue& tensor);
  ValueRef derive(ValueRef base, const TensorValue& tensor);
  ValueRef whole_base(TensorValue* tensor, ValueRef value);
  ValueRef with_window(const TensorValue& tensor, ValueRef value);
  void require_aligned(const TensorValue& alias);
  void note_written_input(const std::shared_ptr<TensorBase>& base);
  void check_apart(const TensorBase& written, const TensorValue& other);
  void check_apart_from_written(TensorValue* input);
  void require_other_object(const TensorValue& replaced, const TensorValue& input);

  MaskedParts masked_parts_;
  std::optional<DType> default_dtype_;
  std::optional<DefaultDTypeScope> lent_dtype_;
  bool counts_writes_ = true;
  ValueReader& values_;
  const FrameStack& frames_;
  std::shared_ptr<Graph> graph_;
  std::vector<Input> inputs_;
  std::vector<const TensorFamily*> families_;
  bool answers_as_capture_ = false;
  std::unordered_map<const Value*, ValueRef> scalar_inputs_;
  std::vector<std::shared_ptr<TensorBase>> written_inputs_;
  std::vector<const TensorValue*> replaced_inputs_;  // kept by the reader of values
  std::deque<TracedModes> modes_;
  GradientRuns gradient_runs_;
};

}  // namespace md
