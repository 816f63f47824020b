// Gradients of the weights of convolutions: by oneDNN, or as matrix products with windows gathered into columns.
#include <algorithm>
#include <memory>
#include <vector>

#include "tensor/gemm/gemm.h"
#include "tensor/gemm/onednn.h"
#include "tensor/kernels/window_columns.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// small (N, O, positions...), large (N, C, positions...), weights (O, C / groups, kernel...): contiguous.
struct WeightGradient {
  Tensor small, large, weights;
  int64_t groups = 1;
  DimVec stride, padding, dilation;
  int spatial() const { return stride.size(); }
  int64_t size(const Tensor& tensor, int dim) const { return tensor->sizes()[dim]; }
  // Elements of an image's channel.
  int64_t positions(const Tensor& tensor) const {
    int64_t count = 1;
    for (int i = 0; i < spatial(); ++i) count *= size(tensor, i + 2);
    return count;
  }
};

WeightGradient read(const OpCall& call, const Tensor& out, DType dtype) {
  WeightGradient problem;
  problem.small = as_contiguous(tensor_arg(call, 0), dtype);
  problem.large = as_contiguous(tensor_arg(call, 1), dtype);
  problem.weights = out->dtype() == dtype ? out : Tensor::empty(TensorSpec::contiguous(dtype, out.spec().sizes));
  problem.groups = int_arg(call, call.row.schema.find("groups"));
  problem.stride = window_arg(call, "stride");
  problem.padding = window_arg(call, "padding");
  problem.dilation = window_arg(call, "dilation");
  return problem;
}

// Some channels of the weights, in whole groups or all of one group, so that the result does not depend on how many
// threads there are.
struct Piece {
  OnednnPrimitivePtr primitive;
  int64_t first_small, first_large;  // channels
};

constexpr int64_t kChannelsOfPiece = 64;

ConvolutionSpec spec_of(const WeightGradient& problem, int64_t small_channels, int64_t large_channels, int64_t groups) {
  ConvolutionSpec spec;
  spec.src = {problem.size(problem.large, 0), large_channels};
  spec.dst = {problem.size(problem.small, 0), small_channels};
  spec.weights = {small_channels, problem.size(problem.weights, 1)};
  for (int i = 0; i < problem.spatial(); ++i) {
    spec.src.push_back(problem.size(problem.large, i + 2));
    spec.dst.push_back(problem.size(problem.small, i + 2));
    spec.weights.push_back(problem.size(problem.weights, i + 2));
    spec.strides.push_back(problem.stride[i].value());
    spec.padding.push_back(problem.padding[i].value());
    spec.dilations.push_back(problem.dilation[i].value());
  }
  spec.groups = groups;
  return spec;
}

// Empty: oneDNN has no optimised implementation.
std::vector<Piece> pieces_of(const WeightGradient& problem) {
  int64_t channels = problem.size(problem.small, 1), large_channels = problem.size(problem.large, 1);
  int64_t of_group = channels / problem.groups, large_of_group = large_channels / problem.groups;
  int64_t step = kChannelsOfPiece;
  if (problem.groups > 1) step = std::max<int64_t>(kChannelsOfPiece / of_group, 1) * of_group;
  int64_t small_image = channels * problem.positions(problem.small);
  int64_t large_image = large_channels * problem.positions(problem.large);
  std::vector<Piece> pieces;
  for (int64_t first = 0; first < channels; first += step) {
    int64_t count = std::min(step, channels - first), groups = problem.groups > 1 ? count / of_group : 1;
    int64_t first_large = problem.groups > 1 ? first / of_group * large_of_group : 0;
    ConvolutionSpec spec = spec_of(problem, count, groups * large_of_group, groups);
    OnednnPrimitivePtr primitive = make_convolution_weights(spec, large_image, small_image);
    if (primitive == nullptr) return {};
    pieces.push_back({std::move(primitive), first, first_large});
  }
  return pieces;
}

bool by_onednn(const WeightGradient& problem) {
  std::vector<Piece> pieces = pieces_of(problem);
  if (pieces.empty()) return false;
  int64_t row = problem.weights->numel() / problem.size(problem.weights, 0);
  double products = static_cast<double>(row) * static_cast<double>(problem.small->numel());
  constexpr double kProductsInNs = 60;  // single-threaded
  parallel_for(static_cast<int64_t>(pieces.size()), products / kProductsInNs / static_cast<double>(pieces.size()),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const Piece& piece = pieces[static_cast<size_t>(i)];
                   const void* inputs[] = {
                       problem.large.data<float>() + piece.first_large * problem.positions(problem.large),
                       problem.small.data<float>() + piece.first_small * problem.positions(problem.small)};
                   execute(*piece.primitive, inputs, problem.weights.data<float>() + piece.first_small * row);
                 }
               });
  return true;
}

WindowGeometry geometry_of(const WeightGradient& problem) {
  WindowGeometry geometry;
  int spatial = problem.spatial();
  for (int i = 0; i < spatial; ++i)
    geometry.dims[static_cast<size_t>(kWindowDims - spatial + i)] = {
        .input = problem.size(problem.large, i + 2),
        .output = problem.size(problem.small, i + 2),
        .kernel = problem.size(problem.weights, i + 2),
        .stride = problem.stride[i].value(),
        .padding = problem.padding[i].value(),
        .dilation = problem.dilation[i].value(),
    };
  return geometry;
}

// Image by image: the gradient of a group's channels times the windows of its inputs.
template <typename T>
void by_columns(const WeightGradient& problem) {
  WindowGeometry geometry = geometry_of(problem);
  int64_t channels = problem.size(problem.small, 1) / problem.groups;
  int64_t large_channels = problem.size(problem.large, 1) / problem.groups;
  int64_t width = geometry.output_size(), rows = large_channels * geometry.kernel_size();
  auto columns = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(rows * width));
  auto product = std::make_unique_for_overwrite<T[]>(static_cast<size_t>(channels * rows));
  T* weights = problem.weights.data<T>();
  std::fill_n(weights, problem.weights->numel(), T(0));
  for (int64_t part = 0; part < problem.size(problem.small, 0) * problem.groups; ++part) {
    const T* large = problem.large.data<T>() + part * large_channels * geometry.input_size();
    const T* small = problem.small.data<T>() + part * channels * width;
    gather_columns(geometry, large, large_channels, columns.get());
    gemm(GemmProblem<T>{channels, rows, width, small, width, 1, columns.get(), 1, width, product.get(), rows});
    T* sum = weights + part % problem.groups * channels * rows;
    for (int64_t i = 0; i < channels * rows; ++i) sum[i] += product[static_cast<size_t>(i)];
  }
}

}  // namespace

void convolution_weights_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  bool is_wide = out->dtype() == DType::float64;
  WeightGradient problem = read(call, out, is_wide ? DType::float64 : DType::float32);
  if (problem.small->numel() == 0 || problem.large->numel() == 0) {
    std::fill_n(static_cast<char*>(out->data()), static_cast<size_t>(out->numel()) * item_size(out->dtype()), '\0');
    return;
  }
  if (is_wide) {
    by_columns<double>(problem);
  } else if (!by_onednn(problem)) {
    by_columns<float>(problem);
  }
  if (!is_same(problem.weights, out)) copy_elements(problem.weights, out);
}

}  // namespace md
