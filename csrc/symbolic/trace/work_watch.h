// Notices a trace that takes instructions without adding to its graph.
#pragma once
#include <cstdint>
#include <optional>

#include "symbolic/state/stretch.h"

namespace md {

class Bytecode;
class Tracer;

// Ends a trace that has added nothing to the graph; instructions of the outermost frame are left to Python.
struct WorklessSignal {
  Stretch stretch;
};

// Instructions between two nodes of the graph after which the trace ends; none if it may take any number.
std::optional<int64_t> vain_limit(const Tracer& tracer);
// Returns true if the trace has added nothing to the graph, and is given up if it goes on like that.
bool may_be_given_up(const Tracer& tracer);

class WorkWatch {
 public:
  // The outermost frame goes from one instruction to the next.
  void note_jump(const Bytecode& bytecode, int from, int to);
  // Breaks the graph, or throws a WorklessSignal, if the instructions since the last node are too many.
  void check(const Tracer& tracer);

 private:
  Stretch loops_{0, -1};        // from the first target of a back edge to the last jump
  size_t nodes_seen_ = 0;       // nodes of the graph at the last check
  int64_t last_node_step_ = 0;  // the last step at which there were more than before
};

}  // namespace md
