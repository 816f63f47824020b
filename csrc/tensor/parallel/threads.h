// Number of threads by amount of work: our own loops run on the pool, oneDNN on OpenMP. Results never
// depend on the number of threads.
#pragma once
#include <cstdint>
#include <memory>

#include "tensor/parallel/thread_pool.h"

namespace md {

int get_num_threads();            // OpenMP's number until it is set
void set_num_threads(int count);  // throws Error(Runtime) below 1

// In a forked child OpenMP's worker threads are gone and it cannot create new ones: oneDNN then runs on one thread.
bool is_forked_child();

// Number of threads for work of this estimated duration: 1 below about 20 us, then up to get_num_threads().
int threads_for(double work_ns);

// The number of threads for work that this thread starts, in place of get_num_threads(); 0: unchanged.
class ThreadLimitScope {
 public:
  explicit ThreadLimitScope(int limit);
  ~ThreadLimitScope();
  ThreadLimitScope(const ThreadLimitScope&) = delete;
  ThreadLimitScope& operator=(const ThreadLimitScope&) = delete;

 private:
  int previous_;
};

// Sets OpenMP's thread count for this thread's parallel regions, including oneDNN's, and restores it.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int count);
  ~ThreadCountScope();
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int previous_;
};

// Calls body(begin, end) on ranges that cover [0, count), on threads_for(count * ns_per_item)
// threads. Rethrows the first exception.
template <typename Body>
void parallel_for(int64_t count, double ns_per_item, const Body& body) {
  int threads = threads_for(static_cast<double>(count) * ns_per_item);
  if (threads <= 1 || count <= 1) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  ThreadPool::instance().run(
      threads, count,
      [](void* context, int64_t begin, int64_t end) { (*static_cast<const Body*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace md
