// Recurrent layers: for each step one matrix product with the state, then the gates.
#include <algorithm>
#include <cmath>

#include "tensor/call_args.h"
#include "tensor/copy.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"
#include "tensor/shape_rules.h"

namespace md {
namespace {

template <typename T>
T sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}

// One unit's step. x: what the input gives its gates, h: what the state gives them, both `stride` apart; bias of the
// state's part is in h. Changes the unit's state and cell.
template <typename T>
struct Unit {
  const T* x;
  const T* h;
  int64_t stride;
  T* state;
  T* cell;
  T gate(int number) const { return x[number * stride] + h[number * stride]; }
};

template <typename T>
void tanh_unit(const Unit<T>& unit) {
  *unit.state = std::tanh(unit.gate(0));
}

template <typename T>
void relu_unit(const Unit<T>& unit) {
  T sum = unit.gate(0);
  *unit.state = sum < T(0) ? T(0) : sum;
}

template <typename T>
void lstm_unit(const Unit<T>& unit) {
  *unit.cell = sigmoid(unit.gate(1)) * *unit.cell + sigmoid(unit.gate(0)) * std::tanh(unit.gate(2));
  *unit.state = sigmoid(unit.gate(3)) * std::tanh(*unit.cell);
}

template <typename T>
void gru_unit(const Unit<T>& unit) {
  T reset = sigmoid(unit.gate(0)), update = sigmoid(unit.gate(1));
  T fresh = std::tanh(unit.x[2 * unit.stride] + reset * unit.h[2 * unit.stride]);
  *unit.state = (T(1) - update) * fresh + update * *unit.state;
}

template <typename T>
using Step = void (*)(const Unit<T>& unit);

template <typename T>
Step<T> step_of(const std::string& kind) {
  if (kind == "lstm") return lstm_unit<T>;
  if (kind == "gru") return gru_unit<T>;
  return kind == "relu" ? relu_unit<T> : tanh_unit<T>;
}

template <typename T>
void run(const OpCall& call, DType dtype, std::span<Tensor> outs) {
  Tensor projected = as_contiguous(tensor_arg(call, 0), dtype), weight = as_contiguous(tensor_arg(call, 3), dtype);
  Tensor bias = arg_is_none(call, 4) ? Tensor() : as_contiguous(tensor_arg(call, 4), dtype);
  int64_t steps = projected->sizes()[0], batch = projected->sizes()[1], gates = projected->sizes()[2];
  int64_t width = tensor_arg(call, 1)->sizes()[1];
  auto owned = [&](const Tensor& from) {
    Tensor tensor = Tensor::empty(TensorSpec::contiguous(dtype, from.spec().sizes));
    copy_elements(from, tensor);
    return tensor;
  };
  Tensor state = owned(tensor_arg(call, 1)), cell = owned(tensor_arg(call, arg_is_none(call, 2) ? 1 : 2));
  Tensor results = Tensor::empty(TensorSpec::contiguous(dtype, outs[0].spec().sizes));
  const int64_t sizes[] = {batch, gates};
  Tensor from_state = Tensor::empty(dtype, sizes);
  Step<T> step = step_of<T>(std::get<std::string>(call.args[5]));
  bool reverse = bool_arg(call, 6);
  for (int64_t number = 0; number < steps && state->numel() > 0; ++number) {
    int64_t time = reverse ? steps - 1 - number : number;
    gemm(GemmProblem<T>{batch, gates, width, state.data<T>(), width, 1, weight.data<T>(), 1, width,
                        from_state.data<T>(), gates});
    for (int64_t i = 0; i < from_state->numel() && bias.defined(); ++i) {
      from_state.data<T>()[i] += bias.data<T>()[i % gates];
    }
    for (int64_t row = 0; row < batch; ++row) {
      for (int64_t unit = 0; unit < width; ++unit) {
        int64_t at = row * gates + unit;
        step(Unit<T>{projected.data<T>() + time * batch * gates + at, from_state.data<T>() + at, width,
                     state.data<T>() + row * width + unit, cell.data<T>() + row * width + unit});
      }
    }
    std::copy_n(state.data<T>(), state->numel(), results.data<T>() + time * state->numel());
  }
  copy_elements(results, outs[0]);
  copy_elements(state, outs[1]);
  copy_elements(cell, outs[2]);
}

}  // namespace

static int gate_count(const std::string& kind) {
  if (kind == "lstm") return 4;
  if (kind == "gru") return 3;
  return kind == "tanh" || kind == "relu" ? 1 : 0;
}

void recurrent_layer_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& projected = tensor_arg(call, 0).spec();
  const TensorSpec& hidden = tensor_arg(call, 1).spec();
  const TensorSpec& weight = tensor_arg(call, 3).spec();
  const std::string& kind = arg_as<std::string>(call, 5);
  Dim gates = gate_count(kind);
  if (same(gates, Dim(0))) raise_op(ErrorKind::Value, call.row.name, "unknown kind '", kind, "'");
  bool fits = projected.rank() == 3 && hidden.rank() == 2 && weight.rank() == 2;
  fits = fits && known_equal(projected.sizes[1], hidden.sizes[0]) && known_equal(weight.sizes[1], hidden.sizes[1]) &&
         known_equal(projected.sizes[2], gates * hidden.sizes[1]) && known_equal(weight.sizes[0], projected.sizes[2]);
  if (fits && !arg_is_none(call, 2)) {
    const TensorSpec& cell = tensor_arg(call, 2).spec();
    fits =
        cell.rank() == 2 && known_equal(cell.sizes[0], hidden.sizes[0]) && known_equal(cell.sizes[1], hidden.sizes[1]);
  }
  if (fits && !arg_is_none(call, 4)) {
    const TensorSpec& bias = tensor_arg(call, 4).spec();
    fits = bias.rank() == 1 && known_equal(bias.sizes[0], weight.sizes[0]);
  }
  if (!fits)
    raise_op(ErrorKind::Runtime, call.row.name, "sizes of input, state and weights do not fit", operand_shapes(call));
  if (!is_floating(projected.dtype)) {
    raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for '", row(projected.dtype).name, "'");
  }
  DimVec sizes = {projected.sizes[0], hidden.sizes[0], hidden.sizes[1]};
  outs.push_back({TensorSpec::contiguous(projected.dtype, sizes), 0});
  outs.push_back({TensorSpec::contiguous(projected.dtype, hidden.sizes), 0});
  outs.push_back({TensorSpec::contiguous(projected.dtype, hidden.sizes), 0});
}

void recurrent_layer_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (outs[0]->dtype() == DType::float64) return run<double>(call, DType::float64, outs);
  run<float>(call, DType::float32, outs);
}

}  // namespace md
