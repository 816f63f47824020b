// cummax, cummin: the running extreme along a dim, and the index where it last occurred.
#include <algorithm>
#include <type_traits>

#include "tensor/dtype_dispatch.h"
#include "tensor/kernels/column_blocks.h"
#include "tensor/kernels/dim_slices.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"

namespace md {
namespace {

// Whether `value` replaces the best so far: equal ones do, and NaN always does.
template <typename T, typename Better>
bool replaces(T value, T best, const Better& better) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value != value) return true;
    if (best != best) return false;
  }
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

// Where elements are as they are compared: rows of `step` elements, each from the one before it.
template <typename T, typename Better>
void run_plain(const Tensor& self, int64_t length, int64_t step, std::span<Tensor> outs, const Better& better) {
  const T* src = self.data<const T>();
  T* values = outs[0].data<T>();
  int64_t* places = outs[1].data<int64_t>();
  parallel_for(self->numel() / (length * step), 1.5 * static_cast<double>(length * step),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   int64_t first = i * length * step;
                   if (step == 1) {
                     run_row(src + first, values + first, places + first, length, better);
                     continue;
                   }
                   std::copy_n(src + first, step, values + first);
                   std::fill_n(places + first, step, int64_t{0});
                   for (int64_t row = 1; row < length; ++row) {
                     int64_t start = first + row * step;
                     for (int64_t at = start; at < start + step; ++at) {
                       bool is_new = replaces(src[at], values[at - step], better);
                       values[at] = is_new ? src[at] : values[at - step];
                       places[at] = is_new ? row : places[at - step];
                     }
                   }
                 }
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
