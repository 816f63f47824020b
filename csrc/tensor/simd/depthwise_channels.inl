// Depthwise convolutions with a vector of channels for each pixel: for images whose rows fill no vectors.

constexpr int64_t kFewPixels = 3;  // which are cheaper one by one than a square of them

// Reads pixels of a vector of channels and gives each to put(vector). Of missing channels the last one is read.
template <typename Put>
inline void for_each_pixel(const float* src, int64_t plane, int64_t channels, int64_t pixels, const float* end,
                           const Put& put) {
  constexpr int64_t kSide = kVector<float>;
  const float* rows[kSide];
  for (int64_t c = 0; c < kSide; ++c) rows[c] = src + least(c, channels - 1) * plane;
  for (int64_t p = 0; p < pixels; p += kSide) {
    int64_t count = least(kSide, pixels - p);
    Vector<float> lines[kSide];
    if (count > kFewPixels && end - (rows[kSide - 1] + p) >= kSide) {
#pragma GCC unroll 16
      for (int c = 0; c < kSide; ++c) lines[c] = load_vector(rows[c] + p);
      transpose<float>(lines);
      for (int64_t i = 0; i < count; ++i) put(lines[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) {
        float pixel[kSide];
#pragma GCC unroll 16
        for (int c = 0; c < kSide; ++c) pixel[c] = rows[c][p + i];
        put(load_vector(pixel));
      }
    }
  }
}

void read_channels(const ChannelRows& rows, const float* src, int64_t channels, const float* end, float* block) {
  int64_t x = 0, skipped = (rows.line - rows.columns) * kVector<float>;
  for_each_pixel(src, rows.plane, channels, rows.count * rows.columns, end, [&](Vector<float> pixel) {
    store_vector(pixel, block);
    block += kVector<float>;
    if (++x == rows.columns) {
      block += skipped;
      x = 0;
    }
  });
}

template <int Columns>
void convolve_pixels(const ChannelWindow& window, const float* block, const float* weights, Vector<float> bias,
                     float* results) {
  Vector<float> sums[Columns];
#pragma GCC unroll 8
  for (int x = 0; x < Columns; ++x) sums[x] = bias;
  for (int64_t i = 0; i < window.kernel_rows; ++i, block += window.row_step) {
    const float* at = block;
    for (int64_t j = 0; j < window.kernel_columns; ++j, at += window.column_step, weights += kVector<float>) {
      Vector<float> scale = load_vector(weights);
#pragma GCC unroll 8
      for (int x = 0; x < Columns; ++x) sums[x] += scale * load_vector(at + x * window.result_step);
    }
  }
#pragma GCC unroll 8
  for (int x = 0; x < Columns; ++x) store_vector(sums[x], results + x * kVector<float>);
}

using ConvolvePixels = void (*)(const ChannelWindow& window, const float* block, const float* weights,
                                Vector<float> bias, float* results);
constexpr ConvolvePixels kConvolveByCount[] = {convolve_pixels<1>, convolve_pixels<2>, convolve_pixels<3>,
                                               convolve_pixels<4>, convolve_pixels<5>, convolve_pixels<6>,
                                               convolve_pixels<7>, convolve_pixels<8>};

void convolve_channels(const ChannelWindow& window, const float* block, const float* weights, const float* bias,
                       float* results) {
  constexpr int64_t kMost = 8;
  Vector<float> start = load_vector(bias);
  for (int64_t x = 0; x < window.columns; x += kMost) {
    kConvolveByCount[least(kMost, window.columns - x) - 1](window, block + x * window.result_step, weights, start,
                                                           results + x * kVector<float>);
  }
}

void write_channels(const float* results, int64_t pixels, int64_t channels, int64_t plane, float* dst) {
  constexpr int64_t kSide = kVector<float>;
  int64_t p = 0;
  for (; p + kSide <= pixels; p += kSide, results += kSide * kSide) {
    Vector<float> lines[kSide];
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) lines[i] = load_vector(results + i * kSide);
    transpose<float>(lines);
    for (int64_t c = 0; c < channels; ++c) store_vector(lines[c], dst + c * plane + p);
  }
  for (; p < pixels; ++p, results += kSide)
    for (int64_t c = 0; c < channels; ++c) dst[c * plane + p] = results[c];
}
