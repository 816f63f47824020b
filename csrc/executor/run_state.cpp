#include "executor/run_state.h"

namespace md {

Tensor RunState::handle(int value) const {
  const Place& place = layout->places[static_cast<size_t>(value)];
  const Buffer& buffer = layout->buffers[static_cast<size_t>(place.buffer)];
  switch (buffer.home) {
    case BufferHome::Input: {
      const Tensor& input = inputs[static_cast<size_t>(buffer.index)].tensor;
      if (value == buffer.root) return input;
      return Tensor::from_storage(input->storage(), input->offset() + place.offset, place.spec);
    }
    case BufferHome::Constant: {
      const Tensor& constant = layout->constants[static_cast<size_t>(buffer.index)];
      if (value == buffer.root) return constant;
      return Tensor::from_storage(constant->storage(), constant->offset() + place.offset, place.spec);
    }
    case BufferHome::Arena: {
      int64_t start = buffer.arena_offset / static_cast<int64_t>(item_size(place.spec.dtype));
      return Tensor::from_storage(arena, start + place.offset, place.spec);
    }
    case BufferHome::Output:
      return Tensor::from_storage(owned[static_cast<size_t>(place.buffer)], place.offset, place.spec);
    case BufferHome::Made: {
      const Tensor& tensor = made[static_cast<size_t>(buffer.root)];
      if (value == buffer.root) return tensor;
      return Tensor::from_storage(tensor->storage(), tensor->offset() + place.offset, place.spec);
    }
  }
  raise_internal(__FILE__, __LINE__, "a buffer without a home");
}

const Tensor& RunState::owner(int value) const {
  const Buffer& buffer = layout->buffers[static_cast<size_t>(layout->places[static_cast<size_t>(value)].buffer)];
  return buffer.home == BufferHome::Input ? inputs[static_cast<size_t>(buffer.index)].tensor
                                          : layout->constants[static_cast<size_t>(buffer.index)];
}

Tensor RunState::take(int value) {
  const Place& place = layout->places[static_cast<size_t>(value)];
  return Tensor::from_storage(std::move(owned[static_cast<size_t>(place.buffer)]), place.offset, place.spec);
}

}  // namespace md
