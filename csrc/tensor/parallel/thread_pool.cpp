#include "tensor/parallel/thread_pool.h"

#include <immintrin.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>

#include "tensor/parallel/float_flags.h"

namespace md {
namespace {

constexpr int64_t kPieces = 4;  // number of pieces per share: a late thread leaves its pieces to others
constexpr int kSpins = 1000;    // about 40 us: the next op often comes sooner, and waking a thread costs several
std::atomic<ThreadPool*> pool = nullptr;

// Signals are handled by the program's threads.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t previous_;
};

}  // namespace

struct ThreadPool::Job {
  Job(RangeFunction of, void* with) : function(of), context(with) {}

  RangeFunction function;
  void* context;
  FloatFlags* float_flags = FloatFlags::here();  // of the caller
  std::span<Share> shares;
  int64_t piece = 1;
  std::atomic<int> seats = 1;  // the next participant number; the caller has number 0
  std::mutex failure_mutex;
  std::exception_ptr failure = nullptr;
};

ThreadPool& ThreadPool::instance() {
  ThreadPool* known = pool.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  static const int watched = pthread_atfork(nullptr, nullptr, reinit_after_fork);
  static_cast<void>(watched);
  auto* made = new ThreadPool;
  if (pool.compare_exchange_strong(known, made)) return *made;
  delete made;
  return *known;
}

// In a forked child the pool's threads do not exist, and its state at the fork may be inconsistent.
void ThreadPool::reinit_after_fork() { pool.store(nullptr); }

void ThreadPool::run(int threads, int64_t count, RangeFunction function, void* context) {
  if (taken_.exchange(true, std::memory_order_acquire)) return function(context, 0, count);
  struct Release {
    std::atomic<bool>& taken;
    ~Release() { taken.store(false, std::memory_order_release); }
  } release{taken_};
  threads = static_cast<int>(std::min<int64_t>(threads, count));
  hire(threads - 1);
  keep_clear_of_caller();
  Job job(function, context);
  divide(job, threads, count);
  publish(job, threads - 1);
  take_part(job, 0);
  withdraw();
  if (job.failure) std::rethrow_exception(job.failure);
}

void ThreadPool::divide(Job& job, int threads, int64_t count) {
  if (shares_.size() < static_cast<size_t>(threads)) shares_ = std::vector<Share>(static_cast<size_t>(threads));
  // Pieces of at least 64 items do not share cache lines at their borders.
  int64_t piece = (count + threads * kPieces - 1) / (threads * kPieces);
  if (piece >= 64) piece = (piece + 63) / 64 * 64;
  int64_t pieces = (count + piece - 1) / piece;
  job.piece = piece;
  job.shares = std::span(shares_).first(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    Share& share = shares_[static_cast<size_t>(i)];
    share.next.store(std::min(count, pieces * i / threads * piece), std::memory_order_relaxed);
    share.end = std::min(count, pieces * (i + 1) / threads * piece);
  }
}

void ThreadPool::hire(int workers) {
  if (static_cast<int>(workers_.size()) >= workers) return;
  BlockedSignals blocked;
  workers_.reserve(static_cast<size_t>(workers));
  while (static_cast<int>(workers_.size()) < workers) {
    try {
      std::thread worker([this] { serve(); });
      workers_.push_back(worker.native_handle());
      worker.detach();
      clear_of_ = -1;
    } catch (const std::system_error&) {
      return;  // thread limit reached: continue with the existing ones
    }
  }
}

// The scheduler may wake a worker on the waker's processor, where it would wait for milliseconds while another
// processor is idle. With many workers one that waits does not matter, and each affinity change costs a system call.
void ThreadPool::keep_clear_of_caller() {
  constexpr size_t kFewWorkers = 7;
  int processor = sched_getcpu();
  if (processor < 0 || processor == clear_of_ || workers_.size() > kFewWorkers) return;
  clear_of_ = processor;
  cpu_set_t others;
  if (pthread_getaffinity_np(pthread_self(), sizeof others, &others) != 0) return;
  CPU_CLR(static_cast<size_t>(processor), &others);
  if (CPU_COUNT(&others) == 0) return;
  // If not permitted, they stay where they are.
  for (pthread_t worker : workers_) pthread_setaffinity_np(worker, sizeof others, &others);
}

void ThreadPool::publish(Job& job, int workers) {
  job_.store(&job);
  calls_.fetch_add(1);
  if (workers >= static_cast<int>(workers_.size())) {
    calls_.notify_all();
  } else {
    for (int i = 0; i < workers; ++i) calls_.notify_one();
  }
}

// After this no worker refers to the job: a worker is counted before it reads job_, so it reads null or is waited for.
void ThreadPool::withdraw() {
  job_.store(nullptr);
  for (int i = 0; i < kSpins && inside_.load() != 0; ++i) _mm_pause();
  for (int count = inside_.load(); count != 0; count = inside_.load()) inside_.wait(count);
}

void ThreadPool::await_call(uint32_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    if (calls_.load(std::memory_order_relaxed) != seen) return;
    _mm_pause();
  }
  calls_.wait(seen);
}

void ThreadPool::serve() {
  pthread_setname_np(pthread_self(), "minidynamo");
  for (uint32_t seen = 0;;) {
    await_call(seen);
    seen = calls_.load();
    inside_.fetch_add(1);
    if (Job* job = job_.load()) {
      int seat = job->seats.fetch_add(1);
      WorkerFlags flags(job->float_flags);
      if (static_cast<size_t>(seat) < job->shares.size()) take_part(*job, seat);
    }
    if (inside_.fetch_sub(1) == 1) inside_.notify_all();
  }
}

// From its own share first, then from those after it.
void ThreadPool::take_part(Job& job, int seat) {
  size_t count = job.shares.size();
  try {
    for (size_t i = 0; i < count; ++i) {
      Share& share = job.shares[(static_cast<size_t>(seat) + i) % count];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        int64_t begin = share.next.fetch_add(job.piece);
        if (begin >= share.end) break;
        job.function(job.context, begin, std::min(share.end, begin + job.piece));
      }
    }
  } catch (...) {
    std::lock_guard lock(job.failure_mutex);
    if (!job.failure) job.failure = std::current_exception();
  }
}

}  // namespace md
