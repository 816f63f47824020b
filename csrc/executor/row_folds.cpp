#include "executor/row_folds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "tensor/loops.h"

namespace md {
namespace {

template <typename T>
struct RowLoops;
template <>
struct RowLoops<float> {
  static float sum(const float* row, int64_t n) { return loops().sum_f32(row, n); }
  static float max(const float* row, int64_t n) { return loops().max_f32(row, n); }
  static float min(const float* row, int64_t n) { return loops().min_f32(row, n); }
  static double squares(const float* row, int64_t n) { return loops().squares_f32(row, n, 0); }
  static void moments(const float* row, int64_t n, double* mean, double* squares) {
    loops().moments_f32(row, n, mean, squares);
  }
};
template <>
struct RowLoops<double> {
  static double sum(const double* row, int64_t n) { return loops().sum_f64(row, n); }
  static double max(const double* row, int64_t n) { return loops().max_f64(row, n); }
  static double min(const double* row, int64_t n) { return loops().min_f64(row, n); }
  static double squares(const double* row, int64_t n) { return loops().squares_f64(row, n, 0); }
  static void moments(const double* row, int64_t n, double* mean, double* squares) {
    loops().moments_f64(row, n, mean, squares);
  }
};

template <typename T>
T sum_row(const T* row, int64_t n, double) {
  return RowLoops<T>::sum(row, n);
}
template <typename T>
T mean_row(const T* row, int64_t n, double) {
  return RowLoops<T>::sum(row, n) / static_cast<T>(n);
}
template <typename T>
T sum_squares(const T* row, int64_t n, double) {
  return static_cast<T>(RowLoops<T>::squares(row, n));
}
template <typename T>
T mean_square(const T* row, int64_t n, double) {
  return static_cast<T>(RowLoops<T>::squares(row, n) / static_cast<double>(n));
}
template <typename T>
T max_row(const T* row, int64_t n, double) {
  return RowLoops<T>::max(row, n);
}
template <typename T>
T min_row(const T* row, int64_t n, double) {
  return RowLoops<T>::min(row, n);
}
template <typename T>
T variance_row(const T* row, int64_t n, double correction) {
  double mean, squares;
  RowLoops<T>::moments(row, n, &mean, &squares);
  return static_cast<T>(squares / std::max(0.0, static_cast<double>(n) - correction));
}
template <typename T>
T deviation_row(const T* row, int64_t n, double correction) {
  return std::sqrt(variance_row<T>(row, n, correction));
}

template <typename T, T (*fold)(const T*, int64_t, double)>
void run_fold(const void* src, int64_t n, void* result, double param) {
  *static_cast<T*>(result) = fold(static_cast<const T*>(src), n, param);
}

constexpr ShortFold kSum = {Pointwise::add}, kMean = {Pointwise::add, true}, kMost = {Pointwise::maximum},
                    kLeast = {Pointwise::minimum};

struct RowFoldRow {
  const char* op;
  RowFold f32, f64;
  const ShortFold* by_steps;  // nullptr: short rows have a kernel only
  RowFold squares_f32 = nullptr, squares_f64 = nullptr;
};
#define MD_ROW_FOLD(op, function, by_steps) \
  {op, run_fold<float, function<float>>, run_fold<double, function<double>>, by_steps}
#define MD_ROW_FOLD_OF_SQUARES(op, function, by_steps, of_squares)                   \
  {op,       run_fold<float, function<float>>,   run_fold<double, function<double>>, \
   by_steps, run_fold<float, of_squares<float>>, run_fold<double, of_squares<double>>}
constexpr RowFoldRow kFolds[] = {
    MD_ROW_FOLD_OF_SQUARES("sum", sum_row, &kSum, sum_squares),
    MD_ROW_FOLD_OF_SQUARES("mean", mean_row, &kMean, mean_square),
    MD_ROW_FOLD("amax", max_row, &kMost),
    MD_ROW_FOLD("amin", min_row, &kLeast),
    MD_ROW_FOLD("var", variance_row, nullptr),
    MD_ROW_FOLD("std", deviation_row, nullptr),
};
#undef MD_ROW_FOLD_OF_SQUARES
#undef MD_ROW_FOLD

bool is_last_dim(const Operand& dims, int rank) {
  int64_t dim = rank;
  if (const auto* one = std::get_if<Scalar>(&dims)) dim = one->as_int();
  if (const auto* list = std::get_if<DimVec>(&dims); list != nullptr && list->size() == 1) dim = (*list)[0].value();
  return dim == -1 || dim == rank - 1;
}

// 1 where the op has none; nothing for a correction known at run time only.
std::optional<double> correction_of(const Node& node) {
  int at = node.op->schema.find("correction");
  if (at < 0 || std::holds_alternative<std::monostate>(node.operands[static_cast<size_t>(at)])) return 1;
  const auto* number = std::get_if<Scalar>(&node.operands[static_cast<size_t>(at)]);
  return number == nullptr ? std::nullopt : std::optional(number->as_double());
}

}  // namespace

bool folds_short_rows(const DimVec& sizes) { return sizes[sizes.size() - 1].value() < kLeastFoldedRow; }

std::optional<RowFoldCall> as_row_fold(const Node& node) {
  if (!is_op(node, OpKind::Reduction) || node.outs.size() != 1) return std::nullopt;
  auto row =
      std::find_if(std::begin(kFolds), std::end(kFolds), [&](const RowFoldRow& r) { return node.op->name == r.op; });
  const auto* self = std::get_if<ValueRef>(&node.operands[0]);
  if (row == std::end(kFolds) || self == nullptr) return std::nullopt;
  const TensorSpec& spec = self->node->outs[static_cast<size_t>(self->out)].spec;
  bool is_float = spec.dtype == DType::float32 || spec.dtype == DType::float64;
  if (!is_float || node.outs[0].spec.dtype != spec.dtype || spec.rank() == 0) return std::nullopt;
  int64_t length = spec.sizes[spec.rank() - 1].value();
  bool is_short = folds_short_rows(spec.sizes);
  if (length == 0 || length > kMostFoldedRow || !is_last_dim(node.operands[1], spec.rank())) return std::nullopt;
  if (is_short && row->by_steps == nullptr) return std::nullopt;
  std::optional<double> correction = correction_of(node);
  if (!correction) return std::nullopt;
  bool is_single_precision = spec.dtype == DType::float32;
  return RowFoldCall{is_single_precision ? row->f32 : row->f64, *correction,
                     is_single_precision ? row->squares_f32 : row->squares_f64, is_short ? row->by_steps : nullptr};
}

}  // namespace md
