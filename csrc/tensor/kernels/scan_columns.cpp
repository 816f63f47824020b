#include "tensor/kernels/scan_columns.h"

#include <algorithm>

#include "tensor/fill.h"
#include "tensor/kernels/column_blocks.h"
#include "tensor/kernels/column_tiles.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

constexpr int64_t kWord = 8;  // bytes of a total

struct ColumnScan {
  DType from, total, into;
  PointwiseLoop combine;
  ConvertLoop load, save;
  int64_t length, step;

  ColumnScan(const Tensor& self, const Tensor& out, int64_t rows, int64_t row_step, Pointwise function)
      : from(self->dtype()),
        total(is_floating(out->dtype()) ? DType::float64 : DType::int64),
        into(out->dtype()),
        combine(pointwise_loop(static_cast<int>(function), total)),
        load(loops().convert[static_cast<int>(from)][static_cast<int>(total)]),
        save(loops().convert[static_cast<int>(total)][static_cast<int>(into)]),
        length(rows),
        step(row_step) {}

  void run(const char* src, char* dst, int64_t columns, const char* neutral) const {
    alignas(64) char totals[kTileColumns * kWord], loaded[kTileColumns * kWord];
    for (int64_t i = 0; i < columns; ++i) std::copy_n(neutral, kWord, totals + i * kWord);
    for (int64_t row = 0; row < length; ++row) {
      load(src + static_cast<size_t>(row * step) * item_size(from), loaded, columns);
      const void* operands[] = {totals, loaded};
      combine(operands, totals, columns, nullptr);
      save(totals, dst + static_cast<size_t>(row * step) * item_size(into), columns);
    }
  }
};

}  // namespace

bool scan_columns(const Tensor& self, const Tensor& out, int dim, Pointwise function, int64_t neutral) {
  constexpr int64_t kLeastColumns = 8;
  if (self->rank() == 0 || !self->is_contiguous() || self->numel() == 0 || is_complex(out->dtype())) return false;
  int64_t step = 1, length = self->sizes()[dim];
  for (int i = dim + 1; i < self->rank(); ++i) step *= self->sizes()[i];
  if (step < kLeastColumns) return false;
  ColumnScan scan(self, out, length, step, function);
  alignas(8) char first[kWord];
  store_scalar(scan.total, Scalar(neutral), first);
  for_column_tiles(self->numel() / (length * step), step, static_cast<double>(length), [&] {
    return [&](const ColumnTile& tile) {
      int64_t start = tile.slice * length * step + tile.first;
      scan.run(self.data<const char>() + static_cast<size_t>(start) * item_size(scan.from),
               out.data<char>() + static_cast<size_t>(start) * item_size(scan.into), tile.count, first);
    };
  });
  return true;
}

void scan_blocks(const Tensor& self, const Tensor& out, int dim, Pointwise function, int64_t neutral) {
  for_column_blocks({self, self->dtype()}, {{out, out->dtype()}}, dim, 2.0,
                    [&](const Tensor& columns, std::span<Tensor> results) {
                      bool is_done = scan_columns(columns, results[0], 0, function, neutral);
                      MD_ASSERT(is_done, "a block of ", columns.spec().str());
                    });
}

}  // namespace md
