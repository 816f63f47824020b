// Epilogue: the pointwise nodes of an anchor's group, run on each piece of the anchor's
// result while it is in the cache.
#pragma once
#include <optional>

#include "executor/loops/loop_program.h"
#include "executor/lowering.h"

namespace md {

struct Epilogue {
  bool ok = true;
  std::optional<LoopProgram> program;  // empty: the anchor is alone in its group
  LoweredStep lowered;                 // what it touches; its note holds the reason unless ok
  Work work;
};

// If no one outside of the group reads the anchor's own result, it is written where the
// epilogue's result goes, if possible.
Epilogue build_epilogue(const Group& group, LoweringContext& context);

// "linear + relu -> relu"
std::string anchor_text(const Group& group);

}  // namespace md
