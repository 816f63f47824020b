// The inner loops that exist once per instruction-set level, as a table of function pointers. Includes little:
// the loops take long to compile.
#pragma once
#include <cstdint>

#include "tensor/simd/pointwise_table.h"

namespace md {

inline constexpr int kPointwiseCount = 0
#define MD_POINTWISE(...) +1
#include "tensor/simd/pointwise.def"
#undef MD_POINTWISE
    ;

// Of the Mersenne Twister: the next 624 words in place of the previous ones; words as they are handed out; numbers of
// [low, high), made of a word or two each.
struct RandomLoops {
  void (*twist)(uint32_t* words);
  void (*temper)(const uint32_t* words, int64_t n, uint32_t* out);
  void (*floats)(const uint32_t* words, int64_t n, float low, float high, float* out);
  void (*doubles)(const uint32_t* words, int64_t n, double low, double high, double* out);
};

// dst[i] = To(src[i]).
using ConvertLoop = void (*)(const void* src, void* dst, int64_t n);

// The largest or smallest of n > 0 elements, NaN first; and the index of the first element equal to a value (or NaN, if
// the value is). None for half types and bool.
using ExtremeLoop = void (*)(const void* src, int64_t n, void* best);
// *total = *total + src[0] + ..., or the product: in int64_t, wrapping around, for integers and bool, else in
// the dtype; none for half types.
using FoldLoop = void (*)(const void* src, int64_t n, void* total);
using FindLoop = int64_t (*)(const void* src, int64_t n, const void* value);

constexpr int64_t kGemmDepth = 384;         // block of k
constexpr int64_t kGemmRows = 152;          // rows of a packed at a time
constexpr int64_t kStreamBytes = 24 << 10;  // of sums and of the rows of b that are added to them: in the L1 cache

// c[m, n] = a[m, depth] @ b[depth, n], or added to it. b is packed; so is a, into packed_a, unless that
// is null: then a_step must be 1.
template <typename T>
struct GemmBlock {
  int64_t m, n, depth;
  const T* a;
  int64_t a_row, a_step;
  T* packed_a;  // room for min(m, kGemmRows) * depth
  const T* b;   // packed into strips, or in place: then n is a multiple of `vector`, with any b_row
  int64_t b_row;
  bool b_is_packed;
  T* c;
  int64_t c_row;
  bool add;
  bool subtract = false;  // with `add`: the product is subtracted
};

// Strides in elements: a is at a[i * a_row + p * a_step], b at b[p * b_row + j * b_step], rows of c are contiguous.
template <typename T>
struct GemmProblem {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_step;
  const T* b;
  int64_t b_row, b_step;
  T* c;
  int64_t c_row;
  bool subtract = false;  // from what c holds
};

template <typename T>
struct GemmLoops {
  int64_t strip;   // columns: packed b is padded to a multiple
  int64_t vector;  // elements per vector
  void (*pack_columns)(const T* b, int64_t b_row, int64_t b_step, int64_t depth, int64_t n, T* packed);
  void (*rows)(const GemmBlock<T>& block);
};

// Products whose operands come as they are.
template <typename T>
struct ProductLoops {
  // Packs all rows of a, into packed_a: room for m * depth.
  void (*pack_rows)(const GemmBlock<T>& block);
  // As GemmLoops::rows, for an a that pack_rows has packed.
  void (*packed_rows)(const GemmBlock<T>& block);
  // The same for a b that is where it is, with b_step 1 and any n. A strip at a time is packed by the first tile that
  // reads it, into `strip`, while the next strip, in the end that at `next` (or null), comes into the L2 cache.
  void (*strips)(const GemmBlock<T>& block, T* strip, const T* next);
  // b_step is 1 and n at least `vector`. Sums run through k in order, by blocks of kGemmDepth; sums: room for
  // kStreamBytes, in which a vector of each row fits. is_far: b comes from memory.
  void (*stream)(const GemmProblem<T>& problem, T* sums, bool is_far);
  // a_step and b_row are 1. Sums run in lanes.
  void (*dots)(const GemmProblem<T>& problem);
};

constexpr int64_t kFactorColumns = 16;  // that the loops of a decomposition take at most

// c[m, n] -= a[m, k] @ b[k, n], summed in order of k; columns of a and c are contiguous.
template <typename T>
struct ProductUpdate {
  int64_t m, n, k;
  const T* a;
  int64_t a_step;
  const T* b;
  int64_t b_row, b_step;
  T* c;
  int64_t c_step;
};

// b[n, count] = the x of l @ x = b, for a lower triangle; n is at most kFactorColumns. Strides may be negative, one of
// b's is 1 or -1.
template <typename T>
struct TriangleSolve {
  int64_t n, count;
  const T* l;
  int64_t l_row, l_step;
  bool has_ones;  // on the diagonal, which is not read
  T* b;
  int64_t b_row, b_step;
};

// Of decompositions of matrices with contiguous columns, `step` elements apart.
template <typename T>
struct FactorLoops {
  void (*update)(const ProductUpdate<T>& update);
  // places[k]: the row that was exchanged with row k, k itself without `pivots`. Returns the number, from 1, of the
  // first column whose pivot is 0, or 0.
  int64_t (*lu)(T* a, int64_t step, int64_t rows, int64_t columns, bool pivots, int32_t* places);
  // Of the lower triangle, n at most kFactorColumns. Returns the order of the first minor that is not positive, or 0.
  int64_t (*cholesky)(T* a, int64_t step, int64_t n);
  void (*solve_lower)(const TriangleSolve<T>& solve);
  // R on and above the diagonal; below it, behind a one that is not stored, the vectors of the reflections that give Q,
  // with their factors in taus.
  void (*qr)(T* a, int64_t step, int64_t rows, int64_t columns, T* taus);
  // The reflection (1, v[0..n)) of columns of n + 1 elements.
  void (*reflect)(const T* v, int64_t n, T tau, T* c, int64_t step, int64_t columns);
};

// Rows of tiles of one image; a tile has 2 x 2 results of a 3 x 3 convolution, and the 16
// numbers that are summed for them.
struct WinogradBand {
  int64_t height, width, top, left;  // of the image, and the padding above and left of it
  int64_t dst_height, dst_width;
  int64_t across;       // tiles per row
  int64_t first, down;  // rows
  int64_t tile_step;    // between the 16 numbers of a tile; tiles are contiguous
};

// Whole vectors are written: up to 15 floats beyond the last tile.
struct WinogradLoops {
  // Floats of scratch memory for a band.
  int64_t (*scratch)(const WinogradBand& band);
  // Transforms one channel of the image to tiles.
  void (*read)(const WinogradBand& band, const float* image, float* tiles, float* scratch);
  // Transforms tiles to one channel of the result. Returns false if a number is not finite, or at least 2^64.
  bool (*write)(const WinogradBand& band, const float* tiles, float bias, float* dst, float* scratch);
  // Transforms `count` kernels of 9; number i of kernel k is at dst[i * step + k].
  void (*weights)(const float* src, int64_t count, float* dst, int64_t step);
};

// Rows of an image, to be padded and dealt out: column x of a padded row is at x % stride * phase + x / stride, so that
// neighbouring results of a convolution read neighbours.
struct DealtRows {
  int64_t count, columns;       // contiguous
  int64_t first;                // the padding on the left
  int64_t stride, phase, line;  // stride: 1 or 2; line: floats between two rows
};

// Rows of one channel of a depthwise convolution.
struct DepthwisePlane {
  int64_t kernel_rows, kernel_columns;
  int64_t rows, columns;         // of results
  int64_t row_step;              // floats between the image's rows of neighbouring rows of results
  int64_t kernel_row_step;       // and of neighbouring rows of the kernel
  const int64_t* column_places;  // where each column of the kernel starts
};

// Rows of pixels of some channels, a plane of pixels each.
struct ChannelRows {
  int64_t count, columns;
  int64_t line;   // pixels between two rows of the block
  int64_t plane;  // floats between two channels
};

// A row of results of a block of pixels, each a vector of channels. Steps are in floats.
struct ChannelWindow {
  int64_t kernel_rows, kernel_columns;
  int64_t columns;                // of results
  int64_t row_step, column_step;  // between neighbours that a window reads
  int64_t result_step;            // between windows
};

struct DepthwiseLoops {
  // Reads nothing from `end` on; writes whole vectors, with zeros behind a row's end.
  void (*deal)(const DealtRows& rows, const float* src, const float* end, float* dst);
  // Whole vectors of the image are read: up to 15 floats beyond the last column of a phase.
  void (*plane)(const DepthwisePlane& plane, const float* image, const float* weights, float bias, float* dst);
  // Makes rows that are `line` apart contiguous; whole vectors are read.
  void (*collect)(const float* src, int64_t line, int64_t rows, int64_t columns, float* dst);

  int64_t lanes;  // channels of a pixel below
  // Up to `lanes` channels, whose planes are contiguous, to pixels. Reads nothing from `end` on.
  void (*read_channels)(const ChannelRows& rows, const float* src, int64_t channels, const float* end, float* block);
  // bias: a pixel.
  void (*channels)(const ChannelWindow& window, const float* block, const float* weights, const float* bias,
                   float* results);
  // Contiguous pixels to channels that are `plane` floats apart.
  void (*write_channels)(const float* results, int64_t pixels, int64_t channels, int64_t plane, float* dst);
};

// One row of the product of rows of bytes, (byte - zero) * step each, with columns of signed bytes, byte * column_step.
struct ByteSums {
  int64_t n;
  float step;
  int32_t zero;
  const int32_t* column_sums;  // of the signed bytes
  const float* column_steps;
  const float* bias;  // may be null
};

struct ByteLoops {
  // dst[i] = src[i] * inverse + zero, rounded to the nearest of 0 to 255; the products are less than 2^22, or NaN.
  void (*bytes)(const float* src, int64_t n, float inverse, int32_t zero, uint8_t* dst);
  // The sums of the products of the bytes as float32.
  void (*floats_of_sums)(const ByteSums& sums, const int32_t* src, float* dst);
};

// T: float or double.
template <typename T>
struct FloatLoops {
  // Sums are pairwise over blocks; max and min propagate NaN; n > 0.
  T (*sum)(const T* src, int64_t n);
  T (*max)(const T* src, int64_t n);
  T (*min)(const T* src, int64_t n);
  GemmLoops<T> gemm;
  // For matrix-vector products: out[j] = the dot product of a and b + j * b_step, and y += x * scale.
  void (*dots)(const T* a, const T* b, int64_t b_step, int64_t count, int64_t n, T* out);
  void (*axpy)(T scale, const T* x, T* y, int64_t n);
  // Accurate sum, in double; and the sum of (element - mean)^2.
  double (*exact_sum)(const T* src, int64_t n);
  double (*squares)(const T* src, int64_t n, T mean);
  // The mean, and the sum of (element - mean)^2; n > 0.
  void (*moments)(const T* src, int64_t n, double* mean, double* squares);
  // dst = (src - mean) / sqrt(variance + eps) * scale + shift; scale and shift may be null. dst may be src.
  void (*normalize)(const T* src, T* dst, int64_t n, double eps, const T* scale, const T* shift);
  // dst[i] = before + src[0] + ... + src[i]; returns the last one, in double. dst may be src.
  double (*running_sum)(const T* src, T* dst, int64_t n, double before);
  // dst[i] = exp(src[i] - shift); returns the sum of dst.
  T (*exp_sum)(const T* src, T shift, T* dst, int64_t n);
};

// Rows of n elements, whose parts are adjacent. Sums are pairwise over blocks.
template <typename T>
struct ComplexProduct {
  int64_t m, n, k;
  const Complex<T>* a;
  int64_t a_row, a_step;
  const Complex<T>* b;
  int64_t b_row;
  Complex<T>* c;
  int64_t c_row;
};
template <typename T>
struct ComplexLoops {
  void (*sum)(const T* src, int64_t n, T* total);
  void (*dot)(const T* a, const T* b, int64_t n, T* total);  // of the products of two rows
  void (*multiply)(const ComplexProduct<T>& product);
};

// By scalar_mask / (arity == 3 ? 2 : 1).
using PointwiseMasks = PointwiseLoop[4];
using ConvertRow = ConvertLoop[kDTypeCount];

struct PointwiseTable {
  PointwiseMasks loops[kDTypeCount][kPointwiseCount];
};
struct ConvertTable {
  ConvertRow loops[kDTypeCount];
};

// dst[i] = src[0].
using RepeatLoop = void (*)(const char* src, char* dst, int64_t n);
// dst[i] = src[-i].
using ReversedLoop = void (*)(const char* src, char* dst, int64_t n);
// dst[k][i] = src[k][i * step] of up to three operands, for words that lie 2, 3 or 4 words apart.
using PickLoop = void (*)(const char* const* src, char* const* dst, int64_t n);
inline constexpr int kPickSteps = 3, kMostPicks = 3;

struct OrderLoops;    // tensor/simd/order_table.h
struct FourierTable;  // tensor/simd/fourier_table.h
struct LaneTable;     // tensor/simd/lane_table.h
struct SpecialTable;  // tensor/simd/special_table.h

struct LoopTable {
  const char* name;                              // of the instruction-set level
  const PointwiseMasks* pointwise[kDTypeCount];  // each by row
  const ConvertRow* convert;                     // from, to
  ExtremeLoop extreme[kDTypeCount][2];           // smallest, largest
  FoldLoop sum[kDTypeCount], product[kDTypeCount];
  FindLoop find[kDTypeCount];  // -1 if there is none
  FloatLoops<float> f32;
  FloatLoops<double> f64;
  const ComplexLoops<float>* f32_complex;
  const ComplexLoops<double>* f64_complex;
  WinogradLoops winograd;
  DepthwiseLoops depthwise;
  ByteLoops bytes;
  // Whether all of index[0..n) are in [0, extent).
  bool (*indices_fit)(const int64_t* index, int64_t n, int64_t extent);
  // dst[i] = src[index[i] * stride]; returns false if an index is not in [-wrapped, extent): its element is then
  // src[0]. wrapped: extent, or 0 if negative indices are not allowed. extent > 0. For elements of 4 and 8 bytes.
  bool (*take_words)(const uint32_t* src, const int64_t* index, int64_t n, int64_t extent, int64_t wrapped,
                     int64_t stride, uint32_t* dst);
  bool (*take_long_words)(const uint64_t* src, const int64_t* index, int64_t n, int64_t extent, int64_t wrapped,
                          int64_t stride, uint64_t* dst);
  RepeatLoop repeat[4];                      // a word of 1, 2, 4, 8 bytes, n times
  ReversedLoop reversed[4];                  // words of 1, 2, 4, 8 bytes
  PickLoop pick[4][kPickSteps][kMostPicks];  // words of 1, 2, 4, 8 bytes; steps from 2 on; operands
  RandomLoops random;
  ProductLoops<float> f32_products;
  ProductLoops<double> f64_products;
  FactorLoops<float> f32_factors;
  FactorLoops<double> f64_factors;
  const OrderLoops* order;
  const FourierTable* fourier;
  const LaneTable* lanes;
  const SpecialTable* specials;
};

}  // namespace md
