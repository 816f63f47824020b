// A level's pointwise loops of complex numbers.
namespace md::MD_LEVEL {
namespace {

#include "tensor/simd/complex_functions.inl"
#include "tensor/simd/complex_loops.inl"

}  // namespace

const constinit PointwiseTable complex_pointwise = make_complex_table();

}  // namespace md::MD_LEVEL
