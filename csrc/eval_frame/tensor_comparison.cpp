#include "eval_frame/tensor_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "tensor/kernels/complex_kernels.h"
#include "tensor/simd/copy.h"

namespace md {

namespace {

Tensor contiguous_copy(const Tensor& tensor, DType dtype) {
  Tensor copy = Tensor::empty(TensorSpec::contiguous(dtype, tensor.spec().sizes));
  copy_elements(tensor, copy);
  return copy;
}

std::string place_text(int64_t position, const Tensor& tensor) {
  std::string text = "]";
  for (int dim = tensor->rank() - 1; dim >= 0; --dim) {
    text = str_cat(dim > 0 ? ", " : "[", position % tensor->sizes()[dim], text);
    position /= tensor->sizes()[dim];
  }
  return tensor->rank() > 0 ? text : "";
}

double largest_finite(const double* values, int64_t count) {
  double largest = 0;
  for (int64_t i = 0; i < count; ++i)
    if (std::isfinite(values[i])) largest = std::max(largest, std::abs(values[i]));
  return largest;
}

bool is_close(double captured, double python, double margin) {
  if (std::isnan(captured) || std::isnan(python)) return std::isnan(captured) && std::isnan(python);
  return captured == python ||
         (std::isfinite(captured) && std::isfinite(python) && std::abs(captured - python) <= margin);
}

}  // namespace

double tolerance_of(DType dtype) {
  if (!is_floating(dtype)) return 0;
  int digits = row(dtype).digits;
  return digits < row(DType::float32).digits ? 2e-2 : digits < row(DType::float64).digits ? 1e-4 : 1e-10;
}

namespace {

bool same_layout(const Tensor& ours, const Tensor& theirs, ComparedStrides compared) {
  if (ours->rank() != theirs->rank()) return false;
  bool has_elements = ours->numel() > 0;
  for (int i = 0; i < ours->rank(); ++i) {
    if (ours->sizes()[i] != theirs->sizes()[i]) return false;
    bool matters = compared == ComparedStrides::All || (has_elements && ours->sizes()[i] != 1);
    if (matters && ours->strides()[i] != theirs->strides()[i]) return false;
  }
  return true;
}

}  // namespace

std::string spec_difference(const Tensor& captured, const Tensor& python, ComparedStrides compared) {
  const TensorSpec &ours = captured.spec(), &theirs = python.spec();
  if (captured->kind() != python->kind()) return "one of them has no storage";
  if (ours.dtype != theirs.dtype)
    return str_cat("dtype ", row(ours.dtype).name, ", in Python ", row(theirs.dtype).name);
  if (!same_layout(captured, python, compared))
    return str_cat("sizes and strides ", ours.str(), ", in Python ", theirs.str());
  if (ours.requires_grad != theirs.requires_grad)
    return str_cat("requires_grad ", ours.requires_grad, ", in Python ", theirs.requires_grad);
  return "";
}

std::string element_difference(const Tensor& captured, const Tensor& python, double tolerance) {
  int64_t count = captured->numel();
  DType dtype = captured->dtype();
  if (captured->kind() != TensorKind::Real || count == 0) return "";
  if (is_complex(dtype)) {
    std::string real = element_difference(part_of_complex(captured, 0), part_of_complex(python, 0), tolerance);
    return real.empty() ? element_difference(part_of_complex(captured, 1), part_of_complex(python, 1), tolerance)
                        : real;
  }
  if (!is_floating(dtype)) {
    Tensor ours = contiguous_copy(captured, dtype), theirs = contiguous_copy(python, dtype);
    const auto *a = static_cast<const std::byte*>(ours->data()), *b = static_cast<const std::byte*>(theirs->data());
    size_t size = item_size(dtype);
    for (int64_t i = 0; i < count; ++i, a += size, b += size)
      if (std::memcmp(a, b, size) != 0) return str_cat("another element at ", place_text(i, captured));
    return "";
  }
  Tensor ours = contiguous_copy(captured, DType::float64), theirs = contiguous_copy(python, DType::float64);
  const double *a = ours.data<double>(), *b = theirs.data<double>();
  double margin =
      std::max(tolerance, tolerance_of(dtype)) * std::max(largest_finite(a, count), largest_finite(b, count));
  for (int64_t i = 0; i < count; ++i)
    if (!is_close(a[i], b[i], margin))
      return str_cat("element ", place_text(i, captured), " is ", a[i], ", in Python ", b[i]);
  return "";
}

}  // namespace md
