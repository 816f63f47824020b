// Functions of formulas that compute numbers, sizes and lists of dims.
#include "autograd/rules.h"
#include "base/error.h"

namespace md {

std::vector<int> reduced_dims(const Arg& dim, int rank) {
  std::vector<int> dims;
  auto add = [&](int64_t at) { dims.push_back(static_cast<int>(at < 0 ? at + rank : at)); };
  if (rank == 0) return dims;
  if (const auto* number = std::get_if<Scalar>(&dim)) {
    add(number->as_int());
  } else if (const auto* list = std::get_if<DimVec>(&dim)) {
    for (Dim element : *list) add(element.value());
  }
  if (dims.empty())
    for (int i = 0; i < rank; ++i) dims.push_back(i);
  return dims;
}

namespace rules {

Arg sizes(const DifferentiatedCall&, RuleArgs args) { return sizes_in(args, 0); }
Arg dim(const DifferentiatedCall&, RuleArgs args) { return Scalar(static_cast<int64_t>(sizes_in(args, 0).size())); }
Arg size(const DifferentiatedCall&, RuleArgs args) {
  return Scalar::symbolic(sizes_in(args, 0)[static_cast<int>(int_in(args, 1))]);
}
Arg dtype(const DifferentiatedCall&, RuleArgs args) { return tensor_in(args, 0)->dtype(); }

// How many elements a reduction makes one of.
Arg count(const DifferentiatedCall&, RuleArgs args) {
  const DimVec& sizes = sizes_in(args, 0);
  Dim count = 1;
  for (int dim : reduced_dims(args[1], sizes.size())) count = count * sizes[dim];
  return Scalar::symbolic(count);
}

// What a variance's count is lessened by: correction, or unbiased.
Arg degrees(const DifferentiatedCall&, RuleArgs args) {
  if (!has(args, 0)) return Scalar(int64_t{1});
  const Scalar& given = std::get<Scalar>(args[0]);
  return given.kind() == Scalar::Kind::Bool ? Scalar(given.as_int()) : given;
}

Arg is_tensor(const DifferentiatedCall&, RuleArgs args) { return Scalar(std::holds_alternative<Tensor>(args[0])); }

Arg inverse_order(const DifferentiatedCall&, RuleArgs args) {
  const DimVec& dims = dims_in(args, 0);
  DimVec inverse;
  inverse.resize(dims.size());
  for (int i = 0; i < dims.size(); ++i) {
    int64_t dim = dims[i].value();
    inverse[static_cast<int>(dim < 0 ? dim + dims.size() : dim)] = i;
  }
  return inverse;
}

Arg negated(const DifferentiatedCall&, RuleArgs args) {
  DimVec result;
  for (Dim dim : dims_in(args, 0)) result.push_back(Dim(0) - dim);
  return result;
}

// The last dims of a tensor, as many as the list has.
Arg last_dims(const DifferentiatedCall&, RuleArgs args) {
  int rank = sizes_in(args, 0).size();
  DimVec dims;
  for (int i = rank - dims_in(args, 1).size(); i < rank; ++i) dims.push_back(i);
  return dims;
}

// All dims but one.
Arg other_dims(const DifferentiatedCall&, RuleArgs args) {
  DimVec dims;
  for (int i = 0; i < sizes_in(args, 0).size(); ++i)
    if (i != int_in(args, 1)) dims.push_back(i);
  return dims;
}

}  // namespace rules
}  // namespace md
