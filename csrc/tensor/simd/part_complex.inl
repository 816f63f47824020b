// A level's pointwise loops of complex numbers.
namespace md::MD_LEVEL {
namespace {

#include "tensor/simd/vectors.inl"

#include "tensor/simd/complex_functions.inl"
#include "tensor/simd/complex_vectors.inl"

#include "tensor/simd/complex_products.inl"

#include "tensor/simd/complex_loops.inl"

}  // namespace

const constinit PointwiseTable complex_pointwise = make_complex_table();
const constinit ComplexLoops<float> f32_complex = complex_loops<float>();
const constinit ComplexLoops<double> f64_complex = complex_loops<double>();

}  // namespace md::MD_LEVEL
