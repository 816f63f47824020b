#include "tensor/gemm/winograd.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/config.h"
#include "base/error.h"
#include "base/rounding.h"
#include "tensor/gemm/gemm.h"
#include "tensor/simd/loops.h"
#include "tensor/storage.h"

namespace md {
namespace {

constexpr int64_t kSide = 3, kNumbers = 16;  // of a kernel, and numbers per tile
constexpr int64_t kLeastChannels = 32, kLeastTiles = 196;
constexpr int64_t kBandBytes = 1 << 20;  // of tiles: fits into the L2 cache
constexpr int64_t kLine = 16;            // floats per cache line, and how far vectors may write beyond the last tile
constexpr int64_t kPackRowsFrom = 160;   // weights with more rows or columns are packed for the product

struct Shape {
  int64_t images, channels, height, width, dst_channels, dst_height, dst_width;
  int64_t across() const { return (dst_width + 1) / 2; }
  int64_t down() const { return (dst_height + 1) / 2; }
};
Shape shape_of(const ConvolutionSpec& spec) {
  return {spec.src[0], spec.src[1], spec.src[2], spec.src[3], spec.dst[1], spec.dst[2], spec.dst[3]};
}

bool is_faster(const ConvolutionSpec& spec) {
  auto all = [](const std::vector<int64_t>& values, int64_t value) {
    return std::all_of(values.begin(), values.end(), [=](int64_t each) { return each == value; });
  };
  bool has_kernel = spec.weights.size() == 4 && spec.weights[2] == kSide && spec.weights[3] == kSide;
  if (spec.dtype != DType::float32 || spec.precision != Precision::Float32 || !has_kernel || spec.transposed ||
      spec.groups != 1)
    return false;
  if (!all(spec.strides, 1) || !all(spec.dilations, 1)) return false;
  Shape shape = shape_of(spec);
  return std::min(shape.channels, shape.dst_channels) >= kLeastChannels && shape.across() * shape.down() >= kLeastTiles;
}

// Cost of the products of a band, by number of tiles: in the last strip narrow tiles are slower by whole vectors.
double cost(int64_t tiles, const GemmLoops<float>& loops) {
  constexpr double kOfVectors[] = {0, 1.7, 2.3, 3};
  int64_t in_strip = loops.strip / loops.vector, vectors = ceil_div(tiles, loops.vector);
  int64_t rest = vectors % in_strip;
  if (in_strip != 3) return static_cast<double>(vectors);
  bool takes_two_pairs = rest == 1 && vectors > in_strip;
  return takes_two_pairs ? static_cast<double>(vectors - 4) + 2 * kOfVectors[2]
                         : static_cast<double>(vectors - rest) + kOfVectors[rest];
}

// Number of tile rows processed at a time.
int64_t band_rows(const Shape& shape, const GemmLoops<float>& loops) {
  int64_t best = 1;
  double least_cost = INFINITY;
  for (int64_t rows = 1; rows <= shape.down(); ++rows) {
    int64_t tiles = rows * shape.across();
    int64_t bytes = kNumbers * (shape.channels + shape.dst_channels) * tiles * static_cast<int64_t>(sizeof(float));
    if (rows > 1 && bytes > kBandBytes) break;
    int64_t bands = shape.down() / rows, rest = shape.down() % rows * shape.across();
    double total = cost(tiles, loops) * static_cast<double>(bands) + cost(rest, loops);
    if (total > least_cost) continue;
    least_cost = total;
    best = rows;
  }
  return best;
}

class Winograd final : public OnednnPacking {
 public:
  Winograd(const ConvolutionSpec& spec, OnednnPackingPtr direct)
      : shape_(shape_of(spec)),
        packs_weights_(spec.packs_weights),
        has_bias_(spec.has_bias),
        top_(spec.padding[0]),
        left_(spec.padding[1]),
        direct_(std::move(direct)),
        gemm_(loops().f32.gemm),
        winograd_(loops().winograd),
        rows_(band_rows(shape_, gemm_)),
        row_(round_up(rows_ * shape_.across(), gemm_.vector)),
        scratch_(plan_scratch()) {}

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == (has_bias_ ? 3u : 2u), "a convolution got ", inputs.size(), " inputs");
    auto* memory = static_cast<float*>(scratchpad);
    const auto* weights = static_cast<const float*>(inputs[1]);
    Operands operands = {.src = static_cast<const float*>(inputs[0]),
                         .numbers = packs_weights_ ? weights : memory + scratch_.numbers,
                         .weights = packs_weights_ ? weights + kNumbers * kernels() : weights,
                         .bias = has_bias_ ? static_cast<const float*>(inputs[2]) : nullptr,
                         .dst = static_cast<float*>(dst)};
    if (!packs_weights_) winograd_.weights(weights, kernels(), memory + scratch_.numbers, kernels());
    for (int64_t i = 0; i < shape_.images; ++i) {
      if (!run_image(operands, memory)) run_direct(operands);
      operands.src += shape_.channels * shape_.height * shape_.width;
      operands.dst += shape_.dst_channels * shape_.dst_height * shape_.dst_width;
    }
  }

  size_t scratchpad_bytes() const override { return static_cast<size_t>(scratch_.end) * sizeof(float); }
  std::string implementation() const override { return "own tiles of 2x2 (Winograd)"; }
  size_t packed_bytes() const override {
    return static_cast<size_t>((kNumbers + kSide * kSide) * kernels()) * sizeof(float);
  }
  void pack(const void* weights, void* packed) const override {
    const auto* from = static_cast<const float*>(weights);
    auto* to = static_cast<float*>(packed);
    winograd_.weights(from, kernels(), to, kernels());
    std::memcpy(to + kNumbers * kernels(), from, static_cast<size_t>(kSide * kSide * kernels()) * sizeof(float));
  }
  std::string packed_layout() const override { return str_cat("tiles ", shape_.dst_channels, "x", shape_.channels); }

 private:
  // Offsets of the parts, in floats.
  struct Scratch {
    int64_t image, result, lines, rows, numbers, end;
  };
  struct Operands {
    const float *src, *numbers, *weights, *bias;
    float* dst;
  };

  int64_t kernels() const { return shape_.dst_channels * shape_.channels; }
  // Between the 16 numbers of a tile.
  int64_t tile_step(int64_t channels) const { return channels * row_ + kLine; }
  bool packs_rows() const { return std::max(shape_.channels, shape_.dst_channels) >= kPackRowsFrom; }
  WinogradBand band(int64_t first) const {
    return {.height = shape_.height,
            .width = shape_.width,
            .top = top_,
            .left = left_,
            .dst_height = shape_.dst_height,
            .dst_width = shape_.dst_width,
            .across = shape_.across(),
            .first = first,
            .down = std::min(rows_, shape_.down() - first),
            .tile_step = 0};
  }
  Scratch plan_scratch() const {
    Scratch at = {};
    int64_t end = 0;
    auto take = [&](int64_t floats) { return std::exchange(end, round_up(end + floats, kLine)); };
    at.image = take(kNumbers * tile_step(shape_.channels));
    at.result = take(kNumbers * tile_step(shape_.dst_channels));
    at.lines = take(winograd_.scratch(band(0)));
    at.rows = take(packs_rows() ? std::min(shape_.dst_channels, kGemmRows) * std::min(shape_.channels, kGemmDepth) : 0);
    at.numbers = take(packs_weights_ ? 0 : kNumbers * kernels());
    at.end = end;
    return at;
  }

  // Returns false if a result is not finite, or at least 2^64.
  bool run_image(const Operands& operands, float* memory) const {
    bool is_finite = true;
    for (int64_t first = 0; first < shape_.down() && is_finite; first += rows_) {
      WinogradBand tiles = band(first);
      tiles.tile_step = tile_step(shape_.channels);
      for (int64_t c = 0; c < shape_.channels; ++c) {
        winograd_.read(tiles, operands.src + c * shape_.height * shape_.width, memory + scratch_.image + c * row_,
                       memory + scratch_.lines);
      }
      multiply(operands, tiles.down * shape_.across(), memory);
      tiles.tile_step = tile_step(shape_.dst_channels);
      for (int64_t c = 0; c < shape_.dst_channels; ++c) {
        float bias = operands.bias == nullptr ? 0 : operands.bias[c];
        is_finite &= winograd_.write(tiles, memory + scratch_.result + c * row_, bias,
                                     operands.dst + c * shape_.dst_height * shape_.dst_width, memory + scratch_.lines);
      }
    }
    return is_finite;
  }

  void multiply(const Operands& operands, int64_t tiles, float* memory) const {
    for (int64_t i = 0; i < kNumbers; ++i) {
      GemmBlock<float> block{.m = shape_.dst_channels,
                             .n = round_up(tiles, gemm_.vector),
                             .depth = 0,
                             .a = operands.numbers + i * kernels(),
                             .a_row = shape_.channels,
                             .a_step = 1,
                             .packed_a = packs_rows() ? memory + scratch_.rows : nullptr,
                             .b = memory + scratch_.image + i * tile_step(shape_.channels),
                             .b_row = row_,
                             .b_is_packed = false,
                             .c = memory + scratch_.result + i * tile_step(shape_.dst_channels),
                             .c_row = row_,
                             .add = false};
      for (int64_t c = 0; c < shape_.channels; c += kGemmDepth, block.add = true) {
        block.depth = std::min(shape_.channels - c, kGemmDepth);
        gemm_.rows(block);
        block.a += block.depth;
        block.b += block.depth * row_;
      }
    }
  }

  void run_direct(const Operands& operands) const {
    const void* inputs[] = {operands.src, operands.weights, operands.bias};
    md::execute(*direct_, {inputs, has_bias_ ? size_t{3} : size_t{2}}, operands.dst);
  }

  Shape shape_;
  bool packs_weights_, has_bias_;
  int64_t top_, left_;
  OnednnPackingPtr direct_;  // for one image, with unpacked weights
  const GemmLoops<float>& gemm_;
  const WinogradLoops& winograd_;
  int64_t rows_;  // of tiles, at a time
  int64_t row_;   // number of floats for the tiles of a channel
  Scratch scratch_;
};

}  // namespace

OnednnPackingPtr make_winograd(const ConvolutionSpec& spec) {
  if (!config().winograd || !spec.is_row_major() || !is_faster(spec)) return nullptr;
  ConvolutionSpec image = spec;
  image.src[0] = image.dst[0] = 1;
  image.packs_weights = false;
  OnednnPackingPtr direct = make_convolution(image);
  return direct == nullptr ? nullptr : std::make_shared<Winograd>(spec, std::move(direct));
}

}  // namespace md
