// Threads that take pieces of a range until it is done. The calling thread takes part and never waits for a thread that
// has not started: a worker that wakes late, or shares its processor, only costs the work that it would have done.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace md {

using RangeFunction = void (*)(void* context, int64_t begin, int64_t end);

class ThreadPool {
 public:
  // Process-wide; a forked child gets its own. Never destroyed, since its threads wait in it until the process ends.
  static ThreadPool& instance();

  // Calls function on ranges that cover [0, count), on at most `threads` threads; rethrows the first exception. Runs
  // everything on this thread if another thread is using the pool, or if called recursively.
  void run(int threads, int64_t count, RangeFunction function, void* context);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  struct Job;
  // The part of the range that one participant takes first, so that the same data is in the
  // same processor's cache each time.
  struct alignas(64) Share {
    std::atomic<int64_t> next = 0;
    int64_t end = 0;
  };

  ThreadPool() = default;
  static void reinit_after_fork();
  void hire(int workers);
  void keep_clear_of_caller();
  void divide(Job& job, int threads, int64_t count);
  void serve();
  void await_call(uint32_t seen);
  void publish(Job& job, int workers);
  void withdraw();
  static void take_part(Job& job, int seat);

  std::atomic<bool> taken_ = false;
  std::atomic<Job*> job_ = nullptr;
  std::atomic<int> inside_ = 0;      // workers that may be using job_
  std::atomic<uint32_t> calls_ = 0;  // incremented for each job; idle workers wait on it
  // Owned by the thread that is using the pool.
  std::vector<pthread_t> workers_;
  int clear_of_ = -1;  // processor excluded from the workers' affinity
  std::vector<Share> shares_;
};

}  // namespace md
