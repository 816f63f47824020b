// Threads by size of work: our own loops run on the pool, oneDNN on OpenMP. Results never depend on the number of threads.
#pragma once
#include <cstdint>
#include <memory>

#include "tensor/parallel/thread_pool.h"

namespace md {

int get_num_threads();            // OpenMP's number until it is set
void set_num_threads(int count);  // Error(Runtime) below 1

// OpenMP's worker threads are gone there and it cannot make new ones: oneDNN runs on one thread from then on.
bool is_forked_child();

// How many threads work of this estimated length is worth: 1 below some 20 us, then up to get_num_threads().
int threads_for(double work_ns);

// Sets OpenMP's thread count for this thread's parallel regions, oneDNN's among them, and restores it.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int count);
  ~ThreadCountScope();
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int previous_;
};

// Calls body(begin, end) on ranges that cover [0, count), on threads_for(count * ns_per_item) threads.
// The first exception is rethrown here.
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
