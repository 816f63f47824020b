// The windows of an image as the columns of a matrix (im2col).
#pragma once
#include <cstdint>

#include "tensor/parallel/threads.h"
#include "tensor/shapes/window_geometry.h"

namespace md {

// Calls visit(offset in the image or -1, offset in the columns) for the rows of one channel's kernel positions.
template <typename Visit>
void for_each_cell(const WindowGeometry& geometry, int64_t kernel_position, Visit visit) {
  const auto& [d, h, w] = geometry.dims;
  int64_t kw = kernel_position % w.kernel, kh = kernel_position / w.kernel % h.kernel;
  int64_t kd = kernel_position / (w.kernel * h.kernel);
  int64_t at = 0;
  for (int64_t od = 0; od < d.output; ++od) {
    int64_t id = od * d.stride - d.padding + kd * d.dilation;
    for (int64_t oh = 0; oh < h.output; ++oh) {
      int64_t ih = oh * h.stride - h.padding + kh * h.dilation;
      bool inside = id >= 0 && id < d.input && ih >= 0 && ih < h.input;
      int64_t row = (id * h.input + ih) * w.input;
      for (int64_t ow = 0; ow < w.output; ++ow, ++at) {
        int64_t iw = ow * w.stride - w.padding + kw * w.dilation;
        visit(inside && iw >= 0 && iw < w.input ? row + iw : -1, at);
      }
    }
  }
}

// columns[channel, kernel position][output position]
template <typename T>
void gather_columns(const WindowGeometry& geometry, const T* image, int64_t channels, T* columns) {
  int64_t window = geometry.kernel_size(), width = geometry.output_size();
  parallel_for(channels * window, static_cast<double>(width), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const T* channel = image + line / window * geometry.input_size();
      T* row = columns + line * width;
      for_each_cell(geometry, line % window,
                    [&](int64_t place, int64_t at) { row[at] = place < 0 ? T(0) : channel[place]; });
    }
  });
}

}  // namespace md
