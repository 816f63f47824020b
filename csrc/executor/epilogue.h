// Epilogue: the pointwise nodes of an anchor's group, run on each piece of the anchor's
// result while it is in the cache.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executor/loops/loop_form.h"
#include "executor/loops/loop_program.h"
#include "executor/lowering.h"

namespace md {

struct Epilogue {
  bool ok = true;
  std::optional<LoopProgram> program;  // empty: the anchor is alone in its group
  std::vector<int> touched;            // values in memory that it reads or writes
  std::string note;                    // the reason, unless ok
  Work work;
  LoopFormPtr form;                             // null: its sizes do not change
  std::optional<std::pair<int, int>> in_place;  // its result and the anchor's, which lies in the same memory

  // As Step::take_sizes() and take_offsets().
  bool take_sizes(const Layout& layout, const Node& anchor);
  bool take_offsets(const Layout& layout) const;
  size_t nbytes() const;
};

// If no one outside of the group reads the anchor's own result, it is written where the
// epilogue's result goes, if possible.
Epilogue build_epilogue(const Group& group, LoweringContext& context);

// "linear + relu -> relu"
std::string anchor_text(const Group& group);

}  // namespace md
