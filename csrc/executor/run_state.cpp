#include "executor/run_state.h"

namespace md {

namespace {

bool is_same(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype == b.dtype && a.requires_grad == b.requires_grad && same_layout(a, b);
}

}  // namespace

Tensor RunState::handle(int value) const {
  const Place& place = layout->places[static_cast<size_t>(value)];
  const Buffer& buffer = layout->buffers[static_cast<size_t>(place.buffer)];
  if (value == buffer.root) {
    if (buffer.home == BufferHome::Input) return inputs[static_cast<size_t>(buffer.index)].tensor;
    if (buffer.home == BufferHome::Constant) return layout->constants[static_cast<size_t>(buffer.index)];
    if (buffer.home == BufferHome::Made) return made[static_cast<size_t>(value)];
  }
  return handle(place);
}

Tensor RunState::handle(const Place& place) const {
  const Buffer& buffer = layout->buffers[static_cast<size_t>(place.buffer)];
  auto part_of = [&](const Tensor& tensor) {
    return Tensor::from_storage(tensor->storage(), tensor->offset() + place.offset, place.spec);
  };
  switch (buffer.home) {
    case BufferHome::Input:
      return part_of(inputs[static_cast<size_t>(buffer.index)].tensor);
    case BufferHome::Constant:
      return part_of(layout->constants[static_cast<size_t>(buffer.index)]);
    case BufferHome::Arena: {
      int64_t start = buffer.arena_offset / static_cast<int64_t>(item_size(place.spec.dtype));
      return Tensor::from_storage(arena, start + buffer.lead + place.offset, place.spec);
    }
    case BufferHome::Output:
      return Tensor::from_storage(owned[static_cast<size_t>(place.buffer)], buffer.lead + place.offset, place.spec);
    case BufferHome::Made:
      return part_of(made[static_cast<size_t>(buffer.root)]);
  }
  raise_internal(__FILE__, __LINE__, "a buffer without a home");
}

Tensor RunState::handle_to_pack(int value) const {
  const Place& place = layout->places[static_cast<size_t>(value)];
  const Buffer& buffer = layout->buffers[static_cast<size_t>(place.buffer)];
  Tensor tensor = handle(value);
  if (buffer.home != BufferHome::Input || !buffer.is_written || value == buffer.root) return tensor;
  const Storage& storage = *tensor->storage().get();
  StoragePtr lent = Storage::borrow(storage.data(), storage.nbytes(), [](void*, void*) {}, nullptr);
  return Tensor::from_storage(std::move(lent), tensor->offset(), place.spec);
}

const Tensor& RunState::owner(int value) const {
  const Buffer& buffer = layout->buffers[static_cast<size_t>(layout->places[static_cast<size_t>(value)].buffer)];
  return buffer.home == BufferHome::Input ? inputs[static_cast<size_t>(buffer.index)].tensor
                                          : layout->constants[static_cast<size_t>(buffer.index)];
}

Tensor RunState::take_given(const Place& place) {
  Tensor tensor = std::move(given[static_cast<size_t>(place.buffer)]);
  StoragePtr storage = std::move(owned[static_cast<size_t>(place.buffer)]);
  int64_t offset = layout->buffers[static_cast<size_t>(place.buffer)].lead + place.offset;
  bool is_it = tensor.defined() && tensor->offset() == offset && is_same(tensor.spec(), place.spec);
  return is_it ? std::move(tensor) : Tensor::from_storage(std::move(storage), offset, place.spec);
}

Tensor RunState::take(int value) {
  const Place& place = layout->places[static_cast<size_t>(value)];
  if (!given.empty()) return take_given(place);
  int64_t offset = layout->buffers[static_cast<size_t>(place.buffer)].lead + place.offset;
  return Tensor::from_storage(std::move(owned[static_cast<size_t>(place.buffer)]), offset, place.spec);
}

}  // namespace md
