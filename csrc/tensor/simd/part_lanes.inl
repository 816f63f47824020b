// A level's loops of kernels that compute many results side by side.
namespace md::MD_LEVEL {
namespace {

#include "tensor/simd/half_vectors.inl"
#include "tensor/simd/vectors.inl"

#include "tensor/simd/pointwise_functions.inl"
#include "tensor/simd/vector_turns.inl"

#include "tensor/simd/window_loops.inl"

#include "tensor/simd/deal_loops.inl"

#include "tensor/simd/lane_loops.inl"

}  // namespace

const constinit LaneTable lanes = {lane_loops<float>(),
                                   lane_loops<double>(),
                                   {deal_run<uint8_t>, deal_run<uint16_t>, deal_run<uint32_t>, deal_run<uint64_t>}};

}  // namespace md::MD_LEVEL
