#include "tensor/kernels/softmax_columns.h"

#include <algorithm>
#include <cmath>

#include "tensor/kernels/column_blocks.h"
#include "tensor/kernels/column_tiles.h"
#include "tensor/kernels/dim_slices.h"
#include "tensor/kernels/reduction.h"
#include "tensor/simd/loops.h"
#include "tensor/simd/pointwise.h"

namespace md {
namespace {

template <typename T>
class SoftmaxOfColumns {
 public:
  SoftmaxOfColumns(const Tensor& self, const Tensor& out, int64_t length, int64_t step)
      : src_item_(item_size(self->dtype())),
        dst_item_(item_size(out->dtype())),
        load_(conversion(self->dtype(), dtype_of<T>())),
        save_(conversion(dtype_of<T>(), out->dtype())),
        loads_(self->dtype() != dtype_of<T>()),
        holds_totals_(out->dtype() == dtype_of<T>()),
        length_(length),
        step_(step) {}

  // dst may be src.
  void run(const char* src, char* dst, int64_t columns, ColumnResult result) {
    src_ = src;
    dst_ = dst;
    columns_ = columns;
    keeps_exponentials_ = result == ColumnResult::Softmax && holds_totals_;
    find_largest();
    // Of infinities alone, whose differences are NaN, the logarithm of the sum is known without.
    for (int64_t i = 0; i < columns_ && result == ColumnResult::LogSumExp; ++i)
      largest_[i] = std::isinf(largest_[i]) ? T(0) : largest_[i];
    add_exponentials();
    switch (result) {
      case ColumnResult::Softmax:
        return divide_exponentials();
      case ColumnResult::LogSoftmax:
        return subtract_logarithms();
      case ColumnResult::LogSumExp:
        apply(Pointwise::log, sums_);
        apply(Pointwise::add, sums_, largest_, sums_);
        return store(0, sums_);
    }
  }

 private:
  using Row = T[kTileColumns];

  static ConvertLoop conversion(DType from, DType to) {
    return loops().convert[static_cast<int>(from)][static_cast<int>(to)];
  }

  const T* row(int64_t at) {
    const char* elements = src_ + static_cast<size_t>(at * step_) * src_item_;
    if (!loads_) return reinterpret_cast<const T*>(elements);
    load_(elements, loaded_, columns_);
    return loaded_;
  }

  void store(int64_t at, const T* values) {
    save_(values, dst_ + static_cast<size_t>(at * step_) * dst_item_, columns_);
  }

  void apply(Pointwise function, const T* a, const T* b, T* result) const {
    const void* operands[] = {a, b};
    pointwise_loop(static_cast<int>(function), dtype_of<T>())(operands, result, columns_, nullptr);
  }

  void apply(Pointwise function, T* values) const {
    const void* operands[] = {values};
    pointwise_loop(static_cast<int>(function), dtype_of<T>())(operands, values, columns_, nullptr);
  }

  void find_largest() {
    std::copy_n(row(0), columns_, largest_);
    for (int64_t i = 1; i < length_; ++i) apply(Pointwise::maximum, largest_, row(i), largest_);
  }

  // Where the exponentials of a row are computed.
  T* place(int64_t at) {
    return keeps_exponentials_ ? reinterpret_cast<T*>(dst_ + static_cast<size_t>(at * step_) * dst_item_) : computed_;
  }

  const T* exponentials(int64_t at) {
    T* result = place(at);
    apply(Pointwise::sub, row(at), largest_, result);
    apply(Pointwise::exp, result);
    return result;
  }

  // Of a number of rows each, and then these sums: rounding grows with the number of additions to one sum.
  void add_exponentials() {
    std::fill_n(sums_, columns_, T(0));
    for (int64_t first = 0; first < length_; first += kMostRowsInOneSum) {
      Row part = {};
      for (int64_t i = first; i < std::min(length_, first + kMostRowsInOneSum); ++i)
        apply(Pointwise::add, part, exponentials(i), part);
      apply(Pointwise::add, sums_, part, sums_);
    }
  }

  void divide_exponentials() {
    for (int64_t i = 0; i < columns_; ++i) sums_[i] = T(1) / sums_[i];
    for (int64_t at = 0; at < length_; ++at) {
      if (!keeps_exponentials_) exponentials(at);
      apply(Pointwise::mul, place(at), sums_, place(at));
      if (!keeps_exponentials_) store(at, computed_);
    }
  }

  void subtract_logarithms() {
    apply(Pointwise::log, sums_);
    for (int64_t at = 0; at < length_; ++at) {
      apply(Pointwise::sub, row(at), largest_, computed_);
      apply(Pointwise::sub, computed_, sums_, computed_);
      store(at, computed_);
    }
  }

  size_t src_item_, dst_item_;
  ConvertLoop load_, save_;
  bool loads_, holds_totals_;  // whether self's elements are converted; whether out's dtype is the one of the totals
  bool keeps_exponentials_ = false;  // in out
  int64_t length_, step_;
  const char* src_ = nullptr;
  char* dst_ = nullptr;
  int64_t columns_ = 0;
  alignas(64) Row largest_, sums_, computed_, loaded_;
};

template <typename T>
void run_tiles(const Tensor& self, const Tensor& out, int64_t length, int64_t step, ColumnResult result) {
  int64_t kept = result == ColumnResult::LogSumExp ? 1 : length;
  for_column_tiles(self->numel() / (length * step), step, 3.0 * static_cast<double>(length), [&] {
    return [&, columns = SoftmaxOfColumns<T>(self, out, length, step)](const ColumnTile& tile) mutable {
      int64_t first = tile.slice * step * length + tile.first, place = tile.slice * step * kept + tile.first;
      columns.run(self.data<const char>() + static_cast<size_t>(first) * item_size(self->dtype()),
                  out.data<char>() + static_cast<size_t>(place) * item_size(out->dtype()), tile.count, result);
    };
  });
}

}  // namespace

bool softmax_columns(const Tensor& self, const Tensor& out, int dim, ColumnResult result) {
  constexpr int64_t kLeastColumns = 8;
  if (self->rank() == 0 || !self->is_contiguous() || !out->is_contiguous() || self->numel() == 0) return false;
  int64_t step = 1, length = self->sizes()[dim];
  for (int i = dim + 1; i < self->rank(); ++i) step *= self->sizes()[i];
  if (step < kLeastColumns) return false;
  if (out->dtype() == DType::float64) {
    run_tiles<double>(self, out, length, step, result);
  } else {
    run_tiles<float>(self, out, length, step, result);
  }
  return true;
}

void softmax_blocks(const Tensor& self, const Tensor& out, int dim, ColumnResult result) {
  DType computed = out->dtype() == DType::float64 ? DType::float64 : DType::float32;
  for_column_blocks({self, computed}, {{out, computed}}, dim, 3.0,
                    [&](const Tensor& columns, std::span<Tensor> results) {
                      bool is_done = softmax_columns(columns, results[0], 0, result);
                      MD_ASSERT(is_done, "a block of ", columns.spec().str());
                    });
}

}  // namespace md
