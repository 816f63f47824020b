// Pooling: the maximum or mean of each window, for sliding windows and for windows that divide the input evenly.
#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "tensor/dtype_dispatch.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/shapes/window_geometry.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// Input positions [begin, end) of one dim, with a step.
struct Range {
  int64_t begin, end, step;
};

Range covered(const WindowDim& dim, int64_t output) {
  int64_t begin = output * dim.stride - dim.padding;
  int64_t end = std::min(begin + (dim.kernel - 1) * dim.dilation + 1, dim.input);
  while (begin < 0) begin += dim.dilation;
  return {begin, end, dim.dilation};
}

int64_t count_of(Range range) {
  return range.end <= range.begin ? 0 : (range.end - range.begin + range.step - 1) / range.step;
}

Range divided(const WindowDim& dim, int64_t output) {
  return {output * dim.input / dim.output, ((output + 1) * dim.input + dim.output - 1) / dim.output, 1};
}

using RangeOf = Range (*)(const WindowDim& dim, int64_t output);

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
      Range range = covered(width, o);
      if (count_of(range) > 0) places[static_cast<size_t>(o)] = first_row + static_cast<int32_t>(range.begin);
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
      Range depth = covered(d, i % rows / h.output), height = covered(h, i % h.output);
      bool is_empty = count_of(depth) == 0 || count_of(height) == 0;
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

void max_pool(const OpCall& call, std::span<Tensor> outs, int spatial, RangeOf range_of) {
  if (outs[0]->numel() == 0) return;
  Tensor self = as_contiguous(tensor_arg(call, 0), outs[0]->dtype());
  WindowGeometry geometry = geometry_of(call, self, outs[0], spatial);
  bool moves = range_of == covered && geometry.input_size() <= std::numeric_limits<int32_t>::max();
  with_type(self->dtype(), [&]<typename T>() {
    if (moves)
      max_moving_windows<T>(geometry, self, outs);
    else
      max_windows<T>(geometry, self, outs, range_of);
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

// Windows that divide the input.
template <typename T>
void mean_windows(const WindowGeometry& geometry, const Tensor& self, const Tensor& out) {
  if (geometry.output_size() == 1 && geometry.input_size() > 0) {
    return mean_planes<T>(geometry.input_size(), self, out);
  }
  int64_t planes = self->numel() / geometry.input_size();
  int64_t elements = geometry.input_size() / geometry.output_size();
  auto ns = static_cast<double>(elements);
  for_each_window(geometry, planes, ns, divided, [&](int64_t plane, int64_t at, Range d, Range h, Range w) {
    const T* values = self.data<T>() + plane * geometry.input_size();
    double total = 0;
    for_each_element(geometry, d, h, w, [&](int64_t place) { total += static_cast<double>(values[place]); });
    double count = static_cast<double>(count_of(d) * count_of(h) * count_of(w));
    out.data<T>()[plane * geometry.output_size() + at] = static_cast<T>(count == 0 ? 0 : total / count);
  });
}

// The accumulator type of a window. Integers wrap around, and their mean is truncated.
template <typename T>
using WindowSum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <typename T>
T mean_of(WindowSum<T> sum, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    return count == 0 ? 0 : static_cast<T>(sum) / count;
  } else {
    return static_cast<T>(count == 0 ? 0 : sum / static_cast<double>(count));
  }
}

// Adds one row of the input to the sums of a row of windows.
template <typename T>
void add_row(const WindowDim& dim, const T* row, WindowSum<T>* sums) {
  for (int64_t k = 0; k < dim.kernel; ++k) {
    RowPart part = part_of_row(dim, k);
    for (int64_t o = part.begin; o < part.end; ++o)
      sums[o] += static_cast<WindowSum<T>>(row[part.first + o * dim.stride]);
  }
}

// Number of window elements along one dim that are in the input, or also in its padding.
int64_t count_along(const WindowDim& dim, int64_t output, bool with_padding) {
  if (!with_padding) return count_of(covered(dim, output));
  int64_t begin = output * dim.stride - dim.padding;
  return std::min(begin + dim.kernel, dim.input + dim.padding) - begin;
}

// The divisor of a window's sum.
struct Divisor {
  bool with_padding;
  std::optional<int64_t> fixed;
};

// Sliding windows, one row of windows at a time.
template <typename T>
void mean_moving_windows(const WindowGeometry& geometry, const Tensor& self, const Tensor& out,
                         const Divisor& divisor) {
  const auto& [d, h, w] = geometry.dims;
  int64_t rows = d.output * h.output;
  double ns = 0.6 * static_cast<double>(geometry.kernel_size() * w.output);
  parallel_for(out->numel() / w.output, ns, [&](int64_t begin, int64_t end) {
    std::vector<WindowSum<T>> sums(static_cast<size_t>(w.output));
    for (int64_t i = begin; i < end; ++i) {
      const T* plane = self.data<T>() + i / rows * geometry.input_size();
      Range depth = covered(d, i % rows / h.output), height = covered(h, i % h.output);
      std::fill(sums.begin(), sums.end(), WindowSum<T>{});
      for (int64_t z = depth.begin; z < depth.end; z += depth.step) {
        for (int64_t y = height.begin; y < height.end; y += height.step) {
          add_row(w, plane + (z * h.input + y) * w.input, sums.data());
        }
      }
      int64_t across = count_along(d, i % rows / h.output, divisor.with_padding) *
                       count_along(h, i % h.output, divisor.with_padding);
      T* to = out.data<T>() + i * w.output;
      for (int64_t o = 0; o < w.output; ++o) {
        int64_t count = divisor.fixed ? *divisor.fixed : across * count_along(w, o, divisor.with_padding);
        to[o] = mean_of<T>(sums[static_cast<size_t>(o)], count);
      }
    }
  });
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
  const auto& [d, h, w] = geometry.dims;
  auto share = [&](int64_t at, Range, Range, Range) {
    if (fixed) return *fixed;
    int64_t count = count_along(d, at / (h.output * w.output), with_padding) *
                    count_along(h, at / w.output % h.output, with_padding) *
                    count_along(w, at % w.output, with_padding);
    return std::max<int64_t>(count, 1);
  };
  in_wide_type(gradient, out, [&]<typename T>(T, const Tensor& given, const Tensor& result) {
    share_windows<T>(geometry, given, result, covered, share);
  });
}

void adaptive_avg_pool_gradient_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  const Tensor& gradient = tensor_arg(call, 0);
  WindowGeometry geometry = geometry_of(call, out, gradient, window_arg(call, "output_size").size());
  auto share = [](int64_t, Range d, Range h, Range w) { return count_of(d) * count_of(h) * count_of(w); };
  in_wide_type(gradient, out, [&]<typename T>(T, const Tensor& given, const Tensor& result) {
    share_windows<T>(geometry, given, result, divided, share);
  });
}

void max_pool_kernel(const OpCall& call, std::span<Tensor> outs) {
  max_pool(call, outs, window_arg(call, "kernel_size").size(), covered);
}

void adaptive_max_pool_kernel(const OpCall& call, std::span<Tensor> outs) {
  max_pool(call, outs, window_arg(call, "output_size").size(), divided);
}

void avg_pool_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  WindowGeometry geometry = geometry_of(call, tensor_arg(call, 0), out, window_arg(call, "kernel_size").size());
  Divisor divisor{bool_arg(call, call.row.schema.find("count_include_pad")),
                  optional_int_arg(call, call.row.schema.find("divisor_override"))};
  if (out->dtype() == DType::int64) {
    return mean_moving_windows<int64_t>(geometry, as_contiguous(tensor_arg(call, 0), DType::int64), out, divisor);
  }
  in_wide_type(tensor_arg(call, 0), out, [&]<typename T>(T, const Tensor& input, const Tensor& result) {
    mean_moving_windows<T>(geometry, input, result, divisor);
  });
}

void adaptive_avg_pool_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  WindowGeometry geometry = geometry_of(call, tensor_arg(call, 0), out, window_arg(call, "output_size").size());
  in_wide_type(tensor_arg(call, 0), out, [&]<typename T>(T, const Tensor& input, const Tensor& result) {
    mean_windows<T>(geometry, input, result);
  });
}

}  // namespace md
