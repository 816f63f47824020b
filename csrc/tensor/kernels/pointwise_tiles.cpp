// Pointwise calls whose operands have other layouts than the result.
#include <algorithm>
#include <limits>
#include <span>

#include "tensor/kernels/pointwise_call.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/element_walk.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// Whether the loop takes the operand as a number where it repeats one element in each row. Of floats, the product of a
// parameter and a number is rounded, that of a parameter and an element may be part of a sum.
bool takes_number(const PointwiseCall& call, unsigned mask, int operand) {
  if (call.row.param_count != 0 && is_floating(call.dtype)) return false;
  return pointwise_loop(call.row_index, call.dtype, mask | (1u << operand)) != nullptr;
}

// The element in the dtype of numbers.
const void* row_number(const PointwiseCall& call, const char* element, void* buffer) {
  DType number_dtype = scalar_operand_dtype(call.dtype);
  if (number_dtype == call.dtype) return element;
  loops().convert[static_cast<int>(call.dtype)][static_cast<int>(number_dtype)](element, buffer, 1);
  return buffer;
}

// Rows in which each operand has consecutive elements or repeats one, in place.
class PlainRows {
 public:
  // places: of the operands in `walk`, 0: a number of the call.
  PlainRows(const PointwiseCall& call, const Tensor& out, const ElementWalk& walk, std::span<const int, 3> places)
      : call_(call), length_(walk.row_length()) {
    unsigned mask = call.mask;
    for (int i = 0; i < call.operand_count; ++i) {
      Operand& operand = operands_[i];
      if (places[static_cast<size_t>(i)] == 0) {
        operand.data = reinterpret_cast<const char*>(call.numbers[i]);
        continue;
      }
      int place = places[static_cast<size_t>(i)];
      operand.data = static_cast<const char*>((*call.tensors[i])->data());
      operand.row_step = walk.row_step(place);
      operand.item = static_cast<int64_t>(item_size(operand_dtype(call, i)));
      operand.kind = !walk.repeats_in_plain_rows(place) ? Kind::Elements
                     : takes_number(call, mask, i)      ? Kind::RowNumber
                                                        : Kind::Filled;
      if (operand.kind == Kind::RowNumber) mask |= 1u << i;
      if (operand.kind == Kind::Filled) piece_ = kFilled;
      bool is_converted = operand.kind == Kind::RowNumber && scalar_operand_dtype(call.dtype) != call.dtype;
      if (operand.kind == Kind::Filled || is_converted) is_in_place_ = false;
    }
    out_ = static_cast<char*>(out->data());
    out_row_step_ = walk.row_step(0);
    out_item_ = static_cast<int64_t>(item_size(out->dtype()));
    loop_ = pointwise_loop(call.row_index, call.dtype, mask);
  }

  void run(int64_t begin, int64_t end) const {
    int64_t row = begin / length_, column = begin % length_;
    for (int64_t left = end - begin; left > 0; column = 0) {
      if (is_in_place_ && column == 0 && left >= length_) {
        run_whole_rows(row, left / length_);
        row += left / length_;
        left %= length_;
        continue;
      }
      int64_t n = std::min(left, length_ - column);
      run_row(row++, column, n);
      left -= n;
    }
  }

 private:
  enum class Kind : uint8_t { Number, RowNumber, Elements, Filled };
  static constexpr int64_t kFilled = 128;  // elements

  struct Operand {
    Kind kind = Kind::Number;
    const char* data = nullptr;
    int64_t row_step = 0, item = 0;  // bytes
  };

  void run_whole_rows(int64_t row, int64_t count) const {
    const void* src[3];
    for (int i = 0; i < 3; ++i) src[i] = operands_[i].data + row * operands_[i].row_step;
    char* dst = out_ + row * out_row_step_;
    for (; count > 0; --count) {
      loop_(src, dst, length_, call_.params);
      for (int i = 0; i < 3; ++i) src[i] = static_cast<const char*>(src[i]) + operands_[i].row_step;
      dst += out_row_step_;
    }
  }

  void run_row(int64_t row, int64_t column, int64_t n) const {
    alignas(64) char buffers[3][kFilled * ElementWalk::kMostItem];
    const void* src[3];
    for (int i = 0; i < call_.operand_count; ++i) {
      const Operand& operand = operands_[i];
      const char* first = operand.data + row * operand.row_step;
      switch (operand.kind) {
        case Kind::Number:
          src[i] = operand.data;
          break;
        case Kind::RowNumber:
          src[i] = row_number(call_, first, buffers[i]);
          break;
        case Kind::Elements:
          src[i] = first + column * operand.item;
          break;
        case Kind::Filled:
          copy_items(operand.item, first, 0, buffers[i], operand.item, std::min(n, kFilled));
          src[i] = buffers[i];
          break;
      }
    }
    char* dst = out_ + row * out_row_step_ + column * out_item_;
    for (int64_t count = std::min(n, piece_); true; count = std::min(n, piece_)) {
      loop_(src, dst, count, call_.params);
      n -= count;
      if (n == 0) return;
      dst += count * out_item_;
      for (int i = 0; i < call_.operand_count; ++i) {
        if (operands_[i].kind == Kind::Elements) src[i] = static_cast<const char*>(src[i]) + count * operands_[i].item;
      }
    }
  }

  const PointwiseCall& call_;
  Operand operands_[3];
  char* out_;
  int64_t out_row_step_, out_item_;
  int64_t length_;
  int64_t piece_ = std::numeric_limits<int64_t>::max();  // elements of a row at a time
  bool is_in_place_ = true;                              // the loop reads every operand where it is
  PointwiseLoop loop_ = nullptr;
};

// Operands of other layouts than the result, tile by tile.
class StridedRun {
 public:
  StridedRun(const PointwiseCall& call, const Tensor& out)
      : call_(call), out_(out), walk_({out->sizes(), static_cast<size_t>(out->rank())}), mask_(call.mask) {
    walk_.add(out);
    int count = 1;
    for (int i = 0; i < call.operand_count; ++i) {
      if (call.tensors[i] == nullptr) continue;
      walk_.add(*call.tensors[i]);
      places_[i] = count++;
    }
    walk_.finish(true, ElementWalk::Tiles::OfBytes);
    if (walk_.has_plain_rows()) return;
    for (int i = 0; i < call.operand_count; ++i) {
      bool repeats = places_[i] != 0 && walk_.repeats_in_rows(places_[i]);
      if (!repeats || !takes_number(call, mask_, i)) continue;
      mask_ |= 1u << i;
      is_row_number_[i] = true;
    }
    loop_ = pointwise_loop(call.row_index, call.dtype, mask_);
    find_together();
  }

  void run() const {
    double cost = cost_per_item(call_, 16);
    if (walk_.has_plain_rows()) {
      PlainRows rows(call_, out_, walk_, places_);
      return parallel_for(walk_.count(), cost, [&](int64_t begin, int64_t end) { rows.run(begin, end); });
    }
    parallel_for(walk_.count(), cost + 0.5, [this](int64_t begin, int64_t end) { run_part(begin, end); });
  }

 private:
  // The operands that lie at one step, if they are several.
  void find_together() {
    for (int i = 0; i < call_.operand_count; ++i) {
      int64_t item = static_cast<int64_t>(item_size(operand_dtype(call_, i)));
      int64_t step = places_[i] != 0 ? walk_.single_step(places_[i]) : 0;
      if (step <= item || (together_count_ > 0 && (item != together_item_ || step != together_step_))) continue;
      together_item_ = item, together_step_ = step;
      is_together_[i] = true;
      ++together_count_;
    }
    if (are_picked_together(together_item_, together_step_, together_count_)) return;
    std::fill_n(is_together_, 3, false);
    together_count_ = 0;
  }

  void read_together(int64_t at, int64_t n, char (*buffers)[ElementWalk::kTileBytes]) const {
    const char* from[3];
    char* to[3];
    size_t count = 0;
    for (int i = 0; i < call_.operand_count; ++i) {
      if (!is_together_[i]) continue;
      from[count] = static_cast<const char*>((*call_.tensors[i])->data()) + at * together_step_;
      to[count++] = buffers[i];
    }
    pick_together(together_item_, together_step_, {from, count}, {to, count}, n);
  }

  void run_part(int64_t begin, int64_t end) const {
    alignas(64) char buffers[4][ElementWalk::kTileBytes];
    PanelReader reader(walk_);
    for (int64_t at = begin; at < end;) {
      int64_t n = reader.tile_length(at, end);
      const void* src[3];
      if (together_count_ > 0) {
        n = std::min(n, elements_together(together_item_, together_count_));
        read_together(at, n, buffers);
      }
      for (int i = 0; i < call_.operand_count; ++i) {
        if (is_together_[i]) {
          src[i] = buffers[i];
        } else if (places_[i] == 0) {
          src[i] = call_.numbers[i];
        } else if (is_row_number_[i]) {
          const char* data = static_cast<const char*>((*call_.tensors[i])->data());
          src[i] = row_number(call_, data + reader.offset(places_[i], at), buffers[i]);
        } else {
          src[i] = reader.read(places_[i], (*call_.tensors[i])->data(), at, n, buffers[i]);
        }
      }
      void* dst = walk_.write_place(0, out_->data(), at, n, buffers[3]);
      loop_(src, dst, n, call_.params);
      if (dst == buffers[3]) walk_.write_back(0, out_->data(), at, n, dst);
      at += n;
    }
  }

  const PointwiseCall& call_;
  const Tensor& out_;
  ElementWalk walk_;
  int places_[3] = {};
  bool is_row_number_[3] = {}, is_together_[3] = {};
  size_t together_count_ = 0;
  int64_t together_item_ = 1, together_step_ = 0;
  unsigned mask_;
  PointwiseLoop loop_ = nullptr;
};

}  // namespace

void run_by_tiles(const PointwiseCall& call, const Tensor& out) { StridedRun(call, out).run(); }

}  // namespace md
