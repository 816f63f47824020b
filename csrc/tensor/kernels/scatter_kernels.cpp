// scatter and scatter_add. Indices are checked before anything is written.
#include <algorithm>
#include <atomic>

#include "tensor/dtype_dispatch.h"
#include "tensor/kernels/index_writes.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"
#include "tensor/storage.h"

namespace md {
namespace {

void check_scattered(const OpCall& call, const Tensor& index, int dim, int64_t extent) {
  const int64_t* values = index.data<const int64_t>();
  std::atomic<bool> fits = true;
  parallel_for(index->numel(), 0.15, [&](int64_t begin, int64_t end) {
    if (!loops().indices_fit(values + begin, end - begin, extent)) fits = false;
  });
  if (fits) return;
  for (int64_t i = 0; i < index->numel(); ++i) {
    if (values[i] >= 0 && values[i] < extent) continue;
    raise_op(ErrorKind::Runtime, call.row.name, "index ", values[i], " is out of bounds for dimension ", dim,
             " with size ", extent);
  }
}

// Calls visit(offset in out, offset in src) for each element of the index, in row-major order.
template <typename Visit>
void for_each_scattered(const OpCall& call, const Tensor& out, const Tensor* src, Visit visit) {
  Tensor index = as_contiguous(tensor_arg(call, 2), DType::int64);
  int dim = wrap_dim(call, int_arg(call, 1), out->rank());
  check_scattered(call, index, dim, out->rank() == 0 ? 1 : out->sizes()[dim]);
  int last = index->rank() - 1;
  auto stride = [](const Tensor& tensor, int d) { return d < 0 || tensor->rank() == 0 ? 0 : tensor->strides()[d]; };
  int64_t length = last < 0 ? 1 : index->sizes()[last];
  int64_t to_place = stride(out, out->rank() == 0 ? -1 : dim);
  int64_t to_step = last == dim ? 0 : stride(out, last);
  int64_t from_step = src == nullptr ? 0 : stride(*src, last);
  const int64_t* values = index.data<int64_t>();
  for (int64_t line = 0; line * length < index->numel(); ++line, values += length) {
    int64_t rest = line, to = 0, from = 0;
    for (int d = last - 1; d >= 0; --d) {
      int64_t position = rest % index->sizes()[d];
      rest /= index->sizes()[d];
      if (src != nullptr) from += position * stride(*src, d);
      if (d != dim) to += position * stride(out, d);
    }
    for (int64_t i = 0; i < length; ++i) visit(to + i * to_step + values[i] * to_place, from + i * from_step);
  }
}

constexpr int64_t kPartialSums = 4;

// Sums of a range of the values by index. Alternates between several tables, so that an addition rarely
// depends on the preceding one. Returns false if an index is out of range: a branch that is never taken costs
// less than checking all indices first.
template <typename T>
bool add_by_index(const int64_t* index, const T* values, int64_t n, int64_t places, T* tables) {
  auto add = [&](int64_t i, T* table) {
    if (static_cast<uint64_t>(index[i]) >= static_cast<uint64_t>(places)) [[unlikely]]
      return false;
    table[index[i]] += values[i];
    return true;
  };
  int64_t i = 0;
  for (; i + kPartialSums <= n; i += kPartialSums) {
    for (int64_t k = 0; k < kPartialSums; ++k)
      if (!add(i + k, tables + k * places)) return false;
  }
  for (; i < n; ++i)
    if (!add(i, tables)) return false;
  return true;
}

// Many values for few targets: chunks of fixed length have tables of their own, so that the sums do not depend on the
// number of threads. Totals are written once all indices are checked.
template <typename T>
class TablesOfSums {
 public:
  TablesOfSums(int64_t n, int64_t places)
      : n_(n),
        places_(places),
        stretches_((n + kLongest - 1) / kLongest),
        memory_(Storage::allocate(static_cast<size_t>(stretches_ * kPartialSums * places) * sizeof(T))) {}

  // Returns false if an index is out of range.
  bool add(const int64_t* index, const T* values) {
    std::atomic<bool> fits = true;
    parallel_for(stretches_, 0.5 * static_cast<double>(kLongest), [&](int64_t begin, int64_t end) {
      for (int64_t s = begin; s < end; ++s) {
        T* own = tables() + s * kPartialSums * places_;
        std::fill(own, own + kPartialSums * places_, T(0));
        int64_t first = s * kLongest;
        if (!add_by_index(index + first, values + first, std::min(kLongest, n_ - first), places_, own)) fits = false;
      }
    });
    return fits;
  }

  void write(T* sums) {
    for (int64_t table = 0; table < stretches_ * kPartialSums; ++table) {
      for (int64_t i = 0; i < places_; ++i) sums[i] += tables()[table * places_ + i];
    }
  }

 private:
  static constexpr int64_t kLongest = int64_t{1} << 18;
  T* tables() { return static_cast<T*>(memory_->data()); }

  int64_t n_, places_, stretches_;
  StoragePtr memory_;
};

// Floats in one dimension; returns false, without effect, otherwise.
bool add_along_one_dim(const OpCall& call, const Tensor& out) {
  const Tensor& src = tensor_arg(call, 3);
  Tensor index = tensor_arg(call, 2);
  bool is_plain = out->rank() == 1 && index->rank() == 1 && index->dtype() == DType::int64 && index->is_contiguous() &&
                  src->is_contiguous() && out->is_contiguous() && src->dtype() == out->dtype() &&
                  (out->dtype() == DType::float32 || out->dtype() == DType::float64);
  if (!is_plain) return false;
  const int64_t* places = index.data<const int64_t>();
  int64_t n = index->numel(), extent = out->sizes()[0];
  constexpr int64_t kFewPlaces = 1 << 13, kWorthTables = 16;
  bool has_tables = extent <= kFewPlaces && n >= kWorthTables * extent;
  auto add = [&]<typename T>(T* sums) {
    const T* values = src.data<const T>();
    if (has_tables) {
      TablesOfSums<T> tables(n, extent);
      if (!tables.add(places, values)) check_scattered(call, index, 0, extent);
      start_from_self(call, out);
      return tables.write(sums);
    }
    check_scattered(call, index, 0, extent);
    start_from_self(call, out);
    for (int64_t i = 0; i < n; ++i) sums[places[i]] += values[i];
  };
  out->dtype() == DType::float32 ? add(out.data<float>()) : add(out.data<double>());
  return true;
}

}  // namespace

void scatter_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  size_t item = item_size(out->dtype());
  const Tensor* src = arg_is<Tensor>(call, 3) ? &tensor_arg(call, 3) : nullptr;
  OneElement number(call, src != nullptr ? Arg(Scalar(int64_t{0})) : call.args[3], out->dtype());
  start_from_self(call, out);
  for_each_scattered(call, out, src, [&](int64_t to, int64_t from) {
    const char* value = src == nullptr ? number.bytes : src->data<const char>() + from * static_cast<int64_t>(item);
    copy_run(item, value, out.data<char>() + to * static_cast<int64_t>(item), 1);
  });
}

namespace {

template <typename T>
void combine_typed(bool multiplies, void* to, const void* from) {
  T& place = *static_cast<T*>(to);
  auto a = comparable(place), b = comparable(*static_cast<const T*>(from));
  place = numeric_cast<T>(multiplies ? a * b : a + b);
}

using CombineElement = void (*)(bool multiplies, void* to, const void* from);
CombineElement combine_element(DType dtype) {
  return with_wrapping_type(dtype, []<typename T>() -> CombineElement { return combine_typed<T>; });
}

}  // namespace

void scatter_reduce_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  int64_t item = static_cast<int64_t>(item_size(out->dtype()));
  bool multiplies = arg_as<std::string>(call, 4) == "multiply";
  const Tensor* src = arg_is<Tensor>(call, 3) ? &tensor_arg(call, 3) : nullptr;
  OneElement number(call, src != nullptr ? Arg(Scalar(int64_t{0})) : call.args[3], out->dtype());
  start_from_self(call, out);
  CombineElement combine = combine_element(out->dtype());
  for_each_scattered(call, out, src, [&](int64_t to, int64_t from) {
    const char* value = src == nullptr ? number.bytes : src->data<const char>() + from * item;
    combine(multiplies, out.data<char>() + to * item, value);
  });
}

void scatter_add_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  int64_t item = static_cast<int64_t>(item_size(out->dtype()));
  const Tensor& src = tensor_arg(call, 3);
  if (add_along_one_dim(call, out)) return;
  start_from_self(call, out);
  AddElement add = add_element(out->dtype());
  for_each_scattered(call, out, &src, [&](int64_t to, int64_t from) {
    add(out.data<char>() + to * item, src.data<const char>() + from * item);
  });
}

void scatter_extreme_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor &out = outs[0], &src = tensor_arg(call, 3);
  bool largest = bool_arg(call, 4);
  start_from_self(call, out);
  with_type(out->dtype(), [&]<typename T>() {
    T* places = out.data<T>();
    const T* values = src.data<const T>();
    for_each_scattered(call, out, &src, [&](int64_t to, int64_t from) {
      auto held = comparable(places[to]), given = comparable(values[from]);
      bool is_better = (largest ? given > held : given < held) || given != given;
      if (is_better && held == held) places[to] = values[from];
    });
  });
}

}  // namespace md
