// A channel of a depthwise convolution: each number of the kernel times whole vectors of the row that it meets. A row
// of the image is loaded once for all the rows of results in registers that read it.

// Vectors of each row of results in registers.
template <int Rows>
constexpr int kDepthwiseVectors = Rows == 1 ? 4 : 2;

// The results of this tile are the last of their rows if `columns` says so; what a vector has beyond them is written
// before the next row is, but not from `end` on.
template <int Rows, int Vectors>
inline __attribute__((always_inline)) void depthwise_tile(const DepthwisePlane& plane, const float* image,
                                                          const float* weights, float bias, float* dst, int64_t columns,
                                                          const float* end) {
  Vector<float> sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sums[r][v] = bias - Vector<float>{};
  }
  int64_t step = Rows == 1 ? 0 : plane.row_step / plane.kernel_row_step;
  int64_t image_rows = plane.kernel_rows + (Rows - 1) * step;
  for (int64_t i = 0; i < image_rows; ++i, image += plane.kernel_row_step, weights += plane.kernel_columns) {
    bool meets[Rows];
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) meets[r] = i >= r * step && i < r * step + plane.kernel_rows;
    for (int64_t j = 0; j < plane.kernel_columns; ++j) {
      const float* at = image + plane.column_places[j];
      Vector<float> row[Vectors];
#pragma GCC unroll 8
      for (int v = 0; v < Vectors; ++v) row[v] = load_vector(at + v * kVector<float>);
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        if (Rows > 1 && !meets[r]) continue;
        Vector<float> scale = weights[j - r * step * plane.kernel_columns] - Vector<float>{};  // broadcast
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) sums[r][v] += scale * row[v];
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r, dst += plane.columns) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      float* to = dst + v * kVector<float>;
      int64_t left = columns - v * kVector<float>;
      if (left >= kVector<float> || (columns == plane.columns && end - to >= kVector<float>)) {
        store_vector(sums[r][v], to);
      } else {
        float last[kVector<float>];
        store_vector(sums[r][v], last);
        for (int64_t x = 0; x < left; ++x) to[x] = last[x];
      }
    }
  }
}

template <int Rows>
void depthwise_rows(const DepthwisePlane& plane, const float* image, const float* weights, float bias, float* dst,
                    const float* end) {
  constexpr int64_t kMost = kDepthwiseVectors<Rows>, kStep = kMost * kVector<float>;
  int64_t x = 0;
  for (; plane.columns - x > kStep - kVector<float>; x += kStep)
    depthwise_tile<Rows, kMost>(plane, image + x, weights, bias, dst + x, plane.columns - x, end);
  int64_t left = plane.columns - x;
  if (kMost > 2 && left > 2 * kVector<float>)
    return depthwise_tile<Rows, kMost - 1>(plane, image + x, weights, bias, dst + x, left, end);
  if (kMost > 2 && left > kVector<float>)
    return depthwise_tile<Rows, 2>(plane, image + x, weights, bias, dst + x, left, end);
  if (left > 0) depthwise_tile<Rows, 1>(plane, image + x, weights, bias, dst + x, left, end);
}

template <int Rows>
void depthwise_narrow_rows(const DepthwisePlane& plane, const float* image, const float* weights, float bias,
                           float* dst, const float* end) {
  depthwise_tile<Rows, 1>(plane, image, weights, bias, dst, plane.columns, end);
}

using DepthwiseRows = void (*)(const DepthwisePlane& plane, const float* image, const float* weights, float bias,
                               float* dst, const float* end);
// By number of rows, from 1 on: of any width, and of one vector.
constexpr DepthwiseRows kDepthwiseWide[] = {depthwise_rows<1>, depthwise_rows<2>, depthwise_rows<3>, depthwise_rows<4>};
constexpr DepthwiseRows kDepthwiseNarrow[] = {
    depthwise_narrow_rows<1>, depthwise_narrow_rows<2>, depthwise_narrow_rows<3>, depthwise_narrow_rows<4>,
    depthwise_narrow_rows<5>, depthwise_narrow_rows<6>, depthwise_narrow_rows<7>, depthwise_narrow_rows<8>};

void depthwise_plane(const DepthwisePlane& plane, const float* image, const float* weights, float bias, float* dst) {
  const float* end = dst + plane.rows * plane.columns;
  bool is_narrow = plane.columns <= kVector<float>;
  const DepthwiseRows* run = is_narrow ? kDepthwiseNarrow : kDepthwiseWide;
  int64_t most = is_narrow ? 8 : 4;
  // Rows of results share rows of the image if those are not between the kernel's.
  if (plane.row_step % plane.kernel_row_step != 0) most = 1;
  for (int64_t y = 0; y < plane.rows; y += most) {
    int64_t rows = least(most, plane.rows - y);
    run[rows - 1](plane, image + y * plane.row_step, weights, bias, dst + y * plane.columns, end);
  }
}

// Whole vectors are written, with zeros in the end.
inline void deal_neighbours(const float* src, int64_t n, const float* end, float* dst) {
  for (int64_t x = 0; x < n; x += kVector<float>) {
    if (end - (src + x) >= kVector<float>) {
      store_vector(first_of<float>(load_vector(src + x), n - x), dst + x);
    } else {
      for (int64_t i = x; i < n; ++i) dst[i] = src[i];
    }
  }
}

inline void deal_pairs(const float* src, int64_t n, const float* end, float* even, float* odd) {
  constexpr int64_t kStep = 2 * kVector<float>;
  VectorIndex<float> evens, odds;
#pragma GCC unroll 16
  for (int i = 0; i < kVector<float>; ++i) {
    evens[i] = 2 * i;
    odds[i] = 2 * i + 1;
  }
  for (int64_t x = 0; x < n; x += kStep) {
    if (end - (src + x) >= kStep) {
      Vector<float> a = load_vector(src + x), b = load_vector(src + x + kVector<float>);
      store_vector(first_of<float>(__builtin_shuffle(a, b, evens), (n - x + 1) / 2), even + x / 2);
      store_vector(first_of<float>(__builtin_shuffle(a, b, odds), (n - x) / 2), odd + x / 2);
    } else {
      for (int64_t i = x; i < n; i += 2) even[i / 2] = src[i];
      for (int64_t i = x + 1; i < n; i += 2) odd[i / 2] = src[i];
    }
  }
}

void deal_rows(const DealtRows& rows, const float* src, const float* end, float* dst) {
  auto place = [&](int64_t column) { return column % rows.stride * rows.phase + column / rows.stride; };
  int64_t first = place(rows.first), second = place(rows.first + 1);
  for (int64_t y = 0; y < rows.count; ++y, src += rows.columns, dst += rows.line) {
    if (rows.stride == 1) {
      deal_neighbours(src, rows.columns, end, dst + first);
    } else {
      deal_pairs(src, rows.columns, end, dst + first, dst + second);
    }
  }
}

// A row's last vector is written whole where it ends before `end`: the next row is written over it.
void collect_rows(const float* src, int64_t line, int64_t rows, int64_t columns, float* dst) {
  const float* end = dst + rows * columns;
  for (int64_t y = 0; y < rows; ++y, src += line, dst += columns) {
    for (int64_t x = 0; x < columns; x += kVector<float>) {
      if (end - (dst + x) >= kVector<float>) {
        store_vector(load_vector(src + x), dst + x);
      } else {
        for (int64_t i = x; i < columns; ++i) dst[i] = src[i];
      }
    }
  }
}

constexpr DepthwiseLoops depthwise_loops() {
  return {deal_rows, depthwise_plane, collect_rows, kVector<float>, read_channels, convolve_channels, write_channels};
}
