// var and std: one pass for the mean, and one for the squared deviations.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/fill.h"
#include "tensor/kernels/column_tiles.h"
#include "tensor/kernels/complex_kernels.h"
#include "tensor/kernels/dim_slices.h"
#include "tensor/kernels/reduction.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// The sum of part(values, n) over the tiles of one result's elements.
template <typename T, typename Part>
double sum_of(const ReductionSpace& space, ConvertLoop load, bool converts, const char* data, const Part& part) {
  alignas(64) char gathered[ElementWalk::kTileBytes];
  alignas(64) T values[ElementWalk::kTile];
  const ElementWalk& walk = space.inner();
  double total = 0;
  for (int64_t at = 0, n; at < walk.count(); at += n) {
    n = walk.tile_length(at, walk.count());
    const void* src = walk.read(0, data, at, n, gathered);
    if (converts) load(src, values, n);
    total += part(converts ? values : static_cast<const T*>(src), n);
  }
  return total;
}

// The sum of (element - mean)^2 of one result's elements.
template <typename T>
double squares_of(const ReductionSpace& space, DType dtype, const char* data) {
  const FloatLoops<T>& run = loops_of<T>();
  bool converts = dtype != dtype_of<T>();
  ConvertLoop load = loops().convert[static_cast<int>(dtype)][static_cast<int>(dtype_of<T>())];
  double n = static_cast<double>(space.length());
  double mean = sum_of<T>(space, load, converts, data, run.exact_sum) / n;
  T rounded = static_cast<T>(mean);
  double squares = sum_of<T>(space, load, converts, data,
                             [&](const T* values, int64_t count) { return run.squares(values, count, rounded); });
  double off = mean - static_cast<double>(rounded);
  double corrected = squares - n * off * off;
  return corrected < 0 ? 0 : corrected;
}

// The same for results that are next to each other, row by row of their elements.
template <typename T>
class ColumnSquares {
 public:
  ColumnSquares(const ReductionSpace& space, DType dtype)
      : space_(space),
        converts_(dtype != dtype_of<T>()),
        load_(loops().convert[static_cast<int>(dtype)][static_cast<int>(dtype_of<T>())]) {}

  // Of `columns` results, the first of whose elements is at data.
  void compute(const char* data, int64_t columns, double* squares) {
    data_ = data;
    columns_ = columns;
    double n = static_cast<double>(space_.length()), means[kTileColumns];
    // Distances from the first row, so that numbers far from 0 lose nothing.
    std::copy_n(row(0), columns, rounded_);
    add_rows(means, [&](const T* row) {
      apply(Pointwise::sub, row, rounded_, changed_);
      return changed_;
    });
    for (int64_t i = 0; i < columns; ++i) {
      means[i] = static_cast<double>(rounded_[i]) + means[i] / n;
      rounded_[i] = static_cast<T>(means[i]);
    }
    add_rows(squares, [&](const T* row) {
      apply(Pointwise::sub, row, rounded_, changed_);
      apply(Pointwise::mul, changed_, changed_, changed_);
      return changed_;
    });
    for (int64_t i = 0; i < columns; ++i) {
      double off = means[i] - static_cast<double>(rounded_[i]), corrected = squares[i] - n * off * off;
      squares[i] = corrected < 0 ? 0 : corrected;
    }
  }

 private:
  void apply(Pointwise function, const T* a, const T* b, T* result) const {
    const void* operands[] = {a, b};
    pointwise_loop(static_cast<int>(function), dtype_of<T>())(operands, result, columns_, nullptr);
  }

  // In parts, and these in double: rounding grows with the number of additions to one sum.
  template <typename Change>
  void add_rows(double* totals, const Change& change) {
    std::fill_n(totals, columns_, 0.0);
    for (int64_t first = 0; first < space_.length(); first += kMostRowsInOneSum) {
      std::fill_n(part_, columns_, T(0));
      for (int64_t i = first; i < std::min(space_.length(), first + kMostRowsInOneSum); ++i)
        apply(Pointwise::add, part_, change(row(i)), part_);
      for (int64_t i = 0; i < columns_; ++i) totals[i] += static_cast<double>(part_[i]);
    }
  }

  const T* row(int64_t at) {
    const char* elements = data_ + space_.inner().offset(0, at);
    if (!converts_) return reinterpret_cast<const T*>(elements);
    load_(elements, loaded_, columns_);
    return loaded_;
  }

  const ReductionSpace& space_;
  bool converts_;
  ConvertLoop load_;
  const char* data_ = nullptr;
  int64_t columns_ = 0;
  alignas(64) T rounded_[kTileColumns], changed_[kTileColumns], part_[kTileColumns], loaded_[kTileColumns];
};

template <typename T, typename Store>
void for_column_squares(const ReductionSpace& space, DType dtype, const Store& store) {
  for_column_tiles(space.results() / space.columns(), space.columns(), 0.5 * static_cast<double>(space.length()), [&] {
    return [&, columns = ColumnSquares<T>(space, dtype)](const ColumnTile& tile) mutable {
      int64_t result = tile.slice * space.columns() + tile.first;
      double squares[kTileColumns];
      columns.compute(space.result_data(result), tile.count, squares);
      for (int64_t i = 0; i < tile.count; ++i) store(result + i, squares[i]);
    };
  });
}

double correction_of(const OpCall& call) {
  int unbiased = call.row.schema.find("unbiased");
  if (unbiased >= 0) return bool_arg(call, unbiased) ? 1 : 0;
  int correction = call.row.schema.find("correction");
  return arg_is_none(call, correction) ? 1 : scalar_arg(call, correction).as_double();
}

void deviation(const OpCall& call, const Tensor& out, bool root) {
  const Tensor& self = tensor_arg(call, 0);
  ReductionSpace space(self, reduced_dims(call, call.args[1], self->rank()), ReductionSpace::Order::OfMemory);
  double n = static_cast<double>(space.length());
  double degrees = std::max(0.0, n - correction_of(call));
  bool in_double = self->dtype() == DType::float64;
  auto store = [&](int64_t result, double squares) {
    double variance = space.length() == 0 ? std::numeric_limits<double>::quiet_NaN() : squares / degrees;
    store_scalar(out->dtype(), Scalar(root ? std::sqrt(variance) : variance),
                 out.data<char>() + static_cast<size_t>(result) * item_size(out->dtype()));
  };
  if (space.columns() > 0 && space.results() > 0 && space.length() > 0) {
    return in_double ? for_column_squares<double>(space, self->dtype(), store)
                     : for_column_squares<float>(space, self->dtype(), store);
  }
  parallel_for(out->numel(), 0.2 * n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const char* data = space.result_data(i);
      store(i,
            in_double ? squares_of<double>(space, self->dtype(), data) : squares_of<float>(space, self->dtype(), data));
    }
  });
}

}  // namespace

namespace {

// Of complex numbers: the mean of |element - mean|^2, which is the sum of the variances of the parts.
void variance(const OpCall& call, const Tensor& out) {
  if (is_complex(tensor_arg(call, 0)->dtype())) return run_on_sum_of_parts(var_kernel, call, out);
  deviation(call, out, false);
}
void standard_deviation(const OpCall& call, const Tensor& out) {
  if (!is_complex(tensor_arg(call, 0)->dtype())) return deviation(call, out, true);
  static const OpRow* const sqrt = find_op("sqrt");
  variance(call, out);
  Arg args[] = {out};
  Tensor result = out;
  pointwise_kernel({*sqrt, args}, {&result, 1});
}

}  // namespace

void whole_var_kernel(const OpCall& call, std::span<Tensor> outs) {
  static const OpRow* const row = find_op("var.unbiased");
  Arg args[] = {call.args[0], Arg(), call.args[1], Scalar(false)};
  variance({*row, args}, outs[0]);
}
void whole_std_kernel(const OpCall& call, std::span<Tensor> outs) {
  static const OpRow* const row = find_op("std.unbiased");
  Arg args[] = {call.args[0], Arg(), call.args[1], Scalar(false)};
  standard_deviation({*row, args}, outs[0]);
}
void var_kernel(const OpCall& call, std::span<Tensor> outs) { variance(call, outs[0]); }
void std_kernel(const OpCall& call, std::span<Tensor> outs) { standard_deviation(call, outs[0]); }

}  // namespace md
