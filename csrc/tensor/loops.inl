// One level's loops. Included by loops_*.cpp with MD_LEVEL_NAME and MD_LEVEL_TABLE set, under that level's target.
namespace md {
namespace {

// The functions come first: the loops call them.
#include "tensor/pointwise_functions.inl"

#include "tensor/gemm_loops.inl"
#include "tensor/winograd_loops.inl"

#include "tensor/block_loops.inl"
#include "tensor/convert_loops.inl"
#include "tensor/pointwise_loops.inl"
#include "tensor/random_loops.inl"

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
