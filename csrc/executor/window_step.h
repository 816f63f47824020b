// Copies elements between two windows of a plan's memory.
#pragma once
#include <memory>
#include <string>

#include "executor/step.h"

namespace md {

// Elements of a value's memory: an offset from its first one, and a layout.
struct Window {
  int value = -1;
  int64_t offset = 0;
  TensorSpec spec = {};
};

// Cannot fail, and takes no memory that grows with the sizes. changing: the write whose window changes with the sizes,
// from the whole of a value; null: no size changes.
std::unique_ptr<Step> copy_window(Window from, Window to, std::string text, const Node* changing);

}  // namespace md
