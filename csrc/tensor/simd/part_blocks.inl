// A level's products, convolutions, reductions and random numbers, and the table of all its loops.
namespace md::MD_LEVEL {
namespace {

#include "tensor/simd/half_vectors.inl"
#include "tensor/simd/vectors.inl"

#include "tensor/simd/pointwise_functions.inl"

#include "tensor/simd/gemm_loops.inl"
#include "tensor/simd/winograd_loops.inl"

#include "tensor/simd/block_loops.inl"
#include "tensor/simd/vector_turns.inl"

#include "tensor/simd/depthwise_channels.inl"

#include "tensor/simd/depthwise_loops.inl"
#include "tensor/simd/factor_loops.inl"
#include "tensor/simd/pick_loops.inl"
#include "tensor/simd/product_loops.inl"
#include "tensor/simd/quantized_loops.inl"
#include "tensor/simd/random_loops.inl"
#include "tensor/simd/repeat_loops.inl"
#include "tensor/simd/reversed_loops.inl"

constexpr LoopTable make_table() {
  LoopTable table{};
  table.name = MD_LEVEL_NAME;
  for (int dtype = 0; dtype < kDTypeCount; ++dtype) {
    DTypeCategory category = kDTypes[dtype].category;
    table.pointwise[dtype] = (category == DTypeCategory::Floating  ? float_pointwise
                              : category == DTypeCategory::Complex ? complex_pointwise
                                                                   : integer_pointwise)
                                 .loops[dtype];
  }
  table.convert = conversions.loops;
  fill_blocks(table);
  fill_picks(table);
  fill_repeats(table);
  fill_reversed(table);
  table.order = &order;
  table.fourier = &fourier;
  table.lanes = &lanes;
  table.specials = &specials;
  table.f32_complex = &f32_complex;
  table.f64_complex = &f64_complex;
  table.random = {twist_words_run, temper_words_run, uniform_floats_run, uniform_doubles_run};
  table.bytes = {bytes_run, floats_of_sums_run};
  table.depthwise = depthwise_loops();
  table.f32_products = product_loops<float>();
  table.f64_products = product_loops<double>();
  table.f32_factors = factor_loops<float>();
  table.f64_factors = factor_loops<double>();
  return table;
}

}  // namespace

const constinit LoopTable table = make_table();

}  // namespace md::MD_LEVEL
