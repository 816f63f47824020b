// Creates and reads small tensors in tests, and finds ops by name.
#pragma once
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/fill.h"
#include "tensor/ops/op_row.h"

namespace md_test {

using namespace md;

inline std::vector<Tensor> call(const std::string& name, std::vector<Arg> args) {
  const OpRow* row = find_op(name);
  if (row == nullptr) throw Error(ErrorKind::Key, name);
  fill_defaults(*row, args);
  return run_op(*row, args);
}
inline Tensor call1(const std::string& name, std::vector<Arg> args) { return call(name, std::move(args))[0]; }

inline Tensor make(DType dtype, std::vector<int64_t> sizes, const std::vector<double>& values) {
  Tensor tensor = Tensor::empty(dtype, sizes);
  for (int64_t i = 0; i < tensor->numel(); ++i) {
    double value = values[static_cast<size_t>(i) % values.size()];
    Scalar scalar = is_floating(dtype) ? Scalar(value) : Scalar(static_cast<int64_t>(value));
    store_scalar(dtype, scalar, tensor.data<char>() + static_cast<size_t>(i) * item_size(dtype));
  }
  return tensor;
}

// Elements in row-major order, whatever the layout.
inline std::vector<double> values(const Tensor& tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor->numel(); ++i) {
    int64_t rest = i, offset = 0;
    for (int d = tensor->rank() - 1; d >= 0; --d) {
      offset += rest % tensor->sizes()[d] * tensor->strides()[d];
      rest /= tensor->sizes()[d];
    }
    const char* place = tensor.data<char>() + offset * static_cast<int64_t>(item_size(tensor->dtype()));
    result.push_back(load_scalar(tensor->dtype(), place).as_double());
  }
  return result;
}

// Deterministic, in [-2, 2), consecutive values differ.
inline std::vector<double> noise(int64_t n, uint64_t seed = 1) {
  std::vector<double> result;
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (int64_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    result.push_back(static_cast<double>(state >> 11) * 0x1p-51 - 2);
  }
  return result;
}

inline bool close(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::fabs(a[i] - b[i]) <= tolerance * (1 + std::fabs(b[i])))) return false;
  }
  return true;
}

inline Scalar integer(int64_t value) { return Scalar(value); }

}  // namespace md_test
