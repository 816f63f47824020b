// One level's loops. Included by loops_*.cpp with MD_LEVEL_NAME and MD_LEVEL_TABLE defined, under that level's target.
namespace md {
namespace {

// The functions come first: the loops call them.
#include "tensor/simd/pointwise_functions.inl"

#include "tensor/simd/gemm_loops.inl"
#include "tensor/simd/winograd_loops.inl"

#include "tensor/simd/block_loops.inl"
#include "tensor/simd/convert_loops.inl"
#include "tensor/simd/pointwise_loops.inl"
#include "tensor/simd/random_loops.inl"

}  // namespace

static constexpr LoopTable make_loop_table() {
  LoopTable table{};
  table.name = MD_LEVEL_NAME;
  fill_pointwise(table);
  fill_convert(table);
  fill_blocks(table);
  table.random_words = random_words_run;
  return table;
}

const constinit LoopTable MD_LEVEL_TABLE = make_loop_table();

}  // namespace md
