#include "tensor/kernels/failed_matrices.h"

#include <algorithm>
#include <optional>

#include "tensor/ops/call_args.h"

namespace md {
namespace {

struct Failure {
  int32_t column;
  std::string element;  // which matrix of a batch
};

std::optional<Failure> first_failure(const OpCall& call, std::span<const int32_t> infos) {
  auto failed = std::ranges::find_if(infos, [](int32_t info) { return info != 0; });
  if (failed == infos.end()) return std::nullopt;
  bool is_batch = tensor_arg(call, 0)->rank() > 2;
  return Failure{*failed, is_batch ? str_cat("(Batch element ", failed - infos.begin(), "): ") : ""};
}

}  // namespace

void raise_if_singular(const OpCall& call, std::span<const int32_t> infos, const char* consequence) {
  std::optional<Failure> failure = first_failure(call, infos);
  if (!failure) return;
  raise_op(ErrorKind::LinearAlgebra, call.row.name, failure->element, "The diagonal element ", failure->column,
           " is zero, ", consequence, " because the input matrix is singular");
}

void raise_if_not_positive(const OpCall& call, std::span<const int32_t> infos) {
  std::optional<Failure> failure = first_failure(call, infos);
  if (!failure) return;
  raise_op(ErrorKind::LinearAlgebra, call.row.name, failure->element,
           "The factorization could not be completed because the input is not positive-definite (the leading minor of "
           "order ",
           failure->column, " is not positive-definite)");
}

}  // namespace md
