#include "eval_frame/capture_lock.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "cpython/ref.h"

namespace md {
namespace {

constexpr auto kSlice = std::chrono::milliseconds(50);
constexpr int kMostSlices = 100;

struct Waiting {
  std::mutex mutex;
  std::condition_variable ended;
};
Waiting& waiting() {
  static auto* instance = new Waiting;
  return *instance;
}

uint32_t forks = 0;

// Never 0. Different in a forked child, where the threads of the parent no longer exist and so end no capture.
uint64_t this_thread() {
  static const int watched = pthread_atfork(nullptr, nullptr, [] { ++forks; });
  static std::atomic<uint32_t> next{0};
  static thread_local const uint32_t number = ++next;
  static_cast<void>(watched);
  return static_cast<uint64_t>(forks) << 32 | number;
}

// The mutex is never held while waiting for the GIL.
template <typename IsFree>
void wait_without_gil(IsFree is_free) {
  PyThreadState* state = PyEval_SaveThread();
  {
    std::unique_lock lock(waiting().mutex);
    waiting().ended.wait_for(lock, kSlice, is_free);
  }
  PyEval_RestoreThread(state);
}

bool is_of_this_process(uint64_t thread) { return thread >> 32 == forks; }

}  // namespace

CaptureLock::CaptureLock(CodeCache& cache) : cache_(cache) {
  uint64_t self = this_thread();
  auto is_free = [&] {
    uint64_t owner = cache.capturing.load();
    return owner == 0 || owner == self || !is_of_this_process(owner);
  };
  for (int slice = 0; !is_free() && slice < kMostSlices; ++slice) {
    waited_ = true;
    wait_without_gil(is_free);
    if (PyErr_CheckSignals() != 0) throw PythonError();
  }
  if (!is_free()) return;
  ours_ = true;
  owns_ = cache.capturing.exchange(self) != self;
}

CaptureLock::~CaptureLock() {
  if (!owns_) return;
  {
    std::lock_guard lock(waiting().mutex);
    cache_.capturing = 0;
  }
  waiting().ended.notify_all();
}

}  // namespace md
