// Functions of formulas that put gradients where an op took elements from.
#include "autograd/rule_op.h"
#include "autograd/rules.h"
#include "base/error.h"

namespace md {
namespace {

namespace op = rule_ops;

const RuleOp new_zeros("new_zeros"), window_of("window"), copy_into("copy"), masked_select_places("nonzero"),
    argsort("argsort");

DimVec kept_sizes(const DimVec& sizes, const Arg& dim) {
  DimVec kept = sizes;
  for (int reduced : reduced_dims(dim, sizes.size())) kept[reduced] = 1;
  return kept;
}

// Zeros of these sizes with the gradient at the elements of a view: sizes, strides and offset in contiguous memory.
Tensor laid_into_zeros(const Tensor& gradient, const DimVec& whole_sizes, const TensorSpec& view, Dim offset) {
  return op::scatter_view(zeros_for(gradient, whole_sizes), gradient, view.sizes, view.strides,
                          Scalar::symbolic(offset));
}

// Sums gradients whose elements come from these places of a flattened tensor.
Tensor added_at(const Tensor& gradient, const DimVec& sizes, const Tensor& places) {
  Tensor zeros = zeros_for(gradient, {product(sizes.span())});
  Tensor flat = op::reshape(gradient, DimVec{-1});
  return op::reshape(op::index_add(zeros, whole(0), op::reshape(places, DimVec{-1}), flat), sizes);
}

}  // namespace

Tensor zeros_for(const Tensor& gradient, const DimVec& sizes) { return new_zeros(gradient, sizes); }

Tensor spread_over(const Tensor& gradient, const DimVec& sizes, const Arg& dim, bool keepdim) {
  if (sizes.empty()) return gradient;
  Tensor kept = keepdim ? gradient : op::reshape(gradient, kept_sizes(sizes, dim));
  return op::expand(kept, sizes);
}

namespace rules {

Arg zeros_of(const DifferentiatedCall&, RuleArgs args) { return zeros_for(tensor_in(args, 1), sizes_in(args, 0)); }

Arg spread(const DifferentiatedCall&, RuleArgs args) {
  return spread_over(tensor_in(args, 0), sizes_in(args, 1), args[2], truth_in(args, 3));
}

// The gradient at an index along a dim, 0 elsewhere.
Arg place(const DifferentiatedCall&, RuleArgs args) {
  Tensor gradient = tensor_in(args, 0), index = tensor_in(args, 3);
  const DimVec& sizes = sizes_in(args, 1);
  if (sizes.empty()) return op::reshape(gradient, DimVec{});
  if (!truth_in(args, 4)) {
    gradient = op::unsqueeze(gradient, args[2]);
    index = op::unsqueeze(index, args[2]);
  }
  return op::scatter_add(zeros_for(gradient, sizes), args[2], index, gradient);
}

// Of take_ranks: the elements that a sort puts at the ranks.
Arg place_at_ranks(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &gradient = tensor_in(args, 0), &self = tensor_in(args, 1);
  if (self->rank() == 0) return op::reshape(op::sum(gradient), DimVec{});
  static const RuleOp index_select("index_select");
  const DimVec& ranks = dims_in(args, 2);
  Tensor wanted = Tensor::empty(TensorSpec::contiguous(DType::int64, {ranks.size()}));
  for (int i = 0; i < ranks.size(); ++i) wanted.data<int64_t>()[i] = ranks[i].value();
  Tensor places = index_select(argsort(self, args[3]), args[3], wanted);
  return op::scatter_add(zeros_for(gradient, self.spec().sizes), args[3], places, gradient);
}

// Of masked_select.
Arg place_selected(const DifferentiatedCall&, RuleArgs args) {
  const Tensor& gradient = tensor_in(args, 0);
  const DimVec& sizes = sizes_in(args, 1);
  const DimVec& mask_sizes = sizes_in(args, 2);
  // The sizes that self and mask broadcast to.
  DimVec common = sizes.size() >= mask_sizes.size() ? sizes : mask_sizes;
  const DimVec& shorter = sizes.size() >= mask_sizes.size() ? mask_sizes : sizes;
  int lead = common.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i)
    if (known_equal(common[lead + i], 1)) common[lead + i] = shorter[i];
  if (common.empty()) return op::reshape(op::sum(gradient), DimVec{});
  std::vector<Tensor> places = op::unbind.all(masked_select_places(op::expand(args[2], common)), whole(1));
  DimVec dims;
  for (int i = 0; i < common.size(); ++i) dims.push_back(i);
  return op::index_put(zeros_for(gradient, common), places, dims, gradient, truth(false));
}

// Of a view op whose elements are apart: the gradient in zeros at the places of the view that is differentiated.
Arg lay(const DifferentiatedCall& call, RuleArgs args) {
  const DimVec& sizes = std::get<Tensor>(call.args[0]).spec().sizes;
  const Tensor& gradient = tensor_in(args, 0);
  std::vector<Arg> of_whole(call.args.begin(), call.args.end());
  of_whole[0] = Tensor::fake(TensorSpec::contiguous(gradient->dtype(), sizes));
  std::vector<OutSpec> outs;
  infer_results({call.row, of_whole}, outs);
  return laid_into_zeros(gradient, sizes, outs.at(0).spec, outs[0].view_offset);
}

// The same of a view whose place is the value of a tensor.
Arg lay_from(const DifferentiatedCall& call, RuleArgs args) { return lay(call, args.first(1)); }

// Of as_strided, whose elements may be elsewhere in the storage than self's: the places of self in a map of its memory.
Arg lay_strided(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &gradient = tensor_in(args, 0), &self = tensor_in(args, 1);
  const TensorSpec& spec = self.spec();
  if (self->kind() == TensorKind::Recording || !spec.is_contiguous())
    raise(ErrorKind::NotImplemented, "the gradient of as_strided of a tensor that is not contiguous");
  int64_t offset = has(args, 4) ? int_in(args, 4) - self->offset() : 0;
  Reach reach = reach_of({DType::int64, dims_in(args, 2), dims_in(args, 3)});
  int64_t count = spec.numel().value();
  if (reach.count() > 0 && (offset + reach.low < 0 || offset + reach.end > count))
    raise(ErrorKind::NotImplemented, "the gradient of as_strided to elements beyond those of its tensor");
  Tensor numbers = op::reshape(op::arange(Scalar(count)), spec.sizes);
  Tensor places = window_of(op::contiguous(numbers), dims_in(args, 2), dims_in(args, 3), Scalar(offset));
  return added_at(gradient, spec.sizes, places);
}

// Of unfold, whose windows may overlap.
Arg lay_windows(const DifferentiatedCall&, RuleArgs args) {
  const Tensor& gradient = tensor_in(args, 0);
  const DimVec& sizes = sizes_in(args, 1);
  if (sizes.empty()) return op::reshape(gradient, DimVec{});
  int64_t dim = int_in(args, 2) < 0 ? int_in(args, 2) + sizes.size() : int_in(args, 2);
  int at = static_cast<int>(dim);
  Tensor places = op::unfold(op::arange(Scalar::symbolic(sizes[at])), whole(0), args[3], args[4]);
  Tensor moved = op::movedim(gradient, DimVec{-1}, DimVec{dim + 1});
  DimVec flat = sizes;
  flat[at] = moved.spec().sizes[at] * moved.spec().sizes[at + 1];
  return op::index_add(zeros_for(gradient, sizes), whole(dim), op::reshape(places, DimVec{-1}),
                       op::reshape(moved, flat));
}

// Of window.
Arg lay_window(const DifferentiatedCall&, RuleArgs args) {
  const DimVec& sizes = sizes_in(args, 1);
  TensorSpec view{tensor_in(args, 0)->dtype(), dims_in(args, 2), dims_in(args, 3)};
  if (!tensor_in(args, 1).spec().is_contiguous())
    raise(ErrorKind::NotImplemented, "the gradient of a window of a tensor that is not contiguous");
  Tensor gradient = tensor_in(args, 0);
  // Elements that an expanded dim repeats get the sum.
  DimVec repeated;
  for (int i = 0; i < view.sizes.size(); ++i) {
    if (!known_equal(view.strides[i], 0) || known_equal(view.sizes[i], 1)) continue;
    repeated.push_back(i);
    view.sizes[i] = 1;
  }
  if (!repeated.empty()) gradient = op::sum(gradient, repeated, truth(true));
  if (!has_fixed_layout(view) || reach_of(view).count() >= view.numel().value())
    return laid_into_zeros(gradient, sizes, view, std::get<Scalar>(args[4]).as_dim());
  // Windows that overlap.
  Tensor numbers = op::reshape(op::arange(Scalar(product(sizes.span()).value())), sizes);
  return added_at(gradient, sizes, window_of(op::contiguous(numbers), view.sizes, view.strides, args[4]));
}

// Of a source larger than its index: the gradient at its start along each dim, zero elsewhere.
Arg lay_front(const DifferentiatedCall&, RuleArgs args) {
  const Tensor& gradient = tensor_in(args, 0);
  const auto* source = std::get_if<Tensor>(&args[1]);
  if (source == nullptr || same(gradient.spec().sizes, source->spec().sizes)) return gradient;
  TensorSpec view = TensorSpec::contiguous(gradient->dtype(), source->spec().sizes);
  view.sizes = gradient.spec().sizes;
  return laid_into_zeros(gradient, source->spec().sizes, view, 0);
}

// The gradient with the strides of what it is of.
Arg laid_as(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &gradient = tensor_in(args, 0), &self = tensor_in(args, 1);
  if (same(gradient.spec().strides, self.spec().strides)) return gradient;
  if (self.spec().is_contiguous()) return op::contiguous(gradient);
  if (gradient->kind() != TensorKind::Real)
    raise(ErrorKind::NotImplemented, "the gradient of a write into a view of a tensor that is not contiguous");
  TensorSpec spec = self.spec();
  spec.dtype = gradient->dtype();
  spec.requires_grad = false;
  return copy_into(Tensor::empty(spec), gradient);
}

namespace {

// Undefined gradients of results replaced by zeros. of: the results, or fakes of them.
std::vector<Tensor> all_defined(const DifferentiatedCall& call) {
  std::vector<Tensor> gradients(call.gradients.begin(), call.gradients.end());
  Tensor some;
  for (const Tensor& gradient : gradients)
    if (gradient.defined()) some = gradient;
  for (size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].defined()) gradients[i] = zeros_for(some, call.results[i].spec().sizes);
  return gradients;
}

}  // namespace

Arg join(const DifferentiatedCall& call, RuleArgs args) { return op::cat(all_defined(call), args[1]); }
Arg pile(const DifferentiatedCall& call, RuleArgs args) { return op::stack(all_defined(call), args[1]); }

// Of cat. An empty tensor of one dim may stand beside others of more.
Arg pieces(const DifferentiatedCall&, RuleArgs args) {
  const auto& tensors = std::get<std::vector<Tensor>>(args[1]);
  const Tensor& gradient = tensor_in(args, 0);
  int64_t dim = int_in(args, 2) < 0 ? int_in(args, 2) + gradient->rank() : int_in(args, 2);
  std::vector<Tensor> parts;
  Dim start = 0;
  for (const Tensor& tensor : tensors) {
    const DimVec& sizes = tensor.spec().sizes;
    if (sizes.size() != gradient->rank()) {
      parts.push_back(zeros_for(gradient, sizes));
      continue;
    }
    Dim length = sizes[static_cast<int>(dim)];
    parts.push_back(op::narrow(gradient, whole(dim), Scalar::symbolic(start), Scalar::symbolic(length)));
    start = start + length;
  }
  return parts;
}

Arg unrepeat(const DifferentiatedCall&, RuleArgs args) {
  const Tensor& gradient = tensor_in(args, 0);
  const DimVec &sizes = sizes_in(args, 1), &repeats = dims_in(args, 2);
  int lead = repeats.size() - sizes.size();
  DimVec apart, dims;
  for (int i = 0; i < repeats.size(); ++i) {
    dims.push_back(apart.size());
    apart.push_back(repeats[i]);
    apart.push_back(i < lead ? Dim(1) : sizes[i - lead]);
  }
  if (dims.empty()) return gradient;
  return op::reshape(op::sum(op::reshape(gradient, apart), dims), sizes);
}

// Of scatter's products with respect to the factors: at each place the product of the others, right where some are
// zero, too.
Arg scatter_factor(const DifferentiatedCall&, RuleArgs args) {
  static const RuleOp multiply("scatter.reduce");
  const Tensor &gradient = tensor_in(args, 0), &self = tensor_in(args, 1), &index = tensor_in(args, 3);
  Tensor factors = tensor_in(args, 4);
  for (int i = 0; i < factors->rank(); ++i)
    factors = op::narrow(factors, whole(i), whole(0), Scalar::symbolic(index.spec().sizes[i]));
  Tensor is_zero = op::eq(factors, whole(0)), safe = op::where(is_zero, whole(1), factors);
  Tensor product = multiply(self, args[2], index, safe, std::string("multiply"));
  Tensor zeros =
      op::scatter_add(zeros_for(gradient, self.spec().sizes), args[2], index, op::cast(is_zero, gradient->dtype()));
  Tensor rest = op::gather(product, args[2], index), zeros_there = op::gather(zeros, args[2], index);
  Tensor of_zero = op::where(op::eq(zeros_there, whole(1)), rest, whole(0));
  Tensor of_others = op::where(op::eq(zeros_there, whole(0)), op::div(rest, safe), whole(0));
  return op::mul(op::gather(gradient, args[2], index), op::where(is_zero, of_zero, of_others));
}

// Of the largest of windows: indices count within the last dims, as many as the list has.
Arg scatter_windows(const DifferentiatedCall&, RuleArgs args) {
  const DimVec& sizes = sizes_in(args, 1);
  int lead = sizes.size() - dims_in(args, 3).size();
  DimVec flat(sizes.span().subspan(0, static_cast<size_t>(lead)));
  flat.push_back(product(sizes.span().subspan(static_cast<size_t>(lead))));
  DimVec of_windows(sizes.span().subspan(0, static_cast<size_t>(lead)));
  of_windows.push_back(product(sizes_in(args, 2).span().subspan(static_cast<size_t>(lead))));
  Tensor zeros = zeros_for(tensor_in(args, 0), flat);
  Tensor index = op::reshape(args[2], of_windows), gradient = op::reshape(args[0], of_windows);
  return op::reshape(op::scatter_add(zeros, whole(lead), index, gradient), sizes);
}

}  // namespace rules
}  // namespace md
