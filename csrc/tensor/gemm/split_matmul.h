// A matrix product in pieces for the threads of the pool, each a single-threaded call of oneDNN or of our
// own loops. oneDNN's own threads are OpenMP's: a call would not return until each of them has been
// scheduled, even if it has nothing to do.
// The split depends only on the shape, never on the number of threads, unless no result depends on the split (our own
// loops with b as it comes). Packed matrices are split by columns depending on k and n only, so products with any
// number of rows share them.
#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tensor/gemm/gemm.h"
#include "tensor/gemm/onednn.h"
#include "tensor/gemm/packed_weights.h"
#include "tensor/parallel/threads.h"

namespace md {

// A part of c: matrices, rows, columns.
struct MatmulBlock {
  int64_t first_matrix, matrices;
  int64_t first_row, rows;
  int64_t first_column, columns;
};

struct MatmulOperands {
  const void* a;
  const void* b;
  const void* bias;  // null if there is none
  void* c;
};

// Whether the extents of a product change from call to call. For those no primitive is made on the way, as each is for
// one shape: products of float32 run on our own loops, with b in place or packed.
enum class Extents : uint8_t { Fixed, Change };

class SplitMatmul : public WeightPacking {
 public:
  // Null if neither oneDNN nor our own loops support the product. With spec.packs_weights, b was packed by pack(); then
  // also null if packing does not pay.
  static std::shared_ptr<const SplitMatmul> make(const MatmulSpec& spec, Extents extents = Extents::Fixed);
  // One piece for every `rows` rows of each matrix.
  static std::shared_ptr<const SplitMatmul> make_by_rows(const MatmulSpec& spec, int64_t rows,
                                                         Extents extents = Extents::Fixed);

  void run(const MatmulOperands& operands) const {
    run(operands, [](const MatmulBlock&) {});
  }
  // done(block) is called by the thread that computed it.
  template <typename Done>
  void run(const MatmulOperands& operands, const Done& done) const {
    if (divides_freely()) return run_shares(operands, done);
    if (piece_count() == 1) return run_whole(operands, done);
    parallel_for(piece_count(), ns_per_piece_, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        MatmulBlock piece = block(i);
        run_piece(i, piece, starts_of(piece, packed_at(i), operands));
        done(piece);
      }
    });
  }

  // For callers that run the pieces themselves. A block's a or c may be elsewhere, row-major without gaps.
  int64_t piece_count() const { return counts_.matrices * counts_.rows * counts_.columns; }
  MatmulBlock block(int64_t piece) const;
  void run_piece(int64_t piece, const MatmulOperands& operands, const void* own_a, void* own_c) const;
  double ns_per_piece() const { return ns_per_piece_; }

  const MatmulSpec& spec() const { return spec_; }
  // Whether a packed b would be read faster: by our own loops, not for one row. There is none of float64.
  bool packing_pays() const {
    if (spec_.batch > 1 || engine_ == Engine::Rows) return false;
    return engine_ == Engine::Primitive || (spec_.dtype == DType::float32 && spec_.m > 1);
  }
  size_t packed_bytes() const override { return packed_bytes_; }
  void pack(const void* b, void* packed) const override;
  const std::string& packed_layout() const override { return packed_layout_; }
  std::string implementation() const;
  size_t nbytes() const;
  // Whether there might be something faster for fixed extents.
  bool stands_in() const { return stands_in_; }

 private:
  enum class Engine : uint8_t { Primitive, Rows, Gemm };
  struct Grid {
    int64_t matrices, rows, columns;  // of a whole piece, or of pieces
  };

  SplitMatmul(const MatmulSpec& spec, const Grid& grid, Extents extents);
  static std::shared_ptr<const SplitMatmul> make_with(const MatmulSpec& spec, const Grid& grid, Extents extents);
  static Grid choose_grid(const MatmulSpec& spec);
  static Grid packed_grid(const MatmulSpec& spec, int64_t wanted);
  bool add_primitives();
  bool add_primitives_of_column();
  OnednnPackingPtr make_primitive(const MatmulBlock& block) const;
  // Pieces of the same columns are consecutive: a thread that takes several reads the same part of b.
  int64_t pieces_of_column() const { return counts_.matrices * counts_.rows; }
  MatmulBlock whole() const { return {0, spec_.batch, 0, spec_.m, 0, spec_.n}; }
  size_t packed_at(int64_t piece) const {
    return packed_at_.empty() ? 0 : packed_at_[static_cast<size_t>(piece / pieces_of_column())];
  }
  // The operands, offset to the start of the block.
  MatmulOperands starts_of(const MatmulBlock& block, size_t packed_at, const MatmulOperands& operands) const;
  // The results of our own loops are the same however rows and columns are split: into as few parts as there are
  // threads.
  bool divides_freely() const { return engine_ == Engine::Gemm && spec_.batch == 1; }
  int64_t share_count(double ns) const;
  MatmulBlock share(int64_t index, int64_t count) const;
  template <typename Done>
  void run_whole(const MatmulOperands& operands, const Done& done) const {
    run_piece(0, whole(), operands);
    done(whole());
  }
  // A matrix times itself, transposed: the half of the result above the diagonal is that below it.
  bool is_symmetric(const MatmulOperands& operands) const;
  int64_t symmetric_rows() const;
  void run_lower(int64_t first_row, int64_t rows, const MatmulOperands& operands) const;
  void mirror(int64_t first_row, int64_t rows, const MatmulOperands& operands) const;
  template <typename Done>
  void run_symmetric(const MatmulOperands& operands, const Done& done) const {
    int64_t rows = symmetric_rows(), count = (spec_.m + rows - 1) / rows;
    double ns = ns_per_piece_ * static_cast<double>(piece_count()) / static_cast<double>(2 * count);
    auto for_blocks = [&](double ns_per_block, const auto& run_block) {
      parallel_for(count, ns_per_block, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) run_block(i * rows, std::min(rows, spec_.m - i * rows));
      });
    };
    for_blocks(ns, [&](int64_t first, int64_t length) { run_lower(first, length, operands); });
    for_blocks(ns / 16, [&](int64_t first, int64_t length) { mirror(first, length, operands); });
    // Only now: what `done` writes in one block, mirror() reads in others.
    for_blocks(ns / 16, [&](int64_t first, int64_t length) { done(MatmulBlock{0, 1, first, length, 0, spec_.n}); });
  }
  template <typename Done>
  void run_shares(const MatmulOperands& operands, const Done& done) const {
    if (is_symmetric(operands)) return run_symmetric(operands, done);
    double ns = ns_per_piece_ * static_cast<double>(piece_count());
    int64_t count = share_count(ns);
    parallel_for(count, ns / static_cast<double>(count), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        MatmulBlock block = share(i, count);
        if (block.rows <= 0 || block.columns <= 0) continue;
        run_own_loops(block, starts_of(block, 0, operands));
        done(block);
      }
    });
  }
  void run_piece(int64_t piece, const MatmulBlock& block, const MatmulOperands& starts) const;
  void run_primitive(int64_t piece, const MatmulOperands& starts) const;
  void run_apart(int64_t piece, const MatmulBlock& block, const MatmulOperands& starts) const;
  template <typename T>
  GemmProblem<T> problem_of(const MatmulBlock& block, int64_t matrix, const MatmulOperands& starts) const;
  template <typename T>
  void run_own_loops_of(const MatmulBlock& block, const MatmulOperands& starts) const;
  void run_own_loops(const MatmulBlock& block, const MatmulOperands& starts) const;

  MatmulSpec spec_;
  bool stands_in_;  // our own loops, where a primitive would be made if extents were fixed
  Engine engine_;
  GemmMethod method_ = GemmMethod::Panels;  // for Engine::Gemm: of all pieces; for Engine::Rows: Dots, or by rows
  Grid grid_, counts_;
  std::vector<OnednnPackingPtr> primitives_;  // for Engine::Primitive: by piece
  std::vector<size_t> packed_at_;             // by part of the columns: its byte offset in a packed b
  double ns_per_piece_ = 0;
  size_t packed_bytes_ = 0;
  std::string packed_layout_;
};
using SplitMatmulPtr = std::shared_ptr<const SplitMatmul>;

}  // namespace md
