// Finds where torch's tensors have their words, by values known from torch's own accessors. A layout that does not
// explain all samples is not used: then the functions of the C shim read tensors.
#pragma once
#include <span>
#include <vector>

#include "frontends/torch/library.h"

namespace md::torch {

// A tensor and what torch's accessors say of it.
struct Sample {
  const char* object;  // the Python object
  const char* impl;    // _cdata
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0, version = 0;
  uint64_t keys = 0;
  const void* storage_data = nullptr;  // null if is_lazy: to ask for it would copy
  int32_t dtype = 0;
  bool has_history = false;                    // a view, or requires grad
  bool is_inference = false, is_lazy = false;  // is_lazy: copied on write
};

// samples: of 0 to 8 dims, with offsets, of each dtype, parameters, views, written ones, one made in inference mode and
// one that is copied on write. Returns false if they have no layout in common.
bool find_layout(std::span<const Sample> samples, WordLayout& layout);

}  // namespace md::torch
