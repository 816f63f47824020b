// A level's pointwise loops of integers and bool.
namespace md::MD_LEVEL {
namespace {

#include "tensor/simd/half_vectors.inl"
#include "tensor/simd/pointwise_functions.inl"

constexpr bool is_in_part(DTypeCategory category) {
  return category == DTypeCategory::Integer || category == DTypeCategory::Bool;
}

#include "tensor/simd/convert_loops.inl"
#include "tensor/simd/pointwise_loops.inl"

}  // namespace

const constinit PointwiseTable integer_pointwise = make_pointwise_table();

}  // namespace md::MD_LEVEL
