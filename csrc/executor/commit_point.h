// When a plan may write memory that the caller sees. A step is numbered as its group.
#pragma once
#include <span>
#include <vector>

#include "executor/buffer_assignment.h"
#include "executor/fusion_groups.h"
#include "graph/sized_graph.h"

namespace md {

inline constexpr int kNever = 1 << 30;

struct CommitRules {
  const SizedGraph* sized = nullptr;  // the answers hold for all its sizes; null: the sizes stay
  bool sees_flags = false;            // a floating-point exception is a failure
};

class CommitPoint {
 public:
  CommitPoint(std::span<const Group> groups, const BufferAssignment& places, CommitRules rules);
  // The first node of the program that may fail after a write that is made in this step: in a later one, or in the same
  // one when it has begun to write. kNever: none.
  int first_failure(int step) const;
  // Whether a step from this one on may raise floating-point exceptions that are seen.
  bool may_be_flagged(int step) const;

 private:
  struct Failure {
    int node = kNever;       // the first that may fail
    bool is_midway = false;  // it may have written part of its results
    bool is_flagged = false;
  };
  static Failure failure_of(const Group& group, const BufferAssignment& places, CommitRules rules);
  std::vector<Failure> failures_;  // by step
  std::vector<int> later_;         // by step: the first node that may fail in later steps
  std::vector<bool> flagged_later_;
};

}  // namespace md
