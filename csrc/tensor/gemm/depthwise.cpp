#include "tensor/gemm/depthwise.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/rounding.h"
#include "tensor/gemm/depthwise_channels.h"
#include "tensor/gemm/window_extent.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

constexpr int64_t kMostStride = 2;
constexpr int64_t kRoom = 64;              // floats behind a line for whole vectors
constexpr int64_t kLine = 16;              // floats per cache line, and of the longest vector
constexpr int64_t kBandFloats = 6 * 1024;  // of padded rows: in the L1 cache, beside the results
constexpr int64_t kLeastBands = 4;         // rows of results per row that is read again by the next band

class Depthwise final : public InPlaceWeights {
 public:
  explicit Depthwise(const ConvolutionSpec& spec)
      : images_(spec.src[0]),
        channels_(spec.src[1]),
        results_(spec.dst[1] / spec.src[1]),
        has_bias_(spec.has_bias),
        down_(spec.src.size() == 4 ? extent_of(spec, 0) : WindowExtent{1, 1, 1, 1, 1, 0}),
        across_(extent_of(spec, spec.src.size() - 3)) {
    int64_t furthest = (across_.kernel - 1) * across_.dilation / across_.stride;
    int64_t padded = across_.padding / across_.stride + 1 + round_up(across_.src / across_.stride + 1, kLine);
    phase_ = round_up(std::max(padded, round_up(across_.dst, kLine) + furthest), kLine);
    if (is_one_line()) phase_ = across_.src + 2 * across_.padding;
    for (int64_t column = 0; column < across_.span(); column += across_.dilation)
      places_.push_back(column % across_.stride * phase_ + column / across_.stride);
    int64_t wanted = (kBandFloats / line_floats() - down_.span()) / down_.stride + 1;
    band_ = std::clamp<int64_t>(wanted, std::min(kLeastBands * down_.span(), down_.dst), down_.dst);
  }

  void execute(std::span<const void* const> inputs, void* dst, void* scratchpad) const override {
    MD_ASSERT(inputs.size() == (has_bias_ ? 3u : 2u), "a convolution got ", inputs.size(), " inputs");
    auto* image = static_cast<float*>(scratchpad);
    std::fill_n(image, image_floats(), 0.0f);  // the padding left and right stays
    const auto* src = static_cast<const float*>(inputs[0]);
    const float* end = src + images_ * channels_ * down_.src * across_.src;
    const auto* bias = has_bias_ ? static_cast<const float*>(inputs[2]) : nullptr;
    auto* results = static_cast<float*>(dst);
    for (int64_t i = 0; i < images_; ++i) {
      Channel channel = {src, end, static_cast<const float*>(inputs[1]), bias, results};
      for (int64_t c = 0; c < channels_; ++c) {
        run_channel(channel, image);
        channel.src += down_.src * across_.src;
        channel.weights += results_ * down_.kernel * across_.kernel;
        if (has_bias_) channel.bias += results_;
        channel.dst += results_ * down_.dst * across_.dst;
      }
      src = channel.src;
      results = channel.dst;
    }
  }

  size_t scratchpad_bytes() const override {
    int64_t results = is_one_line() ? band_ * line_floats() + kRoom : 0;
    return static_cast<size_t>(image_floats() + results) * sizeof(float);
  }
  std::string implementation() const override { return str_cat("own rows by channels (", loops().name, ")"); }
  size_t nbytes() const override { return sizeof(*this) + places_.size() * sizeof(int64_t); }

 private:
  struct Channel {
    const float *src, *src_end, *weights, *bias;
    float* dst;
  };

  // Whether rows of results that fill no vector are computed as one line, with what lies between them.
  bool is_one_line() const {
    return down_.stride == 1 && across_.stride == 1 && across_.dst <= kLine && 2 * across_.span() < across_.dst;
  }
  int64_t line_floats() const { return phase_ * across_.stride; }  // floats between two rows
  // Whole vectors are read beyond the last row, and written where the image is dealt out.
  int64_t image_floats() const { return rows_of(band_) * line_floats() + kRoom; }
  // The number of the image's rows that `results` rows of results read.
  int64_t rows_of(int64_t results) const { return (results - 1) * down_.stride + down_.span(); }

  void run_channel(const Channel& channel, float* image) const {
    DepthwisePlane plane = {.kernel_rows = down_.kernel,
                            .kernel_columns = across_.kernel,
                            .rows = 0,
                            .columns = across_.dst,
                            .row_step = down_.stride * line_floats(),
                            .kernel_row_step = down_.dilation * line_floats(),
                            .column_places = places_.data()};
    for (int64_t first = 0; first < down_.dst; first += band_) {
      plane.rows = std::min(band_, down_.dst - first);
      read_rows(channel, first * down_.stride - down_.padding, rows_of(plane.rows), image);
      for (int64_t i = 0; i < results_; ++i) {
        run_plane(plane, image, channel.weights + i * down_.kernel * across_.kernel, has_bias_ ? channel.bias[i] : 0.0f,
                  channel.dst + (i * down_.dst + first) * across_.dst);
      }
    }
  }

  void run_plane(const DepthwisePlane& plane, float* image, const float* weights, float bias, float* dst) const {
    if (!is_one_line()) return loops().depthwise.plane(plane, image, weights, bias, dst);
    float* line = image + image_floats();
    DepthwisePlane one = plane;
    one.rows = 1;
    one.columns = (plane.rows - 1) * line_floats() + plane.columns;
    loops().depthwise.plane(one, image, weights, bias, line);
    loops().depthwise.collect(line, line_floats(), plane.rows, plane.columns, dst);
  }

  // Of rows outside of the image nothing is left of another band.
  void read_rows(const Channel& channel, int64_t first, int64_t count, float* image) const {
    int64_t begin = std::clamp<int64_t>(-first, 0, count), end = std::clamp(down_.src - first, begin, count);
    if (band_ < down_.dst) {
      std::fill_n(image, begin * line_floats(), 0.0f);
      std::fill_n(image + end * line_floats(), (count - end) * line_floats(), 0.0f);
    }
    DealtRows rows = {.count = end - begin,
                      .columns = across_.src,
                      .first = across_.padding,
                      .stride = across_.stride,
                      .phase = phase_,
                      .line = line_floats()};
    loops().depthwise.deal(rows, channel.src + (first + begin) * across_.src, channel.src_end,
                           image + begin * line_floats());
  }

  int64_t images_, channels_, results_;  // results: channels of the result for each of the image
  bool has_bias_;
  WindowExtent down_, across_;
  int64_t phase_;                // floats of a row of the image that neighbouring results read
  std::vector<int64_t> places_;  // of the kernel's columns in a row
  int64_t band_;                 // rows of results at a time
};

}  // namespace

bool is_depthwise(const ConvolutionSpec& spec) {
  if (!spec.is_row_major()) return false;
  size_t dims = spec.src.size() - 2;
  if (spec.dtype != DType::float32 || spec.precision != Precision::Float32 || spec.transposed || dims < 1 || dims > 2)
    return false;
  return spec.weights[1] == 1 && spec.groups == spec.src[1] && spec.strides[dims - 1] <= kMostStride;
}

OnednnPackingPtr make_depthwise(const ConvolutionSpec& spec) {
  if (OnednnPackingPtr made = make_depthwise_channels(spec)) return made;
  return std::make_shared<Depthwise>(spec);
}

}  // namespace md
