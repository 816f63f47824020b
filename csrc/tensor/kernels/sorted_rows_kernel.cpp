// The order of the rows of a matrix.
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

#include "tensor/dtype_dispatch.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// A number whose order is that of the elements: NaN last, -0.0 as 0.0.
template <typename T>
uint64_t key_of(T element) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  auto value = comparable(element);
  if constexpr (std::is_floating_point_v<decltype(value)>) {
    double wide = static_cast<double>(value);
    if (wide != wide) return std::numeric_limits<uint64_t>::max();
    auto bits = std::bit_cast<uint64_t>(wide == 0 ? 0.0 : wide);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value)) ^ kSign;
  } else {
    return static_cast<uint64_t>(value);
  }
}

struct KeyedRow {
  uint64_t key;  // of the first element
  int64_t row;
};

// Rows with a NaN equal no others: their order is that of their places.
template <typename T>
bool is_before(const T* data, int64_t width, const KeyedRow& a, const KeyedRow& b) {
  if (a.key != b.key) return a.key < b.key;
  const T *left = data + a.row * width, *right = data + b.row * width;
  for (int64_t i = 0; i < width; ++i) {
    auto x = comparable(left[i]), y = comparable(right[i]);
    bool x_is_number = x == x, y_is_number = y == y;
    if (!x_is_number || !y_is_number) {
      if (x_is_number != y_is_number) return x_is_number;
      break;
    }
    if (x != y) return x < y;
  }
  return a.row < b.row;
}

template <typename T>
void sort_rows(const Tensor& rows, const Tensor& out) {
  int64_t count = rows->sizes()[0], width = rows->sizes()[1];
  const T* data = rows.data<const T>();
  std::vector<KeyedRow> order(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) order[static_cast<size_t>(i)] = {width == 0 ? 0 : key_of(data[i * width]), i};
  std::sort(order.begin(), order.end(),
            [=](const KeyedRow& a, const KeyedRow& b) { return is_before(data, width, a, b); });
  for (int64_t i = 0; i < count; ++i) out.data<int64_t>()[i] = order[static_cast<size_t>(i)].row;
}

}  // namespace

void sorted_rows_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  if (out->numel() == 0) return;
  Tensor rows = as_contiguous(tensor_arg(call, 0), tensor_arg(call, 0)->dtype());
  with_type(rows->dtype(), [&]<typename T>() { sort_rows<T>(rows, out); });
}

}  // namespace md
