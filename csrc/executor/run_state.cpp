#include "executor/run_state.h"

#include "base/error.h"

namespace md {

namespace {

bool is_same(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype == b.dtype && a.requires_grad == b.requires_grad && same_layout(a, b);
}

// Of a place in the tensor's memory, whose elements may be wider or narrower ones: from the start of the storage.
int64_t offset_from(const Tensor& tensor, const Place& place) {
  auto width = static_cast<int64_t>(item_size(place.spec.dtype));
  if (tensor->offset() * static_cast<int64_t>(item_size(tensor->dtype())) % width != 0)
    raise(ErrorKind::Runtime, "the first element of a view lies inside of a wider one");
  return offset_in(place.spec.dtype, tensor->offset(), tensor->dtype()) + place.offset;
}

// Of a place in a buffer of its own.
int64_t offset_in_buffer(const Layout& layout, const Buffer& buffer, const Place& place) {
  DType of_root = layout.places[static_cast<size_t>(buffer.root)].spec.dtype;
  return offset_in(place.spec.dtype, buffer.lead, of_root) + place.offset;
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
    return Tensor::from_storage(tensor->storage(), offset_from(tensor, place), place.spec);
  };
  switch (buffer.home) {
    case BufferHome::Input:
      return part_of(inputs[static_cast<size_t>(buffer.index)].tensor);
    case BufferHome::Constant:
      return part_of(layout->constants[static_cast<size_t>(buffer.index)]);
    case BufferHome::Arena: {
      int64_t start = buffer.arena_offset / static_cast<int64_t>(item_size(place.spec.dtype));
      return Tensor::from_storage(arena, start + offset_in_buffer(*layout, buffer, place), place.spec);
    }
    case BufferHome::Output:
      return Tensor::from_storage(owned[static_cast<size_t>(place.buffer)], offset_in_buffer(*layout, buffer, place),
                                  place.spec);
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
  int64_t offset = offset_in_buffer(*layout, layout->buffers[static_cast<size_t>(place.buffer)], place);
  bool is_it = tensor.defined() && tensor->offset() == offset && is_same(tensor.spec(), place.spec);
  return is_it ? std::move(tensor) : Tensor::from_storage(std::move(storage), offset, place.spec);
}

Tensor RunState::take(int value) {
  const Place& place = layout->places[static_cast<size_t>(value)];
  if (!given.empty()) return take_given(place);
  int64_t offset = offset_in_buffer(*layout, layout->buffers[static_cast<size_t>(place.buffer)], place);
  return Tensor::from_storage(std::move(owned[static_cast<size_t>(place.buffer)]), offset, place.spec);
}

}  // namespace md
