// The layout of a plan whose sizes change: what of it follows from the sizes.
#pragma once
#include <memory>
#include <vector>

#include "executor/buffer_assignment.h"
#include "executor/step.h"
#include "graph/sized_graph.h"

namespace md {

class SizeChanges {
 public:
  // places: before buffers share memory. memory: by step.
  SizeChanges(std::shared_ptr<const SizedGraph> sized, const BufferAssignment& places, std::vector<StepMemory> memory);

  // The specs, offsets and buffers that the graph's present sizes give, before buffers share memory.
  void put_sizes(Layout& layout) const;
  std::vector<StepMemory>& memory() { return memory_; }

 private:
  struct Result {
    int value;
    const Node* node;
    int out;
  };
  struct View : Result {
    int base;  // the value that it is a view of
  };
  std::shared_ptr<const SizedGraph> sized_;
  std::vector<int> buffer_of_;    // by value
  std::vector<Result> changing_;  // whose specs change
  std::vector<View> views_;       // a view of a view comes after it
  std::vector<StepMemory> memory_;
};

}  // namespace md
