// Gathers by masks: the places of true elements, and the elements at these.
#include <algorithm>
#include <cstring>

#include "tensor/fill.h"
#include "tensor/kernels/index_writes.h"
#include "tensor/kernels/item_words.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/shapes/index_layout.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/element_walk.h"

namespace md {
namespace {

constexpr int64_t kStretch = 1024;  // flags that are read in one go

// Calls visit(number found before, places, n) with the places of true elements in order. There are as many as the
// result has room for, unless another thread writes to them. Without a branch for each: masks are seldom regular.
template <typename Visit>
void for_true_places(const OpCall& call, const Tensor& flags, int64_t count, const Visit& visit) {
  const bool* data = flags.data<bool>();
  int64_t places[kStretch], found = 0;
  for (int64_t at = 0, n; at < flags->numel() && found <= count; at += n) {
    n = std::min(kStretch, flags->numel() - at);
    int64_t held = 0;
    for (int64_t i = 0; i < n; ++i) {
      places[held] = at + i;
      held += data[at + i] ? 1 : 0;
    }
    if (int64_t taken = std::min(held, count - found); taken > 0) visit(found, places, taken);
    found += held;
  }
  if (found != count) raise_op(ErrorKind::Runtime, call.row.name, "the elements are not ", count, " in number");
}

// The positions along all dims of places that come in order, for those of one row of the last dim at a time.
class RowsOfPlaces {
 public:
  explicit RowsOfPlaces(const Tensor& flags)
      : flags_(flags), last_(flags->rank() - 1), width_(std::max<int64_t>(flags->sizes()[last_], 1)) {}

  int64_t outer(int dim) const { return outer_[dim]; }
  int64_t start() const { return start_; }  // the place of the row's first element

  // How many of the n places are in the row of the first of them, which is the row from here on.
  int64_t next(const int64_t* places, int64_t n) {
    if (places[0] - start_ >= width_) move_to(places[0]);
    int64_t end = start_ + width_, count = 1;
    if (places[n - 1] < end) return n;
    while (places[count] < end) ++count;
    return count;
  }

 private:
  void move_to(int64_t place) {
    int64_t row = divided(place, width_);
    start_ = row * width_;
    for (int d = last_ - 1; d >= 0; --d) {
      int64_t above = d == 0 ? 0 : divided(row, flags_->sizes()[d]);
      outer_[d] = row - above * flags_->sizes()[d];
      row = above;
    }
  }
  // Of numbers that are not negative: 32 bits are divided much faster than 64.
  static int64_t divided(int64_t a, int64_t b) {
    bool is_short = (static_cast<uint64_t>(a) | static_cast<uint64_t>(b)) >> 32 == 0;
    return is_short ? static_cast<int64_t>(static_cast<uint32_t>(a) / static_cast<uint32_t>(b)) : a / b;
  }

  const Tensor& flags_;
  int last_;
  int64_t width_, start_ = 0;
  int64_t outer_[ElementWalk::kMaxRank] = {};
};

}  // namespace

void nonzero_count_kernel(const OpCall& call, std::span<Tensor> outs) {
  *outs[0].data<int64_t>() = count_true(tensor_arg(call, 0));
}

void masked_count_kernel(const OpCall& call, std::span<Tensor> outs) { *outs[0].data<int64_t>() = count_masked(call); }

void first_at_mask_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& self = tensor_arg(call, 0);
  Tensor flags = as_contiguous(tensor_arg(call, 1), DType::bool_);
  const bool *begin = flags.data<bool>(), *end = begin + flags->numel(), *first = std::find(begin, end, true);
  if (first == end) return store_scalar(outs[0]->dtype(), Scalar(int64_t{1}), outs[0]->data());
  int64_t place = first - begin, offset = 0;
  for (int d = self->rank() - 1; d >= 0; --d) {
    offset += place % self->sizes()[d] * self->strides()[d];
    place /= self->sizes()[d];
  }
  size_t item = item_size(self->dtype());
  std::memcpy(outs[0].data<char>(), self.data<char>() + offset * static_cast<int64_t>(item), item);
}

void nonzero_kernel(const OpCall& call, std::span<Tensor> outs) {
  Tensor flags = as_contiguous(tensor_arg(call, 0), DType::bool_);
  int64_t rank = flags->rank();
  if (rank == 0) return for_true_places(call, flags, outs[0]->sizes()[0], [](int64_t, const int64_t*, int64_t) {});
  RowsOfPlaces rows(flags);
  int64_t* out = outs[0].data<int64_t>();
  for_true_places(call, flags, outs[0]->sizes()[0], [&](int64_t, const int64_t* places, int64_t n) {
    for (int64_t at = 0, count; at < n; at += count) {
      count = rows.next(places + at, n - at);
      for (int64_t i = 0; i < count; ++i, out += rank) {
        for (int64_t d = 0; d + 1 < rank; ++d) out[d] = rows.outer(static_cast<int>(d));
        out[rank - 1] = places[at + i] - rows.start();
      }
    }
  });
}

void where_condition_kernel(const OpCall& call, std::span<Tensor> outs) {
  Tensor flags = as_contiguous(tensor_arg(call, 0), DType::bool_);
  int64_t count = outs[0]->sizes()[0];
  if (flags->rank() == 0) {
    return for_true_places(call, flags, count, [&](int64_t found, const int64_t*, int64_t n) {
      std::fill_n(outs[0].data<int64_t>() + found, n, int64_t{0});
    });
  }
  RowsOfPlaces rows(flags);
  for_true_places(call, flags, count, [&](int64_t found, const int64_t* places, int64_t n) {
    for (int64_t at = 0, same; at < n; at += same) {
      same = rows.next(places + at, n - at);
      int last = flags->rank() - 1;
      for (int d = 0; d < last; ++d)
        std::fill_n(outs[static_cast<size_t>(d)].data<int64_t>() + found + at, same, rows.outer(d));
      int64_t* columns = outs[static_cast<size_t>(last)].data<int64_t>() + found + at;
      for (int64_t i = 0; i < same; ++i) columns[i] = places[at + i] - rows.start();
    }
  });
}

void masked_select_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& self = tensor_arg(call, 0);
  const Tensor& mask = tensor_arg(call, 1);
  const Tensor* tensors[] = {&self, &mask};
  DimVec sizes = broadcast_sizes(call, tensors);
  Tensor values = broadcast_to(self, sizes, self->dtype());
  Tensor flags = broadcast_to(mask, sizes, DType::bool_);
  with_word(item_size(self->dtype()), [&]<typename Word>(Word) {
    const Word* from = values.data<const Word>();
    Word* to = outs[0].data<Word>();
    for_true_places(call, flags, outs[0]->sizes()[0], [&](int64_t found, const int64_t* places, int64_t n) {
      for (int64_t i = 0; i < n; ++i) to[found + i] = from[places[i]];
    });
  });
}

}  // namespace md
