// The tensors among the arguments of a call, those in lists too.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "tensor/ops/op_row.h"

namespace md {

template <typename Predicate>
bool any_tensor(std::span<const Arg> args, Predicate predicate) {
  for (const Arg& arg : args) {
    if (const auto* tensor = std::get_if<Tensor>(&arg)) {
      if (tensor->defined() && predicate(*tensor)) return true;
    } else if (const auto* list = std::get_if<std::vector<Tensor>>(&arg)) {
      if (std::ranges::any_of(*list, predicate)) return true;
    }
  }
  return false;
}

template <typename Visit>
void for_each_tensor(std::span<const Arg> args, Visit visit) {
  any_tensor(args, [&](const Tensor& tensor) {
    visit(tensor);
    return false;
  });
}

inline bool any_requires_grad(std::span<const Arg> args) {
  return any_tensor(args, [](const Tensor& tensor) { return tensor.requires_grad(); });
}

inline bool is_an_argument(const Tensor& result, std::span<const Arg> args) {
  return any_tensor(args, [&](const Tensor& tensor) { return is_same(tensor, result); });
}

}  // namespace md
