#include "frontends/torch/layout.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace md::torch {
namespace {

// Bytes of a TensorImpl, of a StorageImpl and of a VersionCounter that are compared; none is smaller (torch >= 2.10).
constexpr int kImplBytes = 184, kStorageBytes = 88, kCounterBytes = 24;

// The first multiple of `step` below `end` where `fits` holds for all samples; -1 if there is none.
int find_offset(std::span<const Sample> samples, int end, int step,
                const std::function<bool(const Sample&, int)>& fits) {
  for (int offset = 0; offset < end; offset += step)
    if (std::ranges::all_of(samples, [&](const Sample& sample) { return fits(sample, offset); })) return offset;
  return -1;
}

bool lie_at(const char* place, std::span<const int64_t> numbers) {
  for (int at = 0; int64_t number : numbers)
    if (word_at<int64_t>(place, 8 * at++) != number) return false;
  return true;
}

bool has_dims(const Sample& sample, int rank_offset) {
  if (word_at<uint64_t>(sample.impl, rank_offset) != sample.sizes.size()) return false;
  auto rank = sample.sizes.size();
  const char* dims = sample.impl + rank_offset + 8;
  size_t strides_at = kInlineDims;
  if (rank > kInlineDims) {
    dims = word_at<const char*>(dims, 0);
    strides_at = rank;
  }
  return lie_at(dims, sample.sizes) && lie_at(dims + strides_at * 8, sample.strides);
}

bool looks_like_pointer(uint64_t word) { return word >= 4096 && word % 8 == 0 && word < (uint64_t{1} << 47); }

// Follows a pointer of a TensorImpl: {where it is, where in what it points to `fits` holds}.
std::pair<int, int> find_behind(std::span<const Sample> samples, int bytes, int step,
                                const std::function<bool(const Sample&, const char*, int)>& fits) {
  for (int at = 8; at < kImplBytes; at += 8) {
    if (!std::ranges::all_of(samples,
                             [&](const Sample& s) { return looks_like_pointer(word_at<uint64_t>(s.impl, at)); }))
      continue;
    int inside = find_offset(samples, bytes, step, [&](const Sample& sample, int offset) {
      return fits(sample, word_at<const char*>(sample.impl, at), offset);
    });
    if (inside >= 0) return {at, inside};
  }
  return {-1, -1};
}

}  // namespace

bool find_layout(std::span<const Sample> samples, WordLayout& layout) {
  auto impl_offset = [&](int step, const std::function<bool(const Sample&, int)>& fits) {
    return find_offset(samples, kImplBytes, step, fits);
  };
  layout.impl_in_object = find_offset(samples, 64, 8, [](const Sample& sample, int offset) {
    return word_at<const char*>(sample.object, offset) == sample.impl;
  });
  layout.key_set = impl_offset(
      8, [](const Sample& sample, int offset) { return word_at<uint64_t>(sample.impl, offset) == sample.keys; });
  layout.dims = impl_offset(8, has_dims);
  layout.offset = impl_offset(
      8, [](const Sample& sample, int offset) { return word_at<int64_t>(sample.impl, offset) == sample.offset; });
  layout.dtype = impl_offset(
      2, [](const Sample& sample, int offset) { return word_at<uint16_t>(sample.impl, offset) == sample.dtype; });
  layout.autograd = impl_offset(8, [](const Sample& sample, int offset) {
    uint64_t word = word_at<uint64_t>(sample.impl, offset);
    return sample.has_history ? looks_like_pointer(word) : word == 0 || sample.is_inference;
  });
  std::tie(layout.storage, layout.data_in_storage) =
      find_behind(samples, kStorageBytes, 8, [](const Sample& sample, const char* storage, int offset) {
        return sample.is_lazy || word_at<const void*>(storage, offset) == sample.storage_data;
      });
  if (layout.storage < 0) return false;
  layout.checked_in_storage = find_offset(samples, kStorageBytes, 1, [&](const Sample& sample, int offset) {
    return word_at<uint8_t>(word_at<const char*>(sample.impl, layout.storage), offset) == (sample.is_lazy ? 1 : 0);
  });
  std::vector<Sample> counted;
  std::ranges::copy_if(samples, std::back_inserter(counted), [](const Sample& sample) { return !sample.is_inference; });
  std::tie(layout.version_counter, layout.version) =
      find_behind(counted, kCounterBytes, 4, [](const Sample& sample, const char* counter, int offset) {
        return word_at<uint32_t>(counter, offset) == static_cast<uint64_t>(sample.version);
      });
  bool has_null_counter = std::ranges::all_of(samples, [&](const Sample& sample) {
    return !sample.is_inference || word_at<uint64_t>(sample.impl, std::max(layout.version_counter, 0)) == 0;
  });
  const int found[] = {
      layout.impl_in_object,     layout.key_set,        layout.dims, layout.offset, layout.dtype, layout.autograd,
      layout.checked_in_storage, layout.version_counter};
  return has_null_counter && std::ranges::all_of(found, [](int offset) { return offset >= 0; });
}

}  // namespace md::torch
