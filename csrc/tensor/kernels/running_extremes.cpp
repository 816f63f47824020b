// cummax, cummin: the running extreme along a dim, and the index where it last occurred.
#include <algorithm>
#include <type_traits>

#include "tensor/dtype_dispatch.h"
#include "tensor/kernels/column_blocks.h"
#include "tensor/kernels/column_tiles.h"
#include "tensor/kernels/dim_slices.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"

namespace md {
namespace {

// Whether `value` replaces the best so far: equal ones do, and NaN always does.
template <typename T, typename Better>
bool replaces(T value, T best, const Better& better) {
  if constexpr (std::is_floating_point_v<T>) return (value != value) | better(value, best);
  return better(value, best);
}

// The best element so far, the index of the next element, and that of the best.
template <typename T>
struct Best {
  T value = 0;
  int64_t next = 0, place = 0;
};

template <typename T, typename Better>
void take(Best<T>& best, T value, const Better& better) {
  if (best.next == 0 || replaces(value, best.value, better)) {
    best.value = value;
    best.place = best.next;
  }
  ++best.next;
}

template <typename T, typename Better>
void run(const Tensor& self, int dim, std::span<Tensor> outs, const Better& better) {
  scan_slices<T>(self, outs[0], dim, 2.0, Best<T>(), [&](T* values, int64_t n, Best<T>& best) {
    for (int64_t i = 0; i < n; ++i) {
      take(best, values[i], better);
      values[i] = best.value;
    }
  });
  // A double represents every index exactly.
  scan_slices<T>(self, outs[1], dim, 2.0, Best<T>(), [&](T* values, int64_t n, Best<T>& best) {
    for (int64_t i = 0; i < n; ++i) {
      take(best, values[i], better);
      values[i] = static_cast<T>(best.place);
    }
  });
}

template <typename T, typename Better>
void run_row(const T* src, T* values, int64_t* places, int64_t length, const Better& better) {
  T best = src[0];
  int64_t place = 0;
  for (int64_t i = 0; i < length; ++i) {
    bool is_new = replaces(src[i], best, better);
    best = is_new ? src[i] : best;
    place = is_new ? i : place;
    values[i] = best;
    places[i] = place;
  }
}

// Columns next to each other, each row of `step` elements from the one before it. In loops of one kind of number each,
// which the compiler turns into vectors.
template <typename T, typename Better>
void run_columns(const T* src, T* values, int64_t* places, int64_t length, int64_t step, int64_t columns,
                 const Better& better) {
  alignas(64) T best[kTileColumns];
  alignas(64) int64_t place[kTileColumns] = {};
  alignas(64) uint8_t is_new[kTileColumns];
  std::copy_n(src, columns, best);
  for (int64_t row = 0; row < length; ++row, src += step, values += step, places += step) {
    for (int64_t i = 0; i < columns; ++i) is_new[i] = replaces(src[i], best[i], better);
    for (int64_t i = 0; i < columns; ++i) best[i] = is_new[i] != 0 ? src[i] : best[i];
    for (int64_t i = 0; i < columns; ++i) {
      int64_t mask = -static_cast<int64_t>(is_new[i]);
      place[i] = (place[i] & ~mask) | (row & mask);
    }
    std::copy_n(best, columns, values);
    std::copy_n(place, columns, places);
  }
}

// Where elements are as they are compared.
template <typename T, typename Better>
void run_plain(const Tensor& self, int64_t length, int64_t step, std::span<Tensor> outs, const Better& better) {
  const T* src = self.data<const T>();
  T* values = outs[0].data<T>();
  int64_t* places = outs[1].data<int64_t>();
  double ns = 1.5 * static_cast<double>(length);
  if (step > 1) {
    return for_column_tiles(self->numel() / (length * step), step, ns, [&] {
      return [&](const ColumnTile& tile) {
        int64_t first = tile.slice * length * step + tile.first;
        run_columns(src + first, values + first, places + first, length, step, tile.count, better);
      };
    });
  }
  parallel_for(self->numel() / length, ns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      run_row(src + i * length, values + i * length, places + i * length, length, better);
  });
}

// Where the dtype is one of numbers that are compared.
template <typename Better>
bool is_run_plain(const Tensor& self, int dim, std::span<Tensor> outs, const Better& better) {
  bool is_plain = self->rank() > 0 && self->is_contiguous() && outs[0]->is_contiguous() && outs[1]->is_contiguous();
  if (!is_plain || self->numel() == 0) return is_plain;
  int64_t step = 1, length = self->sizes()[dim];
  for (int i = dim + 1; i < self->rank(); ++i) step *= self->sizes()[i];
  return with_type(self->dtype(), [&]<typename T>() {
    constexpr bool kIsCompared = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;
    if constexpr (kIsCompared) run_plain<T>(self, length, step, outs, better);
    return kIsCompared;
  });
}

// Lines in any layout, of numbers that are compared.
template <typename Better>
bool are_blocks_run(const Tensor& self, int dim, std::span<Tensor> outs, const Better& better) {
  constexpr int64_t kLongest = 1 << 16;
  if (self->rank() == 0 || self->numel() == 0) return false;
  bool in_columns = ColumnBlocks::pay(self, outs[0], dim);
  if (!in_columns && self->sizes()[dim] > kLongest) return false;
  bool is_short = is_floating(self->dtype()) && item_size(self->dtype()) == 2;
  DType compared = is_short ? DType::float32 : self->dtype() == DType::bool_ ? DType::uint8 : self->dtype();
  auto compute = [&](const Tensor& lines, std::span<Tensor> results) {
    bool is_done = is_run_plain(lines, in_columns ? 0 : 1, results, better);
    MD_ASSERT(is_done, "a block of ", lines.spec().str());
  };
  BlockOperand from = {self, compared}, values = {outs[0], compared}, places = {outs[1], DType::int64};
  in_columns ? for_column_blocks(from, {values, places}, dim, 3.0, compute)
             : for_column_blocks<BlockLines::AsRows>(from, {values, places}, dim, 3.0, compute);
  return true;
}

template <typename Better>
void extreme(const OpCall& call, std::span<Tensor> outs, const Better& better) {
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, 1), self->rank());
  constexpr int64_t kShort = 16;
  bool are_short = self->rank() > 0 && self->sizes()[dim] <= kShort && ColumnBlocks::pay(self, outs[0], dim);
  if (!are_short && is_run_plain(self, dim, outs, better)) return;
  if (are_blocks_run(self, dim, outs, better)) return;
  if (is_floating(self->dtype())) return run<double>(self, dim, outs, better);
  if (self->dtype() == DType::uint64) return run<uint64_t>(self, dim, outs, better);
  run<int64_t>(self, dim, outs, better);
}

}  // namespace

void cummax_kernel(const OpCall& call, std::span<Tensor> outs) {
  extreme(call, outs, [](auto value, auto best) { return value >= best; });
}

void cummin_kernel(const OpCall& call, std::span<Tensor> outs) {
  extreme(call, outs, [](auto value, auto best) { return value <= best; });
}

}  // namespace md
