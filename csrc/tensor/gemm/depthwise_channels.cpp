#include "tensor/gemm/depthwise_channels.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/gemm/window_extent.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

constexpr int64_t kWantedFloats = 24 * 1024, kMostFloats = 128 * 1024;  // of a block and its results
constexpr int64_t kMostColumns = 20;                                    // of results: longer rows fill vectors
constexpr int64_t kLeastBands = 4;  // rows of results per row that is read again by the next block

class DepthwiseChannels final : public InPlaceWeights {
 public:
  explicit DepthwiseChannels(const ConvolutionSpec& spec)
      : images_(spec.src[0]),
        channels_(spec.src[1]),
        has_bias_(spec.has_bias),
        lanes_(loops().depthwise.lanes),
        down_(extent_of(spec, 0)),
        across_(extent_of(spec, 1)),
        line_(std::max(across_.src + across_.padding, (across_.dst - 1) * across_.stride + across_.span())) {
    int64_t room = kWantedFloats / lanes_ - down_.span() * line_;
    int64_t wanted = room / (down_.stride * line_ + across_.dst) + 1;
    band_ = std::clamp<int64_t>(wanted, std::min(kLeastBands * down_.span(), down_.dst), down_.dst);
  }

  bool ok() const { return block_floats() + result_floats() <= kMostFloats; }

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == (has_bias_ ? 3u : 2u), "a convolution got ", inputs.size(), " inputs");
    const auto *src = static_cast<const float*>(inputs[0]), *weights = static_cast<const float*>(inputs[1]);
    const auto* bias = has_bias_ ? static_cast<const float*>(inputs[2]) : nullptr;
    auto* to = static_cast<float*>(dst);
    int64_t plane = down_.src * across_.src, window = down_.kernel * across_.kernel, area = down_.dst * across_.dst;
    const float *src_end = src + images_ * channels_ * plane, *weights_end = weights + channels_ * window;
    auto* block = static_cast<float*>(scratchpad);
    float *results = block + block_floats(), *kernels = results + result_floats(), *biases = kernels + window * lanes_;
    std::fill_n(block, block_floats(), 0.0f);  // the padding left and right stays
    for (int64_t first = 0; first < channels_; first += lanes_) {
      int64_t count = std::min(lanes_, channels_ - first);
      std::fill_n(biases, lanes_, 0.0f);
      if (has_bias_) std::copy_n(bias + first, count, biases);
      loops().depthwise.read_channels({1, window, window, window}, weights + first * window, count, weights_end,
                                      kernels);
      for (int64_t i = 0; i < images_; ++i) {
        int64_t channel = i * channels_ + first;
        for (int64_t row = 0; row < down_.dst; row += band_) {
          int64_t rows = std::min(band_, down_.dst - row);
          read_rows(src + channel * plane, src_end, count, row, rows, block);
          run_rows(block, kernels, biases, rows, results);
          loops().depthwise.write_channels(results, rows * across_.dst, count, area,
                                           to + channel * area + row * across_.dst);
        }
      }
    }
  }
  size_t scratchpad_bytes() const override {
    int64_t of_kernels = (down_.kernel * across_.kernel + 1) * lanes_;
    return static_cast<size_t>(block_floats() + result_floats() + of_kernels) * sizeof(float);
  }
  std::string implementation() const override { return str_cat("own vectors of channels (", loops().name, ")"); }
  size_t nbytes() const override { return sizeof(*this); }

 private:
  // The number of the image's rows that `results` rows of results read.
  int64_t rows_of(int64_t results) const { return (results - 1) * down_.stride + down_.span(); }
  int64_t block_floats() const { return rows_of(band_) * line_ * lanes_; }
  int64_t result_floats() const { return band_ * across_.dst * lanes_; }

  // What `rows` rows of results from the one numbered `first` on read of `count` channels.
  void read_rows(const float* src, const float* src_end, int64_t count, int64_t first, int64_t rows,
                 float* block) const {
    int64_t top = first * down_.stride - down_.padding, read = rows_of(rows), line = line_ * lanes_;
    int64_t begin = std::clamp<int64_t>(-top, 0, read), end = std::clamp(down_.src - top, begin, read);
    // Rows outside of the image hold those of another block.
    std::fill_n(block, begin * line, 0.0f);
    std::fill_n(block + end * line, (read - end) * line, 0.0f);
    if (begin == end) return;
    ChannelRows part = {end - begin, across_.src, line_, down_.src * across_.src};
    loops().depthwise.read_channels(part, src + (top + begin) * across_.src, count, src_end,
                                    block + begin * line + across_.padding * lanes_);
  }

  void run_rows(const float* block, const float* kernels, const float* biases, int64_t rows, float* results) const {
    ChannelWindow window = {.kernel_rows = down_.kernel,
                            .kernel_columns = across_.kernel,
                            .columns = across_.dst,
                            .row_step = down_.dilation * line_ * lanes_,
                            .column_step = across_.dilation * lanes_,
                            .result_step = across_.stride * lanes_};
    for (int64_t y = 0; y < rows; ++y)
      loops().depthwise.channels(window, block + y * down_.stride * line_ * lanes_, kernels, biases,
                                 results + y * across_.dst * lanes_);
  }

  int64_t images_, channels_;
  bool has_bias_;
  int64_t lanes_;  // channels of a block
  WindowExtent down_, across_;
  int64_t line_;  // pixels of a row of a block, the padding included
  int64_t band_;  // rows of results at a time
};

}  // namespace

OnednnPackingPtr make_depthwise_channels(const ConvolutionSpec& spec) {
  if (spec.src.size() != 4 || spec.dst[1] != spec.src[1] || spec.dst[3] > kMostColumns) return nullptr;
  if (spec.src[1] < loops().depthwise.lanes) return nullptr;
  return made_if_ok<DepthwiseChannels>(spec);
}

}  // namespace md
