// Shared by several shape rules: dims, broadcasting, layouts.
#include <algorithm>

#include "tensor/fill.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/checked_numbers.h"
#include "tensor/ops/shape_rules.h"

namespace md {

int wrap_dim(const OpCall& call, int64_t dim, int rank) {
  int64_t extent = std::max(rank, 1);
  if (dim < -extent || dim >= extent) {
    raise_op(ErrorKind::Index, call.row.name, "Dimension out of range (expected to be in range of [", -extent, ", ",
             extent - 1, "], but got ", dim, ")");
  }
  return static_cast<int>(dim < 0 ? dim + extent : dim);
}

std::vector<bool> reduced_dims(const OpCall& call, const Arg& dims, int rank) {
  const DimVec* list = std::get_if<DimVec>(&dims);
  const Scalar* single = std::get_if<Scalar>(&dims);
  std::vector<bool> reduced(static_cast<size_t>(std::max(rank, 1)), false);
  if (single != nullptr) {
    reduced[static_cast<size_t>(wrap_dim(call, single->as_int(), rank))] = true;
  } else if (list == nullptr || list->empty()) {
    reduced.assign(reduced.size(), true);
  } else {
    for (Dim dim : *list) {
      int index = wrap_dim(call, dim.value(), rank);
      if (reduced[static_cast<size_t>(index)]) {
        raise_op(ErrorKind::Runtime, call.row.name, "dim ", index, " appears multiple times in the list of dims");
      }
      reduced[static_cast<size_t>(index)] = true;
    }
  }
  reduced.resize(static_cast<size_t>(rank));
  return reduced;
}

static std::string shapes_of(std::span<const Tensor* const> tensors) {
  std::string text;
  for (const Tensor* tensor : tensors) text += (text.empty() ? "" : " and ") + str(tensor->spec().sizes.span());
  return text;
}

void require_fits(const OpCall& call, DType dtype, const Scalar& value) {
  if (fits(dtype, value)) return;
  raise_does_not_fit(call.row.name, dtype);
}

std::string operand_shapes(const OpCall& call) {
  std::vector<const Tensor*> tensors;
  for (const Arg& arg : call.args) {
    if (const auto* tensor = std::get_if<Tensor>(&arg); tensor != nullptr && tensor->defined())
      tensors.push_back(tensor);
    if (const auto* list = std::get_if<std::vector<Tensor>>(&arg))
      for (const Tensor& tensor : *list) tensors.push_back(&tensor);
  }
  return str_cat(tensors.size() == 1 ? "; shape " : "; shapes ", shapes_of(tensors));
}

DimVec broadcast_sizes(const OpCall& call, std::span<const Tensor* const> tensors) {
  DimVec result;
  for (const Tensor* tensor : tensors) {
    const DimVec& sizes = tensor->spec().sizes;
    while (result.size() < sizes.size()) result.insert(0, 1);
    int shift = result.size() - sizes.size();
    for (int i = 0; i < sizes.size(); ++i) {
      Dim& into = result[shift + i];
      if (same(sizes[i], Dim(1)) || known_equal_if_hinted(into, sizes[i])) continue;
      if (same(into, Dim(1)) || known_equal(into, 1)) {
        into = sizes[i];
      } else if (!known_equal(sizes[i], 1) && !known_equal(into, sizes[i])) {
        raise_op(ErrorKind::Runtime, call.row.name, "The size of tensor a (", into.str(),
                 ") must match the size of tensor b (", sizes[i].str(), ") at non-singleton dimension ", shift + i,
                 "; shapes ", shapes_of(tensors));
      }
    }
  }
  return result;
}

bool expands_to(Dim size, Dim target) {
  return same(size, Dim(1)) || known_equal_if_hinted(size, target) || known_equal(size, 1);
}

// A chunk is a run of dims of the base that are contiguous among themselves; the wanted dims must
// split chunks, never join them.
bool view_strides(const TensorSpec& base, const DimVec& wanted, DimVec& strides) {
  strides.resize(wanted.size());
  // For any number of elements.
  bool is_symbolic = any_symbolic(base.sizes.span()) || any_symbolic(wanted.span());
  if (is_symbolic && same(base.strides, contiguous_strides(base.sizes.span()))) {
    strides = contiguous_strides(wanted.span());
    return true;
  }
  if (known_equal(base.numel(), 0)) {
    strides = contiguous_strides(wanted.span());
    return true;
  }
  int next = wanted.size() - 1;
  Dim chunk_stride = base.rank() == 0 ? Dim(1) : base.strides[base.rank() - 1];
  Dim chunk_size = 1;
  for (int i = base.rank() - 1; i >= 0; --i) {
    chunk_size = chunk_size * base.sizes[i];
    bool ends =
        i == 0 || (!known_equal(base.sizes[i - 1], 1) && !known_equal(base.strides[i - 1], chunk_size * chunk_stride));
    if (!ends) continue;
    Dim covered = 1;
    while (next >= 0 && (known_less(covered, chunk_size) || known_equal(wanted[next], 1))) {
      strides[next] = covered * chunk_stride;
      covered = covered * wanted[next];
      --next;
    }
    if (!known_equal(covered, chunk_size)) return false;
    if (i > 0) {
      chunk_stride = base.strides[i - 1];
      chunk_size = 1;
    }
  }
  for (; next >= 0; --next) strides[next] = 1;  // only extents of one are left
  return true;
}

// How many steps there are in a distance, the last one perhaps in part. The step may be the largest number.
static Dim steps_within(Dim distance, int64_t step) {
  if (step == 1) return distance;
  if (!distance.is_symbolic()) return Dim((distance.value() - 1) / step + 1);
  return floor_divide(distance + Dim(step - 1), step);
}

// With a negative step: from `start` down to the place after `stop`, which is -1 where it is omitted.
static std::pair<Dim, Dim> slice_range_back(Dim extent, std::optional<Dim> start, std::optional<Dim> stop,
                                            int64_t step) {
  auto clip = [&](std::optional<Dim> bound, Dim missing) -> Dim {
    if (!bound) return missing;
    if (known_less(*bound, 0)) {
      Dim from_end = extent + *bound;
      return known_less(from_end, 0) ? Dim(-1) : from_end;
    }
    return known_less(*bound, extent) ? *bound : extent - 1;
  };
  Dim begin = clip(start, extent - 1), end = clip(stop, -1);
  bool is_whole = !start && !stop;
  if (is_whole ? same(extent, Dim(0)) : !known_less(end, begin)) return {0, 0};
  return {begin, steps_within(begin - end, -step)};
}

std::pair<Dim, Dim> slice_range(Dim extent, std::optional<Dim> start, std::optional<Dim> stop, int64_t step) {
  if (step < 0) return slice_range_back(extent, start, stop, step);
  // Python's value for an omitted bound.
  constexpr int64_t kNoBound = INT64_MAX;
  auto clip = [&](std::optional<Dim> bound, Dim missing) -> Dim {
    if (!bound) return missing;
    if (same(*bound, Dim(kNoBound)) || same(*bound, extent)) return extent;
    if (known_less(*bound, 0)) {
      Dim from_end = extent + *bound;
      return known_less(from_end, 0) ? Dim(0) : from_end;
    }
    return known_less(extent, *bound) ? extent : *bound;
  };
  Dim begin = clip(start, 0);
  Dim end = clip(stop, extent);
  // Clamped at zero: for symbolic bounds nothing else matters.
  if (same(begin, Dim(0)) && step == 1)
    return known_less(end, 0) ? std::pair<Dim, Dim>{begin, 0} : std::pair{begin, end};
  if (!known_less(begin, end)) return {begin, 0};
  return {begin, steps_within(end - begin, step)};
}

}  // namespace md
