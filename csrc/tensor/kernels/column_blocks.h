// Ops along one dim whose lines are short, or not side by side in memory: blocks of lines are copied so that they are
// columns next to each other, computed there, and copied to their places.
#pragma once
#include <initializer_list>
#include <span>
#include <vector>

#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/tensor.h"

namespace md {

enum class BlockLines : uint8_t { AsColumns, AsRows };

// The lines of a tensor along a dim, in blocks that fit in a cache with their results.
class ColumnBlocks {
 public:
  ColumnBlocks(const Tensor& self, int dim, BlockLines lines);

  // Whether lines as columns are faster than one by one: where they are short, or others are closer in memory than
  // their own elements, in self or in out.
  static bool pay(const Tensor& self, const Tensor& out, int dim);

  int64_t count() const { return count_; }
  int64_t most_columns() const { return most_columns_; }
  int64_t columns_of(int64_t block) const;
  // The block's part of a tensor with self's sizes, but for the dim's own: that dim first, or last.
  Tensor part_of(const Tensor& tensor, int64_t block) const;

 private:
  struct Cut {
    int64_t first, size;
  };
  Cut cut_of(int64_t block) const;

  int dim_;
  BlockLines lines_;
  std::vector<int> apart_;  // dims of which a block has one position each
  std::vector<int> whole_;  // those of which it has all
  int cut_dim_ = -1;        // that of which it has some
  int64_t cut_width_ = 1, cuts_ = 1, whole_columns_ = 1;
  int64_t count_ = 1, most_columns_ = 1;
  const Tensor& self_;
};

// A tensor of a block and the dtype in which it is computed.
struct BlockOperand {
  const Tensor& tensor;
  DType dtype;
};

// Where the lines of blocks are computed: copied in the tensor's own dtype, which has the faster loops, then converted.
class BlockRoom {
 public:
  BlockRoom(const BlockOperand& operand, const DimVec& largest);
  Tensor lines(const DimVec& sizes) const;
  void load(const Tensor& part, const Tensor& lines) const;
  void store(const Tensor& lines, const Tensor& part) const;

 private:
  Tensor computed_, own_;  // the same where no conversion is needed
};

// Calls compute(lines, results) for each block: lines (length, n), results (length or the size of the dim in that
// result, n), all contiguous; (n, length) as rows.
template <BlockLines kLines = BlockLines::AsColumns, typename Compute>
void for_column_blocks(const BlockOperand& self, std::initializer_list<BlockOperand> results, int dim,
                       double ns_per_item, const Compute& compute) {
  ColumnBlocks blocks(self.tensor, dim, kLines);
  auto sizes_of = [&](const BlockOperand& operand, int64_t columns) {
    int64_t length = operand.tensor->sizes()[dim];
    return kLines == BlockLines::AsColumns ? DimVec{length, columns} : DimVec{columns, length};
  };
  auto room_of = [&](const BlockOperand& operand) {
    return BlockRoom(operand, sizes_of(operand, blocks.most_columns()));
  };
  double ns = ns_per_item * static_cast<double>(self.tensor->sizes()[dim] * blocks.most_columns());
  parallel_for(blocks.count(), ns, [&](int64_t begin, int64_t end) {
    BlockRoom room = room_of(self);
    std::vector<BlockRoom> rooms;
    std::vector<Tensor> computed(results.size());
    for (const BlockOperand& result : results) rooms.push_back(room_of(result));
    for (int64_t block = begin; block < end; ++block) {
      int64_t columns = blocks.columns_of(block);
      Tensor lines = room.lines(sizes_of(self, columns));
      room.load(blocks.part_of(self.tensor, block), lines);
      for (size_t i = 0; i < rooms.size(); ++i) computed[i] = rooms[i].lines(sizes_of(results.begin()[i], columns));
      compute(lines, std::span<Tensor>(computed));
      for (size_t i = 0; i < rooms.size(); ++i)
        rooms[i].store(computed[i], blocks.part_of(results.begin()[i].tensor, block));
    }
  });
}

// A reduced result with the dim that it has lost, of size 1.
Tensor with_reduced_dim(const Tensor& result, int dim, int rank);

}  // namespace md
