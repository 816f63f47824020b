// One value for each window: reduce(row, first result in its plane, count, values) computes those of windows whose
// elements are a step apart; `row` has no places where they have no elements.
#pragma once
#include <vector>

#include "tensor/kernels/window_rows.h"
#include "tensor/parallel/threads.h"
#include "tensor/shapes/memory_format.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"

namespace md {

// Whether the channels of a pixel are adjacent in memory, and there are enough of them.
inline bool has_adjacent_channels(const Tensor& self, int spatial) {
  constexpr int64_t kFewest = 4;
  int channels = self->rank() - spatial - 1;
  return channels >= 0 && self->strides()[channels] == 1 && self->sizes()[channels] >= kFewest &&
         !self->is_contiguous();
}

// The steps of a tensor's last dims, as those of a geometry.
inline std::array<int64_t, kWindowDims> spatial_steps(const Tensor& self, int spatial) {
  std::array<int64_t, kWindowDims> steps = {};
  for (int i = 0; i < spatial; ++i)
    steps[static_cast<size_t>(kWindowDims - spatial + i)] = self->strides()[self->rank() - spatial + i];
  return steps;
}

inline double window_ns(const WindowGeometry& geometry) {
  return 0.15 * static_cast<double>(std::max(geometry.kernel_size(), geometry.input_size() / geometry.output_size()));
}

// Rows of sliding windows of contiguous planes.
template <typename T, typename Reduce>
void reduce_rows(const WindowGeometry& geometry, const Tensor& self, const Tensor& out, const Reduce& reduce) {
  int64_t width = geometry.dims[2].output, rows = geometry.output_size() / width;
  parallel_for(out->numel() / width, window_ns(geometry) * static_cast<double>(width), [&](int64_t begin, int64_t end) {
    WindowRows<T> windows(geometry, self);
    for (int64_t i = begin; i < end; ++i)
      windows.for_each_stretch(i, [&](const WindowRow<T>& row, int64_t first, int64_t count) {
        reduce(row, i % rows * width + first, count, out.data<T>() + i * width + first);
      });
  });
}

// The windows at one place of many contiguous planes side by side, where rows have few.
constexpr int64_t kPlanesAtOnce = 64;
inline bool has_short_rows(const WindowGeometry& geometry, const Tensor& self) {
  constexpr int64_t kMost = 4, kFewest = 8;
  return geometry.dims[2].output <= kMost && self->numel() / geometry.input_size() >= kFewest;
}
template <typename T, typename Reduce>
void reduce_planes(const WindowGeometry& geometry, const Tensor& self, const Tensor& out, RangeOf range_of,
                   const Reduce& reduce) {
  const auto& [d, h, w] = geometry.dims;
  int64_t plane = geometry.input_size(), size = geometry.output_size(), planes = self->numel() / plane;
  std::array<int64_t, kWindowDims> steps = {h.input * w.input, w.input, 1};
  double ns = 4 * window_ns(geometry) * static_cast<double>(size * kPlanesAtOnce);
  parallel_for((planes + kPlanesAtOnce - 1) / kPlanesAtOnce, ns, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> places;
    T values[kPlanesAtOnce];
    for (int64_t block = begin; block < end; ++block) {
      int64_t first = block * kPlanesAtOnce, count = std::min(kPlanesAtOnce, planes - first);
      for (int64_t at = 0; at < size; ++at) {
        put_places(steps, range_of(d, at / (h.output * w.output)), range_of(h, at / w.output % h.output),
                   range_of(w, at % w.output), places);
        WindowRow<T> row = {self.data<const T>() + first * plane, places.data(), static_cast<int64_t>(places.size()),
                            plane, self->numel() - first * plane};
        reduce(row, at, count, values);
        for (int64_t i = 0; i < count; ++i) out.data<T>()[(first + i) * size + at] = values[i];
      }
    }
  });
}

// All channels of a pixel at once, where they are adjacent: each is a window one element behind the one before. Results
// that the cache holds are turned to planes.
template <typename T, typename Reduce>
void reduce_channels(const WindowGeometry& geometry, const Tensor& self, const Tensor& out, int spatial,
                     RangeOf range_of, const Reduce& reduce) {
  constexpr int64_t kAtOnce = 1 << 13;
  const auto& [d, h, w] = geometry.dims;
  int of_channels = self->rank() - spatial - 1;
  int64_t channels = self->sizes()[of_channels], image_step = of_channels > 0 ? self->strides()[0] : 0;
  std::array<int64_t, kWindowDims> steps = spatial_steps(self, spatial);
  int64_t size = geometry.output_size(), images = out->numel() / (size * channels), extent = 1;
  for (int i = 0; i < self->rank(); ++i) extent += (self->sizes()[i] - 1) * self->strides()[i];
  int64_t pixels = std::min(size, std::max<int64_t>(kAtOnce / channels / 16 * 16, 16));
  int64_t blocks = (size + pixels - 1) / pixels;
  double ns = window_ns(geometry) * static_cast<double>(channels * pixels);
  parallel_for(images * blocks, ns, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> places;
    std::vector<T> values(static_cast<size_t>(pixels * channels));
    for (int64_t block = begin; block < end; ++block) {
      int64_t image = block / blocks, first = block % blocks * pixels, count = std::min(pixels, size - first);
      for (int64_t at = first; at < first + count; ++at) {
        put_places(steps, range_of(d, at / (h.output * w.output)), range_of(h, at / w.output % h.output),
                   range_of(w, at % w.output), places);
        WindowRow<T> row = {self.data<const T>() + image * image_step, places.data(),
                            static_cast<int64_t>(places.size()), 1, extent - image * image_step};
        reduce(row, at, channels, values.data() + (at - first) * channels);
      }
      loops().lanes->of<T>().turn_columns(values.data(), channels, count, size,
                                          out.data<T>() + image * channels * size + first);
    }
  });
}

// Of any floating dtype in its own, of 16-bit ones in float32. `slides`: the geometry has kernels and strides.
template <typename Run>
void with_wide_windows(const Tensor& self, const Tensor& out, const Run& run) {
  if (out->dtype() == DType::float64) return run(double{}, self, out);
  if (out->dtype() == DType::float32) return run(float{}, self, out);
  TensorSpec spec = self.spec();
  spec.dtype = DType::float32;
  spec.strides = preserved_strides(self);
  Tensor wide = Tensor::empty(spec);
  copy_elements(self, wide);
  Tensor result = Tensor::empty(TensorSpec::contiguous(DType::float32, out.spec().sizes));
  run(float{}, wide, result);
  copy_elements(result, out);
}

}  // namespace md
