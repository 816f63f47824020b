#include "eval_frame/memory_image.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "eval_frame/tensor_comparison.h"
#include "tensor/memory_overlap.h"
#include "tensor/simd/copy.h"

namespace md {

namespace {

StoragePtr copy_of(const Storage& storage) {
  StoragePtr copy = Storage::allocate(storage.nbytes());
  if (storage.nbytes() > 0) std::memcpy(copy->data(), storage.data(), storage.nbytes());
  return copy;
}

// Another library may free the memory of its objects, which no program can read then.
bool is_freed(const Storage& storage) { return storage.nbytes() > 0 && storage.data() == nullptr; }

bool same_bytes(const Storage& a, const Storage& b) {
  return a.nbytes() == 0 || std::memcmp(a.data(), b.data(), a.nbytes()) == 0;
}

// Objects of another library have a new storage whenever they are read.
bool is_same_memory(const Storage& a, const Storage& b) {
  return &a == &b || (a.nbytes() > 0 && a.data() == b.data() && a.nbytes() == b.nbytes());
}

bool overlap(const Storage& a, const Storage& b) {
  auto begin = [](const Storage& storage) { return static_cast<const std::byte*>(storage.data()); };
  return begin(a) < begin(b) + b.nbytes() && begin(b) < begin(a) + a.nbytes();
}

}  // namespace

MemoryImage::Kept* MemoryImage::find(const Storage* storage) {
  auto found =
      std::ranges::find_if(kept_, [&](const StoragePtr& kept) { return is_same_memory(*kept.get(), *storage); });
  return found != kept_.end() ? &images_[static_cast<size_t>(found - kept_.begin())] : nullptr;
}

void MemoryImage::keep(const Tensor& tensor) {
  const StoragePtr& storage = tensor->storage();
  if (tensor->kind() != TensorKind::Real || !storage || is_freed(*storage.get()) || find(storage.get()) != nullptr)
    return;
  kept_.push_back(storage);
  images_.push_back({copy_of(*storage.get()), {}, storage->version(), {}});
}

void MemoryImage::put_back() {
  for (size_t i = 0; i < kept_.size(); ++i) {
    Storage& storage = *kept_[i].get();
    Kept& image = images_[i];
    image.expected = copy_of(storage);
    if (!same_bytes(storage, *image.before.get())) std::memcpy(storage.data(), image.before->data(), storage.nbytes());
    // The version already includes the plan's own writes; Python's writes will add the same again.
    image.version = storage.version() + (storage.version() - image.version);
  }
}

void MemoryImage::expect_write(const Tensor& target, const Tensor& value, int count) {
  Kept* image = find(target->storage().get());
  MD_ASSERT(image != nullptr, "a write to memory that was not kept");
  // If the plan has written the target itself, the expectation has been recorded with it.
  if (!is_same_view(value, target))
    copy_elements(value, Tensor::from_storage(image->expected, target->offset(), target.spec()));
  image->version += static_cast<uint64_t>(count);
  image->written.push_back(target);
}

bool MemoryImage::is_part_of_written(const Storage& storage) const {
  for (size_t i = 0; i < kept_.size(); ++i)
    if (!images_[i].written.empty() && overlap(storage, *kept_[i].get())) return true;
  return false;
}

std::string MemoryImage::difference(Tensor& captured, Tensor& python) const {
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Storage& storage = *kept_[i].get();
    const Kept& image = images_[i];
    if (image.written.empty() && !same_bytes(storage, *image.expected.get()) && !is_part_of_written(storage))
      return "Python writes to memory to which the region does not";
    for (const Tensor& target : image.written) {
      captured = Tensor::from_storage(image.expected, target->offset(), target.spec());
      python = target;
      if (std::string text = element_difference(captured, python); !text.empty())
        return str_cat("written memory: ", text);
    }
    if (storage.version() != image.version)
      return str_cat("memory is counted as written ", static_cast<int64_t>(image.version - storage.version()),
                     " times more than by Python");
  }
  captured = python = Tensor();
  return "";
}

}  // namespace md
