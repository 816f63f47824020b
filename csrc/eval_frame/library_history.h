// The history of runs over tensors of a library that records its operations: one node of the library's stands for a
// run. All of this requires the GIL.
#pragma once
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "executor/gradient_plan.h"
#include "guards/tensor_family.h"

namespace md {

// The inputs of a run that it writes and its backward reads, as they were before it, by input.
using InputsBefore = std::vector<std::pair<size_t, Tensor>>;
InputsBefore inputs_before(const TensorFamily& family, const GradientPlan& plan, std::span<const GraphInput> inputs,
                           std::span<const InputWrite> writes);

// Behind a run of plan->forward(). Outputs that require grad become results in the library's history, but for views of
// its objects: of those the library makes the history with the view. writes: by output, how many writes its memory is
// to have counted before the history keeps it; may be shorter. Throws PythonError if the library refuses.
void record_run(const TensorFamily& family, const std::shared_ptr<GradientPlan>& plan,
                std::span<const GraphInput> inputs, std::span<Tensor> outputs, const InputsBefore& before = {},
                std::span<const int> writes = {});

}  // namespace md
