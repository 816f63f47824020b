// Memory with room behind the elements of a tensor, along one dim, for cat to append to instead of copying them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tensor/tensor.h"

namespace md {

// Tensors over one room have its first positions along the dim. Each looks like a tensor with memory of its own, and
// has it as soon as anything but the functions below asks for it (TensorImpl::storage(), data()): the last one takes
// the memory of the room if that place fits its strides, others copy theirs. So what lies in a room that
// several tensors have is never written again, whoever refers to them. One lock guards all rooms.
struct Room {
  Room(StoragePtr memory, int dim, int64_t capacity, int64_t used);
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  size_t spare_bytes() const;
  void use(int64_t positions);

  StoragePtr memory;
  size_t nbytes;
  int dim;
  int64_t capacity;  // positions
  int64_t used;      // of them, by the longest tensor
  int appends = 0;   // since the room was made
};
using RoomPtr = std::shared_ptr<Room>;

// The layout of a tensor with contiguous strides in memory for `capacity` positions. The same if no dim before it has
// several positions.
TensorSpec spec_in_room(const TensorSpec& contiguous, int dim, Dim capacity);

// The positions for which a concatenation of `total` should have memory: those of the room that its first operand has,
// twice as many if that is a concatenation itself and has none, else `total`.
int64_t capacity_for(const Tensor& first, int dim, int64_t total);

struct Joined {
  Tensor memory;  // all elements in their place; not to be seen by programs
  RoomPtr room;   // null: `memory` is a tensor of its own
};
// Concatenates tensors of one dtype, of which the first has the result's rank: appends to the room that this one has if
// it ends there and the room has that capacity. spec: of the result in such memory.
Joined join_in_room(std::span<const Tensor> parts, int dim, int64_t capacity, const TensorSpec& spec);
// The result for programs; contiguous: its spec.
Tensor as_result(Joined joined, const TensorSpec& contiguous);

// A copy has made `result`, of which `first` is the first part.
void note_joined(const Tensor& first, const Tensor& result);

// cat outside of the steps of plans, where no dim before this one has several positions: in a room if that saves a
// copy, else undefined. A Python object whose tensor is among the parts is not used by other threads meanwhile.
Tensor join_held(std::span<const Tensor> parts, int dim, const TensorSpec& contiguous);

// Every handle of a real tensor becomes one of `source`'s elements, sizes and dtype; a room that it has is left. What
// autograd knows of it, and whether it requires grad, stays. No other thread uses it meanwhile.
void take_elements(const Tensor& tensor, const Tensor& source);

// For tests and for those who look for memory.
struct RoomCounts {
  int64_t made, appends, copied_out;
  size_t spare_bytes;  // of all rooms
};
RoomCounts room_counts();

}  // namespace md
