// What a compiled loop keeps when its sizes change: its instructions and machine code, and how each stream is accessed.
// Extents, strides, offsets and scratch memory are found anew.
#pragma once
#include <memory>
#include <vector>

#include "executor/fusion_groups.h"
#include "executor/loops/loop_draft.h"
#include "executor/loops/loop_op.h"
#include "executor/step.h"
#include "graph/sized_graph.h"

namespace md {

struct StreamForm {
  int64_t step = 0;         // of an unrolled row
  bool drops_last = false;  // the result of a reduction, without the last dim
  StreamAccess planned = StreamAccess::Linear;
  StreamAccess used = StreamAccess::Linear;  // may be a copy, where every element of a tile is needed
};

struct LoopForm {
  struct NodeForm {
    const Node* node;
    bool is_over_rows;  // one element per row
    bool is_repeated;   // one element in all
    bool folds;
    bool has_numbers;  // from sizes
    LoopOp op;         // then: what it was parsed to
  };
  struct Follower {
    size_t input, leader;  // indices of inputs
    int32_t bytes;         // between them, in the machine code
  };

  ValueRef sized;  // has the group's sizes
  bool folds_rows = false;
  bool by_rows = false;
  bool is_flat = false;  // one dimension, through which each stream steps by one
  int64_t steps = 0;     // length of an unrolled row, 0: none
  std::vector<NodeForm> nodes;
  std::vector<StreamForm> inputs, outputs;
  size_t splats_from = 0;               // inputs from this one on are single elements that fill a tile
  std::vector<const Operand*> numbers;  // by scalar: a number that follows from sizes, else null
  ScratchForm scratch;
  std::vector<Follower> followers;
  std::vector<std::pair<int, int>> may_share;  // values, as in StepMemory
  double bytes_per_element = 0, flops_per_element = 0;
};
using LoopFormPtr = std::shared_ptr<const LoopForm>;

// Strides by dimension of `sizes`; 0 where the value is broadcast.
std::vector<int64_t> broadcast_strides(const TensorSpec& spec, const DimVec& sizes, bool drops_last);
// The strides of a stream; of an unrolled loop, of the elements that its step reads or writes.
void set_strides(Stream& stream, std::vector<int64_t> strides, bool is_unrolled, int64_t step);
// LoopForm::is_flat; inputs from `splats_from` on are single elements.
bool is_flat(const LoopProgram& program, size_t splats_from);
// What follows from the sizes once streams and scratch memory are known.
void finish_sizes(LoopProgram& program, bool by_rows, double bytes);

// Whether the operand is a number that follows from sizes.
bool is_sized_number(const SizedGraph& sized, const Node& node, size_t operand);
// The nodes of a group as `form` describes them; false: their instructions depend on sizes.
bool add_nodes(LoopForm& form, const Group& group, const SizedGraph& sized);

// Gives the program the present sizes of the nodes and of the layout, and the step its memory. False: such a loop has
// other instructions.
bool take_sizes(const LoopForm& form, const Layout& layout, LoopProgram& program, StepMemory& memory, Work& work);
// The same, if only offsets of views have changed.
bool take_offsets(const LoopForm& form, const Layout& layout, const LoopProgram& program, StepMemory& memory);

}  // namespace md
