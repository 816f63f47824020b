// Reductions of rows that are too short for vectors, as those of columns: some rows at a time are turned round, and
// many are reduced at once.
#pragma once
#include <algorithm>
#include <vector>

#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/tensor.h"

namespace md {

// The length of contiguous rows that are the whole of a tensor and are reduced to one element each, if they are short
// and many, else 0.
inline int64_t short_row_length(const Tensor& self, const std::vector<bool>& reduced) {
  constexpr int64_t kLongest = 16, kFewest = 32;
  int64_t length = 1, count = 1;
  for (int i = self->rank() - 1; i >= 0; --i) {
    if (!reduced[static_cast<size_t>(i)]) {
      count *= self->sizes()[i];
    } else if (count > 1) {
      return 0;
    } else {
      length *= self->sizes()[i];
    }
  }
  bool pays = self->is_contiguous() && length > 1 && length <= kLongest && count >= kFewest;
  return pays ? length : 0;
}

// Calls reduce(columns, first) for parts of the rows: columns (length, n) has those from `first` on.
template <typename Reduce>
void for_turned_rows(const Tensor& self, int64_t length, const Reduce& reduce) {
  constexpr int64_t kRows = 1024;
  int64_t rows = self->numel() / length, parts = std::max<int64_t>(rows / kRows, 1);
  parallel_for(parts, static_cast<double>(kRows * length), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      // The last one has the rest too: none is narrow.
      int64_t first = part * kRows;
      TensorSpec spec;
      spec.dtype = self->dtype();
      spec.sizes = {length, part + 1 < parts ? kRows : rows - first};
      spec.strides = {1, length};
      Tensor columns = Tensor::empty(TensorSpec::contiguous(self->dtype(), spec.sizes));
      copy_elements(Tensor::view(self, spec, self->offset() + first * length), columns);
      reduce(columns, first);
    }
  });
}

// The dims of `columns` that are reduced.
inline std::vector<bool> columns_reduced() { return {true, false}; }

// Elements [first, first + count) of a contiguous tensor, as one dim.
inline Tensor stretch_of(const Tensor& tensor, int64_t first, int64_t count) {
  return Tensor::view(tensor, TensorSpec::contiguous(tensor->dtype(), DimVec{count}), tensor->offset() + first);
}

}  // namespace md
