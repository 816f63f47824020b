// Reductions over a contiguous run, and the inner loops of matrix products.

// Independent partial results, so that the compiler keeps them in vector registers.
constexpr int kLanes = 64;
constexpr int64_t kSumBlock = 1024;

template <typename T>
inline T fold_sum(T* lanes) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

template <typename T>
T sum_block(const T* src, int64_t n) {
  if (n < kLanes) {
    T total = 0;
    for (int64_t i = 0; i < n; ++i) total += src[i];
    return total;
  }
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += src[i + lane];
  }
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += src[i];
  return fold_sum(lanes);
}

// Pairwise over blocks: the error grows with the logarithm of n.
template <typename T>
T sum_run(const T* src, int64_t n) {
  if (n <= kSumBlock) return sum_block(src, n);
  int64_t half = (n / 2 + kSumBlock - 1) / kSumBlock * kSumBlock;
  return sum_run(src, half) + sum_run(src + half, n - half);
}

template <typename T>
void sum_loop(const void* src, int64_t n, void* total) {
  const T* values = static_cast<const T*>(src);
  if constexpr (std::is_floating_point_v<T>) {
    *static_cast<T*>(total) += sum_run(values, n);
  } else {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += uint64_t(int64_t(values[i]));
    *static_cast<uint64_t*>(total) += sum;
  }
}

template <typename T>
void product_loop(const void* src, int64_t n, void* total) {
  using Word = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;
  using Value = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;
  const T* values = static_cast<const T*>(src);
  Word product = *static_cast<Word*>(total);
  int64_t i = 0;
  if (n >= kLanes) {
    Word lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = Word(Value(values[lane]));
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) lanes[lane] *= Word(Value(values[i + lane]));
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) lanes[lane] *= lanes[lane + width];
    }
    product *= lanes[0];
  }
  for (; i < n; ++i) product *= Word(Value(values[i]));
  *static_cast<Word*>(total) = product;
}

template <typename T, bool Max>
T extreme_run(const T* src, int64_t n) {
  T best = src[0];
  int64_t i = 0;
  if (n >= kLanes) {
    T lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = src[lane];
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (int lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = Max ? max_of(lanes[lane], src[i + lane]) : min_of(lanes[lane], src[i + lane]);
      }
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int lane = 0; lane < width; ++lane) {
        lanes[lane] = Max ? max_of(lanes[lane], lanes[lane + width]) : min_of(lanes[lane], lanes[lane + width]);
      }
    }
    best = lanes[0];
  }
  for (; i < n; ++i) best = Max ? max_of(best, src[i]) : min_of(best, src[i]);
  return best;
}

template <typename T, bool Max>
void extreme_loop(const void* src, int64_t n, void* best) {
  *static_cast<T*>(best) = extreme_run<T, Max>(static_cast<const T*>(src), n);
}

// Whole blocks are looked through, so that the compiler can compare vectors.
template <typename T>
int64_t find_loop(const void* src, int64_t n, const void* value) {
  const T* values = static_cast<const T*>(src);
  T wanted = *static_cast<const T*>(value);
  bool is_nan = wanted != wanted;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    int hits = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      T element = values[i + lane];
      hits |= (element == wanted) | (is_nan & (element != element));
    }
    if (hits != 0) break;
  }
  for (; i < n; ++i)
    if (values[i] == wanted || (is_nan && values[i] != values[i])) return i;
  return -1;
}

template <typename T>
T dot_run(const T* a, const T* b, int64_t n) {
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * b[i + lane];
  }
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += a[i] * b[i];
  return fold_sum(lanes);
}

template <typename T>
void axpy_run(T scale, const T* x, T* y, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

template <typename T>
T exp_sum_run(const T* src, T shift, T* dst, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dst[i] = math_exp(src[i] - shift);
  return sum_run(dst, n);
}

template <typename T>
constexpr void fill_folds(LoopTable& table, DType dtype) {
  if constexpr (std::is_arithmetic_v<T>) {
    table.sum[static_cast<int>(dtype)] = sum_loop<T>;
    table.product[static_cast<int>(dtype)] = product_loop<T>;
  }
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    table.extreme[static_cast<int>(dtype)][0] = extreme_loop<T, false>;
    table.extreme[static_cast<int>(dtype)][1] = extreme_loop<T, true>;
    table.find[static_cast<int>(dtype)] = find_loop<T>;
  }
}

constexpr void fill_blocks(LoopTable& table) {
#define MD_DTYPE(name, ctype, category, short_name, python_name) fill_folds<ctype>(table, DType::name);
#include "tensor/dtypes.def"
#undef MD_DTYPE
  table.sum_f32 = sum_run<float>;
  table.sum_f64 = sum_run<double>;
  table.max_f32 = extreme_run<float, true>;
  table.max_f64 = extreme_run<double, true>;
  table.min_f32 = extreme_run<float, false>;
  table.min_f64 = extreme_run<double, false>;
  table.gemm_f32 = gemm_loops<float>();
  table.gemm_f64 = gemm_loops<double>();
  table.dot_f32 = dot_run<float>;
  table.dot_f64 = dot_run<double>;
  table.axpy_f32 = axpy_run<float>;
  table.axpy_f64 = axpy_run<double>;
  table.exp_sum_f32 = exp_sum_run<float>;
  table.exp_sum_f64 = exp_sum_run<double>;
}
