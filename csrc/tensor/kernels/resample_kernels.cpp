// Tensors at another resolution along one dim: each element is a sum of two or four, times weights.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/lane_table.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// Places and weights are (taps, size).
template <typename T>
struct ResampleTaps {
  int64_t taps, size;
  std::vector<int32_t> places;
  std::vector<T> weights;
};

// Keys' cubic convolution with a = -0.75.
template <typename T>
T near_weight(T x) {
  return (T(1.25) * x - T(2.25)) * x * x + 1;
}
template <typename T>
T far_weight(T x) {
  constexpr T a = T(-0.75);
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

// In the arithmetic of T, one operation after the other.
template <typename T>
ResampleTaps<T> taps_of(const OpCall& call, int64_t extent, int64_t size) {
  T step = static_cast<T>(scalar_arg(call, call.row.schema.find("step")).as_double());
  bool cubic = bool_arg(call, call.row.schema.find("cubic"));
  bool align_corners = bool_arg(call, call.row.schema.find("align_corners"));
  ResampleTaps<T> found{cubic ? 4 : 2, size, {}, {}};
  found.places.resize(static_cast<size_t>(found.taps * size));
  found.weights.resize(found.places.size());
  T last = static_cast<T>(extent - 1);
  auto put = [&](int64_t tap, int64_t i, T place, T weight) {
    found.places[static_cast<size_t>(tap * size + i)] = static_cast<int32_t>(std::clamp(place, T(0), last));
    found.weights[static_cast<size_t>(tap * size + i)] = weight;
  };
  for (int64_t i = 0; i < size; ++i) {
    T number = static_cast<T>(i), place = align_corners ? number * step : (number + T(0.5)) * step - T(0.5);
    if (!cubic) place = std::max(place, T(0));
    T below = std::floor(place);
    if (!cubic) below = std::min(below, last);
    T rest = place - below;
    if (cubic) {
      T weights[] = {far_weight(rest + 1), near_weight(rest), near_weight(1 - rest), far_weight(2 - rest)};
      for (int64_t tap = 0; tap < 4; ++tap) put(tap, i, below + static_cast<T>(tap - 1), weights[tap]);
    } else {
      put(0, i, below, 1 - rest);
      put(1, i, below + 1, rest);
    }
  }
  return found;
}

// The dims before the one that changes, and those behind it.
struct ResampleDims {
  int64_t outer = 1, inner = 1;
  ResampleDims(const Tensor& tensor, int dim) {
    for (int i = 0; i < dim; ++i) outer *= tensor->sizes()[i];
    for (int i = dim + 1; i < tensor->rank(); ++i) inner *= tensor->sizes()[i];
  }
};

template <typename T>
void resample(const ResampleTaps<T>& taps, const ResampleDims& dims, int64_t extent, const T* src, T* dst) {
  const LaneLoops<T>& loops = md::loops().lanes->of<T>();
  int64_t size = taps.size, inner = dims.inner;
  double ns = 0.2 * static_cast<double>(taps.taps);
  if (inner == 1) {
    parallel_for(dims.outer, 3 * ns * static_cast<double>(size), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        loops.taps(src + i * extent, taps.places.data(), taps.weights.data(), taps.taps, size, dst + i * size);
    });
    return;
  }
  parallel_for(dims.outer * size, ns * static_cast<double>(inner), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T *block = src + i / size * extent * inner, *rows[4];
      T weights[4];
      for (int64_t tap = 0; tap < taps.taps; ++tap) {
        auto at = static_cast<size_t>(tap * size + i % size);
        rows[tap] = block + taps.places[at] * inner;
        weights[tap] = taps.weights[at];
      }
      loops.weigh_rows(rows, weights, taps.taps, inner, dst + i * inner);
    }
  });
}

// What each element of the result hands back to those that it is a sum of. Threads have blocks of their own.
template <typename T>
void resample_back(const ResampleTaps<T>& taps, const ResampleDims& dims, int64_t extent, const T* src, T* dst) {
  int64_t size = taps.size, inner = dims.inner;
  std::fill_n(dst, dims.outer * extent * inner, T(0));
  double ns = 0.5 * static_cast<double>(taps.taps * size * inner);
  parallel_for(dims.outer, ns, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block)
      for (int64_t tap = 0; tap < taps.taps; ++tap)
        for (int64_t i = 0; i < size; ++i) {
          auto at = static_cast<size_t>(tap * size + i);
          T weight = taps.weights[at];
          const T* from = src + (block * size + i) * inner;
          T* to = dst + (block * extent + taps.places[at]) * inner;
#pragma GCC ivdep
          for (int64_t k = 0; k < inner; ++k) to[k] += weight * from[k];
        }
  });
}

// `given` is contiguous; run(taps, dims, from, to) in its dtype.
template <typename Run>
void with_resampled_dim(const OpCall& call, const Tensor& given, const Tensor& out, bool back, const Run& run) {
  if (out->numel() == 0) return;
  int dim = wrap_dim(call, int_arg(call, 1), out->rank());
  int64_t from = given->sizes()[dim], to = out->sizes()[dim], extent = back ? to : from, size = back ? from : to;
  if (extent > std::numeric_limits<int32_t>::max())
    raise_op(ErrorKind::Runtime, call.row.name, "a dim of more than 2^31 - 1 elements", operand_shapes(call));
  auto run_in = [&]<typename T>(T) {
    run(taps_of<T>(call, extent, size), ResampleDims(out, dim), extent, given.data<const T>(), out.data<T>());
  };
  out->dtype() == DType::float64 ? run_in(double{}) : run_in(float{});
}

}  // namespace

void resample_kernel(const OpCall& call, std::span<Tensor> outs) {
  Tensor self = as_contiguous(tensor_arg(call, 0), outs[0]->dtype());
  with_resampled_dim(call, self, outs[0], false, [](const auto&... args) { resample(args...); });
}

void resample_gradient_kernel(const OpCall& call, std::span<Tensor> outs) {
  Tensor slope = as_contiguous(tensor_arg(call, 0), outs[0]->dtype());
  with_resampled_dim(call, slope, outs[0], true, [](const auto&... args) { resample_back(args...); });
}

}  // namespace md
