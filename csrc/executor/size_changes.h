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

  // The specs and offsets that the graph's present sizes give, and the sizes of buffers. all: of everything, whatever
  // has changed since the last time; needed after a failure.
  void put_sizes(Layout& layout, bool all);
  // The buffers of all values, before they share memory.
  void part_buffers(Layout& layout) const;
  // The steps that depend on what was changed by put_sizes(), in order.
  std::span<const int> changed_steps() const { return affected_.steps; }
  // The most that differs, of what one of them was lowered from, from the layout that was given to put_sizes().
  SizeChange change_of(int step) const;
  // Whether memory that buffers may share has another size since.
  bool has_resized() const { return has_resized_; }
  // Whether sizes or strides of a value have changed.
  bool has_new_layouts() const { return !affected_.results.empty(); }
  std::vector<StepMemory>& memory() { return memory_; }

 private:
  // What a step was lowered from.
  struct StepValues {
    std::vector<int> values = {};
    std::vector<size_t> numbers = {};  // among the operands of its nodes
    bool is_unknown = false;           // it may depend on all of them
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
  // What follows from the lowering alone, shared by copies of a plan.
  struct Dependence {
    std::shared_ptr<const SizedGraph> sized;
    std::vector<int> buffer_of = {};      // by value
    std::vector<bool> takes_memory = {};  // by buffer: an output, or in the arena and not inside of one step
    std::vector<Result> changing = {};    // whose specs change
    std::vector<View> views = {};         // a view of a view comes after it
    std::vector<InWindow> in_windows = {};
    std::vector<StepValues> steps = {};
  };
  // What depends on the numbers that have changed: sizes that grow from call to call change the same ones.
  struct Affected {
    std::vector<uint8_t> numbers = {};  // whether it has: some hundreds are compared for each new size
    std::vector<const Result*> results = {};
    std::vector<const View*> views = {};
    std::vector<const InWindow*> in_windows = {};
    std::vector<int> buffers = {};
    std::vector<int> steps = {};
  };
  static std::shared_ptr<const Dependence> find_dependence(std::shared_ptr<const SizedGraph> sized,
                                                           const BufferAssignment& places,
                                                           std::span<const StepMemory> memory,
                                                           std::span<const std::vector<const Node*>> nodes,
                                                           std::span<const WritePlacement::Moved> moved);
  bool is_as_before(bool all);
  void find_affected(const Layout& layout, bool all);
  void find_steps(const std::vector<bool>& is_affected);
  void put_result(Layout& layout, const Result& result);
  void put_size(Layout& layout, int index);
  void put_offset(Layout& layout, int value, int64_t offset);

  std::shared_ptr<const Dependence> dependence_;
  std::vector<StepMemory> memory_;
  std::vector<int64_t> numbers_;  // of the graph, that the layout has
  Affected affected_;
  std::vector<SizeChange> changes_;  // by value
  bool has_resized_ = false;
};

}  // namespace md
