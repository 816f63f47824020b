#include "executor/kernel_step.h"

#include <algorithm>

#include "executor/write_chains.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

bool lasts(const RunState& state, int value) {
  BufferHome home =
      state.layout->buffers[static_cast<size_t>(state.layout->places[static_cast<size_t>(value)].buffer)].home;
  return home == BufferHome::Arena || home == BufferHome::Constant;
}

void set_arg(std::vector<Arg>& args, const ArgPatch& patch, Tensor tensor) {
  Arg& arg = args[static_cast<size_t>(patch.arg)];
  if (patch.item < 0) {
    arg = std::move(tensor);
  } else {
    std::get<std::vector<Tensor>>(arg)[static_cast<size_t>(patch.item)] = std::move(tensor);
  }
}

// The layout that the plan was lowered for; a host call may return another one.
Tensor with_layout(const OpRow& op, const Tensor& tensor, const TensorSpec& spec) {
  if (tensor->dtype() != spec.dtype || !same(tensor.spec().sizes, spec.sizes)) {
    raise_op(ErrorKind::Runtime, op.name, "returned ", tensor.spec().str(), ", its shape rule says ", spec.str());
  }
  if (same(tensor.spec().strides, spec.strides)) return tensor;
  Tensor copy = Tensor::empty(spec);
  copy_elements(tensor, copy);
  return copy;
}

// Rough cost of a kernel per element read or written. Moving an element costs nothing.
double flops_per_element(OpKind kind) {
  switch (kind) {
    case OpKind::View:
    case OpKind::Creation:
    case OpKind::Cast:
    case OpKind::Gather:
    case OpKind::Write:
      return 0;
    case OpKind::Softmax:
      return 12;  // dominated by the exponential
    case OpKind::Reduction:
      return 1;
    case OpKind::PointwiseUnary:
    case OpKind::PointwiseBinary:
    case OpKind::PointwiseTernary:
    case OpKind::Compare:
    case OpKind::Matmul:
    case OpKind::Decomposition:
    case OpKind::Random:
    case OpKind::HostCall:
      break;
  }
  return 4;
}

// The length of a product's sums.
double inner_extent(const Node& node) {
  const auto* value = std::get_if<ValueRef>(&node.operands[0]);
  const DimVec* sizes = value == nullptr ? nullptr : &value->node->outs[static_cast<size_t>(value->out)].spec.sizes;
  return sizes == nullptr || sizes->empty() ? 1 : static_cast<double>((*sizes)[sizes->size() - 1].value());
}

Work work_of(const Node& node) {
  Work work;
  auto add = [&](const TensorSpec& spec, double& elements) {
    double numel = static_cast<double>(spec.numel().value());
    work.bytes += numel * static_cast<double>(item_size(spec.dtype));
    elements += numel;
  };
  if (!node.outs.empty()) work.dtype = node.outs[0].spec.dtype;
  double read = 0, written = 0;
  for (const ValueInfo& info : node.outs) add(info.spec, written);
  for (const Operand& operand : node.operands) {
    for_each_value(operand,
                   [&](const ValueRef& value) { add(value.node->outs[static_cast<size_t>(value.out)].spec, read); });
  }
  work.flops = node.op->kind == OpKind::Matmul ? 2 * written * inner_extent(node)
                                               : flops_per_element(node.op->kind) * std::max(read, written);
  return work;
}

}  // namespace

KernelStep::KernelStep(const Node& node, std::vector<Arg> args, std::vector<ArgPatch> patches, std::vector<int> outs,
                       int call, bool changes)
    : op_(*node.op),
      node_(changes ? &node : nullptr),
      name_(std::make_shared<const std::string>(node.name)),
      args_(std::move(args)),
      patches_(std::move(patches)),
      outs_(std::move(outs)),
      call_(call),
      may_pack_(may_pack(op_)),
      work_(work_of(node)) {}

bool KernelStep::take_sizes(const Layout&, StepMemory&) {
  if (node_ == nullptr) return true;
  work_ = work_of(*node_);
  for (size_t i = 0; i < args_.size(); ++i) {
    if (const auto* number = std::get_if<Scalar>(&node_->operands[i])) args_[i].emplace<Scalar>(*number);
    if (const auto* dims = std::get_if<DimVec>(&node_->operands[i])) args_[i].emplace<DimVec>(*dims);
  }
  return true;
}

std::unique_ptr<Step> KernelStep::copy() const { return std::make_unique<KernelStep>(*this); }

void KernelStep::prepare(RunState& state) const {
  KernelCall& call = state.calls[static_cast<size_t>(call_)];
  call.args = std::vector<Arg>(args_);  // avoids assigning variants: g++ 12 warns falsely
  for (const ArgPatch& patch : patches_) {
    if (patch.value >= 0 && lasts(state, patch.value)) set_arg(call.args, patch, state.handle(patch.value));
  }
  call.outs.resize(outs_.size());
  for (size_t i = 0; i < outs_.size(); ++i) {
    if (lasts(state, outs_[i])) call.outs[i] = state.handle(outs_[i]);
  }
}

void KernelStep::run(RunState& state) const {
  KernelCall& call = state.calls[static_cast<size_t>(call_)];
  for (const ArgPatch& patch : patches_) {
    if (patch.input >= 0) {
      const GraphInput& input = state.inputs[static_cast<size_t>(patch.input)];
      if (input.tensor.defined()) {
        set_arg(call.args, patch, input.tensor);
      } else {
        call.args[static_cast<size_t>(patch.arg)] = input.scalar;
      }
    } else if (!lasts(state, patch.value)) {
      set_arg(call.args, patch, may_pack_ ? state.handle_to_pack(patch.value) : state.handle(patch.value));
    }
  }
  op_.host_call.run != nullptr ? run_and_take(state, call) : run_kernel(state, call);
  release(state, call);
}

void KernelStep::run_kernel(RunState& state, KernelCall& call) const {
  for (size_t i = 0; i < outs_.size(); ++i) {
    if (!lasts(state, outs_[i])) call.outs[i] = state.handle(outs_[i]);
  }
  op_.kernel(OpCall{op_, call.args}, call.outs);
}

// A host call allocates its own results.
void KernelStep::run_and_take(RunState& state, KernelCall& call) const {
  std::vector<Tensor> results = run_op(op_, call.args);
  if (results.size() != outs_.size()) {
    raise_op(ErrorKind::Runtime, op_.name, "returned ", results.size(), " results, its shape rule says ", outs_.size());
  }
  for (size_t i = 0; i < outs_.size(); ++i) {
    const Place& place = state.layout->places[static_cast<size_t>(outs_[i])];
    Tensor tensor = with_layout(op_, results[i], place.spec);
    state.base[static_cast<size_t>(place.buffer)] = tensor.data<std::byte>();
    state.made[static_cast<size_t>(outs_[i])] = std::move(tensor);
  }
}

// A state in the pool must not keep tensors of the caller alive.
void KernelStep::release(RunState& state, KernelCall& call) const {
  for (const ArgPatch& patch : patches_) {
    if (patch.value >= 0 && lasts(state, patch.value)) continue;
    if (patch.input >= 0 && !state.inputs[static_cast<size_t>(patch.input)].tensor.defined()) continue;
    set_arg(call.args, patch, Tensor());
  }
  for (size_t i = 0; i < outs_.size(); ++i) {
    if (!lasts(state, outs_[i])) call.outs[i] = Tensor();
  }
}

std::string KernelStep::describe() const { return "kernel " + op_.name + " -> " + *name_; }

}  // namespace md
