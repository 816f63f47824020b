#include "tensor/storage.h"

#include <pthread.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace md {
namespace {

// A block is a header with the Storage, then the data. Bucket b holds data of at most bucket_bytes(b):
// four steps between powers of two.
constexpr size_t kAlignment = 64;
constexpr size_t kHeader = 64;
constexpr size_t kSmallest = 64;
// Up to this size memory is malloc's, whose per-thread free lists are faster than any shared one. With header and
// alignment it fits into the sizes that glibc caches.
constexpr size_t kMostFromMalloc = 768;
constexpr int kFromMalloc = -1;  // in place of a bucket
constexpr int kSteps = 4;
constexpr int kBuckets = 40 * kSteps;
// Blocks from this size on use huge pages where the system permits a program to request them.
constexpr size_t kLargePage = size_t{2} << 20;
constexpr size_t kLargeBlock = 2 * kLargePage;
constexpr size_t kDefaultLimit = size_t{256} << 20;

int bucket_of(size_t nbytes) {
  if (nbytes <= kSmallest) return 0;
  int shift = static_cast<int>(std::bit_width((nbytes - 1) / kSmallest)) - 1;  // nbytes in (64 << shift, 128 << shift]
  size_t step = (kSmallest << shift) / kSteps;
  size_t within = (nbytes - 1 - (kSmallest << shift)) / (step == 0 ? 1 : step);
  return 1 + shift * kSteps + static_cast<int>(within);
}

size_t bucket_bytes(int bucket) {
  if (bucket == 0) return kSmallest;
  int shift = (bucket - 1) / kSteps;
  size_t within = static_cast<size_t>((bucket - 1) % kSteps);
  size_t base = kSmallest << shift;
  return base + (within + 1) * (base / kSteps);
}

// Page-aligned blocks would all have their data at the same offset in a page, where loops that read one and write
// another stall (4K aliasing). The space between header and data varies that offset from block to block.
constexpr size_t kPage = 4096;
size_t lead_room(int bucket) { return bucket_bytes(bucket) >= kLargeBlock ? kPage - kAlignment : 0; }

// The gap between header and data, chosen so that the data starts at another page offset than the previous block's.
size_t next_lead(const void* memory) {
  constexpr size_t kStep = 9 * kAlignment, kPlaces = kPage / kStep;
  static std::atomic<size_t> made{0};
  size_t place = made.fetch_add(1, std::memory_order_relaxed) % kPlaces * kStep;
  return (place - (reinterpret_cast<uintptr_t>(memory) + kHeader)) % kPage;
}

struct Block {
  char* memory = nullptr;  // null if there is none
  size_t lead = 0;
};

struct FreeBlock {
  FreeBlock* next;
  size_t lead;
};

struct Bucket {
  std::mutex mutex;
  FreeBlock* first = nullptr;
};

class Cache {
 public:
  Cache() {
    // A fork while another thread holds a bucket must not leave it locked in the child.
    pthread_atfork([] { cache().lock_all(); }, [] { cache().unlock_all(); }, [] { cache().unlock_all(); });
  }
  // Outlives every static object that owns a tensor.
  static Cache& cache() {
    static Cache* instance = new Cache;
    return *instance;
  }

  Block take(int bucket) {
    Bucket& from = buckets_[bucket];
    std::lock_guard lock(from.mutex);
    FreeBlock* free = from.first;
    if (free == nullptr) return {};
    from.first = free->next;
    Block block = {reinterpret_cast<char*>(free), free->lead};
    size_t size = bucket_bytes(bucket);
    bytes_.fetch_sub(size, std::memory_order_relaxed);
    ASAN_UNPOISON_MEMORY_REGION(block.memory + kHeader, block.lead + size);
    return block;
  }

  bool put(int bucket, Block block) {
    size_t size = bucket_bytes(bucket);
    if (bytes_.fetch_add(size, std::memory_order_relaxed) + size > limit_.load(std::memory_order_relaxed)) {
      bytes_.fetch_sub(size, std::memory_order_relaxed);
      return false;
    }
    ASAN_POISON_MEMORY_REGION(block.memory + kHeader, block.lead + size);
    Bucket& into = buckets_[bucket];
    std::lock_guard lock(into.mutex);
    into.first = new (block.memory) FreeBlock{into.first, block.lead};
    return true;
  }

  // Largest blocks first.
  void shrink_to(size_t limit) {
    for (int bucket = kBuckets - 1; bucket >= 0; --bucket) {
      while (bytes_.load(std::memory_order_relaxed) > limit) {
        Block block = take(bucket);
        if (block.memory == nullptr) break;
        std::free(block.memory);
      }
    }
  }

  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  size_t limit() const { return limit_.load(std::memory_order_relaxed); }
  void set_limit(size_t limit) { limit_.store(limit, std::memory_order_relaxed); }

 private:
  void lock_all() {
    for (Bucket& bucket : buckets_) bucket.mutex.lock();
  }
  void unlock_all() {
    for (Bucket& bucket : buckets_) bucket.mutex.unlock();
  }

  std::array<Bucket, kBuckets> buckets_;
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> limit_{kDefaultLimit};
};

Cache& cache() {
  static Cache& instance = Cache::cache();
  return instance;
}

[[noreturn]] void raise_no_memory(size_t nbytes) {
  raise(ErrorKind::Memory, "not enough memory: tried to allocate ", nbytes, " bytes");
}

void* allocate_aligned(size_t size) {
  size_t alignment = size >= kLargeBlock ? kLargePage : kAlignment;
  void* block = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
#if defined(__linux__)
  if (block != nullptr && size >= kLargeBlock) madvise(block, size, MADV_HUGEPAGE);
#endif
  return block;
}

Block allocate_block(int bucket, size_t nbytes) {
  if (Block block = cache().take(bucket); block.memory != nullptr) return block;
  size_t room = lead_room(bucket), size = kHeader + room + bucket_bytes(bucket);
  void* memory = allocate_aligned(size);
  if (memory == nullptr) {
    empty_cache();
    memory = allocate_aligned(size);
  }
  if (memory == nullptr) raise_no_memory(nbytes);
  return {static_cast<char*>(memory), room == 0 ? 0 : next_lead(memory)};
}

void* allocate_small(size_t nbytes) {
  void* block = std::malloc(kHeader + kAlignment + nbytes);
  if (block == nullptr) raise_no_memory(nbytes);
  return block;
}

// The first aligned byte after a header at `block`.
char* data_behind(void* block) {
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(block) + kHeader + kAlignment - 1) & ~(kAlignment - 1));
}

void* as_context(int bucket) { return reinterpret_cast<void*>(static_cast<intptr_t>(bucket)); }

}  // namespace

// context_ holds the bucket of one of our blocks, deleter_ is null.
StoragePtr Storage::allocate(size_t nbytes) {
  static_assert(sizeof(Storage) <= kHeader);
  if (nbytes <= kMostFromMalloc) {
    void* block = allocate_small(nbytes);
    return StoragePtr(new (block) Storage(data_behind(block), nbytes, nullptr, as_context(kFromMalloc), false));
  }
  int bucket = bucket_of(nbytes);
  if (bucket >= kBuckets) raise_no_memory(nbytes);
  Block block = allocate_block(bucket, nbytes);
  char* data = block.memory + kHeader + block.lead;
  return StoragePtr(new (block.memory) Storage(data, nbytes, nullptr, as_context(bucket), false));
}

StoragePtr Storage::borrow(void* data, size_t nbytes, Deleter deleter, void* context) {
  MD_ASSERT(deleter != nullptr, "borrowed memory needs a deleter");
  return StoragePtr(new Storage(data, nbytes, deleter, context, true));
}

void Storage::destroy() {
  delete companion_;
  if (deleter_ != nullptr) {
    deleter_(data_, context_);
    delete this;
    return;
  }
  int bucket = static_cast<int>(reinterpret_cast<intptr_t>(context_));
  char* memory = reinterpret_cast<char*>(this);
  size_t lead = static_cast<size_t>(static_cast<char*>(data_) - memory) - kHeader;
  this->~Storage();
  if (bucket == kFromMalloc || !cache().put(bucket, {memory, lead})) std::free(memory);
}

size_t cached_bytes() { return cache().bytes(); }
size_t cache_limit() { return cache().limit(); }
void set_cache_limit(size_t nbytes) {
  cache().set_limit(nbytes);
  cache().shrink_to(nbytes);
}
void empty_cache() { cache().shrink_to(0); }

}  // namespace md
