// Singular values and eigenvalues, by NumPy.
#include <vector>

#include "base/host_hooks.h"
#include "tensor/kernels/numpy_routine.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/simd/copy.h"

namespace md {
void numpy_kernel(const OpCall& call, std::span<Tensor> outs) {
  auto* run = host_hooks.run_numpy_routine.load();
  if (run == nullptr) raise_op(ErrorKind::Import, call.row.name, "there is no NumPy in this program");
  NumpyRoutine job{.routine = call.row.name, .operands = {}, .mode = {}, .tolerance = {}, .results = outs};
  std::vector<Tensor> operands;
  for (const Arg& arg : call.args) {
    if (const auto* tensor = std::get_if<Tensor>(&arg)) operands.push_back(as_contiguous(*tensor, (*tensor)->dtype()));
    if (const auto* text = std::get_if<std::string>(&arg)) job.mode = *text;
    if (const auto* number = std::get_if<Scalar>(&arg)) job.tolerance = number->as_double();
  }
  job.operands = operands;
  run(job);
}

}  // namespace md
