// Reference-counted bytes shared by views, with a version that in-place writes bump.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/ref_count.h"

namespace md {

class Storage;

// An object owned by a storage.
class StorageCompanion {
 public:
  virtual ~StorageCompanion() = default;
};

// Whether cat made the contents, and may make more of them in memory with room (tensor/simd/room.h).
enum class Joins : uint8_t { No, Once, NeverInRoom };

// Owns one reference to a Storage; may be null.
class StoragePtr {
 public:
  StoragePtr() = default;
  explicit StoragePtr(Storage* owned) : storage_(owned) {}
  StoragePtr(const StoragePtr& other);
  StoragePtr(StoragePtr&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StoragePtr& operator=(StoragePtr other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StoragePtr();
  Storage* get() const { return storage_; }
  Storage* operator->() const { return storage_; }
  explicit operator bool() const { return storage_ != nullptr; }

 private:
  Storage* storage_ = nullptr;
};

class Storage {
 public:
  using Deleter = void (*)(void* data, void* context);
  // 64-byte aligned, uninitialised; large ones from the recycling allocator. Throws Error(Memory).
  static StoragePtr allocate(size_t nbytes);
  // External memory: shared with other libraries, so never packed or cached by value.
  static StoragePtr borrow(void* data, size_t nbytes, Deleter deleter, void* context);

  void* data() const { return data_; }
  size_t nbytes() const { return nbytes_; }
  uint64_t version() const { return version_; }
  void bump_version() { ++version_; }
  bool shared_with_outside() const { return shared_; }
  void mark_shared_with_outside() { shared_ = true; }
  // Its owner has promised that it is not written.
  void mark_frozen() { shared_ = false; }
  // C code may have its address for as long as a tensor over it lives.
  bool is_lent() const { return lent_; }
  void mark_lent() { lent_ = true; }
  // External memory that may not be written.
  bool read_only() const { return read_only_; }
  void mark_read_only() { read_only_ = true; }
  // The context of a borrowed storage with this deleter; null for any other.
  void* context_of(Deleter deleter) const { return deleter_ == deleter ? context_ : nullptr; }
  // Of external memory: other memory of the same size from now on, not written yet. Nothing else shares the storage.
  void move_to(void* data, void* context) {
    data_ = data;
    context_ = context;
    version_ = 0;
  }
  // Whether nothing is derived from it, and no C code has its address.
  bool is_plain() const { return companion_ == nullptr && !lent_ && joins_ == Joins::No; }
  // Of external memory: the new one is given the same context.
  void change_deleter(Deleter deleter) { deleter_ = deleter; }
  bool is_unique() const { return count_.is_one(); }
  bool has_references(uint32_t count) const { return count_.is(count); }
  Joins joins() const { return joins_; }
  void note_joins(Joins joins) { joins_ = joins; }
  // The size that nbytes() tells from now on: at most what there is.
  void show_bytes(size_t nbytes) { nbytes_ = nbytes; }
  // Owned by the storage; set once, under a lock of the setter.
  StorageCompanion* companion() const { return companion_; }
  void set_companion(StorageCompanion* companion) { companion_ = companion; }

 private:
  friend class StoragePtr;
  void destroy();
  Storage(void* data, size_t nbytes, Deleter deleter, void* context, bool shared)
      : data_(data), nbytes_(nbytes), deleter_(deleter), context_(context), shared_(shared) {}
  ~Storage() = default;
  RefCount count_;
  void* data_;
  size_t nbytes_;
  Deleter deleter_;
  void* context_;
  uint64_t version_ = 0;
  StorageCompanion* companion_ = nullptr;
  bool shared_;
  bool read_only_ = false;
  bool lent_ = false;
  Joins joins_ = Joins::No;
};

inline StoragePtr::StoragePtr(const StoragePtr& other) : storage_(other.storage_) {
  if (storage_ != nullptr) storage_->count_.add();
}
inline StoragePtr::~StoragePtr() {
  if (storage_ != nullptr && storage_->count_.drop()) storage_->destroy();
}

// The recycling allocator keeps freed blocks up to a limit in bytes.
size_t cached_bytes();
size_t cache_limit();
void set_cache_limit(size_t nbytes);  // frees what exceeds it
void empty_cache();

}  // namespace md
