// Pooling: the maximum or mean of each window, for sliding windows and for windows that divide the input evenly.
#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "tensor/dtype_dispatch.h"
#include "tensor/kernels/window_maxima.h"
#include "tensor/kernels/window_means.h"
#include "tensor/kernels/window_values.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/shapes/memory_format.h"
#include "tensor/shapes/window_geometry.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/lane_table.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

using Range = WindowRange;

Range divided(const WindowDim& dim, int64_t output) {
  return {output * dim.input / dim.output, ((output + 1) * dim.input + dim.output - 1) / dim.output, 1};
}

WindowGeometry geometry_of(const OpCall& call, const Tensor& self, const Tensor& out, int spatial) {
  WindowGeometry geometry;
  for (int i = 0; i < spatial; ++i) {
    WindowDim& dim = geometry.dims[static_cast<size_t>(kWindowDims - spatial + i)];
    dim.input = self->sizes()[self->rank() - spatial + i];
    dim.output = out->sizes()[out->rank() - spatial + i];
    if (call.row.schema.find("kernel_size") < 0) continue;
    dim.kernel = window_arg(call, "kernel_size")[i].value();
    dim.stride = window_arg(call, "stride")[i].value();
    dim.padding = window_arg(call, "padding")[i].value();
    if (call.row.schema.find("dilation") >= 0) dim.dilation = window_arg(call, "dilation")[i].value();
  }
  return geometry;
}

// Calls visit(plane, output position in it, the ranges of the three dims) for each element of out.
template <typename Visit>
void for_each_window(const WindowGeometry& geometry, int64_t planes, double ns, RangeOf range_of, const Visit& visit) {
  const auto& [d, h, w] = geometry.dims;
  int64_t size = geometry.output_size();
  parallel_for(planes, ns * static_cast<double>(size), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      int64_t at = 0;
      for (int64_t od = 0; od < d.output; ++od) {
        Range depth = range_of(d, od);
        for (int64_t oh = 0; oh < h.output; ++oh) {
          Range height = range_of(h, oh);
          for (int64_t ow = 0; ow < w.output; ++ow, ++at) visit(plane, at, depth, height, range_of(w, ow));
        }
      }
    }
  });
}

// Calls visit(offset in the plane) for each element of a window.
template <typename Visit>
void for_each_element(const WindowGeometry& geometry, Range depth, Range height, Range width, Visit visit) {
  for (int64_t d = depth.begin; d < depth.end; d += depth.step) {
    for (int64_t h = height.begin; h < height.end; h += height.step) {
      int64_t row = (d * geometry.dims[1].input + h) * geometry.dims[2].input;
      for (int64_t w = width.begin; w < width.end; w += width.step) visit(row + w);
    }
  }
}

template <typename T>
T lowest() {
  if constexpr (std::numeric_limits<T>::is_integer) {
    return std::numeric_limits<T>::lowest();
  } else {
    return numeric_cast<T>(-std::numeric_limits<double>::infinity());
  }
}

// The first of the largest elements; a NaN wins, the last one if there are several.
template <typename T>
void max_windows(const WindowGeometry& geometry, const Tensor& self, std::span<Tensor> outs, RangeOf range_of) {
  int64_t planes = self->numel() / geometry.input_size();
  double ns = 1.5 * static_cast<double>(geometry.kernel_size());
  for_each_window(geometry, planes, ns, range_of, [&](int64_t plane, int64_t at, Range d, Range h, Range w) {
    const T* values = self.data<T>() + plane * geometry.input_size();
    int64_t best = -1;
    for_each_element(geometry, d, h, w, [&](int64_t place) {
      auto value = comparable(values[place]);
      if (best < 0 || value > comparable(values[best]) || value != value) best = place;
    });
    int64_t to = plane * geometry.output_size() + at;
    // A dilated window may skip the whole input.
    outs[0].data<T>()[to] = best < 0 ? lowest<T>() : values[best];
    outs[1].data<int64_t>()[to] = std::max<int64_t>(best, 0);
  });
}

// The window positions whose element number k is in the input.
struct RowPart {
  int64_t first;  // the input position for window 0
  int64_t begin, end;
};
RowPart part_of_row(const WindowDim& dim, int64_t k) {
  int64_t first = k * dim.dilation - dim.padding;
  int64_t begin = first >= 0 ? 0 : (-first + dim.stride - 1) / dim.stride;
  int64_t end = first >= dim.input ? 0 : std::min(dim.output, (dim.input - 1 - first) / dim.stride + 1);
  return {first, begin, end};
}

// A row of windows: the largest elements so far, and their places in the plane.
template <typename T>
struct LargestOfRow {
  std::vector<T> values;
  std::vector<int32_t> places;

  // At first the lowest number, at the first element of each window.
  void start(const WindowDim& width, int32_t first_row) {
    values.assign(static_cast<size_t>(width.output), lowest<T>());
    places.assign(static_cast<size_t>(width.output), 0);
    for (int64_t o = 0; o < width.output; ++o) {
      Range range = covered_range(width, o);
      if (range.count() > 0) places[static_cast<size_t>(o)] = first_row + static_cast<int32_t>(range.begin);
    }
  }

  void take(const WindowDim& width, const T* row, int32_t start_of_row) {
    for (int64_t k = 0; k < width.kernel; ++k) {
      RowPart part = part_of_row(width, k);
      const T* from = row + part.first;
      for (int64_t o = part.begin; o < part.end; ++o) {
        T value = from[o * width.stride];
        auto now = comparable(value);
        auto at = static_cast<size_t>(o);
        bool is_larger = (now > comparable(values[at])) | (now != now);
        values[at] = is_larger ? value : values[at];
        places[at] = is_larger ? start_of_row + static_cast<int32_t>(part.first + o * width.stride) : places[at];
      }
    }
  }
};

// Sliding windows, one row of windows at a time. A dilated window may skip the whole input.
template <typename T>
void max_moving_windows(const WindowGeometry& geometry, const Tensor& self, std::span<Tensor> outs) {
  const auto& [d, h, w] = geometry.dims;
  int64_t rows = d.output * h.output;
  double ns = 0.7 * static_cast<double>(geometry.kernel_size() * w.output);
  parallel_for(outs[0]->numel() / w.output, ns, [&](int64_t begin, int64_t end) {
    LargestOfRow<T> largest;
    for (int64_t i = begin; i < end; ++i) {
      const T* plane = self.data<T>() + i / rows * geometry.input_size();
      Range depth = covered_range(d, i % rows / h.output), height = covered_range(h, i % h.output);
      bool is_empty = depth.count() == 0 || height.count() == 0;
      largest.start(w, is_empty ? 0 : static_cast<int32_t>((depth.begin * h.input + height.begin) * w.input));
      for (int64_t z = depth.begin; z < depth.end; z += depth.step)
        for (int64_t y = height.begin; y < height.end; y += height.step) {
          int64_t start = (z * h.input + y) * w.input;
          largest.take(w, plane + start, static_cast<int32_t>(start));
        }
      std::copy(largest.values.begin(), largest.values.end(), outs[0].data<T>() + i * w.output);
      int64_t* places = outs[1].data<int64_t>() + i * w.output;
      if (is_empty)
        std::fill_n(places, w.output, 0);
      else
        std::copy(largest.places.begin(), largest.places.end(), places);
    }
  });
}

template <typename T>
void max_rows(const WindowGeometry& geometry, const Tensor& self, std::span<Tensor> outs) {
  int64_t width = geometry.dims[2].output;
  double ns = 0.15 * static_cast<double>(geometry.kernel_size() * width);
  parallel_for(outs[0]->numel() / width, ns, [&](int64_t begin, int64_t end) {
    WindowRows<T> rows(geometry, self);
    for (int64_t i = begin; i < end; ++i) {
      T* values = outs[0].data<T>() + i * width;
      int64_t* places = outs[1].data<int64_t>() + i * width;
      rows.for_each_stretch(i, [&](const WindowRow<T>& row, int64_t first, int64_t count) {
        if (row.count > 0) {
          loops().lanes->of<T>().largest_of_windows(row, count, values + first, places + first);
        } else {
          std::fill_n(values + first, count, lowest<T>());
          std::fill_n(places + first, count, 0);
        }
      });
    }
  });
}

// The windows of all channels at once.
template <typename T>
class ChannelWindows {
 public:
  ChannelWindows(const WindowGeometry& geometry, const Tensor& self, int spatial, RangeOf range_of)
      : geometry_(geometry), range_of_(range_of), steps_(spatial_steps(self, spatial)), data_(self.data<T>()) {
    int at = self->rank() - spatial - 1;
    channels_ = self->sizes()[at];
    image_step_ = at > 0 ? self->strides()[0] : 0;
    for (int64_t x = 0; x < geometry.dims[2].output; ++x) {
      Range range = range_of(geometry.dims[2], x);
      widths_.push_back({range, range.count()});
    }
  }
  // Rows of windows whose results stay in the cache.
  int64_t rows_at_once() const {
    constexpr int64_t kMost = 1 << 15;
    return std::max<int64_t>(kMost / (channels_ * geometry_.dims[2].output), 1);
  }

  // The results of some rows of an image, turned to the layout of outs.
  void run(int64_t image, int64_t row, int64_t rows, std::span<Tensor> outs) {
    int64_t width = geometry_.dims[2].output, pixels = rows * width;
    if (static_cast<int64_t>(values_.size()) < pixels * channels_) {
      values_.resize(static_cast<size_t>(pixels * channels_));
      places_.resize(values_.size());
    }
    for (int64_t i = 0; i < rows; ++i) {
      Range depth = range_of_(geometry_.dims[0], (row + i) / geometry_.dims[1].output);
      Range height = range_of_(geometry_.dims[1], (row + i) % geometry_.dims[1].output);
      take(image, depth, height, i * width * channels_);
    }
    int64_t size = geometry_.output_size(), first = image * channels_ * size + row * width;
    loops().lanes->of<T>().turn_pixels(values_.data(), places_.data(), channels_, pixels, size,
                                       outs[0].data<T>() + first, outs[1].data<int64_t>() + first);
  }

 private:
  // At first the lowest number, at the first element of each window.
  void take(int64_t image, Range depth, Range height, int64_t at) {
    const auto& [d, h, w] = geometry_.dims;
    bool is_empty = depth.count() == 0 || height.count() == 0;
    int64_t first_row = (depth.begin * h.input + height.begin) * w.input;
    T* values = values_.data() + at;
    int32_t* places = places_.data() + at;
    std::fill_n(values, w.output * channels_, lowest<T>());
    for (int64_t x = 0; x < w.output; ++x) {
      const auto& [width, count] = widths_[static_cast<size_t>(x)];
      int64_t place = is_empty || count == 0 ? 0 : first_row + width.begin;
      std::fill_n(places + x * channels_, channels_, static_cast<int32_t>(place));
    }
    for (int64_t z = depth.begin; z < depth.end; z += depth.step)
      for (int64_t y = height.begin; y < height.end; y += height.step) {
        const T* row = data_ + image * image_step_ + z * steps_[0] + y * steps_[1];
        take_row(row, (z * h.input + y) * w.input, values, places);
      }
  }

  void take_row(const T* row, int64_t start, T* values, int32_t* places) {
    auto* run = loops().lanes->of<T>().keep_larger;
    for (const auto& [range, count] : widths_) {
      run(row + range.begin * steps_[2], steps_[2] * range.step, count, channels_,
          {static_cast<int32_t>(start + range.begin), static_cast<int32_t>(range.step)}, values, places);
      values += channels_;
      places += channels_;
    }
  }

  const WindowGeometry& geometry_;
  RangeOf range_of_;
  std::array<int64_t, kWindowDims> steps_;
  const T* data_;
  int64_t channels_, image_step_;
  std::vector<std::pair<Range, int64_t>> widths_;  // of the windows of a row, and how many elements each has
  std::vector<T> values_;                          // (windows, channels)
  std::vector<int32_t> places_;
};

template <typename T>
void max_channel_windows(const WindowGeometry& geometry, const Tensor& self, std::span<Tensor> outs, int spatial,
                         RangeOf range_of) {
  int64_t rows = geometry.dims[0].output * geometry.dims[1].output;
  int64_t images = self->rank() > spatial + 1 ? self->sizes()[0] : 1;
  int64_t at_once = std::min(rows, ChannelWindows<T>(geometry, self, spatial, range_of).rows_at_once());
  int64_t blocks = (rows + at_once - 1) / at_once;
  double ns = 0.5 * static_cast<double>(outs[0]->numel()) / static_cast<double>(images * blocks) *
              static_cast<double>(std::max<int64_t>(geometry.input_size() / geometry.output_size(), 4));
  parallel_for(images * blocks, ns, [&](int64_t begin, int64_t end) {
    ChannelWindows<T> windows(geometry, self, spatial, range_of);
    for (int64_t i = begin; i < end; ++i) {
      int64_t row = i % blocks * at_once;
      windows.run(i / blocks, row, std::min(at_once, rows - row), outs);
    }
  });
}

template <typename T>
void max_pool_of_floats(const WindowGeometry& geometry, const Tensor& self, std::span<Tensor> outs, int spatial,
                        RangeOf range_of) {
  bool slides = range_of == covered_range;
  if (!slides || has_adjacent_channels(self, spatial))
    return max_channel_windows<T>(geometry, self, outs, spatial, range_of);
  max_rows<T>(geometry, as_contiguous(self, self->dtype()), outs);
}

// By float where the dtype has no loops of its own.
void max_pool_in_lanes(const WindowGeometry& geometry, const Tensor& self, std::span<Tensor> outs, int spatial,
                       RangeOf range_of) {
  if (self->dtype() == DType::float64) return max_pool_of_floats<double>(geometry, self, outs, spatial, range_of);
  if (self->dtype() == DType::float32) return max_pool_of_floats<float>(geometry, self, outs, spatial, range_of);
  TensorSpec spec = self.spec();
  spec.dtype = DType::float32;
  spec.strides = preserved_strides(self);
  Tensor wide = Tensor::empty(spec);
  copy_elements(self, wide);
  Tensor results[] = {Tensor::empty(TensorSpec::contiguous(DType::float32, outs[0].spec().sizes)), outs[1]};
  max_pool_of_floats<float>(geometry, wide, results, spatial, range_of);
  copy_elements(results[0], outs[0]);
}

// Windows that divide the input evenly slide.
bool make_sliding(WindowGeometry& geometry) {
  for (const WindowDim& dim : geometry.dims)
    if (dim.output == 0 || dim.input % dim.output != 0) return false;
  for (WindowDim& dim : geometry.dims) dim.kernel = dim.stride = dim.input / dim.output;
  return true;
}

void max_pool(const OpCall& call, std::span<Tensor> outs, int spatial, RangeOf range_of) {
  if (outs[0]->numel() == 0) return;
  const Tensor& given = tensor_arg(call, 0);
  WindowGeometry geometry = geometry_of(call, given, outs[0], spatial);
  bool slides = range_of == covered_range || make_sliding(geometry);
  bool is_short = geometry.input_size() <= std::numeric_limits<int32_t>::max();
  if (is_short && is_floating(given->dtype()) && (slides || has_adjacent_channels(given, spatial)))
    return max_pool_in_lanes(geometry, given, outs, spatial, slides ? covered_range : range_of);
  Tensor self = as_contiguous(given, outs[0]->dtype());
  with_type(self->dtype(), [&]<typename T>() {
    if (slides && is_short)
      max_moving_windows<T>(geometry, self, outs);
    else
      max_windows<T>(geometry, self, outs, range_of);
  });
}

// Integers wrap around, and their mean is truncated.
int64_t mean_of(uint64_t sum, int64_t count) { return count == 0 ? 0 : static_cast<int64_t>(sum) / count; }

// Adds one row of the input to the sums of a row of windows.
void add_row(const WindowDim& dim, const int64_t* row, uint64_t* sums) {
  for (int64_t k = 0; k < dim.kernel; ++k) {
    RowPart part = part_of_row(dim, k);
    for (int64_t o = part.begin; o < part.end; ++o) sums[o] += static_cast<uint64_t>(row[part.first + o * dim.stride]);
  }
}

// Number of window elements along one dim that are in the input, or also in its padding.
int64_t count_along(const WindowDim& dim, int64_t output, bool with_padding) {
  if (!with_padding) return covered_range(dim, output).count();
  int64_t begin = output * dim.stride - dim.padding;
  return std::min(begin + dim.kernel, dim.input + dim.padding) - begin;
}

// Of the window at a position of the output.
int64_t count_at(const WindowGeometry& geometry, int64_t at, bool with_padding) {
  const auto& [d, h, w] = geometry.dims;
  return count_along(d, at / (h.output * w.output), with_padding) *
         count_along(h, at / w.output % h.output, with_padding) * count_along(w, at % w.output, with_padding);
}

// The divisor of a window's sum.
struct Divisor {
  bool with_padding;
  std::optional<int64_t> fixed;
  int64_t of(const WindowGeometry& geometry, int64_t at) const {
    return fixed ? *fixed : count_at(geometry, at, with_padding);
  }
};

// Of integers.
void mean_of_whole_numbers(const WindowGeometry& geometry, const Tensor& self, const Tensor& out,
                           const Divisor& divisor) {
  const auto& [d, h, w] = geometry.dims;
  int64_t rows = d.output * h.output;
  double ns = 0.6 * static_cast<double>(geometry.kernel_size() * w.output);
  parallel_for(out->numel() / w.output, ns, [&](int64_t begin, int64_t end) {
    std::vector<uint64_t> sums(static_cast<size_t>(w.output));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t* plane = self.data<int64_t>() + i / rows * geometry.input_size();
      Range depth = covered_range(d, i % rows / h.output), height = covered_range(h, i % h.output);
      std::fill(sums.begin(), sums.end(), 0);
      for (int64_t z = depth.begin; z < depth.end; z += depth.step) {
        for (int64_t y = height.begin; y < height.end; y += height.step) {
          add_row(w, plane + (z * h.input + y) * w.input, sums.data());
        }
      }
      int64_t* to = out.data<int64_t>() + i * w.output;
      for (int64_t o = 0; o < w.output; ++o)
        to[o] = mean_of(sums[static_cast<size_t>(o)], divisor.of(geometry, i % rows * w.output + o));
    }
  });
}

// One window per plane.
template <typename T>
void mean_planes(int64_t length, const Tensor& self, const Tensor& out) {
  parallel_for(out->numel(), 0.1 * static_cast<double>(length), [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const T* values = self.data<T>() + plane * length;
      out.data<T>()[plane] = loops_of<T>().sum(values, length) / static_cast<T>(length);
    }
  });
}

// Windows that divide the input, summed in double.
template <typename T>
void mean_windows(const WindowGeometry& geometry, const Tensor& self, const Tensor& out) {
  int64_t planes = self->numel() / geometry.input_size();
  double ns = static_cast<double>(geometry.input_size()) / static_cast<double>(geometry.output_size());
  for_each_window(geometry, planes, ns, divided, [&](int64_t plane, int64_t at, Range d, Range h, Range w) {
    const T* values = self.data<T>() + plane * geometry.input_size();
    double total = 0;
    for_each_element(geometry, d, h, w, [&](int64_t place) { total += static_cast<double>(values[place]); });
    double count = static_cast<double>(d.count() * h.count() * w.count());
    out.data<T>()[plane * geometry.output_size() + at] = static_cast<T>(count == 0 ? 0 : total / count);
  });
}

// Sums one after the other, by what divisor_of(at, elements) says.
template <typename T, typename DivisorOf>
auto mean_by(const DivisorOf& divisor_of) {
  return [=](const WindowRow<T>& row, int64_t at, int64_t count, T* means) {
    int64_t divisor = divisor_of(at, row.count);
    if (row.count == 0 || divisor == 0)
      std::fill_n(means, count, T(0));
    else
      loops().lanes->of<T>().means_of_windows(row, count, static_cast<T>(divisor), means);
  };
}

template <typename T>
void largest_value(const WindowRow<T>& row, int64_t, int64_t count, T* values) {
  if (row.count == 0)
    std::fill_n(values, count, lowest<T>());
  else
    loops().lanes->of<T>().largest_values_of_windows(row, count, values);
}

// Whether rows of sliding windows are padded and computed side by side: rows that are not too long to be copied.
bool goes_by_padded_rows(const WindowGeometry& geometry, const Tensor& self, int spatial) {
  constexpr int64_t kLongest = 1 << 13;
  return !has_adjacent_channels(self, spatial) && !has_short_rows(geometry, self) && geometry.dims[2].input <= kLongest;
}

// Of sliding windows.
template <typename T, typename Reduce>
void reduce_sliding(const WindowGeometry& geometry, const Tensor& self, const Tensor& out, int spatial,
                    const Reduce& reduce) {
  if (has_adjacent_channels(self, spatial))
    return reduce_channels<T>(geometry, self, out, spatial, covered_range, reduce);
  Tensor plain = as_contiguous(self, self->dtype());
  if (has_short_rows(geometry, plain)) return reduce_planes<T>(geometry, plain, out, covered_range, reduce);
  reduce_rows<T>(geometry, plain, out, reduce);
}

// Windows of many elements that are not adjacent are summed in double.
template <typename T>
void mean_of_divided(const WindowGeometry& geometry, const Tensor& self, const Tensor& out, int spatial) {
  constexpr int64_t kMostInTurn = 256, kFewestPlanes = 8;
  auto mean = mean_by<T>([](int64_t, int64_t elements) { return elements; });
  if (has_adjacent_channels(self, spatial)) return reduce_channels<T>(geometry, self, out, spatial, divided, mean);
  Tensor plain = as_contiguous(self, self->dtype());
  if (geometry.output_size() == 1) return mean_planes<T>(geometry.input_size(), plain, out);
  if (geometry.input_size() / geometry.output_size() > kMostInTurn) return mean_windows<T>(geometry, plain, out);
  if (WindowGeometry sliding = geometry; make_sliding(sliding))
    return reduce_sliding<T>(sliding, plain, out, spatial, mean);
  if (plain->numel() / geometry.input_size() >= kFewestPlanes)
    return reduce_planes<T>(geometry, plain, out, divided, mean);
  mean_windows<T>(geometry, plain, out);
}

// mean(input, out) in float64 or float32: half types are converted on both sides.
template <typename Mean>
void in_wide_type(const Tensor& input, const Tensor& out, const Mean& mean) {
  if (out->dtype() == DType::float64) return mean(double{}, as_contiguous(input, DType::float64), out);
  bool is_half = out->dtype() != DType::float32;
  Tensor result = is_half ? Tensor::empty(TensorSpec::contiguous(DType::float32, out.spec().sizes)) : out;
  mean(float{}, as_contiguous(input, DType::float32), result);
  if (is_half) copy_elements(result, out);
}

// Each element of a plane of out is the sum of what the windows that cover it share out.
template <typename T, typename Share>
void share_windows(const WindowGeometry& geometry, const Tensor& gradient, const Tensor& out, RangeOf range_of,
                   const Share& share) {
  int64_t planes = out->numel() / geometry.input_size();
  std::fill_n(out.data<T>(), out->numel(), T(0));
  double ns = static_cast<double>(geometry.kernel_size());
  for_each_window(geometry, planes, ns, range_of, [&](int64_t plane, int64_t at, Range d, Range h, Range w) {
    T* values = out.data<T>() + plane * geometry.input_size();
    T part = gradient.data<T>()[plane * geometry.output_size() + at] / static_cast<T>(share(at, d, h, w));
    for_each_element(geometry, d, h, w, [&](int64_t place) { values[place] += part; });
  });
}

}  // namespace

void avg_pool_gradient_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  const Tensor& gradient = tensor_arg(call, 0);
  WindowGeometry geometry = geometry_of(call, out, gradient, window_arg(call, "kernel_size").size());
  bool with_padding = bool_arg(call, call.row.schema.find("count_include_pad"));
  std::optional<int64_t> fixed = optional_int_arg(call, call.row.schema.find("divisor_override"));
  auto share = [&](int64_t at, Range, Range, Range) {
    return fixed ? *fixed : std::max<int64_t>(count_at(geometry, at, with_padding), 1);
  };
  in_wide_type(gradient, out, [&]<typename T>(T, const Tensor& given, const Tensor& result) {
    share_windows<T>(geometry, given, result, covered_range, share);
  });
}

void adaptive_avg_pool_gradient_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  const Tensor& gradient = tensor_arg(call, 0);
  WindowGeometry geometry = geometry_of(call, out, gradient, window_arg(call, "output_size").size());
  auto share = [](int64_t, Range d, Range h, Range w) { return d.count() * h.count() * w.count(); };
  in_wide_type(gradient, out, [&]<typename T>(T, const Tensor& given, const Tensor& result) {
    share_windows<T>(geometry, given, result, divided, share);
  });
}

void max_pool_kernel(const OpCall& call, std::span<Tensor> outs) {
  max_pool(call, outs, window_arg(call, "kernel_size").size(), covered_range);
}

void max_pool_values_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor &given = tensor_arg(call, 0), &out = outs[0];
  if (out->numel() == 0) return;
  int spatial = window_arg(call, "kernel_size").size();
  if (!is_floating(out->dtype())) {
    Tensor both[] = {out, Tensor::empty(TensorSpec::contiguous(DType::int64, out.spec().sizes))};
    return max_pool(call, both, spatial, covered_range);
  }
  WindowGeometry geometry = geometry_of(call, given, out, spatial);
  with_wide_windows(given, out, [&]<typename T>(T, const Tensor& self, const Tensor& result) {
    if (!goes_by_padded_rows(geometry, self, spatial))
      return reduce_sliding<T>(geometry, self, result, spatial, largest_value<T>);
    Tensor plain = as_contiguous(self, self->dtype());
    int64_t planes = plain->numel() / geometry.input_size();
    WindowMaxima<T>(geometry, lowest<T>()).run(plain.data<const T>(), planes, result.data<T>());
  });
}

void adaptive_max_pool_kernel(const OpCall& call, std::span<Tensor> outs) {
  max_pool(call, outs, window_arg(call, "output_size").size(), divided);
}

void avg_pool_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  const Tensor& given = tensor_arg(call, 0);
  int spatial = window_arg(call, "kernel_size").size();
  WindowGeometry geometry = geometry_of(call, given, out, spatial);
  Divisor divisor{bool_arg(call, call.row.schema.find("count_include_pad")),
                  optional_int_arg(call, call.row.schema.find("divisor_override"))};
  if (out->dtype() == DType::int64) {
    return mean_of_whole_numbers(geometry, as_contiguous(given, DType::int64), out, divisor);
  }
  with_wide_windows(given, out, [&]<typename T>(T, const Tensor& self, const Tensor& result) {
    auto divisor_of = [&](int64_t at, int64_t) { return divisor.of(geometry, at); };
    if (!goes_by_padded_rows(geometry, self, spatial))
      return reduce_sliding<T>(geometry, self, result, spatial, mean_by<T>(divisor_of));
    Tensor plain = as_contiguous(self, self->dtype());
    int64_t planes = plain->numel() / geometry.input_size();
    auto along = [&](const WindowDim& dim, int64_t o) {
      if (divisor.fixed) return &dim == &geometry.dims[0] ? *divisor.fixed : int64_t{1};
      return count_along(dim, o, divisor.with_padding);
    };
    WindowMeans<T>(geometry).run(plain.data<const T>(), planes, result.data<T>(), along);
  });
}

void adaptive_avg_pool_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  const Tensor& given = tensor_arg(call, 0);
  int spatial = window_arg(call, "output_size").size();
  WindowGeometry geometry = geometry_of(call, given, out, spatial);
  with_wide_windows(given, out, [&]<typename T>(T, const Tensor& self, const Tensor& result) {
    mean_of_divided<T>(geometry, self, result, spatial);
  });
}

}  // namespace md
