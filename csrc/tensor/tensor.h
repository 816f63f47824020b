// The tensor without Python: storage, dtype, sizes, strides. Real, fake (shapes only) or recording (ops append nodes).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tensor/dim.h"
#include "tensor/dtype.h"
#include "tensor/scalar.h"
#include "tensor/storage.h"

namespace md {

class Recorder;
class RoomAccess;
struct Room;

// The spec of a result, from a shape rule, and of a value in a graph.
struct TensorSpec {
  DType dtype = DType::float32;
  DimVec sizes;
  DimVec strides;  // in elements
  bool requires_grad = false;

  static TensorSpec contiguous(DType dtype, DimVec sizes);
  int rank() const { return sizes.size(); }
  Dim numel() const { return product(sizes.span()); }
  bool is_contiguous() const;
  std::string str() const;  // f32[3, 4][4, 1]
};

// The same sizes and strides; symbolic ones the same expressions.
inline bool same_layout(const TensorSpec& a, const TensorSpec& b) {
  return same(a.sizes, b.sizes) && same(a.strides, b.strides);
}

// Whether no size and no stride is symbolic.
inline bool has_fixed_layout(const TensorSpec& spec) {
  return !any_symbolic(spec.sizes.span()) && !any_symbolic(spec.strides.span());
}

// What strides, which may be negative, reach of memory, in elements from the first one: [low, end), nothing of a tensor
// without elements.
struct Reach {
  int64_t low = 0, end = 0;
  int64_t count() const { return end - low; }
};
template <typename Strides>
Reach reach_of(int rank, const int64_t* sizes, const Strides& strides) {
  Reach reach = {.low = 0, .end = 1};
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] == 0) return {};
    int64_t way = (sizes[i] - 1) * strides[i];
    (way < 0 ? reach.low : reach.end) += way;
  }
  return reach;
}
// Of a concrete spec; raises on overflow.
Reach reach_of(const TensorSpec& spec);

enum class TensorKind : uint8_t { Real, Fake, Recording };

// An object owned by a tensor: what autograd/ knows of it.
class TensorCompanion {
 public:
  virtual ~TensorCompanion() = default;
};

// Incremented whenever a property that guards check changes on a tensor in use: its flags, or the sizes and dtype of an
// object that becomes another tensor. Facts read before stay valid while it is unchanged.
inline std::atomic<uint64_t> tensor_change_count{0};
inline uint64_t tensor_changes() { return tensor_change_count.load(std::memory_order_relaxed); }
inline void note_tensor_change() { tensor_change_count.fetch_add(1, std::memory_order_relaxed); }

// Set with the first real tensor that requires grad: before it no views need to be followed.
inline std::atomic<bool> gradients_in_use{false};

class TensorImpl {
 public:
  TensorImpl(StoragePtr storage, int64_t offset, const TensorSpec& spec, TensorKind kind);

  const TensorSpec& spec() const { return spec_; }
  TensorKind kind() const { return kind_; }
  DType dtype() const { return spec_.dtype; }
  int rank() const { return spec_.sizes.size(); }
  // A tensor that shares memory with room (tensor/simd/room.h) has memory of its own from the first call of storage()
  // or data() on; memory() is null before it, and for tensors without storage.
  const StoragePtr& storage() const {
    if (memory() == nullptr) [[unlikely]]
      settle();
    return storage_;
  }
  void* memory() const { return data_.load(std::memory_order_acquire); }
  bool is_apart() const;
  // Of real tensors; what is in shared memory with room has not been written, and may be.
  uint64_t version() const { return is_apart() ? 0 : storage_->version(); }
  bool is_read_only() const { return !is_apart() && storage_->read_only(); }
  int64_t offset() const { return offset_; }  // in elements
  // Real tensors only: dims as plain numbers.
  const int64_t* sizes() const { return reinterpret_cast<const int64_t*>(spec_.sizes.data()); }
  const int64_t* strides() const { return reinterpret_cast<const int64_t*>(spec_.strides.data()); }
  int64_t numel() const { return numel_; }
  // Null: it has none. Written under the GIL.
  TensorCompanion* companion() const { return companion_.get(); }
  bool is_contiguous() const { return kind_ == TensorKind::Real ? contiguous_ : spec_.is_contiguous(); }
  void* data() const {
    MD_ASSERT(kind_ == TensorKind::Real, "a tensor without storage has no data");
    if (void* data = memory(); data != nullptr) [[likely]]
      return data;
    settle();
    return memory();
  }

 private:
  friend class Tensor;
  friend class RoomAccess;
  // A new contiguous tensor, without the general checks.
  TensorImpl(DType dtype, std::span<const int64_t> sizes);
  // A real one without memory of its own.
  explicit TensorImpl(const TensorSpec& spec);
  void settle() const;
  RefCount count_;
  TensorKind kind_;
  bool contiguous_;  // real tensors only
  TensorSpec spec_;
  mutable StoragePtr storage_;                // null when fake or recording
  mutable std::atomic<void*> data_{nullptr};  // of the first element; real tensors only
  int64_t offset_;
  int64_t numel_;  // real tensors only
  // Recording tensors: the recorder (borrowed) and the value that represents this tensor in its graph.
  Recorder* recorder_ = nullptr;
  void* recorded_value_ = nullptr;
  mutable std::shared_ptr<Room> room_;  // in which the elements lie, or null
  std::unique_ptr<TensorCompanion> companion_;
};

// A reference-counted handle; copying shares the TensorImpl. May be null ("undefined").
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) : impl_(other.impl_) {
    if (impl_ != nullptr) impl_->count_.add();
  }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Tensor() {
    if (impl_ != nullptr && impl_->count_.drop()) destroy(impl_);
  }

  // Uninitialised, contiguous.
  static Tensor empty(DType dtype, std::span<const int64_t> sizes);
  static Tensor empty(const TensorSpec& spec);  // strides of the spec
  static Tensor view(const Tensor& base, const TensorSpec& spec, int64_t offset);
  static Tensor from_storage(StoragePtr storage, int64_t offset, const TensorSpec& spec);
  // Its elements lie in the room; contiguous.
  static Tensor in_room(std::shared_ptr<Room> room, const TensorSpec& spec);
  static Tensor fake(const TensorSpec& spec, int64_t offset = 0);
  static Tensor recording(const TensorSpec& spec, Recorder* recorder, void* value);
  static Tensor scalar(DType dtype, const Scalar& value);  // 0-d

  bool defined() const { return impl_ != nullptr; }
  TensorImpl* impl() const { return impl_; }
  TensorImpl* operator->() const { return impl_; }
  const TensorSpec& spec() const { return impl_->spec_; }
  bool requires_grad() const { return impl_->spec_.requires_grad; }
  void set_requires_grad(bool value) const {
    if (impl_->spec_.requires_grad == value) return;
    impl_->spec_.requires_grad = value;
    if (value && impl_->kind_ == TensorKind::Real) gradients_in_use.store(true, std::memory_order_relaxed);
    note_tensor_change();
  }
  // Another handle of a tensor that has another owner.
  static Tensor share(TensorImpl* impl) {
    impl->count_.add();
    return Tensor(impl);
  }
  // Whether this is the only handle of a real tensor whose storage nothing else shares.
  bool is_sole() const {
    return impl_ != nullptr && impl_->kind_ == TensorKind::Real && impl_->count_.is_one() && impl_->room_ == nullptr &&
           impl_->storage_ && impl_->storage_->is_unique() && impl_->storage_->is_plain();
  }
  // Of a sole tensor over the whole of an external storage: Storage::move_to(). The first element is at `data`.
  void move_to(void* data, void* context) {
    char* start = static_cast<char*>(data);
    if (impl_->offset_ != 0 && data != nullptr) [[unlikely]]
      start -= impl_->offset_ * static_cast<int64_t>(item_size(impl_->spec_.dtype));
    impl_->storage_->move_to(start, context);
    impl_->data_.store(data, std::memory_order_release);
  }
  void set_companion(std::unique_ptr<TensorCompanion> companion) const { impl_->companion_ = std::move(companion); }
  Recorder* recorder() const { return impl_->recorder_; }
  void* recorded_value() const { return impl_->recorded_value_; }
  template <typename T>
  T* data() const {
    return static_cast<T*>(impl_->data());
  }
  friend bool is_same(const Tensor& a, const Tensor& b) { return a.impl_ == b.impl_; }

 private:
  explicit Tensor(TensorImpl* owned) : impl_(owned) {}
  static void destroy(TensorImpl* impl);
  TensorImpl* impl_ = nullptr;
};

}  // namespace md
