// Functions of formulas for matrix products and convolutions.
#include "autograd/rule_numbers.h"
#include "autograd/rule_op.h"
#include "autograd/rules.h"

namespace md {
namespace {

namespace op = rule_ops;

// All dims but the last as one.
Tensor rows(const Tensor& tensor) {
  if (tensor->rank() == 2) return tensor;
  const DimVec& sizes = tensor.spec().sizes;
  Dim last = sizes[tensor->rank() - 1];
  return op::reshape(tensor, DimVec{product(sizes.span().first(static_cast<size_t>(tensor->rank() - 1))), last});
}
Tensor flat(const Tensor& tensor) { return op::reshape(tensor, DimVec{tensor.spec().numel()}); }
Tensor swapped(const Tensor& tensor) { return op::transpose(tensor, whole(-1), whole(-2)); }
Tensor as_column(const Tensor& tensor) { return op::unsqueeze(tensor, whole(-1)); }
Tensor as_row(const Tensor& tensor) { return op::unsqueeze(tensor, whole(-2)); }

}  // namespace

namespace rules {

// Of matmul(a, b) with respect to a.
Arg left_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &g = tensor_in(args, 0), &b = tensor_in(args, 2);
  const DimVec& sizes = sizes_in(args, 1);
  int rank = sizes.size();
  if (rank == 1 && b->rank() == 1) return op::mul(g, b);
  if (b->rank() == 1) return op::mul(as_column(g), b);
  if (rank == 1 && b->rank() == 2) return op::matmul(b, g);
  if (rank == 1) return sum_to(op::squeeze(op::matmul(b, as_column(g)), DimVec{-1}), sizes);
  if (b->rank() == 2 && rank > 2) return op::reshape(op::matmul(rows(g), op::t(b)), sizes);
  return op::matmul(g, swapped(b));
}

// Of matmul(a, b) with respect to b.
Arg right_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &g = tensor_in(args, 0), &a = tensor_in(args, 1);
  int rank = sizes_in(args, 2).size();
  if (a->rank() == 1 && rank == 1) return op::mul(g, a);
  if (rank == 1) return op::matmul(op::t(rows(a)), flat(g));
  if (a->rank() == 1 && rank == 2) return op::outer(a, g);
  if (a->rank() == 1) return op::mul(as_column(a), as_row(g));
  // One product for all matrices of a batch.
  if (rank == 2 && a->rank() > 2) return op::matmul(op::t(rows(a)), rows(g));
  return op::matmul(swapped(a), g);
}

Arg linear_weight(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &g = tensor_in(args, 0), &input = tensor_in(args, 1);
  bool is_vector = sizes_in(args, 2).size() == 1;
  if (input->rank() == 1) return is_vector ? op::mul(g, input) : op::outer(g, input);
  return is_vector ? op::matmul(flat(g), rows(input)) : op::matmul(op::t(rows(g)), rows(input));
}

}  // namespace rules

namespace {

// The arguments of a convolution's rule from the fourth on.
struct Windows {
  DimVec stride, padding, dilation;
  bool transposed;
  DimVec output_padding;
  int64_t groups;
  int spatial() const { return stride.size(); }
  DimVec none() const {
    DimVec zeros;
    zeros.resize(spatial());
    return zeros;
  }
};

Windows windows_of(RuleArgs args) {
  return {dims_in(args, 3), dims_in(args, 4), dims_in(args, 5), truth_in(args, 6), dims_in(args, 7), int_in(args, 8)};
}

// Those of convolution_weights.
Windows plain_windows_of(RuleArgs args) {
  return {dims_in(args, 3), dims_in(args, 4), dims_in(args, 5), false, {}, int_in(args, 6)};
}

// Without what lies beyond these sizes in the dims from the third on.
Tensor cut_to(Tensor tensor, const DimVec& sizes) {
  for (int i = 2; i < sizes.size(); ++i)
    if (!same(tensor.spec().sizes[i], sizes[i]))
      tensor = op::narrow(tensor, whole(i), whole(0), Scalar::symbolic(sizes[i]));
  return tensor;
}

Tensor convolved(const Tensor& input, const Tensor& weight, const Windows& windows, bool transposed,
                 const DimVec& output_padding) {
  return op::convolution(input, weight, std::monostate(), windows.stride, windows.padding, windows.dilation,
                         truth(transposed), output_padding, whole(windows.groups));
}

// The gradient of an input of these sizes, by that of the result.
Tensor other_way_round(const Tensor& g, const DimVec& sizes, const Tensor& weight, const Windows& windows) {
  if (windows.transposed) return cut_to(convolved(g, weight, windows, false, windows.none()), sizes);
  DimVec beyond;
  for (int i = 0; i < windows.spatial(); ++i) {
    Dim reached = (g.spec().sizes[2 + i] - 1) * windows.stride[i] - windows.padding[i] * 2 +
                  windows.dilation[i] * (weight.spec().sizes[2 + i] - 1) + 1;
    beyond.push_back(sizes[2 + i] - reached);
  }
  return convolved(g, weight, windows, true, beyond);
}

}  // namespace

namespace rules {

// The convolution the other way round.
Arg convolution_input(const DifferentiatedCall&, RuleArgs args) {
  return other_way_round(tensor_in(args, 0), sizes_in(args, 1), tensor_in(args, 2), windows_of(args));
}

// The windows of the larger side, by the smaller one.
Arg convolution_weight(const DifferentiatedCall&, RuleArgs args) {
  Windows windows = windows_of(args);
  const DimVec& sizes = sizes_in(args, 2);
  DimVec kernel;
  for (int i = 2; i < sizes.size(); ++i) kernel.push_back(sizes[i]);
  const Tensor &g = tensor_in(args, 0), &input = tensor_in(args, 1);
  return op::convolution_weights(windows.transposed ? input : g, windows.transposed ? g : input, kernel, windows.stride,
                                 windows.padding, windows.dilation, whole(windows.groups));
}

// Of convolution_weights: a convolution of the larger side by the gradient.
Arg convolution_small(const DifferentiatedCall&, RuleArgs args) {
  Windows windows = plain_windows_of(args);
  return cut_to(convolved(tensor_in(args, 2), tensor_in(args, 0), windows, false, windows.none()), sizes_in(args, 1));
}

// And one of the smaller side, the other way round.
Arg convolution_large(const DifferentiatedCall&, RuleArgs args) {
  return other_way_round(tensor_in(args, 1), sizes_in(args, 2), tensor_in(args, 0), plain_windows_of(args));
}

}  // namespace rules
}  // namespace md
