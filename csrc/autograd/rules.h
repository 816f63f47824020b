// The functions of rule_functions.def and whole_rules.def.
#pragma once
#include <vector>

#include "autograd/rule_function.h"

namespace md {

using RuleArgs = std::span<const Arg>;

namespace rules {
#define MD_RULE(name, arg_count, specs) Arg name(const DifferentiatedCall& call, RuleArgs args);
#include "autograd/rule_functions.def"
#undef MD_RULE
#define MD_WHOLE_RULE(name) std::vector<Arg> name(const DifferentiatedCall& call);
#include "autograd/whole_rules.def"
#undef MD_WHOLE_RULE
}  // namespace rules

inline const Tensor& tensor_in(RuleArgs args, size_t i) { return std::get<Tensor>(args[i]); }
inline const DimVec& sizes_in(RuleArgs args, size_t i) { return std::get<Tensor>(args[i]).spec().sizes; }
inline const DimVec& dims_in(RuleArgs args, size_t i) { return std::get<DimVec>(args[i]); }
inline int64_t int_in(RuleArgs args, size_t i) { return std::get<Scalar>(args[i]).as_int(); }
inline bool truth_in(RuleArgs args, size_t i) { return int_in(args, i) != 0; }
inline bool has(RuleArgs args, size_t i) { return !is_none(args[i]); }

// Zeros of these sizes, and of the dtype of a gradient.
Tensor zeros_for(const Tensor& gradient, const DimVec& sizes);
// The dims that a reduction's argument `dim` (None, a number or numbers) names, from 0 on; all of them for none.
std::vector<int> reduced_dims(const Arg& dim, int rank);
// A gradient of a reduction of something of these sizes, at each of its elements.
Tensor spread_over(const Tensor& gradient, const DimVec& sizes, const Arg& dim, bool keepdim);
// A bool matrix with True on the diagonal.
Tensor diagonal_mask(Dim n);

}  // namespace md
