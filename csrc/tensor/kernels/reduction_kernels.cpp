// sum, mean, prod, amax, amin, any, all: reductions by one pointwise function.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tensor/dtype_dispatch.h"
#include "tensor/fill.h"
#include "tensor/kernels/column_tiles.h"
#include "tensor/kernels/complex_kernels.h"
#include "tensor/kernels/reduction.h"
#include "tensor/kernels/turned_rows.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

constexpr int64_t kTile = ElementWalk::kTile;
constexpr int64_t kPart = 1 << 15;  // elements reduced by one thread at a time if there is a single result
// Number of rows, or partial totals of rows, per total: bounds the rounding error of column sums.
constexpr int64_t kSumRows = kMostRowsInOneSum;

struct Fold {
  Pointwise function;
  DType dtype;      // of the accumulator
  Scalar identity;  // for an empty input; unused by max and min
  double divisor = 1;
};

template <typename T>
void fold_values(Pointwise function, const T* src, int64_t n, T* total) {
  using Word = std::conditional_t<std::is_integral_v<T>,
                                  std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>, T>;
  T value = *total;
  if (function == Pointwise::add) {
    for (int64_t i = 0; i < n; ++i) value = static_cast<T>(static_cast<Word>(value) + static_cast<Word>(src[i]));
  } else if (function == Pointwise::mul) {
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (sizeof(T) < sizeof(int)) {
        value = static_cast<T>(static_cast<unsigned>(value) * static_cast<unsigned>(src[i]));
      } else {
        value = static_cast<T>(static_cast<Word>(value) * static_cast<Word>(src[i]));
      }
    }
  } else if (function == Pointwise::maximum) {
    for (int64_t i = 0; i < n; ++i) value = (value > src[i]) | (value != value) ? value : src[i];
  } else {
    MD_ASSERT(function == Pointwise::minimum, "no such fold");
    for (int64_t i = 0; i < n; ++i) value = (value < src[i]) | (value != value) ? value : src[i];
  }
  *total = value;
}

void fold_bools(Pointwise function, const bool* src, int64_t n, bool* total) {
  bool any = function == Pointwise::maximum;
  if (*total != any && n > 0) *total = (std::memchr(src, any, static_cast<size_t>(n)) != nullptr) == any;
}

void fold_run(Pointwise function, DType dtype, const void* src, int64_t n, void* total);

// The vectorised loop that reduces elements of `from` into a total of dtype `into`; null if there is none.
FoldLoop fold_loop(Pointwise function, DType from, DType into) {
  bool is_whole = !is_floating(from);
  bool is_total =
      is_whole ? row(into).category == DTypeCategory::Integer && item_size(into) == sizeof(int64_t) : into == from;
  if (!is_total) return nullptr;
  const LoopTable& table = loops();
  if (function == Pointwise::add) return table.sum[static_cast<int>(from)];
  return function == Pointwise::mul ? table.product[static_cast<int>(from)] : nullptr;
}

// The vectorised loop that finds the smallest or largest element; null if there is none.
ExtremeLoop extreme_loop(Pointwise function, DType dtype) {
  bool is_extreme = function == Pointwise::maximum || function == Pointwise::minimum;
  if (dtype == DType::bool_) dtype = DType::uint8;  // 0 and 1
  return is_extreme ? loops().extreme[static_cast<int>(dtype)][function == Pointwise::maximum] : nullptr;
}

// Uses vectorised code; returns false if there is none.
bool fold_fast(Pointwise function, DType dtype, const void* src, int64_t n, void* total) {
  if (n <= 1) return false;
  if (FoldLoop loop = fold_loop(function, dtype, dtype)) {
    loop(src, n, total);
    return true;
  }
  ExtremeLoop extreme = extreme_loop(function, dtype);
  if (extreme == nullptr) return false;
  alignas(8) char part[8];
  extreme(src, n, part);
  fold_run(function, dtype, part, 1, total);
  return true;
}

// total = function(total, every element of src).
void fold_run(Pointwise function, DType dtype, const void* src, int64_t n, void* total) {
  if (fold_fast(function, dtype, src, n, total)) return;
  with_type(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) {
      fold_bools(function, static_cast<const bool*>(src), n, static_cast<bool*>(total));
    } else if constexpr (std::is_arithmetic_v<T>) {
      fold_values(function, static_cast<const T*>(src), n, static_cast<T*>(total));
    } else {
      MD_ASSERT(false, "a fold in ", row(dtype).name);
    }
  });
}

class Folder {
 public:
  Folder(const ReductionSpace& space, const Fold& fold, const Tensor& out) : space_(space), fold_(fold), out_(out) {
    convert_in_ = conversion(space.input()->dtype(), fold.dtype);
    convert_out_ = conversion(fold.dtype, out->dtype());
    converts_ = space.input()->dtype() != fold.dtype;
    item_ = item_size(fold.dtype);
    if (space.inner().is_dense(0) && space.length() > 1 && space.length() <= kPart) {
      row_total_ = fold_loop(fold.function, space.input()->dtype(), fold.dtype);
      if (!converts_) row_extreme_ = extreme_loop(fold.function, fold.dtype);
    }
  }

  void run() const {
    if (space_.length() == 0) return fill_identity();
    double cost = 0.5 * static_cast<double>(space_.length());
    if (space_.columns() > 0) {
      for_column_tiles(space_.results() / space_.columns(), space_.columns(), cost, [&] {
        return
            [&](const ColumnTile& tile) { fold_column_tile(tile.slice * space_.columns() + tile.first, tile.count); };
      });
    } else if (space_.results() == 1 && space_.length() > kPart) {
      fold_parts();
    } else {
      parallel_for(space_.results(), cost, [&](int64_t begin, int64_t end) {
        if (row_total_ != nullptr || row_extreme_ != nullptr) return fold_dense(begin, end);
        for (int64_t i = begin; i < end; ++i) fold_one(i);
      });
    }
  }

 private:
  static ConvertLoop conversion(DType from, DType to) {
    return loops().convert[static_cast<int>(from)][static_cast<int>(to)];
  }

  bool is_extreme() const { return fold_.function == Pointwise::maximum || fold_.function == Pointwise::minimum; }

  void fill_identity() const {
    alignas(8) char value[8];
    store_scalar(fold_.dtype, fold_.identity, value);
    for (int64_t i = 0; i < out_->numel(); ++i) store(value, i, 1);
  }

  // Divides if it is a mean, then converts to the result dtype.
  void store(void* totals, int64_t result, int64_t n) const {
    if (fold_.divisor != 1) {
      alignas(8) char divisor[8];
      store_scalar(fold_.dtype, Scalar(fold_.divisor), divisor);
      const void* src[] = {totals, divisor};
      pointwise_loop(static_cast<int>(Pointwise::div), fold_.dtype, 2)(src, totals, n, nullptr);
    }
    convert_out_(totals, out_.data<char>() + static_cast<size_t>(result) * item_size(out_->dtype()), n);
  }

  // Initialises total with the identity, or for max and min with the first element.
  void start(const void* first, void* total) const {
    if (is_extreme()) {
      convert_in_(first, total, 1);
    } else {
      store_scalar(fold_.dtype, fold_.identity, total);
    }
  }

  // Recursive halving bounds the rounding error of the total.
  void fold_range(const char* data, int64_t begin, int64_t end, void* total) const {
    if (end - begin <= kPart) return fold_part(data, begin, end, total);
    int64_t middle = begin + (end - begin + 2 * kPart - 1) / (2 * kPart) * kPart;
    fold_range(data, begin, middle, total);
    alignas(8) char rest[8];
    start(data + space_.inner().offset(0, middle), rest);
    fold_range(data, middle, end, rest);
    fold_run(fold_.function, fold_.dtype, rest, 1, total);
  }

  void fold_part(const char* data, int64_t begin, int64_t end, void* total) const {
    const ElementWalk& walk = space_.inner();
    alignas(64) char gathered[ElementWalk::kTileBytes];
    alignas(64) char converted[ElementWalk::kTileBytes];
    if (walk.is_dense(0) && !converts_) {
      return fold_run(fold_.function, fold_.dtype, data + begin * static_cast<int64_t>(item_), end - begin, total);
    }
    FoldLoop widening = fold_loop(fold_.function, space_.input()->dtype(), fold_.dtype);
    for (int64_t at = begin; at < end;) {
      int64_t n = walk.tile_length(at, end);
      const void* tile = walk.read(0, data, at, n, gathered);
      if (widening != nullptr) {
        widening(tile, n, total);
        at += n;
        continue;
      }
      if (converts_) {
        convert_in_(tile, converted, n);
        tile = converted;
      }
      fold_run(fold_.function, fold_.dtype, tile, n, total);
      at += n;
    }
  }

  void fold_one(int64_t result) const {
    alignas(8) char total[8];
    const char* data = space_.result_data(result);
    start(data, total);
    fold_range(data, 0, space_.length(), total);
    store(total, result, 1);
  }

  // Results of contiguous elements: what is not done by the loop is done for many results at once.
  void fold_dense(int64_t begin, int64_t end) const {
    Row totals;
    alignas(8) char identity[8] = {};
    store_scalar(fold_.dtype, fold_.identity, identity);
    for (int64_t at = begin; at < end; at += kTile) {
      int64_t n = std::min(kTile, end - at);
      for (int64_t i = 0; i < n; ++i) {
        char* total = totals.bytes + static_cast<size_t>(i) * item_;
        const char* data = space_.result_data(at + i);
        if (row_extreme_ != nullptr) {
          row_extreme_(data, space_.length(), total);
        } else {
          // Of a fixed size, which may reach into the next one.
          std::memcpy(total, identity, sizeof identity);
          row_total_(data, space_.length(), total);
        }
      }
      store(totals.bytes, at, n);
    }
  }

  // Chunks of fixed length, so that the result does not depend on the number of threads.
  void fold_parts() const {
    int64_t parts = (space_.length() + kPart - 1) / kPart;
    std::vector<char> totals(static_cast<size_t>(parts) * 8);
    const char* data = space_.result_data(0);
    parallel_for(parts, 0.3 * kPart, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        char* total = totals.data() + static_cast<size_t>(i) * item_;
        start(data + space_.inner().offset(0, i * kPart), total);
        fold_range(data, i * kPart, std::min(space_.length(), (i + 1) * kPart), total);
      }
    });
    alignas(8) char total[8];
    std::copy(totals.data(), totals.data() + item_, total);
    fold_run(fold_.function, fold_.dtype, totals.data() + item_, parts - 1, total);
    store(total, 0, 1);
  }

  // Rows of totals, n results wide.
  struct alignas(64) Row {
    char bytes[ElementWalk::kTileBytes];
  };

  // Adjacent results: whole rows are reduced into a row of totals.
  void fold_column_tile(int64_t result, int64_t n) const {
    Row totals;
    fold_rows(space_.result_data(result), 0, space_.length(), n, totals);
    store(totals.bytes, result, n);
  }

  // Reduces many rows in parts, and these recursively, so that no total is a sum of more than kSumRows others.
  void fold_rows(const char* data, int64_t begin, int64_t end, int64_t n, Row& into) const {
    if (end - begin <= kSumRows) return fold_few_rows(data, begin, end, n, into);
    int64_t part = kSumRows;
    while (part * kSumRows < end - begin) part *= kSumRows;
    fold_rows(data, begin, begin + part, n, into);
    for (int64_t at = begin + part; at < end; at += part) {
      Row other;
      fold_rows(data, at, std::min(end, at + part), n, other);
      combine(into, other.bytes, n);
    }
  }

  void fold_few_rows(const char* data, int64_t begin, int64_t end, int64_t n, Row& into) const {
    convert_in_(data + space_.inner().offset(0, begin), into.bytes, n);
    Row converted;
    for (int64_t i = begin + 1; i < end; ++i) {
      const char* row = data + space_.inner().offset(0, i);
      if (converts_) convert_in_(row, converted.bytes, n);
      combine(into, converts_ ? converted.bytes : row, n);
    }
  }

  void combine(Row& into, const void* other, int64_t n) const {
    const void* src[] = {into.bytes, other};
    pointwise_loop(static_cast<int>(fold_.function), fold_.dtype)(src, into.bytes, n, nullptr);
  }

  const ReductionSpace& space_;
  const Fold& fold_;
  const Tensor& out_;
  ConvertLoop convert_in_, convert_out_;
  bool converts_;
  size_t item_;
  // For results of few contiguous elements: one of them, or none.
  FoldLoop row_total_ = nullptr;
  ExtremeLoop row_extreme_ = nullptr;
};

// Columns are summed from their first element on, rows from 0 on: a sum of negative zeros is 0.
void add_zero(const Fold& fold, const Tensor& sums) {
  if (fold.function != Pointwise::add || !is_floating(sums->dtype())) return;
  Tensor zeros = Tensor::empty(sums.spec());
  std::memset(zeros->data(), 0, static_cast<size_t>(sums->numel()) * item_size(sums->dtype()));
  const void* src[] = {sums->data(), zeros->data()};
  pointwise_loop(static_cast<int>(fold.function), sums->dtype())(src, sums->data(), sums->numel(), nullptr);
}

void fold_over(const OpCall& call, const std::vector<bool>& reduced, Fold fold, const Tensor& out,
               bool is_mean = false) {
  if (out->numel() == 0) return;
  const Tensor& self = tensor_arg(call, 0);
  if (int64_t length = short_row_length(self, reduced); length > 0) {
    if (is_mean) fold.divisor = static_cast<double>(length);
    return for_turned_rows(self, length, [&](const Tensor& columns, int64_t first) {
      ReductionSpace space(columns, columns_reduced(), ReductionSpace::Order::OfMemory);
      Tensor results = stretch_of(out, first, space.results());
      Folder(space, fold, results).run();
      add_zero(fold, results);
    });
  }
  ReductionSpace space(self, reduced, ReductionSpace::Order::OfMemory);
  if (is_mean) fold.divisor = static_cast<double>(space.length());
  Folder(space, fold, out).run();
}

void fold(const OpCall& call, const Fold& fold, const Tensor& out, bool is_mean = false) {
  Arg none;
  const Arg& dims = call.args.size() > 1 ? call.args[1] : none;
  fold_over(call, reduced_dims(call, dims, tensor_arg(call, 0)->rank()), fold, out, is_mean);
}

// Of complex numbers, or of what becomes them: rows of elements at once, else their parts as a last dim that is kept.
void complex_fold(const OpCall& call, const Tensor& out, bool is_mean) {
  Tensor self = tensor_arg(call, 0);
  if (self->dtype() != out->dtype()) self = as_contiguous(self, out->dtype());
  std::vector<bool> reduced = reduced_dims(call, call.args.size() > 1 ? call.args[1] : Arg(), self->rank());
  if (out->numel() == 0 || complex_sum(self, reduced, out, is_mean)) return;
  bool keeps_rows = !reduced.empty() && !reduced.back() && self->strides()[self->rank() - 1] == 1;
  if (!keeps_rows) reduced.push_back(false);
  Arg args[] = {keeps_rows ? with_wide_rows(self) : with_parts(self)};
  fold_over({call.row, args}, reduced, {Pointwise::add, part_dtype(out->dtype()), Scalar(int64_t{0})},
            keeps_rows ? with_wide_rows(out) : with_parts(out), is_mean);
}

}  // namespace

void sum_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (is_complex(outs[0]->dtype())) return complex_fold(call, outs[0], false);
  // For bools, true plus true is true.
  if (outs[0]->dtype() == DType::bool_) {
    return fold(call, {Pointwise::maximum, DType::bool_, Scalar(false)}, outs[0]);
  }
  fold(call, {Pointwise::add, row(outs[0]->dtype()).accumulator, Scalar(int64_t{0})}, outs[0]);
}

void prod_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (is_complex(outs[0]->dtype())) return complex_product(call, outs[0]);
  fold(call, {Pointwise::mul, row(outs[0]->dtype()).accumulator, Scalar(int64_t{1})}, outs[0]);
}

void mean_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (is_complex(outs[0]->dtype())) return complex_fold(call, outs[0], true);
  fold(call, {Pointwise::add, row(outs[0]->dtype()).accumulator, Scalar(int64_t{0})}, outs[0], true);
}

void amax_kernel(const OpCall& call, std::span<Tensor> outs) {
  fold(call, {Pointwise::maximum, row(outs[0]->dtype()).accumulator, Scalar(int64_t{0})}, outs[0]);
}

void amin_kernel(const OpCall& call, std::span<Tensor> outs) {
  fold(call, {Pointwise::minimum, row(outs[0]->dtype()).accumulator, Scalar(int64_t{0})}, outs[0]);
}

void any_kernel(const OpCall& call, std::span<Tensor> outs) {
  fold_over(call, truth_reduced_dims(call), {Pointwise::maximum, DType::bool_, Scalar(false)}, outs[0]);
}

void all_kernel(const OpCall& call, std::span<Tensor> outs) {
  fold_over(call, truth_reduced_dims(call), {Pointwise::minimum, DType::bool_, Scalar(true)}, outs[0]);
}

}  // namespace md
