// Decompositions and solutions of matrices, by a LAPACK from outside.
#include <vector>

#include "tensor/kernels/lapack.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

LapackLibrary installed = nullptr;

}  // namespace

void set_lapack(LapackLibrary library) { installed = library; }

void lapack_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (installed == nullptr) raise_op(ErrorKind::Import, call.row.name, "there is no LAPACK in this program");
  LapackJob job{.routine = call.row.name, .operands = {}, .mode = {}, .tolerance = {}, .results = outs};
  std::vector<Tensor> operands;
  for (const Arg& arg : call.args) {
    if (const auto* tensor = std::get_if<Tensor>(&arg)) operands.push_back(as_contiguous(*tensor, (*tensor)->dtype()));
    if (const auto* text = std::get_if<std::string>(&arg)) job.mode = *text;
    if (const auto* number = std::get_if<Scalar>(&arg)) job.tolerance = number->as_double();
  }
  job.operands = operands;
  installed(job);
}

}  // namespace md
