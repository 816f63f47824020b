#include "tensor/memory_overlap.h"

#include <algorithm>
#include <vector>

namespace md {
namespace {

struct ByteRange {
  const char* begin;
  const char* end;
};

ByteRange range_of(const Tensor& tensor) {
  const char* begin = tensor.data<const char>();
  if (tensor->numel() == 0) return {begin, begin};
  int64_t last = 0;
  for (int i = 0; i < tensor->rank(); ++i) last += (tensor->sizes()[i] - 1) * tensor->strides()[i];
  return {begin, begin + (last + 1) * static_cast<int64_t>(item_size(tensor->dtype()))};
}

}  // namespace

bool ranges_meet(const Tensor& a, const Tensor& b) {
  ByteRange x = range_of(a), y = range_of(b);
  return x.begin < y.end && y.begin < x.end;
}

bool is_same_view(const Tensor& a, const Tensor& b) {
  return a->data() == b->data() && a->dtype() == b->dtype() && same(a->spec().sizes, b->spec().sizes) &&
         same(a->spec().strides, b->spec().strides);
}

bool has_expanded_dim(const TensorSpec& spec) {
  for (int i = 0; i < spec.rank(); ++i) {
    if (same(spec.strides[i], Dim(0)) && known_less(1, spec.sizes[i])) return true;
  }
  return false;
}

bool is_dense(const TensorSpec& spec) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (int i = 0; i < spec.rank(); ++i) {
    if (spec.sizes[i].value() != 1) dims.emplace_back(spec.strides[i].value(), spec.sizes[i].value());
  }
  std::sort(dims.begin(), dims.end());
  int64_t expected = 1;
  for (auto [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

bool overlaps_in_part(const Tensor& written, const Tensor& read) {
  if (written->numel() == 0 || read->numel() == 0 || !ranges_meet(written, read)) return false;
  if (is_same(written, read) || is_same_view(written, read)) return false;
  return is_dense(written.spec()) && is_dense(read.spec());
}

}  // namespace md
