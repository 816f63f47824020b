// Pools: the largest element or the mean of each window, of moving windows and of windows that divide the input evenly.
#include <algorithm>
#include <limits>

#include "tensor/call_args.h"
#include "tensor/copy.h"
#include "tensor/kernels.h"
#include "tensor/numeric_cast.h"
#include "tensor/threads.h"
#include "tensor/window_geometry.h"

namespace md {
namespace {

// Input positions [begin, end) by steps of one dim.
struct Range {
  int64_t begin, end, step;
};

Range covered(const WindowDim& dim, int64_t output) {
  int64_t begin = output * dim.stride - dim.padding;
  int64_t end = std::min(begin + (dim.kernel - 1) * dim.dilation + 1, dim.input);
  while (begin < 0) begin += dim.dilation;
  return {begin, end, dim.dilation};
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

// Calls visit(place in the plane) for each element of a window.
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

// The first of the largest elements; a NaN wins, the last of several.
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
    // A dilated window may step over the whole input.
    outs[0].data<T>()[to] = best < 0 ? lowest<T>() : values[best];
    outs[1].data<int64_t>()[to] = std::max<int64_t>(best, 0);
  });
}

void max_pool(const OpCall& call, std::span<Tensor> outs, int spatial, RangeOf range_of) {
  if (outs[0]->numel() == 0) return;
  Tensor self = as_contiguous(tensor_arg(call, 0), outs[0]->dtype());
  WindowGeometry geometry = geometry_of(call, self, outs[0], spatial);
  switch (self->dtype()) {
#define MD_DTYPE(name, ctype, category, short_name, python_name) \
  case DType::name:                                              \
    return max_windows<ctype>(geometry, self, outs, range_of);
#include "tensor/dtypes.def"
#undef MD_DTYPE
  }
}

// divisor(output position, elements in the window): what the sum is divided by.
template <typename T, typename Divisor>
void mean_windows(const WindowGeometry& geometry, const Tensor& self, const Tensor& out, RangeOf range_of,
                  const Divisor& divisor) {
  int64_t planes = self->numel() / geometry.input_size();
  double ns =
      1.0 * static_cast<double>(std::max(geometry.kernel_size(), geometry.input_size() / geometry.output_size()));
  for_each_window(geometry, planes, ns, range_of, [&](int64_t plane, int64_t at, Range d, Range h, Range w) {
    const T* values = self.data<T>() + plane * geometry.input_size();
    double total = 0;
    int64_t count = 0;
    for_each_element(geometry, d, h, w, [&](int64_t place) {
      total += static_cast<double>(values[place]);
      ++count;
    });
    double mean = count == 0 ? 0 : total / static_cast<double>(divisor(at, count));
    out.data<T>()[plane * geometry.output_size() + at] = static_cast<T>(mean);
  });
}

template <typename Divisor>
void mean_pool(const WindowGeometry& geometry, const Tensor& input, const Tensor& out, RangeOf range_of,
               const Divisor& divisor) {
  if (out->dtype() == DType::float64) {
    return mean_windows<double>(geometry, as_contiguous(input, DType::float64), out, range_of, divisor);
  }
  bool is_half = out->dtype() != DType::float32;
  Tensor result = is_half ? Tensor::empty(TensorSpec::contiguous(DType::float32, out.spec().sizes)) : out;
  mean_windows<float>(geometry, as_contiguous(input, DType::float32), result, range_of, divisor);
  if (is_half) copy_elements(result, out);
}

// Elements of a window that lie in the input or its padding.
int64_t padded_count(const WindowGeometry& geometry, int64_t output) {
  int64_t count = 1;
  for (int i = kWindowDims - 1; i >= 0; --i) {
    const WindowDim& dim = geometry.dims[static_cast<size_t>(i)];
    int64_t begin = output % dim.output * dim.stride - dim.padding;
    count *= std::min(begin + dim.kernel, dim.input + dim.padding) - begin;
    output /= dim.output;
  }
  return count;
}

}  // namespace

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
  bool with_padding = bool_arg(call, call.row.schema.find("count_include_pad"));
  std::optional<int64_t> fixed = optional_int_arg(call, call.row.schema.find("divisor_override"));
  mean_pool(geometry, tensor_arg(call, 0), out, covered, [&](int64_t at, int64_t count) {
    return fixed ? *fixed : with_padding ? padded_count(geometry, at) : count;
  });
}

void adaptive_avg_pool_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  WindowGeometry geometry = geometry_of(call, tensor_arg(call, 0), out, window_arg(call, "output_size").size());
  mean_pool(geometry, tensor_arg(call, 0), out, divided, [](int64_t, int64_t count) { return count; });
}

}  // namespace md
