// Normal numbers from uniform ones (Box and Muller 1958): the numbers of torch's kernels for CPUs.
#include <numbers>

#include "tensor/kernels/random_fill.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/pointwise.h"

namespace md {
namespace {

constexpr int64_t kGroup = 16;  // eight radii and their eight angles become eight pairs
constexpr int64_t kHalf = kGroup / 2;

struct Normal {
  double mean, deviation;
};

template <typename T>
void apply(Pointwise function, T* values, int64_t n) {
  const void* src[] = {values};
  pointwise_loop(static_cast<int>(function), dtype_of<T>())(src, values, n, nullptr);
}

// Uniform numbers of up to 64 groups become normal ones.
template <typename T>
void pair_up(T* numbers, int64_t groups, Normal normal) {
  constexpr int64_t kMost = 64 * kHalf;
  alignas(64) T radius[kMost], cosine[kMost], sine[kMost];
  for (int64_t i = 0; i < groups * kHalf; ++i) {
    const T* at = numbers + i / kHalf * kGroup + i % kHalf;
    radius[i] = 1 - at[0];  // in (0, 1]
    cosine[i] = sine[i] = static_cast<T>(2 * std::numbers::pi) * at[kHalf];
  }
  int64_t n = groups * kHalf;
  apply(Pointwise::log, radius, n);
  for (int64_t i = 0; i < n; ++i) radius[i] *= T(-2);
  apply(Pointwise::sqrt, radius, n);
  apply(Pointwise::cos, cosine, n);
  apply(Pointwise::sin, sine, n);
  T mean = static_cast<T>(normal.mean), deviation = static_cast<T>(normal.deviation);
  for (int64_t i = 0; i < n; ++i) {
    T* at = numbers + i / kHalf * kGroup + i % kHalf;
    at[0] = radius[i] * cosine[i] * deviation + mean;
    at[kHalf] = radius[i] * sine[i] * deviation + mean;
  }
}

void uniform_numbers(RandomDraws& draws, float* out, int64_t n) {
  for_parts_of_words(draws, n, 1, [&](const uint32_t* words, int64_t first, int64_t part) {
    loops().random.floats(words, part, 0, 1, out + first);
  });
}
void uniform_numbers(RandomDraws& draws, double* out, int64_t n) {
  for_parts_of_words(draws, n, 2, [&](const uint32_t* words, int64_t first, int64_t part) {
    loops().random.doubles(words, part, 0, 1, out + first);
  });
}

// At least a group. The last group is drawn again unless the groups are whole; `drawn`: how many numbers are before
// that.
template <typename T>
void groups_of_numbers(T* numbers, int64_t n, int64_t drawn, Normal normal) {
  constexpr int64_t kGroups = 64;
  int64_t whole = n / kGroup;
  T last[kGroup];
  {
    RandomDraws draws;
    uniform_numbers(draws, numbers, drawn);
    if (n % kGroup != 0) uniform_numbers(draws, last, kGroup);
  }
  parallel_for((whole + kGroups - 1) / kGroups, 4.0 * kGroups * kGroup, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      int64_t first = part * kGroups;
      pair_up(numbers + first * kGroup, std::min(kGroups, whole - first), normal);
    }
  });
  if (n % kGroup == 0) return;
  pair_up(last, 1, normal);
  std::copy(last, last + kGroup, numbers + n - kGroup);
}

// One pair after another, in float64.
void numbers_in_turn(DType dtype, char* out, int64_t count, Normal normal) {
  constexpr int64_t kChunk = 256;
  double numbers[kChunk];
  ConvertLoop convert = loops().convert[static_cast<int>(DType::float64)][static_cast<int>(dtype)];
  RandomDraws draws;
  for (int64_t first = 0; first < count; first += kChunk) {
    int64_t n = std::min(kChunk, count - first);
    for (int64_t i = 0; i < n; ++i) numbers[i] = draws.normal() * normal.deviation + normal.mean;
    convert(numbers, out + static_cast<size_t>(first) * item_size(dtype), n);
  }
}

// 16-bit numbers are rounded at the end, and drawn group by group: none is drawn in vain.
void half_groups(const Tensor& out, Normal normal) {
  const int64_t n = out->numel();
  Tensor wide = Tensor::empty(DType::float32, {&n, 1});
  groups_of_numbers(wide.data<float>(), n, n / kGroup * kGroup, normal);
  loops().convert[static_cast<int>(DType::float32)][static_cast<int>(out->dtype())](wide->data(), out.data<char>(), n);
}

// in_groups: as torch fills contiguous memory. Both parts of a complex number have half of its variance.
void normal_numbers(const Tensor& out, Normal normal, bool in_groups) {
  if (out->numel() == 0) return;
  DType dtype = part_dtype(out->dtype());
  int64_t count = out->numel();
  if (is_complex(out->dtype())) {
    count *= 2;
    normal.deviation /= std::numbers::sqrt2;
  }
  char* memory = out.data<char>();
  if (!in_groups || count < kGroup) return numbers_in_turn(dtype, memory, count, normal);
  if (is_half(dtype)) return half_groups(out, normal);
  dtype == DType::float64 ? groups_of_numbers(reinterpret_cast<double*>(memory), count, count, normal)
                          : groups_of_numbers(reinterpret_cast<float*>(memory), count, count, normal);
}

}  // namespace

void randn_kernel(const OpCall&, std::span<Tensor> outs) { normal_numbers(outs[0], {0, 1}, outs[0]->is_contiguous()); }

void normal_kernel(const OpCall& call, std::span<Tensor> outs) {
  bool in_groups = tensor_arg(call, 0)->is_contiguous() && !bool_arg(call, call.row.schema.find("in_turn"));
  normal_numbers(outs[0], {scalar_arg(call, 1).as_double(), scalar_arg(call, 2).as_double()}, in_groups);
}

}  // namespace md
