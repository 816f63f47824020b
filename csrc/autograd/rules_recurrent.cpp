// The rule of recurrent layers. All states are results, so that the gates of all steps come back from one product; then
// one product for each step, backwards, and one for the weight.
#include "autograd/rule_op.h"
#include "autograd/rules.h"
#include "base/error.h"

namespace md {
namespace {

namespace op = rule_ops;

constexpr size_t kProjected = 0, kHidden = 1, kCell = 2, kWeight = 3, kBias = 4, kKind = 5, kReverse = 6,
                 kProjection = 7;

Tensor times(const Tensor& a, const Tensor& b) { return op::mul(a, b); }
Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : op::add(a, b); }
Tensor one_minus(const Tensor& a) { return op::sub(Scalar(1.0), a); }
Tensor at(const Tensor& tensor, int64_t step) { return op::select(tensor, whole(0), whole(step)); }
Tensor part(const Tensor& tensor, int64_t number, Dim width) {
  return op::narrow(tensor, whole(-1), Scalar::symbolic(Dim(number) * width), Scalar::symbolic(width));
}
Tensor joined(std::vector<Tensor> parts) { return op::cat(std::move(parts), whole(-1)); }
Tensor sigmoid_slope(const Tensor& gate) { return times(gate, one_minus(gate)); }
Tensor tanh_slope(const Tensor& gate) { return one_minus(times(gate, gate)); }

// What a step's rule takes, and what it returns: gradients of the sums that the gates are of, of the part of them that
// comes from the state (another one in a GRU), of the cell before, and what of the state before does not come through
// the product.
struct StepSlopes {
  Tensor from_input, from_state, cell, state;
};

class Layer {
 public:
  explicit Layer(const DifferentiatedCall& call)
      : call_(call),
        projected_(tensor(kProjected)),
        hidden_(tensor(kHidden)),
        weight_(tensor(kWeight)),
        kind_(std::get<std::string>(call.args[kKind])),
        reverse_(std::get<Scalar>(call.args[kReverse]).as_int() != 0) {
    steps_ = projected_.spec().sizes[0].value();
    outputs_ = call.results[0];
    if (!is_none(call.args[kCell])) cell_ = tensor(kCell);
    if (!is_none(call.args[kBias])) bias_ = tensor(kBias);
    if (!is_none(call.args[kProjection])) projection_ = tensor(kProjection);
    width_ = projection_.defined() ? projection_.spec().sizes[1] : hidden_.spec().sizes[1];
  }

  std::vector<Arg> slopes() {
    std::vector<Arg> gradients(call_.args.size());
    if (steps_ == 0) {
      if (call_.gradients[1].defined()) gradients[kHidden] = call_.gradients[1];
      if (cell_.defined() && call_.gradients[2].defined()) gradients[kCell] = call_.gradients[2];
      return gradients;
    }
    find_gates();
    run_back();
    gradients[kProjected] = op::stack(from_input_, whole(0));
    gradients[kHidden] = state_slope_;
    if (cell_.defined() && cell_slope_.defined()) gradients[kCell] = cell_slope_;
    Tensor by_step = op::stack(from_state_, whole(0));
    Dim rows = by_step.spec().sizes[0] * by_step.spec().sizes[1], gate_width = by_step.spec().sizes[2];
    Tensor flat = op::reshape(by_step, DimVec{rows, gate_width});
    Tensor before = op::reshape(before_, DimVec{rows, hidden_.spec().sizes[1]});
    gradients[kWeight] = op::matmul(op::t(flat), before);
    if (bias_.defined()) gradients[kBias] = op::sum(flat, DimVec{0});
    if (projection_.defined()) gradients[kProjection] = projection_slope_;
    return gradients;
  }

 private:
  const Tensor& tensor(size_t arg) const { return std::get<Tensor>(call_.args[arg]); }
  int64_t time_of(int64_t number) const { return reverse_ ? steps_ - 1 - number : number; }

  // The state before each step, by time; and the state's part of all gates.
  void find_gates() {
    Tensor first = op::unsqueeze(hidden_, whole(0));
    if (steps_ == 1) {
      before_ = first;
    } else {
      int64_t from = reverse_ ? 1 : 0;
      Tensor others = op::narrow(outputs_, whole(0), whole(from), whole(steps_ - 1));
      before_ = op::cat(reverse_ ? std::vector<Tensor>{others, first} : std::vector<Tensor>{first, others}, whole(0));
    }
    state_part_ = op::matmul(before_, op::t(weight_));
    if (bias_.defined()) state_part_ = op::add(state_part_, bias_);
    if (cell_.defined()) find_cells();
  }

  Tensor sums(int64_t time) { return op::add(at(projected_, time), at(state_part_, time)); }

  // Cells are not results: they are computed again, forwards.
  void find_cells() {
    Tensor cell = cell_;
    for (int64_t number = 0; number < steps_; ++number) {
      cells_.push_back(cell);
      Tensor all = sums(time_of(number));
      Tensor input = op::sigmoid(part(all, 0, width_)), forget = op::sigmoid(part(all, 1, width_));
      Tensor fresh = op::tanh(part(all, 2, width_));
      cell = op::add(times(forget, cell), times(input, fresh));
    }
    cells_.push_back(cell);
  }

  void run_back() {
    from_input_.resize(static_cast<size_t>(steps_));
    from_state_.resize(static_cast<size_t>(steps_));
    state_slope_ = call_.gradients[1];
    if (cell_.defined()) cell_slope_ = call_.gradients[2];
    for (int64_t number = steps_ - 1; number >= 0; --number) {
      int64_t time = time_of(number);
      Tensor state = state_slope_;
      if (call_.gradients[0].defined()) state = plus(state, at(call_.gradients[0], time));
      if (!state.defined()) state = zeros_for(cell_slope_, hidden_.spec().sizes);
      if (projection_.defined()) state = unprojected(state, number);
      StepSlopes step = step_slopes(number, time, state);
      from_input_[static_cast<size_t>(time)] = step.from_input;
      from_state_[static_cast<size_t>(time)] = step.from_state;
      cell_slope_ = step.cell;
      state_slope_ = plus(op::matmul(step.from_state, weight_), step.state);
    }
  }

  // Of the state before its projection.
  Tensor unprojected(const Tensor& state, int64_t number) {
    Tensor all = sums(time_of(number));
    Tensor wide = times(op::sigmoid(part(all, 3, width_)), op::tanh(cells_[static_cast<size_t>(number + 1)]));
    projection_slope_ = plus(projection_slope_, op::matmul(op::t(state), wide));
    return op::matmul(state, projection_);
  }

  StepSlopes step_slopes(int64_t number, int64_t time, const Tensor& state) {
    if (kind_ == "lstm") return lstm_slopes(number, time, state);
    if (kind_ == "gru") return gru_slopes(time, state);
    Tensor all = sums(time);
    Tensor slope = kind_ == "tanh" ? times(state, tanh_slope(op::tanh(all)))
                                   : Tensor(op::where(op::gt(all, whole(0)), state, whole(0)));
    return {slope, slope, {}, {}};
  }

  StepSlopes lstm_slopes(int64_t number, int64_t time, const Tensor& state) {
    Tensor all = sums(time);
    Tensor input = op::sigmoid(part(all, 0, width_)), forget = op::sigmoid(part(all, 1, width_));
    Tensor fresh = op::tanh(part(all, 2, width_)), output = op::sigmoid(part(all, 3, width_));
    Tensor wide = op::tanh(cells_[static_cast<size_t>(number + 1)]);
    Tensor cell = plus(times(times(state, output), tanh_slope(wide)), cell_slope_);
    Tensor slope =
        joined({times(times(cell, fresh), sigmoid_slope(input)),
                times(times(cell, cells_[static_cast<size_t>(number)]), sigmoid_slope(forget)),
                times(times(cell, input), tanh_slope(fresh)), times(times(state, wide), sigmoid_slope(output))});
    return {slope, slope, times(cell, forget), {}};
  }

  StepSlopes gru_slopes(int64_t time, const Tensor& state) {
    Tensor x = at(projected_, time), h = at(state_part_, time), before = at(before_, time);
    Tensor reset = op::sigmoid(op::add(part(x, 0, width_), part(h, 0, width_)));
    Tensor update = op::sigmoid(op::add(part(x, 1, width_), part(h, 1, width_)));
    Tensor from_state = part(h, 2, width_);
    Tensor fresh = op::tanh(op::add(part(x, 2, width_), times(reset, from_state)));
    Tensor fresh_slope = times(times(state, one_minus(update)), tanh_slope(fresh));
    Tensor update_slope = times(times(state, op::sub(before, fresh)), sigmoid_slope(update));
    Tensor reset_slope = times(times(fresh_slope, from_state), sigmoid_slope(reset));
    return {joined({reset_slope, update_slope, fresh_slope}),
            joined({reset_slope, update_slope, times(fresh_slope, reset)}),
            {},
            times(state, update)};
  }

  const DifferentiatedCall& call_;
  Tensor projected_, hidden_, cell_, weight_, bias_, projection_, outputs_;
  std::string kind_;
  bool reverse_;
  int64_t steps_ = 0;
  Dim width_ = 0;
  Tensor before_, state_part_;
  std::vector<Tensor> cells_, from_input_, from_state_;  // cells by step: before the first one, after each
  Tensor state_slope_, cell_slope_, projection_slope_;
};

}  // namespace

namespace rules {

std::vector<Arg> recurrent_slopes(const DifferentiatedCall& call) { return Layer(call).slopes(); }

}  // namespace rules
}  // namespace md
