// Shared by shape rules.
#pragma once
#include <utility>
#include <vector>

#include "tensor/ops/call_args.h"

namespace md {

inline const TensorSpec& self_spec(const OpCall& call) { return tensor_arg(call, 0).spec(); }

inline void push_contiguous(std::vector<OutSpec>& outs, DType dtype, DimVec sizes) {
  outs.push_back({TensorSpec::contiguous(dtype, std::move(sizes)), 0});
}

}  // namespace md
