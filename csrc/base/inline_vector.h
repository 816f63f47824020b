// A vector that stores its first kInline elements without a heap allocation.
#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace md {

template <typename T, size_t kInline>
class InlineVector {
 public:
  InlineVector() = default;
  InlineVector(InlineVector&& other) noexcept { take(other); }
  InlineVector& operator=(InlineVector&& other) noexcept {
    if (this == &other) return *this;
    drop();
    take(other);
    return *this;
  }
  ~InlineVector() { drop(); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void reserve(size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    if (size_ == capacity_) grow(2 * capacity_);
    T* made = data_ + size_;
    if constexpr (sizeof...(Args) == 0) {
      ::new (static_cast<void*>(made)) T;  // default-initialises: does not zero trivial types
    } else {
      std::construct_at(made, std::forward<Args>(args)...);
    }
    ++size_;
    return *made;
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  // Destroys in order: the last element last.
  void truncate(size_t size) {
    size_t end = std::exchange(size_, size);
    std::destroy(data_ + size, data_ + end);
  }
  void clear() { truncate(0); }
  // Appends `count` uninitialised trivial elements.
  T* append(size_t count) {
    static_assert(std::is_trivial_v<T>);
    if (size_ + count > capacity_) grow(size_ + count > 2 * capacity_ ? size_ + count : 2 * capacity_);
    T* first = data_ + size_;
    size_ += count;
    return first;
  }

 private:
  T* own() { return reinterpret_cast<T*>(inline_); }
  void grow(size_t capacity) {
    T* bigger = std::allocator<T>().allocate(capacity);
    std::uninitialized_move_n(data_, size_, bigger);
    std::destroy_n(data_, size_);
    give_back();
    data_ = bigger;
    capacity_ = capacity;
  }
  // Precondition: this vector is empty and uses its inline storage.
  void take(InlineVector& other) {
    if (other.data_ == other.own()) {
      std::uninitialized_move_n(other.data_, other.size_, own());
      data_ = own();
      capacity_ = kInline;
      size_ = other.size_;
      other.clear();
      return;
    }
    data_ = std::exchange(other.data_, other.own());
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, kInline);
  }
  void drop() {
    clear();
    give_back();
    data_ = own();
    capacity_ = kInline;
  }
  void give_back() {
    if (data_ != own()) std::allocator<T>().deallocate(data_, capacity_);
  }

  T* data_ = own();
  size_t size_ = 0;
  size_t capacity_ = kInline;
  alignas(T) std::byte inline_[kInline * sizeof(T)];
};

}  // namespace md
