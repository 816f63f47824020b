// A level's loops of Fourier transforms.
namespace md::MD_LEVEL {
namespace {

#include "tensor/simd/vectors.inl"

#include "tensor/simd/vector_turns.inl"

#include "tensor/simd/fourier_butterflies.inl"
#include "tensor/simd/fourier_loops.inl"

}  // namespace

const constinit FourierTable fourier = {fourier_loops<float>(), fourier_loops<double>()};

}  // namespace md::MD_LEVEL
