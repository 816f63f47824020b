// What a trace knows of gradients: which values were written since rules may have saved them, and through which nodes
// the region has gone back itself.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/appended_gradients.h"
#include "symbolic/values/value.h"

namespace md {

class GradientRuns {
 public:
  // --- host calls that have no gradients, whatever they read
  void note_without_gradients(const Node* call) { without_gradients_.insert(call); }
  bool is_without_gradients(const Node* call) const { return without_gradients_.contains(call); }

  // --- writes
  void note_overwritten(ValueRef value) { overwritten_.push_back(value); }
  // A write that neither histories nor versions see: a backward would read what was written.
  void note_hidden_write(ValueRef overwritten) { hidden_writes_.emplace_back(overwritten, step_); }
  // The step of the first such write into what the history of a value has read or made; 0: there is none.
  int64_t hidden_write_step(ValueRef value) const;
  // Written into a computed value without being recorded: gradients pass over the write.
  void note_unrecorded(ValueRef value) { unrecorded_.emplace_back(value, step_); }
  bool is_unrecorded(ValueRef value) const;
  // The step of such a write in the history of a value; 0: there is none.
  int64_t unrecorded_step(ValueRef value) const;
  void enter_step(int64_t step) { step_ = step; }
  int64_t step() const { return step_; }
  // What was written into a leaf.
  void note_leaf_value(ValueRef value, const Source* leaf) { leaf_values_.emplace_back(value, leaf); }
  // Whether the value, or what it is a view of, has been overwritten since.
  bool is_overwritten(ValueRef value) const;
  // The values that were written into leaves, where gradients end.
  const std::vector<std::pair<ValueRef, const Source*>>& leaf_values() const { return leaf_values_; }

  // --- leaves that the region makes, of tensors without a history. They are not seen outside, nor written.
  struct NewLeaf {
    ValuePtr tensor;
    ValueRef value;
    std::shared_ptr<TensorBase> viewed;  // whose memory it has; null: its own
    int64_t step;
  };
  void note_new_leaf(NewLeaf leaf) { new_leaves_.push_back(std::move(leaf)); }
  const std::vector<NewLeaf>& new_leaves() const { return new_leaves_; }
  // Null: it is no such leaf, or no alias of one.
  const NewLeaf* new_leaf(ValueRef value) const;
  const NewLeaf* new_leaf_of(const TensorValue& tensor) const;
  bool is_memory_of_new_leaf(const TensorBase& base) const;
  // The step of such a leaf in the history of a value that goes back to nothing else; 0: there is none.
  int64_t lone_leaf_step(ValueRef value) const;

  // --- tensors whose attribute grad was read or stored
  std::vector<ValuePtr>& touched() { return touched_; }

  // --- runs
  void note_run(const AppendedGradients& run);
  // Inputs that all of them went back to, or may have.
  void note_leaf(const ValuePtr& leaf);
  const std::vector<ValuePtr>& leaves() const { return leaves_; }
  bool any() const { return first_step_ != 0; }
  int64_t first_step() const { return first_step_; }
  bool was_applied(const Node* node) const { return applied_.contains(node); }
  // The history of a value: the tape's; freed, so that a backward through it raises; or partly so.
  enum class History : uint8_t { Live, Freed, Mixed };
  History history_of(ValueRef value) const;
  // Nothing else goes back through the nodes of the runs.
  void drop_histories() const;

 private:
  bool is_leaf_value(ValueRef value) const;
  // Calls visit(value) for each computed value that gradients would go through.
  template <typename Visit>
  void visit_history(ValueRef value, Visit visit) const;

  std::vector<ValueRef> overwritten_;
  std::vector<std::pair<ValueRef, int64_t>> unrecorded_, hidden_writes_;
  std::vector<std::pair<ValueRef, const Source*>> leaf_values_;
  std::vector<NewLeaf> new_leaves_;
  std::vector<ValuePtr> touched_, leaves_;
  std::unordered_set<const Node*> applied_, saving_, without_gradients_;
  int64_t step_ = 0, first_step_ = 0;
};

}  // namespace md
