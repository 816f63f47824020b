// Loops with a result in each lane at every instruction level: Fourier transforms beside their sums, and pools, samples
// and distances beside those of the first level.
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <optional>

#include "check.h"
#include "tensor/simd/loops.h"
#include "tensor_values.h"

namespace {

using namespace md_test;

template <typename Run>
void at_each_level(const Run& run) {
  for (const char* level : {"baseline", "avx2", "avx512"}) {
    try {
      use_instruction_level(level);
    } catch (const Error&) {
      continue;
    }
    run();
  }
}

using Numbers = std::vector<std::complex<double>>;

Numbers sums(const Numbers& x, double sign) {
  auto n = static_cast<int64_t>(x.size());
  Numbers result(x.size());
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < n; ++i) {
      double angle = sign * 2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n);
      result[static_cast<size_t>(k)] += x[static_cast<size_t>(i)] * std::polar(1.0, angle);
    }
  return result;
}

template <typename T>
Tensor complex_rows(DType dtype, int64_t rows, int64_t n) {
  Tensor tensor = Tensor::empty(dtype, std::vector<int64_t>{rows, n});
  std::vector<double> numbers = noise(2 * rows * n);
  for (size_t i = 0; i < numbers.size(); ++i) tensor.data<T>()[i] = static_cast<T>(numbers[i]);
  return tensor;
}

template <typename T>
void check_transforms(DType real, DType complex, int64_t rows, int64_t n, double bound) {
  Tensor x = complex_rows<T>(complex, rows, n);
  Tensor there = call1("fft_c2c", {x, std::string("1 forward backward")});
  Tensor back = call1("fft_c2c", {there, std::string("1 inverse backward")});
  Tensor reals = make(real, {rows, n}, noise(rows * n, 3));
  Tensor half = call1("fft_r2c", {reals, std::string("1 forward backward")});
  Tensor again = call1("fft_c2r", {half, Scalar(n), std::string("1 inverse backward")});
  for (int64_t row = 0; row < rows; ++row) {
    Numbers given, real_given;
    for (int64_t i = 0; i < n; ++i) {
      const T* number = x.data<T>() + 2 * (row * n + i);
      given.emplace_back(number[0], number[1]);
      real_given.emplace_back(reals.data<T>()[row * n + i], 0);
    }
    Numbers expected = sums(given, -1), real_expected = sums(real_given, -1);
    for (int64_t k = 0; k < n; ++k) {
      const T *found = there.data<T>() + 2 * (row * n + k), *returned = back.data<T>() + 2 * (row * n + k);
      CHECK(std::abs(std::complex<double>(found[0], found[1]) - expected[static_cast<size_t>(k)]) < bound);
      CHECK(std::abs(std::complex<double>(returned[0], returned[1]) - given[static_cast<size_t>(k)]) < bound);
      CHECK(std::fabs(again.data<T>()[row * n + k] - reals.data<T>()[row * n + k]) < bound);
      if (k > n / 2) continue;
      const T* halved = half.data<T>() + 2 * (row * (n / 2 + 1) + k);
      CHECK(std::abs(std::complex<double>(halved[0], halved[1]) - real_expected[static_cast<size_t>(k)]) < bound);
    }
  }
}

TEST(transforms) {
  constexpr int64_t kShapes[][2] = {{1, 1},  {5, 2},   {17, 6},   {20, 31}, {33, 64},
                                    {3, 74}, {1, 256}, {18, 250}, {1, 720}, {2, 509}};
  at_each_level([&] {
    for (const auto& [rows, n] : kShapes) {
      check_transforms<float>(DType::float32, DType::complex64, rows, n, 2e-4);
      check_transforms<double>(DType::float64, DType::complex128, rows, n, 1e-11);
    }
  });
}

// The results are the same at each level, within the tolerance.
void check_levels(const std::function<Tensor()>& run, double tolerance) {
  std::optional<std::vector<double>> first;
  at_each_level([&] {
    std::vector<double> found = values(run());
    if (!first) first = found;
    CHECK(close(*first, found, tolerance));
  });
}

TEST(distances) {
  for (DType dtype : {DType::float32, DType::float64})
    for (int64_t norm = 0; norm < 4; ++norm)
      for (int64_t count : {2, 3, 18, 140}) {
        Tensor x = make(dtype, {count, 5}, noise(count * 5));
        check_levels([&] { return call1("pair_distances", {x, Scalar(norm)}); }, 1e-5);
      }
}

TEST(samples) {
  for (DType dtype : {DType::float32, DType::float64})
    for (int64_t mode = 0; mode < 3; ++mode)
      for (int64_t padding = 0; padding < 3; ++padding) {
        Tensor image = make(dtype, {2, 3, 5, 7}, noise(210)), grid = make(dtype, {2, 9, 17, 2}, noise(612));
        check_levels([&] { return call1("grid_sample", {image, grid, Scalar(mode), Scalar(padding), Scalar(true)}); },
                     1e-4);
      }
}

TEST(pools) {
  for (DType dtype : {DType::float32, DType::float64}) {
    Tensor rows = make(dtype, {2, 6, 7, 19}, noise(1596));
    TensorSpec spec = rows.spec();
    spec.sizes = {2, 19, 6, 7};
    spec.strides = {798, 1, 133, 19};
    Tensor x = Tensor::view(rows, spec, 0);
    DimVec two = {2, 2}, one = {1, 1};
    check_levels([&] { return call("max_pool", {x, two, one, one, one, Scalar(false)})[0]; }, 0);
    check_levels([&] { return call("max_pool", {x, two, one, one, one, Scalar(false)})[1]; }, 0);
  }
}

}  // namespace
