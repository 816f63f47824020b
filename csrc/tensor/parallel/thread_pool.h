// Threads that take pieces of a range until it is done. The calling thread takes part and never waits for a thread that has
// not begun: a worker that wakes late, or shares its processor, costs nothing but the work it would have done.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace md {

using RangeFunction = void (*)(void* context, int64_t begin, int64_t end);

class ThreadPool {
 public:
  // Of the process; a forked child gets its own. Never destroyed, since its threads wait in it until the process ends.
  static ThreadPool& instance();

  // Calls function on ranges that cover [0, count), on at most `threads` threads; rethrows the first exception.
  // Runs all of it here if another thread has the pool, or if this is already inside of a run.
  void run(int threads, int64_t count, RangeFunction function, void* context);

  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

 private:
  struct Job;
  // What of the range is first taken by one participant, so that the same data meets the same processor's cache each time.
  struct alignas(64) Share {
    std::atomic<int64_t> next = 0;
    int64_t end = 0;
  };

  ThreadPool() = default;
  static void start_anew_in_child();
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
  std::atomic<int> inside_ = 0;      // workers that may hold job_
  std::atomic<uint32_t> calls_ = 0;  // grows with each job; what idle workers wait for
  // These belong to who has taken the pool.
  std::vector<pthread_t> workers_;
  int clear_of_ = -1;  // the processor that the workers are kept from
  std::vector<Share> shares_;
};

}  // namespace md
