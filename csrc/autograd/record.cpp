#include "autograd/record.h"

#include "autograd/grad_history.h"
#include "autograd/op_node.h"
#include "base/error.h"
#include "tensor/ops/gradient_flow.h"
#include "tensor/ops/tensor_args.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

void follow_views(const OpRow& row, std::span<const Arg> args, std::span<const Tensor> results) {
  const auto* of = args.empty() ? nullptr : std::get_if<Tensor>(&args[0]);
  if (of == nullptr || !of->defined() || (*of)->kind() != TensorKind::Real) return;
  ViewOrigin origin = !tensor_modes().grad_enabled ? ViewOrigin::NoGrad
                      : row.returns_list()         ? ViewOrigin::OneOfSeveral
                                                   : ViewOrigin::Plain;
  for (const Tensor& result : results)
    if (is_inexact(result->dtype()) && result->storage().get() == (*of)->storage().get())
      note_view(result, *of, origin);
}

}  // namespace

void note_history(const OpRow& row, std::span<const Arg> args, std::span<const Tensor> results) {
  if (!gradients_in_use.load(std::memory_order_relaxed) || tensor_modes().inference_mode) return;
  if (row.kind == OpKind::View && passes_gradient(row)) follow_views(row, args, results);
  if (!tensor_modes().grad_enabled || !passes_gradient(row) || !any_requires_grad(args)) return;
  std::vector<size_t> places;
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& result = results[i];
    // A host call's function may have given it one.
    bool has_history = row.kind == OpKind::HostCall && result.requires_grad();
    if (result->kind() == TensorKind::Real && is_inexact(result->dtype()) && !is_an_argument(result, args) &&
        !has_history)
      places.push_back(i);
  }
  if (places.empty()) return;
  GradNodePtr node = make_op_node(row, args, results);
  for (size_t place : places) set_edge(results[place], {node, static_cast<int>(place)});
}

bool writes_history(const OpRow& row, std::span<const Arg> args, const Tensor& target) {
  const TensorModes& modes = tensor_modes();
  if (!gradients_in_use.load(std::memory_order_relaxed) || !modes.grad_enabled || modes.inference_mode) return false;
  if (target->kind() != TensorKind::Real || !is_inexact(target->dtype())) return false;
  bool is_wanted = target.requires_grad() || (passes_gradient(row) && any_requires_grad(args));
  GradHistory* history = history_of(target);
  bool is_view_of_wanted = history != nullptr && history->base.defined() && history->base.requires_grad();
  if (is_wanted || is_view_of_wanted) check_write_of_history(target);
  return is_wanted || is_view_of_wanted;
}

WriteHistory::WriteHistory(const OpRow& row, std::span<const Arg> args, const Tensor& target) : target_(target) {
  std::vector<Arg> before(args.begin(), args.end());
  // The target as it was: it gets another history.
  Tensor old = alias_with_edge(target, edge_of(target));
  for (Arg& arg : before)
    if (auto* tensor = std::get_if<Tensor>(&arg); tensor != nullptr && tensor->defined() && is_same(*tensor, target))
      *tensor = old;
  node_ = begin_op_node(row, before, old);
}

void WriteHistory::finish() {
  Tensor results[] = {target_};
  finish_op_node(*node_, results);
  rebase(target_, {node_, 0});
}

}  // namespace md
