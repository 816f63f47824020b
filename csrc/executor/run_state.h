// Memory layout of a plan, and the state of one run.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace md {

// Memory shared by one or more values of a plan. Only Arena buffers are reused over time.
enum class BufferHome : uint8_t {
  Input,     // index: position among the graph's inputs; starts at that tensor's first element
  Constant,  // index: among Layout::constants
  Arena,     // arena_offset: bytes from the arena's start
  Output,    // allocated by each run, because it escapes
  Made,      // allocated by the step that computes it
};

struct Buffer {
  BufferHome home = BufferHome::Arena;
  int index = -1;
  int root = -1;  // the value that the buffer was created for; the others are views of it
  int64_t nbytes = 0;
  int64_t lead = 0;  // Arena and Output: elements of the root before its first one, where strides are negative
  int64_t arena_offset = 0;
  bool is_written = false;  // Input: the plan writes it
};

// A value inside its buffer. Views of one value share its buffer.
struct Place {
  int buffer = -1;
  int64_t offset = 0;  // in elements from the first element of the buffer's root
  TensorSpec spec;     // concrete
  int64_t byte_offset() const { return offset * static_cast<int64_t>(item_size(spec.dtype)); }
};

// The memory layout determined by lowering. Values are numbered by node and result.
struct Layout {
  std::vector<Place> places;  // by value; a scalar input has no buffer
  std::vector<Buffer> buffers;
  std::vector<Tensor> constants;
  int64_t arena_nbytes = 0;
};

// The arguments of one kernel step, reused across runs: constants are filled in once.
struct KernelCall {
  std::vector<Arg> args;
  std::vector<Tensor> outs;
};

// The memory of one run. Checked out of the plan's pool, so two threads never share one.
struct RunState {
  const Layout* layout = nullptr;
  StoragePtr arena;
  std::vector<std::byte*> base;   // by buffer: the first element of its root
  std::vector<StoragePtr> owned;  // by buffer: the storage of an Output or Made buffer, during a run
  std::vector<Tensor> given;    // by buffer, if any: the tensor that the caller made for an Output buffer, during a run
  std::vector<Tensor> made;     // by value: results allocated by their step, during a run
  std::vector<Tensor> results;  // by value: what the caller gets in place of such a result, if defined
  std::span<const GraphInput> inputs;  // during a run
  std::vector<KernelCall> calls;

  // Whether the buffer is a tensor that outlives the run, and stays as it is: an Input or a Constant.
  static bool has_owner(const Buffer& buffer) {
    return (buffer.home == BufferHome::Input && !buffer.is_written) || buffer.home == BufferHome::Constant;
  }
  const Tensor& owner(int value) const;

  std::byte* address(const Place& place) const { return base[static_cast<size_t>(place.buffer)] + place.byte_offset(); }
  std::byte* address(int value) const { return address(layout->places[static_cast<size_t>(value)]); }
  // `value` is -1 if there is none.
  std::byte* address_or_null(int value) const { return value < 0 ? nullptr : address(value); }
  // A tensor handle for a value, and for any place in a buffer.
  Tensor handle(int value) const;
  Tensor handle(const Place& place) const;
  // The same for a kernel that keeps packed copies by the version of a storage: none of an input that the plan writes.
  Tensor handle_to_pack(int value) const;
  // The same for a value in an Output buffer that is not needed again in this run: takes the buffer's storage.
  Tensor take(int value);
  // The same where the caller makes tensors for outputs: that tensor, if it lies as the value does.
  Tensor take_given(const Place& place);
};

}  // namespace md
