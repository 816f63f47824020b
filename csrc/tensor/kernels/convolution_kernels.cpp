// Convolutions: by oneDNN, or as a matrix product of windows gathered into columns (im2col).
#include <algorithm>
#include <type_traits>

#include "tensor/fill.h"
#include "tensor/gemm/gemm.h"
#include "tensor/gemm/split_convolution.h"
#include "tensor/kernels/window_columns.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

struct Convolution {
  Tensor input, weight, bias;  // contiguous, in the compute dtype; bias may be undefined
  Tensor out;
  int64_t groups = 1;
  bool transposed = false;
  // From the larger side (the input; for a transposed convolution the result) to the smaller one.
  WindowGeometry geometry;
};

Convolution read(const OpCall& call, const Tensor& out, DType dtype) {
  Convolution conv;
  conv.input = as_contiguous(tensor_arg(call, 0), dtype);
  conv.weight = as_contiguous(tensor_arg(call, 1), dtype);
  if (!arg_is_none(call, 2)) conv.bias = as_contiguous(tensor_arg(call, 2), dtype);
  conv.out = out->dtype() == dtype ? out : Tensor::empty(TensorSpec::contiguous(dtype, out.spec().sizes));
  conv.groups = int_arg(call, call.row.schema.find("groups"));
  conv.transposed = bool_arg(call, call.row.schema.find("transposed"));
  const DimVec& stride = window_arg(call, "stride");
  const Tensor& large = conv.transposed ? conv.out : conv.input;
  const Tensor& small = conv.transposed ? conv.input : conv.out;
  for (int i = 0; i < stride.size(); ++i) {
    conv.geometry.dims[static_cast<size_t>(kWindowDims - stride.size() + i)] = {
        .input = large->sizes()[i + 2],
        .output = small->sizes()[i + 2],
        .kernel = conv.weight->sizes()[i + 2],
        .stride = stride[i].value(),
        .padding = window_arg(call, "padding")[i].value(),
        .dilation = window_arg(call, "dilation")[i].value(),
    };
  }
  return conv;
}

template <typename T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

// The inverse (col2im): overlapping elements are added up, in the order of the kernel positions.
template <typename T>
void scatter_columns(const WindowGeometry& geometry, const T* columns, int64_t channels, T* image) {
  int64_t window = geometry.kernel_size(), width = geometry.output_size();
  parallel_for(channels, static_cast<double>(width * window), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      T* channel = image + c * geometry.input_size();
      std::fill_n(channel, geometry.input_size(), T(0));
      for (int64_t position = 0; position < window; ++position) {
        const T* row = columns + (c * window + position) * width;
        for_each_cell(geometry, position, [&](int64_t place, int64_t at) {
          if (place >= 0) channel[place] = sum_of(channel[place], row[at]);
        });
      }
    }
  });
}

template <typename T>
void add_bias(const Convolution& conv, const WindowGeometry& geometry) {
  if (!conv.bias.defined()) return;
  int64_t channels = conv.out->sizes()[1];
  int64_t width = conv.transposed ? geometry.input_size() : geometry.output_size();
  parallel_for(conv.out->sizes()[0] * channels, 0.3 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      T* values = conv.out.data<T>() + line * width;
      for (int64_t i = 0; i < width; ++i) values[i] = sum_of(values[i], conv.bias.data<T>()[line % channels]);
    }
  });
}

// Integer sums wrap around in their dtype.
void multiply(const GemmProblem<int64_t>& problem) {
  parallel_for(problem.m, static_cast<double>(problem.n * problem.k), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t* row = problem.c + i * problem.c_row;
      std::fill_n(row, problem.n, 0);
      for (int64_t p = 0; p < problem.k; ++p) {
        auto factor = static_cast<uint64_t>(problem.a[i * problem.a_row + p * problem.a_step]);
        const int64_t* b = problem.b + p * problem.b_row;
        for (int64_t j = 0; j < problem.n; ++j) {
          uint64_t product = factor * static_cast<uint64_t>(b[j * problem.b_step]);
          row[j] = static_cast<int64_t>(static_cast<uint64_t>(row[j]) + product);
        }
      }
    }
  });
}
void multiply(const GemmProblem<float>& problem) { gemm(problem); }
void multiply(const GemmProblem<double>& problem) { gemm(problem); }

template <typename T>
void by_columns(const Convolution& conv) {
  const WindowGeometry& geometry = conv.geometry;
  int64_t in_channels = conv.input->sizes()[1] / conv.groups, out_channels = conv.out->sizes()[1] / conv.groups;
  int64_t window = geometry.kernel_size(), width = geometry.output_size();
  int64_t rows = (conv.transposed ? out_channels : in_channels) * window;
  int64_t in_size = in_channels * (conv.transposed ? width : geometry.input_size());
  int64_t out_size = out_channels * (conv.transposed ? geometry.input_size() : width);
  StoragePtr storage = Storage::allocate(static_cast<size_t>(std::max<int64_t>(rows * width, 1)) * sizeof(T));
  T* columns = static_cast<T*>(storage->data());
  for (int64_t part = 0; part < conv.input->sizes()[0] * conv.groups; ++part) {
    const T* in = conv.input.data<T>() + part * in_size;
    T* out = conv.out.data<T>() + part * out_size;
    const T* weight = conv.weight.data<T>() + part % conv.groups * (in_channels * out_channels * window);
    if (conv.transposed) {
      // weight (C, O * window), read by columns.
      multiply(GemmProblem<T>{rows, width, in_channels, weight, 1, rows, in, width, 1, columns, width});
      scatter_columns(geometry, columns, out_channels, out);
    } else {
      gather_columns(geometry, in, in_channels, columns);
      multiply(GemmProblem<T>{out_channels, width, rows, weight, rows, 1, columns, width, 1, out, width});
    }
  }
  add_bias<T>(conv, geometry);
}

// With the weights in place, or packed if they were seen before.
bool by_onednn(const OpCall& call, const Convolution& conv) {
  ConvolutionSpec spec = convolution_spec(call, conv.out.spec());
  ConvolutionOperands operands = {.src = conv.input->data(),
                                  .weights = conv.weight->data(),
                                  .bias = conv.bias.defined() ? conv.bias->data() : nullptr,
                                  .dst = conv.out->data()};
  bool lasts = conv.weight->storage().get() == tensor_arg(call, 1)->storage().get();
  spec.packs_weights = lasts;
  SplitConvolutionPtr packed_form = lasts ? SplitConvolution::make(spec) : nullptr;
  StoragePtr packed = packed_form == nullptr
                          ? StoragePtr()
                          : find_packed(*conv.weight->storage().get(), conv.weight->data(), *packed_form);
  if (packed) {
    operands.weights = packed->data();
    packed_form->run(operands);
    return true;
  }
  spec.packs_weights = false;
  SplitConvolutionPtr convolution = SplitConvolution::make(spec);
  if (convolution == nullptr) return false;
  convolution->run(operands);
  return true;
}

// There is nothing to sum: the bias, or zero.
void fill_with_bias(const Convolution& conv) {
  Tensor zero = Tensor::scalar(conv.out->dtype(), Scalar(int64_t{0}));
  TensorSpec spec = conv.out.spec();
  for (Dim& stride : spec.strides) stride = 0;
  if (conv.bias.defined()) spec.strides[1] = 1;
  const Tensor& values = conv.bias.defined() ? conv.bias : zero;
  copy_elements(Tensor::view(values, spec, values->offset()), conv.out);
}

}  // namespace

void convolution_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  Convolution conv = read(call, out, out->dtype());
  if (conv.weight->numel() == 0 || conv.input->numel() == 0) return fill_with_bias(conv);
  if (is_floating(out->dtype()) && by_onednn(call, conv)) return;
  if (out->dtype() == DType::float64) return by_columns<double>(conv);
  conv = read(call, out, is_floating(out->dtype()) ? DType::float32 : DType::int64);
  is_floating(out->dtype()) ? by_columns<float>(conv) : by_columns<int64_t>(conv);
  if (!is_same(conv.out, out)) copy_elements(conv.out, out);
}

}  // namespace md
