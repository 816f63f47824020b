#include "tensor/parallel/threads.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "base/error.h"

namespace md {
namespace {

std::atomic<int> thread_limit = 0;  // 0: not determined yet
std::atomic<bool> forked = false;
thread_local int limit_here = 0;  // 0: thread_limit holds
constexpr double kWorthAThread = 20'000;

// libgomp's worker threads do not exist in a forked child, where a parallel region would wait for them forever.
void forget_threads_in_child() {
  omp_set_num_threads(1);
  forked.store(true, std::memory_order_relaxed);
}

// Must precede every use of OpenMP.
int first_use() {
  static const int count = [] {
    pthread_atfork(nullptr, nullptr, forget_threads_in_child);
    return std::max(1, omp_get_max_threads());
  }();
  return count;
}

}  // namespace

bool is_forked_child() { return forked.load(std::memory_order_relaxed); }

int get_num_threads() {
  if (limit_here != 0) return limit_here;
  int limit = thread_limit.load(std::memory_order_relaxed);
  if (limit != 0) return limit;
  int expected = 0;
  thread_limit.compare_exchange_strong(expected, first_use());
  return thread_limit.load(std::memory_order_relaxed);
}

void set_num_threads(int count) {
  if (count < 1) raise(ErrorKind::Runtime, "set_num_threads expects a positive integer, got ", count);
  first_use();
  thread_limit.store(count, std::memory_order_relaxed);
}

int threads_for(double work_ns) {
  if (work_ns < 2 * kWorthAThread) return 1;
  double worth = work_ns / kWorthAThread;
  int limit = get_num_threads();
  return worth >= limit ? limit : static_cast<int>(worth);
}

ThreadLimitScope::ThreadLimitScope(int limit) : previous_(limit_here) {
  if (limit > 0) limit_here = limit;
}
ThreadLimitScope::~ThreadLimitScope() { limit_here = previous_; }

ThreadCountScope::ThreadCountScope(int count) {
  first_use();
  if (is_forked_child()) count = 1;
  previous_ = omp_get_max_threads();
  if (previous_ != count) omp_set_num_threads(count);
}

ThreadCountScope::~ThreadCountScope() {
  if (omp_get_max_threads() != previous_) omp_set_num_threads(previous_);
}

}  // namespace md
