// Recurrent layers: per time step one matrix product with the state, then the gates.
#include <algorithm>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "tensor/gemm/gemm.h"
#include "tensor/kernels/dim_slices.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/pointwise.h"

namespace md {
namespace {

// Rows of one step's gates and of the state, [gates * width] and [width]. x is the input's part, h the state's part
// including its bias; both may be overwritten.
template <typename T>
struct Row {
  T* x;
  T* h;
  T* state;
  T* cell;
  int64_t width;
};

// The vectorised pointwise function, in place.
template <typename T>
void apply(Pointwise function, T* values, int64_t n) {
  const void* src[] = {values};
  pointwise_loop(static_cast<int>(function), dtype_of<T>())(src, values, n, nullptr);
}

template <typename T>
void add_to(T* values, const T* other, int64_t n) {
  const void* src[] = {values, other};
  pointwise_loop(static_cast<int>(Pointwise::add), dtype_of<T>())(src, values, n, nullptr);
}

template <typename T>
void simple_row(const Row<T>& row, Pointwise activation) {
  add_to(row.x, row.h, row.width);
  apply(activation, row.x, row.width);
  std::copy_n(row.x, row.width, row.state);
}

template <typename T>
void tanh_row(const Row<T>& row) {
  simple_row(row, Pointwise::tanh);
}

template <typename T>
void relu_row(const Row<T>& row) {
  simple_row(row, Pointwise::relu);
}

// Gates: input, forget, candidate, output.
template <typename T>
void lstm_row(const Row<T>& row) {
  int64_t width = row.width;
  add_to(row.x, row.h, 4 * width);
  apply(Pointwise::sigmoid, row.x, 2 * width);
  apply(Pointwise::tanh, row.x + 2 * width, width);
  apply(Pointwise::sigmoid, row.x + 3 * width, width);
  const T *input = row.x, *forget = row.x + width, *fresh = row.x + 2 * width, *output = row.x + 3 * width;
  for (int64_t i = 0; i < width; ++i) row.cell[i] = forget[i] * row.cell[i] + input[i] * fresh[i];
  std::copy_n(row.cell, width, row.state);
  apply(Pointwise::tanh, row.state, width);
  for (int64_t i = 0; i < width; ++i) row.state[i] *= output[i];
}

// Gates: reset, update, candidate.
template <typename T>
void gru_row(const Row<T>& row) {
  int64_t width = row.width;
  add_to(row.x, row.h, 2 * width);
  apply(Pointwise::sigmoid, row.x, 2 * width);
  const T *reset = row.x, *update = row.x + width, *from_state = row.h + 2 * width;
  T* fresh = row.x + 2 * width;
  for (int64_t i = 0; i < width; ++i) fresh[i] += reset[i] * from_state[i];
  apply(Pointwise::tanh, fresh, width);
  for (int64_t i = 0; i < width; ++i) row.state[i] = (T(1) - update[i]) * fresh[i] + update[i] * row.state[i];
}

template <typename T>
using Step = void (*)(const Row<T>& row);

struct RecurrentKind {
  std::string_view name;
  int gates;
  bool has_cell;
  Step<float> of_float;
  Step<double> of_double;
};
constexpr RecurrentKind kKinds[] = {
    {"tanh", 1, false, tanh_row<float>, tanh_row<double>},
    {"relu", 1, false, relu_row<float>, relu_row<double>},
    {"lstm", 4, true, lstm_row<float>, lstm_row<double>},
    {"gru", 3, false, gru_row<float>, gru_row<double>},
};

// Null: there is no such kind.
const RecurrentKind* find_kind(const std::string& name) {
  const auto* found = std::ranges::find(kKinds, name, &RecurrentKind::name);
  return found != std::end(kKinds) ? found : nullptr;
}

constexpr int kCell = 2, kBias = 4, kKind = 5, kReverse = 6, kProjection = 7;

template <typename T>
Tensor owned(const Tensor& from) {
  Tensor tensor = Tensor::empty(TensorSpec::contiguous(dtype_of<T>(), from.spec().sizes));
  copy_elements(from, tensor);
  return tensor;
}

// out[rows, outputs] = in[rows, inputs] @ weight[outputs, inputs].T
template <typename T>
void multiply(const T* in, const Tensor& weight, T* out, int64_t rows) {
  int64_t outputs = weight->sizes()[0], inputs = weight->sizes()[1];
  gemm(GemmProblem<T>{rows, outputs, inputs, in, inputs, 1, weight.data<T>(), 1, inputs, out, outputs});
}

template <typename T>
void run(const OpCall& call, std::span<Tensor> outs) {
  constexpr DType dtype = dtype_of<T>();
  auto given = [&](int arg) { return arg_is_none(call, arg) ? Tensor() : as_contiguous(tensor_arg(call, arg), dtype); };
  // The gates are computed in place.
  Tensor gates = owned<T>(tensor_arg(call, 0)), weight = given(3), bias = given(kBias), projection = given(kProjection);
  int64_t steps = gates->sizes()[0], batch = gates->sizes()[1], gate_width = gates->sizes()[2];
  const RecurrentKind* kind = find_kind(arg_as<std::string>(call, kKind));
  MD_ASSERT(kind != nullptr, "the shape rule knows the kind");
  int64_t width = gate_width / kind->gates;
  Tensor state = owned<T>(tensor_arg(call, 1)), cell = owned<T>(tensor_arg(call, arg_is_none(call, kCell) ? 1 : kCell));
  Tensor results = Tensor::empty(TensorSpec::contiguous(dtype, outs[0].spec().sizes));
  const int64_t gate_sizes[] = {batch, gate_width}, wide_sizes[] = {batch, width};
  Tensor from_state = Tensor::empty(dtype, gate_sizes);
  Tensor wide_state = projection.defined() ? Tensor::empty(dtype, wide_sizes) : state;
  Step<T> step;
  if constexpr (std::is_same_v<T, float>) {
    step = kind->of_float;
  } else {
    step = kind->of_double;
  }
  for (int64_t number = 0; number < steps && gates->numel() > 0; ++number) {
    int64_t time = bool_arg(call, kReverse) ? steps - 1 - number : number;
    multiply(state.data<T>(), weight, from_state.data<T>(), batch);
    for (int64_t row = 0; row < batch; ++row) {
      T* h = from_state.data<T>() + row * gate_width;
      if (bias.defined()) add_to(h, bias.data<T>(), gate_width);
      step(Row<T>{gates.data<T>() + (time * batch + row) * gate_width, h, wide_state.data<T>() + row * width,
                  cell.data<T>() + row * width, width});
    }
    if (projection.defined()) multiply(wide_state.data<T>(), projection, state.data<T>(), batch);
    std::copy_n(state.data<T>(), state->numel(), results.data<T>() + time * state->numel());
  }
  copy_elements(results, outs[0]);
  copy_elements(state, outs[1]);
  copy_elements(cell, outs[2]);
}

}  // namespace

void recurrent_layer_shape(const OpCall& call, std::vector<OutSpec>& outs) {
  const TensorSpec& projected = tensor_arg(call, 0).spec();
  const TensorSpec& hidden = tensor_arg(call, 1).spec();
  const TensorSpec& weight = tensor_arg(call, 3).spec();
  const std::string& name = arg_as<std::string>(call, kKind);
  const RecurrentKind* kind = find_kind(name);
  if (kind == nullptr) raise_op(ErrorKind::Value, call.row.name, "unknown kind '", name, "'");
  Dim gates = kind->gates;
  // width: of a gate, and of the cell. Also of the state, unless that is projected.
  bool fits = projected.rank() == 3 && hidden.rank() == 2 && weight.rank() == 2;
  Dim width = fits ? hidden.sizes[1] : Dim(0);
  if (fits && !arg_is_none(call, kProjection)) {
    const TensorSpec& projection = tensor_arg(call, kProjection).spec();
    fits = projection.rank() == 2 && known_equal(projection.sizes[0], width);
    if (fits) width = projection.sizes[1];
  }
  fits = fits && known_equal(projected.sizes[1], hidden.sizes[0]) && known_equal(weight.sizes[1], hidden.sizes[1]) &&
         known_equal(projected.sizes[2], gates * width) && known_equal(weight.sizes[0], projected.sizes[2]);
  if (fits && !arg_is_none(call, kCell)) {
    const TensorSpec& cell = tensor_arg(call, kCell).spec();
    fits = cell.rank() == 2 && known_equal(cell.sizes[0], hidden.sizes[0]) && known_equal(cell.sizes[1], width);
  }
  if (fits && !arg_is_none(call, kBias)) {
    const TensorSpec& bias = tensor_arg(call, kBias).spec();
    fits = bias.rank() == 1 && known_equal(bias.sizes[0], weight.sizes[0]);
  }
  if (fits) fits = arg_is_none(call, kProjection) || (kind->has_cell && !arg_is_none(call, kCell));
  if (!fits)
    raise_op(ErrorKind::Runtime, call.row.name, "sizes of input, state and weights do not fit", operand_shapes(call));
  if (!is_floating(projected.dtype)) {
    raise_op(ErrorKind::NotImplemented, call.row.name, "not implemented for '", row(projected.dtype).name, "'");
  }
  DimVec sizes = {projected.sizes[0], hidden.sizes[0], hidden.sizes[1]};
  outs.push_back({TensorSpec::contiguous(projected.dtype, sizes), 0});
  outs.push_back({TensorSpec::contiguous(projected.dtype, hidden.sizes), 0});
  outs.push_back({TensorSpec::contiguous(projected.dtype, {hidden.sizes[0], width}), 0});
}

void recurrent_layer_kernel(const OpCall& call, std::span<Tensor> outs) {
  if (outs[0]->dtype() == DType::float64) return run<double>(call, outs);
  run<float>(call, outs);
}

}  // namespace md
