// Images sampled at the places of a grid.
#include <algorithm>
#include <array>
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

enum class SampleMode : uint8_t { Linear, Nearest, Cubic };

constexpr int64_t kBlock = 128;  // places of the grid at a time

// Keys' cubic convolution with a = -0.75, of a place between the second and the third of four pixels.
template <typename T>
void cubic_weights(T t, T (&weights)[4]) {
  constexpr T a = T(-0.75);
  T far = t + 1, near = 1 - t, last = 2 - t;
  weights[0] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a;
  weights[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
  weights[2] = ((a + 2) * near - (a + 3)) * near * near + 1;
  weights[3] = ((a * last - 5 * a) * last + 8 * a) * last - 4 * a;
}

// The taps of a block of places: the pixels that are summed for each, and their weights.
template <typename T>
class BlockTaps {
 public:
  BlockTaps(const Tensor& image, SampleMode mode, SamplePadding padding, bool align_corners)
      : mode_(mode), rank_(image->rank() - 2), loops_(loops().lanes->of<T>()) {
    for (int i = 0; i < rank_; ++i) dims_[i] = {image->sizes()[2 + i], align_corners, padding};
    int along = mode == SampleMode::Nearest ? 1 : mode == SampleMode::Cubic ? 4 : 2;
    for (int i = 0; i < rank_; ++i) taps_ *= along;
    places_.resize(static_cast<size_t>(rank_ * kBlock));
    wholes_.resize(places_.size());
    offsets_.resize(static_cast<size_t>(taps_ * kBlock));
    weights_.resize(offsets_.size());
  }

  // The grid names the last dim of the image first.
  void take(const T* grid, int64_t n) {
    for (int i = 0; i < rank_; ++i) {
      T* places = places_.data() + i * kBlock;
      loops_.pixels(grid + rank_ - 1 - i, rank_, dims_[i], n, places);
      if (mode_ != SampleMode::Cubic) loops_.inside(dims_[i], n, places);
      loops_.wholes(places, mode_ == SampleMode::Nearest, n, wholes_.data() + i * kBlock);
    }
    mode_ == SampleMode::Cubic ? take_cubic(n) : take_corners(n);
  }

  void sum(const T* plane, int64_t n, T* dst) const {
    loops_.taps(plane, offsets_.data(), weights_.data(), taps_, n, dst);
  }

 private:
  void take_corners(int64_t n) {
    for (int64_t corner = 0; corner < taps_; ++corner) {
      int32_t* offsets = offsets_.data() + corner * n;
      T* weights = weights_.data() + corner * n;
      std::fill_n(offsets, n, 0);
      std::fill_n(weights, n, T(1));
      for (int i = 0; i < rank_; ++i) {
        bool is_upper = (corner >> (rank_ - 1 - i) & 1) != 0;
        const T *places = places_.data() + i * kBlock, *wholes = wholes_.data() + i * kBlock;
        loops_.offsets(wholes, is_upper ? T(1) : T(0), dims_[i].size, n, offsets);
        if (mode_ == SampleMode::Nearest) continue;
        for (int64_t k = 0; k < n; ++k) weights[k] *= is_upper ? places[k] - wholes[k] : wholes[k] + 1 - places[k];
      }
    }
  }

  // What is outside is another pixel, not another place.
  void take_cubic(int64_t n) {
    T shifted[kBlock];
    for (int64_t tap = 0; tap < taps_; ++tap) {
      int32_t* offsets = offsets_.data() + tap * n;
      std::fill_n(offsets, n, 0);
      for (int i = 0; i < 2; ++i) {
        const T* wholes = wholes_.data() + i * kBlock;
        for (int64_t k = 0; k < n; ++k) shifted[k] = wholes[k] + static_cast<T>((i == 0 ? tap / 4 : tap % 4) - 1);
        loops_.inside(dims_[i], n, shifted);
        loops_.offsets(shifted, T(0), dims_[i].size, n, offsets);
      }
    }
    for (int64_t k = 0; k < n; ++k) {
      T rows[4], columns[4];
      cubic_weights(places_[static_cast<size_t>(k)] - wholes_[static_cast<size_t>(k)], rows);
      auto at = static_cast<size_t>(kBlock + k);
      cubic_weights(places_[at] - wholes_[at], columns);
      for (int64_t tap = 0; tap < taps_; ++tap)
        weights_[static_cast<size_t>(tap * n + k)] = rows[tap / 4] * columns[tap % 4];
    }
  }

  SampleMode mode_;
  int rank_;
  int64_t taps_ = 1;
  SampleDim dims_[3] = {};
  std::vector<T> places_, wholes_, weights_;
  std::vector<int32_t> offsets_;
  const LaneLoops<T>& loops_;
};

struct SampleCall {
  SampleMode mode;
  SamplePadding padding;
  bool align_corners;
};

template <typename T>
void sample(const SampleCall& wanted, const Tensor& image, const Tensor& grid, const Tensor& out) {
  int rank = image->rank() - 2;
  int64_t images = image->sizes()[0], channels = image->sizes()[1], places = 1, pixels = 1;
  for (int i = 0; i < rank; ++i) {
    places *= out->sizes()[2 + i];
    pixels *= image->sizes()[2 + i];
  }
  int64_t blocks = (places + kBlock - 1) / kBlock;
  double taps = wanted.mode == SampleMode::Cubic ? 16 : 1 << rank;
  double ns = taps * static_cast<double>(kBlock * (channels + 4)) * 0.5;
  parallel_for(images * blocks, ns, [&](int64_t begin, int64_t end) {
    BlockTaps<T> block(image, wanted.mode, wanted.padding, wanted.align_corners);
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = i / blocks, first = i % blocks * kBlock, n = std::min(kBlock, places - first);
      block.take(grid.data<const T>() + (at * places + first) * rank, n);
      for (int64_t channel = at * channels; channel < (at + 1) * channels; ++channel)
        block.sum(image.data<const T>() + channel * pixels, n, out.data<T>() + channel * places + first);
    }
  });
}

}  // namespace

void grid_sample_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  DType dtype = out->dtype();
  Tensor image = as_contiguous(tensor_arg(call, 0), dtype), grid = as_contiguous(tensor_arg(call, 1), dtype);
  if (image->numel() / image->sizes()[0] / image->sizes()[1] > std::numeric_limits<int32_t>::max())
    raise_op(ErrorKind::Runtime, call.row.name, "an image has more than 2^31 - 1 pixels", operand_shapes(call));
  constexpr std::array kModes = {SampleMode::Linear, SampleMode::Nearest, SampleMode::Cubic};
  constexpr std::array kPaddings = {SamplePadding::Zeros, SamplePadding::Border, SamplePadding::Reflection};
  SampleCall wanted = {kModes.at(static_cast<size_t>(int_arg(call, 2))),
                       kPaddings.at(static_cast<size_t>(int_arg(call, 3))), bool_arg(call, 4)};
  if (dtype == DType::float64)
    sample<double>(wanted, image, grid, out);
  else
    sample<float>(wanted, image, grid, out);
}

}  // namespace md
