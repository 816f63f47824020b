#include "tensor/memory_overlap.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <vector>

namespace md {
namespace {

struct ByteRange {
  const char* begin;
  const char* end;
};

ByteRange range_of(const Tensor& tensor) {
  const char* first = tensor.data<const char>();
  auto item = static_cast<int64_t>(item_size(tensor->dtype()));
  Reach reach = reach_of(tensor->rank(), tensor->sizes(), tensor->strides());
  return {first + reach.low * item, first + reach.end * item};
}

// A multiple of `stride` between low * stride and high * stride.
struct Term {
  int64_t stride, low, high;
};

// Whether a sum of one multiple of each term is `target`: by depth-first search over the terms, largest stride first.
class SumSearch {
 public:
  explicit SumSearch(std::vector<Term> terms) : terms_(std::move(terms)), rest_(terms_.size() + 1) {
    for (size_t i = terms_.size(); i-- > 0;) {
      const Term& term = terms_[i];
      rest_[i] = {.low = rest_[i + 1].low + term.low * term.stride,
                  .high = rest_[i + 1].high + term.high * term.stride,
                  .divisor = std::gcd(rest_[i + 1].divisor, term.stride)};
    }
  }

  bool reaches(int64_t target, size_t from = 0) {
    const Rest& rest = rest_[from];
    if (target < rest.low || target > rest.high) return false;
    if (from == terms_.size()) return true;
    if (target % rest.divisor != 0) return false;
    const Term& term = terms_[from];
    int64_t first = std::max(term.low, ceil_divided(target - rest_[from + 1].high, term.stride));
    for (int64_t k = first; k <= term.high && target - k * term.stride >= rest_[from + 1].low; ++k) {
      if (--tries_left_ < 0 || reaches(target - k * term.stride, from + 1)) return true;
    }
    return false;
  }

 private:
  // What the terms from one on can add up to.
  struct Rest {
    int64_t low = 0, high = 0, divisor = 0;
  };
  static int64_t ceil_divided(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

  std::vector<Term> terms_;
  std::vector<Rest> rest_;
  int tries_left_ = 1000;
};

// From the lowest element on.
void add_terms(const TensorSpec& spec, bool negative, std::vector<Term>& terms) {
  for (int d = 0; d < spec.rank(); ++d) {
    int64_t most = spec.sizes[d].value() - 1, stride = std::abs(spec.strides[d].value());
    if (most <= 0 || stride == 0) continue;
    auto equal = std::find_if(terms.begin(), terms.end(), [&](const Term& term) { return term.stride == stride; });
    if (equal == terms.end()) equal = terms.insert(terms.end(), {stride, 0, 0});
    (negative ? equal->low : equal->high) += negative ? -most : most;
  }
}

bool is_empty(const TensorSpec& spec) {
  for (Dim size : spec.sizes) {
    if (size.value() == 0) return true;
  }
  return false;
}

}  // namespace

bool elements_meet(const TensorSpec& a, int64_t a_offset, const TensorSpec& b, int64_t b_offset) {
  if (is_empty(a) || is_empty(b)) return false;
  std::vector<Term> terms;
  add_terms(a, false, terms);
  add_terms(b, true, terms);
  std::sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) { return x.stride > y.stride; });
  return SumSearch(std::move(terms)).reaches(b_offset + reach_of(b).low - a_offset - reach_of(a).low);
}

bool may_meet(const TensorSpec& a, const TensorSpec& b, Dim distance) {
  bool is_known = has_fixed_layout(a) && has_fixed_layout(b) && !distance.is_symbolic();
  return !is_known || elements_meet(a, distance.value(), b, 0);
}

bool elements_are_apart(const TensorSpec& spec) {
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (int d = 0; d < spec.rank(); ++d) {
    if (spec.sizes[d].value() > 1) dims.emplace_back(std::abs(spec.strides[d].value()), spec.sizes[d].value());
  }
  std::sort(dims.begin(), dims.end());
  int64_t extent = 1;  // of the dims with smaller strides
  for (auto [stride, size] : dims) {
    if (stride < extent) return false;
    extent = stride * (size - 1) + extent;
  }
  return true;
}

bool ranges_meet(const Tensor& a, const Tensor& b) {
  if (a->is_apart() || b->is_apart()) return is_same(a, b) && a->numel() > 0;
  ByteRange x = range_of(a), y = range_of(b);
  return x.begin < y.end && y.begin < x.end;
}

bool any_ranges_meet(std::span<const Tensor> tensors, size_t written) {
  struct Place {
    ByteRange range;
    bool is_written;
  };
  std::vector<Place> places;
  places.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    // Without memory that others could share: they meet themselves alone.
    if (tensors[i]->is_apart()) {
      const auto* self = reinterpret_cast<const char*>(tensors[i].impl());
      if (tensors[i]->numel() > 0) places.push_back({{self, self + 1}, i < written});
    } else {
      places.push_back({range_of(tensors[i]), i < written});
    }
  }
  std::ranges::sort(places, [](const Place& a, const Place& b) {
    return std::tie(a.range.begin, a.range.end) < std::tie(b.range.begin, b.range.end);
  });
  const char *end = nullptr, *end_of_written = nullptr;
  for (const Place& place : places) {
    if (place.range.begin < (place.is_written ? end : end_of_written)) return true;
    end = std::max(end, place.range.end);
    if (place.is_written) end_of_written = std::max(end_of_written, place.range.end);
  }
  return false;
}

bool is_same_view(const Tensor& a, const Tensor& b) {
  return a->data() == b->data() && a->dtype() == b->dtype() && same(a->spec().sizes, b->spec().sizes) &&
         same(a->spec().strides, b->spec().strides);
}

bool has_expanded_dim(const TensorSpec& spec) {
  bool repeats = false;
  for (int i = 0; i < spec.rank(); ++i) {
    if (same(spec.sizes[i], Dim(0))) return false;
    repeats = repeats || (same(spec.strides[i], Dim(0)) && known_less(1, spec.sizes[i]));
  }
  return repeats;
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
