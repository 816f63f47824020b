#include "executor/loops/row_reductions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "tensor/simd/loops.h"

namespace md {
namespace {

template <typename T>
T sum_row(const T* row, int64_t n, double) {
  return loops_of<T>().sum(row, n);
}
template <typename T>
T mean_row(const T* row, int64_t n, double) {
  return loops_of<T>().sum(row, n) / static_cast<T>(n);
}
template <typename T>
T sum_squares(const T* row, int64_t n, double) {
  return static_cast<T>(loops_of<T>().squares(row, n, 0));
}
template <typename T>
T mean_square(const T* row, int64_t n, double) {
  return static_cast<T>(loops_of<T>().squares(row, n, 0) / static_cast<double>(n));
}
template <typename T>
T max_row(const T* row, int64_t n, double) {
  return loops_of<T>().max(row, n);
}
template <typename T>
T min_row(const T* row, int64_t n, double) {
  return loops_of<T>().min(row, n);
}
template <typename T, bool root>
void moments_row(const void* src, int64_t n, void* result, double correction) {
  double mean, squares;
  loops_of<T>().moments(static_cast<const T*>(src), n, &mean, &squares);
  T variance = static_cast<T>(squares / std::max(0.0, static_cast<double>(n) - correction));
  static_cast<T*>(result)[0] = root ? std::sqrt(variance) : variance;
  static_cast<T*>(result)[1] = static_cast<T>(mean);
}
template <typename T, bool root>
T spread_row(const T* row, int64_t n, double correction) {
  T both[2];
  moments_row<T, root>(row, n, both, correction);
  return both[0];
}
template <typename T>
void take_mean(const void* src, int64_t, void* result, double) {
  *static_cast<T*>(result) = static_cast<const T*>(src)[1];
}

template <typename T, T (*fold)(const T*, int64_t, double)>
void run_fold(const void* src, int64_t n, void* result, double param) {
  *static_cast<T*>(result) = fold(static_cast<const T*>(src), n, param);
}

constexpr ShortReduction kSum = {Pointwise::add}, kMean = {Pointwise::add, true}, kMost = {Pointwise::maximum},
                         kLeast = {Pointwise::minimum};

struct RowReductionRow {
  OpRole op;
  RowFold f32, f64;
  const ShortReduction* elementwise;  // nullptr: short rows have only a kernel
  RowFold squares_f32 = nullptr, squares_f64 = nullptr;
  RowFold with_mean_f32 = nullptr, with_mean_f64 = nullptr;
  RowFold mean_beside_f32 = nullptr, mean_beside_f64 = nullptr;
};
template <auto fold32, auto fold64>
constexpr RowReductionRow row_of(OpRole op, const ShortReduction* elementwise) {
  return {.op = op, .f32 = run_fold<float, fold32>, .f64 = run_fold<double, fold64>, .elementwise = elementwise};
}
template <auto fold32, auto fold64>
constexpr RowReductionRow with_squares(RowReductionRow row) {
  row.squares_f32 = run_fold<float, fold32>;
  row.squares_f64 = run_fold<double, fold64>;
  return row;
}
constexpr RowReductionRow with_mean_beside(RowReductionRow row) {
  row.mean_beside_f32 = take_mean<float>;
  row.mean_beside_f64 = take_mean<double>;
  return row;
}
template <bool root>
constexpr RowReductionRow spread(OpRole op) {
  RowReductionRow row = row_of<spread_row<float, root>, spread_row<double, root>>(op, nullptr);
  row.with_mean_f32 = moments_row<float, root>;
  row.with_mean_f64 = moments_row<double, root>;
  return row;
}
constexpr RowReductionRow kFolds[] = {
    with_squares<sum_squares<float>, sum_squares<double>>(row_of<sum_row<float>, sum_row<double>>(OpRole::Sum, &kSum)),
    with_mean_beside(with_squares<mean_square<float>, mean_square<double>>(
        row_of<mean_row<float>, mean_row<double>>(OpRole::Mean, &kMean))),
    row_of<max_row<float>, max_row<double>>(OpRole::Largest, &kMost),
    row_of<min_row<float>, min_row<double>>(OpRole::Smallest, &kLeast),
    spread<false>(OpRole::Variance),
    spread<true>(OpRole::Deviation),
};

bool is_last_dim(const Operand& dims, int rank) {
  int64_t dim = rank;
  if (const auto* one = std::get_if<Scalar>(&dims)) dim = one->as_int();
  if (const auto* list = std::get_if<DimVec>(&dims); list != nullptr && list->size() == 1) dim = (*list)[0].value();
  return dim == -1 || dim == rank - 1;
}

// 1 if the op has none; nullopt for a correction known only at run time.
std::optional<double> correction_of(const Node& node) {
  int at = node.op->schema.find("correction");
  if (at < 0 || std::holds_alternative<std::monostate>(node.operands[static_cast<size_t>(at)])) return 1;
  const auto* number = std::get_if<Scalar>(&node.operands[static_cast<size_t>(at)]);
  return number == nullptr ? std::nullopt : std::optional(number->as_double());
}

}  // namespace

bool folds_short_rows(const DimVec& sizes) { return sizes[sizes.size() - 1].value() < kLeastFoldedRow; }

std::optional<RowReductionCall> as_row_fold(const Node& node) {
  if (!is_op(node, OpKind::Reduction) || node.outs.size() != 1) return std::nullopt;
  auto row = std::find_if(std::begin(kFolds), std::end(kFolds),
                          [&](const RowReductionRow& r) { return node.op->role() == r.op; });
  const auto* self = std::get_if<ValueRef>(&node.operands[0]);
  if (row == std::end(kFolds) || self == nullptr) return std::nullopt;
  const TensorSpec& spec = self->node->outs[static_cast<size_t>(self->out)].spec;
  bool is_float = spec.dtype == DType::float32 || spec.dtype == DType::float64;
  if (!is_float || node.outs[0].spec.dtype != spec.dtype || spec.rank() == 0) return std::nullopt;
  int64_t length = spec.sizes[spec.rank() - 1].value();
  bool is_short = folds_short_rows(spec.sizes);
  if (length == 0 || length > kMostFoldedRow || !is_last_dim(node.operands[1], spec.rank())) return std::nullopt;
  if (is_short && row->elementwise == nullptr) return std::nullopt;
  std::optional<double> correction = correction_of(node);
  if (!correction) return std::nullopt;
  bool is_single_precision = spec.dtype == DType::float32;
  return RowReductionCall{.run = is_single_precision ? row->f32 : row->f64,
                          .param = *correction,
                          .of_squares = is_single_precision ? row->squares_f32 : row->squares_f64,
                          .elementwise = is_short ? row->elementwise : nullptr,
                          .with_mean = is_single_precision ? row->with_mean_f32 : row->with_mean_f64,
                          .mean_beside = is_single_precision ? row->mean_beside_f32 : row->mean_beside_f64};
}

}  // namespace md
