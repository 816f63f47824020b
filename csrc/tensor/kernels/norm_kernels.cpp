// logsumexp and norm: each result is computed from tiles of its elements, in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/fill.h"
#include "tensor/kernels/column_blocks.h"
#include "tensor/kernels/column_tiles.h"
#include "tensor/kernels/reduction.h"
#include "tensor/kernels/softmax_columns.h"
#include "tensor/kernels/turned_rows.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Calls visit(values, n) for each tile of one result's elements, converted to double.
template <typename Visit>
void for_tiles(const ReductionSpace& space, ConvertLoop to_double, int64_t result, const Visit& visit) {
  alignas(64) char gathered[ElementWalk::kTileBytes];
  alignas(64) double values[ElementWalk::kTile];
  const ElementWalk& walk = space.inner();
  const char* data = space.result_data(result);
  for (int64_t at = 0; at < walk.count();) {
    int64_t n = walk.tile_length(at, walk.count());
    to_double(walk.read(0, data, at, n, gathered), values, n);
    visit(values, n);
    at += n;
  }
}

// As for_tiles, in float; contiguous float32 elements are not copied.
template <typename Visit>
void for_float_tiles(const ReductionSpace& space, ConvertLoop to_float, bool is_float, int64_t result,
                     const Visit& visit) {
  alignas(64) char gathered[ElementWalk::kTileBytes];
  alignas(64) float values[ElementWalk::kTile];
  const ElementWalk& walk = space.inner();
  const char* data = space.result_data(result);
  for (int64_t at = 0, n; at < walk.count(); at += n) {
    n = walk.tile_length(at, walk.count());
    const void* src = walk.read(0, data, at, n, gathered);
    if (!is_float) to_float(src, values, n);
    visit(is_float ? static_cast<const float*>(src) : values, n);
  }
}

// compute(i) returns result i.
template <typename Compute>
void for_results(const ReductionSpace& space, const Tensor& out, double ns_per_item, const Compute& compute) {
  parallel_for(out->numel(), ns_per_item * static_cast<double>(space.length()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      store_scalar(out->dtype(), Scalar(compute(i)),
                   out.data<char>() + static_cast<size_t>(i) * item_size(out->dtype()));
    }
  });
}

ConvertLoop to_double(DType dtype) {
  return loops().convert[static_cast<int>(dtype)][static_cast<int>(DType::float64)];
}

template <typename Term>
double sum_of(const ReductionSpace& space, ConvertLoop load, int64_t result, const Term& term) {
  double total = 0;
  for_tiles(space, load, result, [&](double* values, int64_t n) {
    for (int64_t i = 0; i < n; ++i) values[i] = term(values[i]);
    total += loops().f64.sum(values, n);
  });
  return total;
}

// The largest or smallest value of term(element); a NaN wins.
template <typename Term>
double extreme_of(const ReductionSpace& space, ConvertLoop load, int64_t result, bool largest, const Term& term) {
  double best = largest ? -kInfinity : kInfinity;
  for_tiles(space, load, result, [&](double* values, int64_t n) {
    for (int64_t i = 0; i < n; ++i) values[i] = term(values[i]);
    double part = largest ? loops().f64.max(values, n) : loops().f64.min(values, n);
    bool better = largest ? part > best : part < best;
    if (!std::isnan(best) && (better || std::isnan(part))) best = part;
  });
  return best;
}

double norm_of(const ReductionSpace& space, ConvertLoop load, int64_t result, double order) {
  auto magnitude = [](double value) { return std::fabs(value); };
  if (std::isinf(order)) return extreme_of(space, load, result, order > 0, magnitude);
  if (order == 0) return sum_of(space, load, result, [](double value) { return value != 0 ? 1.0 : 0.0; });
  if (order == 1) return sum_of(space, load, result, magnitude);
  if (order == 2) return std::sqrt(sum_of(space, load, result, [](double value) { return value * value; }));
  double total = sum_of(space, load, result, [order](double value) { return std::pow(std::fabs(value), order); });
  return std::pow(total, 1 / order);
}

// The 2-norm of floats, in float where their squares are in its range.
double float_norm_of(const ReductionSpace& space, ConvertLoop load, ConvertLoop to_float, int64_t result) {
  constexpr double kLeast = 1e-30;
  bool is_float = space.input()->dtype() == DType::float32;
  double squares = 0;
  if (is_float && space.inner().is_dense(0)) {
    const auto* elements = reinterpret_cast<const float*>(space.result_data(result));
    squares = loops().f32.squares(elements, space.length(), 0);
  } else {
    for_float_tiles(space, to_float, is_float, result,
                    [&](const float* values, int64_t n) { squares += loops().f32.squares(values, n, 0); });
  }
  return squares < kLeast || !std::isfinite(squares) ? norm_of(space, load, result, 2) : std::sqrt(squares);
}

// The terms that are summed for a norm of a finite order above 0, or whose largest is a norm.
void change_to_terms(double order, double* values, int64_t n) {
  if (order == 2) {
    for (int64_t i = 0; i < n; ++i) values[i] *= values[i];
  } else {
    for (int64_t i = 0; i < n; ++i) values[i] = std::fabs(values[i]);
    if (order == 1 || std::isinf(order)) return;
    const double exponent = order;
    const void* operands[] = {values, &exponent};
    pointwise_loop(static_cast<int>(Pointwise::pow), DType::float64, 2)(operands, values, n, nullptr);
  }
}

void change_to_norms(double order, double* sums, int64_t n) {
  if (order == 1 || std::isinf(order)) return;
  if (order == 2) {
    for (int64_t i = 0; i < n; ++i) sums[i] = std::sqrt(sums[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) sums[i] = std::pow(sums[i], 1 / order);
  }
}

// Results that are next to each other, row by row of their elements.
void norms_of_columns(const ReductionSpace& space, double order, const Tensor& out) {
  ConvertLoop load = to_double(space.input()->dtype());
  ConvertLoop save = loops().convert[static_cast<int>(DType::float64)][static_cast<int>(out->dtype())];
  Pointwise fold = !std::isinf(order) ? Pointwise::add : order > 0 ? Pointwise::maximum : Pointwise::minimum;
  PointwiseLoop combine = pointwise_loop(static_cast<int>(fold), DType::float64);
  double ns = static_cast<double>(space.length());
  for_column_tiles(space.results() / space.columns(), space.columns(), ns, [&] {
    return [&](const ColumnTile& tile) {
      alignas(64) double terms[kTileColumns], totals[kTileColumns];
      int64_t result = tile.slice * space.columns() + tile.first;
      const char* data = space.result_data(result);
      for (int64_t i = 0; i < space.length(); ++i) {
        double* into = i == 0 ? totals : terms;
        load(data + space.inner().offset(0, i), into, tile.count);
        change_to_terms(order, into, tile.count);
        const void* operands[] = {totals, terms};
        if (i > 0) combine(operands, totals, tile.count, nullptr);
      }
      change_to_norms(order, totals, tile.count);
      save(totals, out.data<char>() + static_cast<size_t>(result) * item_size(out->dtype()), tile.count);
    };
  });
}

bool takes_columns(const ReductionSpace& space, double order) {
  return space.columns() > 0 && space.length() > 0 && space.results() > 0 && order != 0 && !std::isnan(order);
}

void logsumexp_in_float(const ReductionSpace& space, DType dtype, const Tensor& out) {
  ConvertLoop load = loops().convert[static_cast<int>(dtype)][static_cast<int>(DType::float32)];
  bool is_float = dtype == DType::float32;
  for_results(space, out, 0.5, [&](int64_t result) {
    float shift = -std::numeric_limits<float>::infinity();
    for_float_tiles(space, load, is_float, result, [&](const float* values, int64_t n) {
      float part = loops().f32.max(values, n);
      if (!std::isnan(shift) && (part > shift || std::isnan(part))) shift = part;
    });
    if (std::isinf(shift)) shift = 0;
    double total = 0;
    for_float_tiles(space, load, is_float, result, [&](const float* values, int64_t n) {
      alignas(64) float exponentials[ElementWalk::kTile];
      total += static_cast<double>(loops().f32.exp_sum(values, shift, exponentials, n));
    });
    return std::log(total) + static_cast<double>(shift);
  });
}

}  // namespace

void logsumexp_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& self = tensor_arg(call, 0);
  std::vector<bool> reduced = reduced_dims(call, call.args[1], self->rank());
  auto dim = std::ranges::find(reduced, true);
  if (int64_t length = short_row_length(self, reduced); length > 0 && is_floating(self->dtype())) {
    return for_turned_rows(self, length, [&](const Tensor& columns, int64_t first) {
      int64_t count = columns->numel() / length;
      softmax_columns(columns, stretch_of(outs[0], first, count), 0, ColumnResult::LogSumExp);
    });
  }
  if (std::ranges::count(reduced, true) == 1 && is_floating(self->dtype())) {
    int place = static_cast<int>(dim - reduced.begin());
    if (softmax_columns(self, outs[0], place, ColumnResult::LogSumExp)) return;
    Tensor out = with_reduced_dim(outs[0], place, self->rank());
    if (ColumnBlocks::pay(self, out, place)) return softmax_blocks(self, out, place, ColumnResult::LogSumExp);
  }
  ReductionSpace space(self, reduced, ReductionSpace::Order::OfMemory);
  if (self->dtype() != DType::float64) return logsumexp_in_float(space, self->dtype(), outs[0]);
  ConvertLoop load = to_double(self->dtype());
  for_results(space, outs[0], 4.0, [&](int64_t result) {
    double shift = extreme_of(space, load, result, true, [](double value) { return value; });
    if (std::isinf(shift)) shift = 0;
    double total = 0;
    for_tiles(space, load, result,
              [&](double* values, int64_t n) { total += loops().f64.exp_sum(values, shift, values, n); });
    return std::log(total) + shift;
  });
}

// The sum of the singular values of the matrices in two dims.
static void nuclear_norm(const OpCall& call, const Tensor& out) {
  static const OpRow *const permute = find_op("permute"), *const svdvals = find_op("linalg_svdvals"),
                            *const sum = find_op("sum");
  const Tensor& self = tensor_arg(call, 0);
  std::vector<bool> reduced = reduced_dims(call, call.args[2], self->rank());
  DimVec order;
  for (bool last : {false, true})
    for (int i = 0; i < self->rank(); ++i)
      if (reduced[static_cast<size_t>(i)] == last) order.push_back(i);
  Arg permuted[] = {self, order};
  Arg matrices[] = {as_contiguous(run_op(*permute, permuted).at(0), out->dtype())};
  Arg values[] = {run_op(*svdvals, matrices).at(0), DimVec{-1}, Scalar(false), Arg()};
  Tensor sums = run_op(*sum, values).at(0);
  copy_elements(Tensor::view(sums, out.spec(), 0), out);
}

void norm_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& self = tensor_arg(call, 0);
  if (is_nuclear_norm(call)) return nuclear_norm(call, outs[0]);
  std::vector<bool> reduced = reduced_dims(call, call.args[2], self->rank());
  double order = norm_order(call);
  int64_t length = short_row_length(self, reduced);
  if (length > 0 && order != 0 && !std::isnan(order)) {
    return for_turned_rows(self, length, [&](const Tensor& columns, int64_t first) {
      ReductionSpace space(columns, columns_reduced());
      norms_of_columns(space, order, stretch_of(outs[0], first, space.results()));
    });
  }
  ReductionSpace space(self, reduced, ReductionSpace::Order::OfMemory);
  ConvertLoop load = to_double(self->dtype());
  // The norm of one element is its magnitude; a power of it may overflow.
  if (space.length() == 1 && order != 0) order = 1;
  if (takes_columns(space, order)) return norms_of_columns(space, order, outs[0]);
  if (order == 2 && is_floating(self->dtype()) && self->dtype() != DType::float64) {
    ConvertLoop to_float = loops().convert[static_cast<int>(self->dtype())][static_cast<int>(DType::float32)];
    return for_results(space, outs[0], 0.2,
                       [&](int64_t result) { return float_norm_of(space, load, to_float, result); });
  }
  for_results(space, outs[0], 1.5, [&](int64_t result) { return norm_of(space, load, result, order); });
}

}  // namespace md
