// The contents of frames at a region's exit, before they are written to the frames.
#pragma once
#include <utility>

#include "base/inline_vector.h"
#include "snapshot/value_builder.h"

namespace md {

using SlotObjects = InlineVector<std::pair<int, Ref>, 6>;
SlotObjects build_slots(const std::vector<SlotValue>& slots, ValueBuilder& builder);

// The contents of one frame.
struct FrameImage {
  const FrameState* state = nullptr;
  Ref function;  // inner frames
  SlotObjects slots;
  InlineVector<Ref, 6> stack;
  Ref continuation_value;
};
using FrameImages = InlineVector<FrameImage, 2>;
FrameImages build_images(const Snapshot& snapshot, ValueBuilder& builder);

}  // namespace md
