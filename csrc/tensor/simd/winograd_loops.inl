// A 3 x 3 convolution as products of 16 numbers for each tile of 2 x 2 results, F(2 x 2, 3 x 3). Source: A. Lavin, S.
// Gray, Fast algorithms for convolutional neural networks, CVPR 2016 (arXiv:1509.09308), section 4.1.
// Lines are processed in whole vectors: what is computed beyond their end is overwritten
// by the next line, or never read.

constexpr int kTileSide = 4;  // of the inputs of a tile of 2 x 2 results

inline int64_t whole_vectors(int64_t n) { return (n + kVector<float> - 1) / kVector<float> * kVector<float>; }

inline Vector<float>& vector_at(float* at) { return *reinterpret_cast<Vector<float>*>(at); }
inline Vector<float> vector_at(const float* at) { return *reinterpret_cast<const Vector<float>*>(at); }

// Along one line, for tile t: of the four numbers from line[2 t] on.
inline __attribute__((always_inline)) void winograd_spread(const float* __restrict line, int64_t count,
                                                           float* __restrict even, float* __restrict odd, float* dst,
                                                           int64_t dst_step) {
  constexpr int64_t kStep = kVector<float>;
  for (int64_t at = 0; at <= count; at += kStep) {
#pragma GCC ivdep
    for (int64_t t = at; t < at + kStep; ++t) {
      even[t] = line[2 * t];
      odd[t] = line[2 * t + 1];
    }
  }
  for (int64_t t = 0; t < count; t += kStep) {
    Vector<float> first = vector_at(even + t), second = vector_at(odd + t), third = vector_at(even + t + 1),
                  fourth = vector_at(odd + t + 1);
    vector_at(dst + t) = first - third;
    vector_at(dst + dst_step + t) = second + third;
    vector_at(dst + 2 * dst_step + t) = third - second;
    vector_at(dst + 3 * dst_step + t) = second - fourth;
  }
}

inline int64_t winograd_line(const WinogradBand& band) { return 2 * whole_vectors(band.across + 1); }
int64_t winograd_scratch(const WinogradBand& band) {
  return (kTileSide + 1 + 2 * band.down + 2) * winograd_line(band) + kVector<float>;
}

void winograd_read(const WinogradBand& band, const float* src, float* dst, float* scratch) {
  int64_t length = winograd_line(band);
  float *lines = scratch, *even = lines + kTileSide * length, *odd = even + length / 2, *rows = odd + length / 2;
  int64_t row_count = 2 * band.down + 2;
  for (int64_t i = 0; i < row_count; ++i) {
    int64_t y = 2 * band.first + i - band.top;
    float* row = rows + i * length;
    int64_t end = least(length, band.left + band.width);
    bool is_inside = y >= 0 && y < band.height;
    for (int64_t x = 0; x < (is_inside ? band.left : length); ++x) row[x] = 0;
    if (!is_inside) continue;
    __builtin_memcpy(row + band.left, src + y * band.width, static_cast<size_t>(end - band.left) * sizeof(float));
    for (int64_t x = end; x < length; ++x) row[x] = 0;
  }
  for (int64_t r = 0; r < band.down; ++r, dst += band.across, rows += 2 * length) {
    for (int64_t x = 0; x < length; x += kVector<float>) {
      Vector<float> a = vector_at(rows + x), b = vector_at(rows + length + x), c = vector_at(rows + 2 * length + x),
                    d = vector_at(rows + 3 * length + x);
      vector_at(lines + x) = a - c;
      vector_at(lines + length + x) = b + c;
      vector_at(lines + 2 * length + x) = c - b;
      vector_at(lines + 3 * length + x) = b - d;
    }
    for (int i = 0; i < kTileSide; ++i)
      winograd_spread(lines + i * length, band.across, even, odd, dst + i * kTileSide * band.tile_step, band.tile_step);
  }
  // Uninitialised memory might contain numbers that are slow to multiply.
  for (int i = 0; i < kTileSide * kTileSide; ++i) vector_at(dst + i * band.tile_step) = Vector<float>{};
}

bool winograd_write(const WinogradBand& band, const float* src, float bias, float* dst, float* scratch) {
  constexpr int64_t kStep = kVector<float>;
  // Next to larger numbers, the other results of the tile lose all digits. Numbers this large
  // overflow, and times zero they are NaN.
  constexpr float kOverflowing = 0x1p64f;
  float* lines[2] = {scratch, scratch + 2 * whole_vectors(band.across)};
  Vector<float> doubt = {};
  for (int64_t r = 0; r < band.down; ++r, src += band.across) {
    for (int64_t at = 0; at < band.across; at += kStep) {
      Vector<float> upper[kTileSide], lower[kTileSide];
#pragma GCC unroll 4
      for (int j = 0; j < kTileSide; ++j) {
        const float* m = src + j * band.tile_step + at;
        Vector<float> b = vector_at(m + 4 * band.tile_step), c = vector_at(m + 8 * band.tile_step);
        upper[j] = vector_at(m) + b + c;
        lower[j] = b - c - vector_at(m + 12 * band.tile_step);
      }
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        Vector<float>(&m)[kTileSide] = i == 0 ? upper : lower;
        float even[kStep], odd[kStep];
        vector_at(even) = m[0] + m[1] + m[2] + bias;
        vector_at(odd) = m[1] - m[2] - m[3] + bias;
        float* line = lines[i] + 2 * at;
#pragma GCC ivdep
        for (int64_t t = 0; t < kStep; ++t) {
          line[2 * t] = even[t];
          line[2 * t + 1] = odd[t];
        }
      }
    }
    for (int64_t i = 0, y = 2 * (band.first + r); i < 2 && y + i < band.dst_height; ++i) {
      float* row = dst + (y + i) * band.dst_width;
      __builtin_memcpy(row, lines[i], static_cast<size_t>(band.dst_width) * sizeof(float));
      int64_t x = 0;
      for (; x + kStep <= band.dst_width; x += kStep) doubt += vector_at(row + x) * kOverflowing * 0;
      for (; x < band.dst_width; ++x) doubt[0] += row[x] * kOverflowing * 0;
    }
  }
  float total = 0;
  for (int64_t t = 0; t < kStep; ++t) total += doubt[t];
  return total == 0;
}

void winograd_weights(const float* src, int64_t count, float* dst, int64_t step) {
  constexpr int kSide = 3;
  constexpr int64_t kStep = kVector<float>;
  for (int64_t at = 0; at < count; at += kStep) {
    int64_t kernels = least(count - at, kStep);
    Vector<float> g[kSide * kSide], half[kTileSide * kSide];
    for (int i = 0; i < kSide * kSide; ++i) {
      for (int64_t k = 0; k < kStep; ++k) g[i][k] = k < kernels ? src[(at + k) * kSide * kSide + i] : 0;
    }
    auto spread = [](const Vector<float>& a, const Vector<float>& b, const Vector<float>& c, Vector<float>* to,
                     int to_step) __attribute__((always_inline)) {
      to[0] = a;
      to[to_step] = (a + b + c) * 0.5f;
      to[2 * to_step] = (a - b + c) * 0.5f;
      to[3 * to_step] = c;
    };
    for (int j = 0; j < kSide; ++j) spread(g[j], g[kSide + j], g[2 * kSide + j], half + j, kSide);
    for (int i = 0; i < kTileSide; ++i) {
      const Vector<float>* line = half + i * kSide;
      Vector<float> numbers[kTileSide];
      spread(line[0], line[1], line[2], numbers, 1);
      for (int j = 0; j < kTileSide; ++j) {
        float* to = dst + (i * kTileSide + j) * step + at;
        if (kernels == kStep) {
          vector_at(to) = numbers[j];
        } else {
          for (int64_t k = 0; k < kernels; ++k) to[k] = numbers[j][k];
        }
      }
    }
  }
}

constexpr WinogradLoops winograd_loops() { return {winograd_scratch, winograd_read, winograd_write, winograd_weights}; }
