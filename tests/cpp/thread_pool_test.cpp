// The thread pool: each item once, failures, nested runs, several callers, forked children.
#include "tensor/parallel/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.h"

namespace {

using md::ThreadPool;

template <typename Body>
void run(int threads, int64_t count, Body body) {
  ThreadPool::instance().run(
      threads, count, [](void* context, int64_t begin, int64_t end) { (*static_cast<Body*>(context))(begin, end); },
      &body);
}

bool each_item_once(int threads, int64_t count) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
  run(threads, count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (const std::atomic<int>& times : seen) {
    if (times != 1) return false;
  }
  return true;
}

TEST(ranges) {
  for (int threads : {1, 2, 3, 7}) {
    for (int64_t count : {1, 2, 3, 5, 63, 64, 65, 511, 513, 1000, 4097}) CHECK(each_item_once(threads, count));
  }
  for (int i = 0; i < 20000; ++i) CHECK(each_item_once(3, 40));
}

// The pieces of a thread that is held up are taken by the others.
TEST(a_late_thread) {
  std::atomic<int64_t> others = 0;
  std::atomic<bool> chosen = false;
  run(2, 8, [&](int64_t begin, int64_t end) {
    if (chosen.exchange(true)) {
      others += end - begin;
      return;
    }
    for (int i = 0; i < 30000 && others < 7; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  CHECK(others == 7);
}

TEST(failures) {
  for (int i = 0; i < 100; ++i) {
    CHECK_THROWS(run(3, 100, [](int64_t, int64_t) { throw std::runtime_error("thrown inside"); }), std::runtime_error,
                 "thrown inside");
    CHECK(each_item_once(3, 100));
  }
}

TEST(inside_of_a_run) {
  std::atomic<int64_t> sum = 0;
  run(2, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run(2, 10, [&](int64_t from, int64_t to) { sum += to - from; });
  });
  CHECK(sum == 100);
}

TEST(several_callers) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) wrong += !each_item_once(3, 100);
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST(a_forked_child) {
  CHECK(each_item_once(2, 100));
  pid_t child = fork();
  if (child == 0) {
    alarm(30);
    _exit(each_item_once(2, 100) ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(each_item_once(2, 100));
}

}  // namespace
