// Human-readable description of a plan: logs, explain().
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace md {

// Estimated work, from which time and number of threads are derived.
struct Work {
  double bytes = 0;
  double flops = 0;
  DType dtype = DType::float32;  // of the numbers that are multiplied
  Work& operator+=(const Work& other) {
    bytes += other.bytes;
    flops += other.flops;
    return *this;
  }
  double ns() const { return 50 + (bytes / 10 > flops / 60 ? bytes / 10 : flops / 60); }
};

// Why a step is not fused with the producer of its first node.
enum class NotFused : uint8_t {
  none,
#define MD_NOT_FUSED(name, text) name,
#include "executor/not_fused.def"
#undef MD_NOT_FUSED
};
const char* not_fused_text(NotFused reason);

// The nodes of a step, and why it has no more.
struct StepLabel {
  std::vector<std::string> nodes;  // in graph order
  NotFused reason = NotFused::none;
  std::string producer;  // a node of another step that it could have been fused with
  std::string fallback;  // why a better step could not be built, or empty
  std::string why() const;
};

struct StepTimes {
  int64_t fastest_ns = 0;
  int64_t total_ns = 0;
};

struct StepFacts {
  std::string text;    // "fused loop mul, add -> add_1 (1 x 300)"
  std::string kernel;  // the implementation
  std::vector<std::string> nodes;
  std::string why;  // why it has no more nodes, or empty
  Work work;
  StepTimes times;
  double least_ns = 0;  // what the machine needs for the work; 0 while nothing was measured
};

struct PlanFacts {
  std::vector<StepFacts> steps;       // empty: a plan without steps of its own
  std::vector<std::string> places;    // nodes that are pure aliases
  std::vector<std::string> in_place;  // writes whose values are computed where they belong
  int64_t arena_nbytes = 0;
  int64_t runs = 0;  // number of measured runs
  StepTimes times;   // of whole runs
};

// "f (file.py:12)": position of the first operation in the outermost frame.
std::string graph_place(const Graph& graph);

// The records of the logs plan, kernels and perf. sizes: the inputs for which they hold, or empty.
std::string print_plan_log(const PlanFacts& facts, const std::string& place, const std::string& sizes);
std::string print_kernels_log(const PlanFacts& facts, const std::string& place, const std::string& sizes);
std::string print_perf_log(const PlanFacts& facts, const std::string& place, const std::string& sizes);

}  // namespace md
