// scatter and scatter_add. Indices are checked before anything is written.
#include <algorithm>
#include <atomic>
#include <vector>

#include "tensor/dtype_dispatch.h"
#include "tensor/kernels/index_writes.h"
#include "tensor/kernels/item_words.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"
#include "tensor/simd/pointwise.h"
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

// The elements of an index as lines along its last dim: where they go to in out, and come from in src.
class Scattered {
 public:
  Scattered(const OpCall& call, const Tensor& out, const Tensor* src)
      : index_(as_contiguous(tensor_arg(call, 2), DType::int64)), dim_(wrap_dim(call, int_arg(call, 1), out->rank())) {
    check_scattered(call, index_, dim_, out->rank() == 0 ? 1 : out->sizes()[dim_]);
    bool moves = src != nullptr && (*src)->rank() > 0;
    for (int d = 0; d < index_->rank(); ++d) {
      dims_.push_back({index_->sizes()[d], d == dim_ ? 0 : out->strides()[d], moves ? (*src)->strides()[d] : 0});
      if (d < std::min(dim_, index_->rank() - 1)) apart_ *= index_->sizes()[d];
    }
    if (dims_.empty()) dims_.push_back({1, 0, 0});
    to_place_ = out->rank() == 0 ? 0 : out->strides()[dim_];
  }

  // Calls visit(offset in out, offset in src) for each element. Those of one place in out are visited in row-major
  // order, by one thread.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    if (index_->numel() == 0) return;
    int64_t length = dims_.back().size, lines = index_->numel() / length, together = lines / apart_;
    constexpr double kNs = 1.5;
    if (apart_ > 1 || dim_ + 1 == index_->rank()) {
      parallel_for(apart_, kNs * static_cast<double>(together * length), [&](int64_t begin, int64_t end) {
        visit_lines(begin * together, end * together, 0, length, visit);
      });
    } else {
      parallel_for(length, kNs * static_cast<double>(lines),
                   [&](int64_t begin, int64_t end) { visit_lines(0, lines, begin, end, visit); });
    }
  }

 private:
  struct IndexDim {
    int64_t size, to_step, from_step;
  };

  // Elements [begin, end) of each of the lines [first, last).
  template <typename Visit>
  void visit_lines(int64_t first, int64_t last, int64_t begin, int64_t end, const Visit& visit) const {
    std::vector<int64_t> position(dims_.size(), 0);
    int64_t to = 0, from = 0;
    for (int64_t d = static_cast<int64_t>(dims_.size()) - 2, rest = first; d >= 0; --d) {
      const IndexDim& dim = dims_[static_cast<size_t>(d)];
      position[static_cast<size_t>(d)] = rest % dim.size;
      to += rest % dim.size * dim.to_step;
      from += rest % dim.size * dim.from_step;
      rest /= dim.size;
    }
    const auto& [length, to_step, from_step] = dims_.back();
    for (int64_t line = first; line < last; ++line) {
      const int64_t* places = index_.data<const int64_t>() + line * length;
      for (int64_t i = begin; i < end; ++i) visit(to + i * to_step + places[i] * to_place_, from + i * from_step);
      for (size_t d = dims_.size() - 1; d-- > 0;) {
        to += dims_[d].to_step;
        from += dims_[d].from_step;
        if (++position[d] < dims_[d].size) break;
        to -= position[d] * dims_[d].to_step;
        from -= position[d] * dims_[d].from_step;
        position[d] = 0;
      }
    }
  }

  Tensor index_;
  int dim_;
  std::vector<IndexDim> dims_;
  int64_t apart_ = 1;  // groups of lines that have no place in common
  int64_t to_place_ = 0;
};

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

// visit(place, value) for each element of the index, as elements of T; a number stands for all values.
template <typename T, typename Visit>
void visit_scattered(const OpCall& call, const Tensor& out, const Visit& visit) {
  const Tensor* src = arg_is<Tensor>(call, 3) ? &tensor_arg(call, 3) : nullptr;
  OneElement number(call, src != nullptr ? Arg(Scalar(int64_t{0})) : call.args[3], out->dtype());
  const void* values = src != nullptr ? src->data<const char>() : number.bytes;
  Scattered scattered(call, out, src);
  start_from_self(call, out);
  auto* places = reinterpret_cast<T*>(out.data<char>());
  scattered.for_each([&](int64_t to, int64_t from) { visit(places[to], static_cast<const T*>(values)[from]); });
}

// An index that is repeated along the last dim, which is not the one that it is along: whole rows go to a place.
class ScatteredRows {
 public:
  ScatteredRows(const OpCall& call, const Tensor& out) : call_(call), out_(out) {}

  bool is_possible() const {
    constexpr int64_t kShortest = 16;
    if (!arg_is<Tensor>(call_, 3)) return false;
    const Tensor &index = tensor_arg(call_, 2), &src = tensor_arg(call_, 3);
    int last = out_->rank() - 1;
    return last >= 1 && index->rank() == last + 1 && dim() != last && index->strides()[last] == 0 &&
           index->sizes()[last] >= kShortest && index->numel() > 0 && src->dtype() == out_->dtype() &&
           out_->strides()[last] == 1 && src->strides()[last] == 1;
  }

  // Calls combine(to, from, n) for the rows in row-major order; each thread has columns of its own.
  template <typename Combine>
  void run(const Combine& combine) const {
    Tensor places = one_of_each_row();
    check_scattered(call_, places, dim(), out_->sizes()[dim()]);
    start_from_self(call_, out_);
    constexpr int64_t kTogether = 256;
    int64_t columns = tensor_arg(call_, 2)->sizes()[out_->rank() - 1], parts = (columns + kTogether - 1) / kTogether;
    double ns = static_cast<double>(places->numel()) * (5 + 0.3 * static_cast<double>(std::min(columns, kTogether)));
    parallel_for(parts, ns, [&](int64_t begin, int64_t end) {
      int64_t first = begin * kTogether;
      run_columns(places, first, std::min(columns, end * kTogether) - first, combine);
    });
  }

 private:
  int dim() const { return wrap_dim(call_, int_arg(call_, 1), out_->rank()); }

  Tensor one_of_each_row() const {
    const Tensor& index = tensor_arg(call_, 2);
    TensorSpec spec = index.spec();
    int last = spec.rank() - 1;
    spec.sizes.erase(last);
    spec.strides.erase(last);
    return as_contiguous(Tensor::view(index, spec, index->offset()), DType::int64);
  }

  template <typename Combine>
  void run_columns(const Tensor& places, int64_t first, int64_t n, const Combine& combine) const {
    const Tensor& src = tensor_arg(call_, 3);
    auto item = static_cast<int64_t>(item_size(out_->dtype()));
    for (int64_t row = 0; row < places->numel(); ++row) {
      int64_t to = first, from = first;
      for (int64_t d = places->rank() - 1, rest = row; d >= 0; --d) {
        int64_t position = rest % places->sizes()[d];
        rest /= places->sizes()[d];
        from += position * src->strides()[d];
        to += (d == dim() ? places.data<const int64_t>()[row] : position) * out_->strides()[d];
      }
      combine(out_.data<char>() + to * item, src.data<const char>() + from * item, n);
    }
  }

  const OpCall& call_;
  const Tensor& out_;
};

// Where whole rows go to places: an element of a place becomes the function of one of the row and of itself.
bool are_rows_combined(const OpCall& call, const Tensor& out, Pointwise function) {
  ScatteredRows rows(call, out);
  if (is_complex(out->dtype()) || !rows.is_possible()) return false;
  PointwiseLoop combine = pointwise_loop(static_cast<int>(function), out->dtype());
  if (combine == nullptr) return false;
  rows.run([combine](char* to, const char* from, int64_t n) {
    const void* operands[] = {from, to};
    combine(operands, to, n, nullptr);
  });
  return true;
}

}  // namespace

void scatter_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (ScatteredRows rows(call, outs[0]); rows.is_possible()) {
    size_t item = item_size(outs[0]->dtype());
    return rows.run([item](char* to, const char* from, int64_t n) { copy_run(item, from, to, n); });
  }
  with_word(item_size(outs[0]->dtype()), [&]<typename Word>(Word) {
    visit_scattered<Word>(call, outs[0], [](Word& place, const Word& value) { place = value; });
  });
}

void scatter_reduce_kernel(const OpCall& call, std::span<Tensor> outs) {
  bool multiplies = arg_as<std::string>(call, 4) == "multiply";
  if (are_rows_combined(call, outs[0], multiplies ? Pointwise::mul : Pointwise::add)) return;
  with_wrapping_type(outs[0]->dtype(), [&]<typename T>() {
    visit_scattered<T>(call, outs[0], [&](T& place, const T& value) {
      auto a = comparable(place), b = comparable(value);
      place = numeric_cast<T>(multiplies ? a * b : a + b);
    });
  });
}

void scatter_add_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (add_along_one_dim(call, outs[0]) || are_rows_combined(call, outs[0], Pointwise::add)) return;
  auto add = [&]<typename T>() {
    visit_scattered<T>(call, outs[0], [](T& place, const T& value) { add_to(place, value); });
  };
  is_complex(outs[0]->dtype()) ? with_any_type(outs[0]->dtype(), add) : with_wrapping_type(outs[0]->dtype(), add);
}

void scatter_extreme_kernel(const OpCall& call, std::span<Tensor> outs) {
  bool largest = bool_arg(call, 4);
  if (are_rows_combined(call, outs[0], largest ? Pointwise::maximum : Pointwise::minimum)) return;
  with_type(outs[0]->dtype(), [&]<typename T>() {
    visit_scattered<T>(call, outs[0], [&](T& place, const T& value) {
      auto held = comparable(place), given = comparable(value);
      bool is_better = (largest ? given > held : given < held) || given != given;
      if (is_better && held == held) place = value;
    });
  });
}

}  // namespace md
