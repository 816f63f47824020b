// Sliding windows over contiguous planes, a row of results at a time.
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "tensor/shapes/window_geometry.h"
#include "tensor/simd/lane_table.h"
#include "tensor/tensor.h"

namespace md {

// Input positions [begin, end) of one dim, with a step.
struct WindowRange {
  int64_t begin, end, step;
  int64_t count() const { return end <= begin ? 0 : (end - begin + step - 1) / step; }
};

// Those of a sliding window that are in the input.
inline WindowRange covered_range(const WindowDim& dim, int64_t output) {
  int64_t begin = output * dim.stride - dim.padding;
  int64_t end = std::min(begin + (dim.kernel - 1) * dim.dilation + 1, dim.input);
  while (begin < 0) begin += dim.dilation;
  return {begin, end, dim.dilation};
}

using RangeOf = WindowRange (*)(const WindowDim& dim, int64_t output);

// The places of a window's elements, which are `steps` apart along the dims.
inline void put_places(const std::array<int64_t, kWindowDims>& steps, WindowRange depth, WindowRange height,
                       WindowRange width, std::vector<int64_t>& places) {
  places.clear();
  for (int64_t z = depth.begin; z < depth.end; z += depth.step)
    for (int64_t y = height.begin; y < height.end; y += height.step)
      for (int64_t x = width.begin; x < width.end; x += width.step)
        places.push_back(z * steps[0] + y * steps[1] + x * steps[2]);
}

// The elements of windows as places in their plane.
template <typename T>
class WindowRows {
 public:
  WindowRows(const WindowGeometry& geometry, const Tensor& self)
      : geometry_(geometry), data_(self.data<const T>()), numel_(self->numel()) {
    const WindowDim& w = geometry.dims[2];
    int64_t room = w.input - 1 - (w.kernel - 1) * w.dilation + w.padding;
    inner_begin_ = std::min((w.padding + w.stride - 1) / w.stride, w.output);
    inner_end_ = std::clamp(room < 0 ? 0 : room / w.stride + 1, inner_begin_, w.output);
  }

  // Calls visit(row, first, count) for stretches of a row of results whose windows have as many elements, at places
  // that are a step apart; without places where they have none.
  template <typename Visit>
  void for_each_stretch(int64_t result_row, const Visit& visit) {
    const auto& [d, h, w] = geometry_.dims;
    int64_t rows = d.output * h.output, plane = result_row / rows * geometry_.input_size();
    find_rows(result_row % rows);
    WindowRow<T> row = {data_ + plane, nullptr, 0, w.stride, numel_ - plane};
    auto run = [&](int64_t first, int64_t count, WindowRange range) {
      if (count == 0) return;
      places_.clear();
      for (int64_t start : starts_)
        for (int64_t at = range.begin; at < range.end; at += range.step) places_.push_back(start + at);
      row.places = places_.data();
      row.count = static_cast<int64_t>(places_.size());
      visit(row, first, count);
    };
    for (int64_t o = 0; o < inner_begin_; ++o) run(o, 1, covered_range(w, o));
    if (inner_begin_ < inner_end_) run(inner_begin_, inner_end_ - inner_begin_, covered_range(w, inner_begin_));
    for (int64_t o = inner_end_; o < w.output; ++o) run(o, 1, covered_range(w, o));
  }

 private:
  // Where the rows of the plane begin that the windows of a row of results cover.
  void find_rows(int64_t row) {
    const auto& [d, h, w] = geometry_.dims;
    WindowRange depth = covered_range(d, row / h.output), height = covered_range(h, row % h.output);
    starts_.clear();
    for (int64_t z = depth.begin; z < depth.end; z += depth.step)
      for (int64_t y = height.begin; y < height.end; y += height.step) starts_.push_back((z * h.input + y) * w.input);
  }

  const WindowGeometry& geometry_;
  const T* data_;
  int64_t numel_, inner_begin_, inner_end_;  // of the windows that lie inside the rows
  std::vector<int64_t> starts_, places_;
};

}  // namespace md
