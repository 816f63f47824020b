// The loss of connectionist temporal classification, by the forward recurrence over labels between blanks, and its
// gradient by the backward one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/lane_table.h"
#include "tensor/simd/loops.h"

namespace md {
namespace {

// A step reads two states before the first one.
constexpr int64_t kBefore = 2;

// The arguments of both kernels; `first` is the place of log_probs among those of the call.
class CtcBatch {
 public:
  CtcBatch(const OpCall& call, int first)
      : log_probs(as_contiguous(tensor_arg(call, first), tensor_arg(call, first)->dtype())),
        targets_(as_contiguous(tensor_arg(call, first + 1), DType::int64)),
        input_lengths_(as_contiguous(tensor_arg(call, first + 2), DType::int64)),
        target_lengths_(as_contiguous(tensor_arg(call, first + 3), DType::int64)),
        blank_(int_arg(call, first + 4)) {
    steps = log_probs->sizes()[0];
    count = log_probs->sizes()[1];
    classes = log_probs->sizes()[2];
    check(call);
  }

  int64_t input_length(int64_t i) const { return input_lengths_.data<const int64_t>()[i]; }
  int64_t states(int64_t i) const { return 2 * target_lengths_.data<const int64_t>()[i] + 1; }
  // The class of each state.
  std::vector<int64_t> labels(int64_t i) const {
    std::vector<int64_t> found(static_cast<size_t>(states(i)), blank_);
    const int64_t* target = targets_.data<const int64_t>() + starts_[static_cast<size_t>(i)];
    for (size_t at = 1; at < found.size(); at += 2) found[at] = target[at / 2];
    return found;
  }
  double ns(double each) const {
    int64_t states = 2 * targets_->numel() / std::max<int64_t>(count, 1) + 1;
    return each * static_cast<double>(steps * states);
  }

  Tensor log_probs;
  int64_t steps, count, classes;

 private:
  // Targets are rows of one length, or one after the other.
  void check(const OpCall& call) {
    int64_t next = 0, width = targets_->rank() == 2 ? targets_->sizes()[1] : -1;
    for (int64_t i = 0; i < count; ++i) {
      int64_t length = target_lengths_.data<const int64_t>()[i], start = width < 0 ? next : i * width;
      bool fits = length >= 0 && (width < 0 ? start + length <= targets_->numel() : length <= width);
      if (!fits || input_length(i) < 0 || input_length(i) > steps)
        raise_op(ErrorKind::Runtime, call.row.name, "lengths that are longer than the sequences", operand_shapes(call));
      for (int64_t k = 0; k < length; ++k) {
        int64_t label = targets_.data<const int64_t>()[start + k];
        if (label < 0 || label >= classes)
          raise_op(ErrorKind::Index, call.row.name, "index ", label, " is out of range for ", classes, " classes",
                   operand_shapes(call));
      }
      starts_.push_back(start);
      next += length;
    }
  }

  Tensor targets_, input_lengths_, target_lengths_;
  int64_t blank_;
  std::vector<int64_t> starts_;
};

// Logarithms of the probabilities of all beginnings, for each step and state; or, from behind, of all ends.
template <typename T>
class CtcTable {
 public:
  CtcTable(const CtcBatch& batch, int64_t sequence, bool backward)
      : steps_(batch.input_length(sequence)),
        labels_(batch.labels(sequence)),
        width_(static_cast<int64_t>(labels_.size()) + kBefore),
        backward_(backward) {
    if (backward) std::reverse(labels_.begin(), labels_.end());
    constexpr T kNever = -std::numeric_limits<T>::infinity();
    // To state k one comes from k - 2 too where the label between is a blank, and no repetition is lost.
    skips_.assign(labels_.size(), kNever);
    for (size_t k = kBefore; k < labels_.size(); ++k)
      if (k % 2 == 1 && labels_[k] != labels_[k - 2]) skips_[k] = 0;
    numbers_.assign(static_cast<size_t>((steps_ + 1) * width_), kNever);
    found_.resize(labels_.size());
    T* before = row(-1);
    before[0] = 0;  // the first two states begin as if they followed state 0
    for (int64_t i = 0; i < steps_; ++i) take(batch, sequence, i);
  }

  const std::vector<int64_t>& labels() const { return labels_; }
  // In the order of time and states.
  T at(int64_t step, int64_t state) const {
    return backward_ ? row(steps_ - 1 - step)[states() - 1 - state] : row(step)[state];
  }
  int64_t states() const { return width_ - kBefore; }
  T total() const {
    const T* last = row(steps_ - 1);
    T a = last[states() - 1], b = states() > 1 ? last[states() - 2] : -std::numeric_limits<T>::infinity();
    T most = std::max(a, b);
    if (std::isinf(most)) return most;
    return most + std::log(std::exp(a - most) + std::exp(b - most));
  }

 private:
  const T* row(int64_t step) const { return numbers_.data() + (step + 1) * width_ + kBefore; }
  T* row(int64_t step) { return numbers_.data() + (step + 1) * width_ + kBefore; }
  void take(const CtcBatch& batch, int64_t sequence, int64_t i) {
    int64_t step = backward_ ? steps_ - 1 - i : i;
    const T* logs = batch.log_probs.data<const T>() + (step * batch.count + sequence) * batch.classes;
    for (size_t k = 0; k < labels_.size(); ++k) found_[k] = logs[labels_[k]];
    loops().lanes->of<T>().follow_states(row(i - 1), skips_.data(), found_.data(), states(), row(i));
  }

  int64_t steps_;
  std::vector<int64_t> labels_;
  int64_t width_;
  bool backward_;
  std::vector<T> skips_, numbers_, found_;
};

template <typename T>
T loss_of(const CtcBatch& batch, int64_t sequence, const CtcTable<T>& beginnings) {
  if (batch.input_length(sequence) > 0) return -beginnings.total();
  return beginnings.states() == 1 ? T(0) : std::numeric_limits<T>::infinity();
}

template <typename T>
void take_losses(const CtcBatch& batch, const Tensor& out) {
  parallel_for(batch.count, batch.ns(4), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out.data<T>()[i] = loss_of<T>(batch, i, CtcTable<T>(batch, i, false));
  });
}

// The probability of the path through a state at a step, with the sign of the loss.
template <typename T>
void take_slopes(const CtcBatch& batch, int64_t sequence, T slope, const Tensor& out) {
  CtcTable<T> beginnings(batch, sequence, false), ends(batch, sequence, true);
  T loss = loss_of<T>(batch, sequence, beginnings);
  for (int64_t step = 0; step < batch.input_length(sequence); ++step) {
    int64_t start = (step * batch.count + sequence) * batch.classes;
    const T* logs = batch.log_probs.data<const T>() + start;
    T* to = out.data<T>() + start;
    for (int64_t state = 0; state < beginnings.states(); ++state) {
      int64_t label = beginnings.labels()[static_cast<size_t>(state)];
      T both = beginnings.at(step, state) + ends.at(step, state);
      if (std::isinf(both) && both < 0 && !std::isinf(loss)) continue;
      to[label] -= slope * std::exp(both - logs[label] + loss);
    }
  }
}

}  // namespace

void ctc_losses_kernel(const OpCall& call, std::span<Tensor> outs) {
  CtcBatch batch(call, 0);
  outs[0]->dtype() == DType::float64 ? take_losses<double>(batch, outs[0]) : take_losses<float>(batch, outs[0]);
}

void ctc_slopes_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& out = outs[0];
  CtcBatch batch(call, 1);
  Tensor slopes = as_contiguous(tensor_arg(call, 0), out->dtype());
  auto run = [&]<typename T>(T) {
    std::fill_n(out.data<T>(), out->numel(), T(0));
    parallel_for(batch.count, batch.ns(12), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        T slope = slopes.data<const T>()[i];
        if (slope != 0) take_slopes(batch, i, slope, out);
      }
    });
  };
  out->dtype() == DType::float64 ? run(double{}) : run(float{});
}

}  // namespace md
