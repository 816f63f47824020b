// An array whose length is fixed at construction; up to kInline elements are stored without a heap allocation.
#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace md {

template <typename T, size_t kInline>
class InlineArray {
 public:
  explicit InlineArray(size_t size) : data_(reinterpret_cast<T*>(inline_)), size_(size) {
    if (size > kInline) data_ = std::allocator<T>().allocate(size);
    std::uninitialized_value_construct_n(data_, size);
  }
  ~InlineArray() {
    std::destroy_n(data_, size_);
    if (size_ > kInline) std::allocator<T>().deallocate(data_, size_);
  }
  InlineArray(const InlineArray&) = delete;
  InlineArray& operator=(const InlineArray&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  std::span<T> span() { return {data_, size_}; }

 private:
  T* data_;
  size_t size_;
  alignas(T) std::byte inline_[kInline * sizeof(T)];
};

}  // namespace md
