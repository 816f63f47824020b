// What was decided of a loop that a region came through, for explain().
#pragma once
#include <cstdint>
#include <string>

#include "base/recording.h"
#include "graph/graph.h"

namespace md {

enum class LoopFate : uint8_t { Unrolled, Body, Python };

struct LoopDecision {
  SourceLine place;  // of the header
  LoopFate fate = LoopFate::Unrolled;
  std::string why;
};

// Those of the captures made by a call.
using LoopRecording = Recording<LoopDecision>;

inline const char* loop_fate_name(LoopFate fate) {
  switch (fate) {
    case LoopFate::Unrolled:
      return "unrolled";
    case LoopFate::Body:
      return "a region of its own";
    case LoopFate::Python:
      break;
  }
  return "left to Python";
}

}  // namespace md
