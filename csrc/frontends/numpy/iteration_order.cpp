#include "frontends/numpy/iteration_order.h"

#include <vector>

namespace md::numpy {
namespace {

enum class Order : uint8_t { Ambiguous, Kept, Swapped };

// Whether axis `outer` stays outside of `inner`.
Order order_of(int outer, int inner, const DimVec& sizes, std::span<const TensorSpec* const> operands) {
  Order order = Order::Ambiguous;
  for (const TensorSpec* spec : operands) {
    int shift = sizes.size() - spec->rank();
    auto stride = [&](int axis) {
      bool is_broadcast = axis < shift || known_equal(spec->sizes[axis - shift], 1);
      return is_broadcast ? Dim(0) : magnitude(spec->strides[axis - shift]);
    };
    Dim outside = stride(outer), inside = stride(inner);
    if (known_equal(outside, 0) || known_equal(inside, 0)) continue;
    if (!known_less(outside, inside)) return Order::Kept;
    order = Order::Swapped;
  }
  return order;
}

}  // namespace

DimVec result_strides(const DimVec& sizes, std::span<const TensorSpec* const> operands) {
  int rank = sizes.size();
  // Innermost first; an insertion sort that passes over ambiguous pairs.
  std::vector<int> axes;
  for (int axis = rank - 1; axis >= 0; --axis) {
    size_t place = axes.size();
    for (size_t i = axes.size(); i-- > 0;) {
      Order order = order_of(axis, axes[i], sizes, operands);
      if (order == Order::Kept) break;
      if (order == Order::Swapped) place = i;
    }
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(place), axis);
  }
  DimVec strides;
  strides.resize(rank);
  Dim step = 1;
  for (int axis : axes) {
    strides[axis] = step;
    if (!known_equal(sizes[axis], 0)) step = step * sizes[axis];
  }
  return strides;
}

}  // namespace md::numpy
