// The layout of a plan whose sizes change: what of it follows from the sizes.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "executor/buffer_assignment.h"
#include "executor/step.h"
#include "executor/write_placement.h"
#include "graph/sized_graph.h"

namespace md {

enum class SizeChange : uint8_t { None, Offsets, Sizes };

class SizeChanges {
 public:
  // places: before buffers share memory. memory, and the nodes whose results are computed: by step.
  SizeChanges(std::shared_ptr<const SizedGraph> sized, const BufferAssignment& places, std::vector<StepMemory> memory,
              std::span<const std::vector<const Node*>> nodes, std::span<const WritePlacement::Moved> moved);

  // The specs, offsets and buffers that the graph's present sizes give, before buffers share memory.
  void put_sizes(Layout& layout);
  // The most that differs, of what the step was lowered from, from the layout that was given to put_sizes().
  SizeChange change_of(size_t step) const;
  // Whether memory that buffers may share has another size since.
  bool has_resized() const { return has_resized_; }
  // Whether sizes or strides of a value have changed.
  bool has_new_layouts() const { return has_new_layouts_; }
  std::vector<StepMemory>& memory() { return memory_; }

 private:
  // What a step was lowered from.
  struct StepValues {
    std::vector<int> values = {};
    bool has_numbers = false;  // symbolic operands besides
  };
  struct Result {
    int value;
    const Node* node;
    int out;
  };
  struct View : Result {
    int base;  // the value that it is a view of
  };
  // A result in the window of a write.
  struct InWindow {
    int value, base;
    const Node* update;
  };
  void put_offset(Layout& layout, int value, int64_t offset);

  std::shared_ptr<const SizedGraph> sized_;
  std::vector<int> buffer_of_;    // by value
  std::vector<bool> may_move_;    // by buffer: a step touches it, and others may share its memory
  std::vector<Result> changing_;  // whose specs change
  std::vector<View> views_;       // a view of a view comes after it
  std::vector<InWindow> in_windows_;
  std::vector<StepMemory> memory_;
  std::vector<StepValues> step_values_;  // by step
  std::vector<SizeChange> changes_;      // by value
  bool has_resized_ = false, has_new_layouts_ = false;
};

}  // namespace md
