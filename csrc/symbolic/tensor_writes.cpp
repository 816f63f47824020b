// Writes into symbolic tensors. The graph stays functional: a write makes a new value of the base, and every tensor that
// shares the base is derived from it again when it is next read. A written input is an effect at the exit.
#include "symbolic/tensor_writes.h"
#include "base/error.h"
#include "frontends/arg_binding.h"
#include "frontends/in_place.h"
#include "graph/views.h"
#include "symbolic/outcomes.h"
#include "symbolic/tensor_ops.h"
#include "symbolic/value_facts.h"
#include "symbolic/walk.h"
#include "tensor/memory_overlap.h"
#include "tensor/ops/write_op.h"

namespace md {
namespace {

bool same_layout(const TensorSpec& a, const TensorSpec& b) {
  return a.dtype == b.dtype && same(a.sizes, b.sizes) && same(a.strides, b.strides);
}

// A stride over a dim without elements is a product with its size in a view, and as with one element in a new tensor:
// equal expressions are equal numbers where no such dim is empty, which becomes a guard.
bool strides_over_elements(const TensorSpec& spec) {
  for (int inner = 0; inner < spec.rank(); ++inner) {
    Dim size = spec.sizes[inner], step = size * spec.strides[inner];
    auto goes_over = [step](Dim stride) { return same(stride, step); };
    if (size.is_symbolic() && std::any_of(spec.strides.begin(), spec.strides.end(), goes_over) && known_equal(size, 0))
      return false;
  }
  return true;
}

// index_put has no name of its own in Python: it is what x[i, j] = y writes.
bool has_in_place_form(const OpRow& row) {
  static const OpRow* const index_put = find_op("index_put");
  return (row.faces & kInPlace) || &row == index_put;
}

Tensor object_tensor(const TensorValue& value) { return tensor_type_of(value.object.get())->unwrap(value.object); }

// Where a tensor lies in its base.
struct Window {
  DimVec sizes, strides;
  Dim offset = 0;
};

bool same_window(const Window& a, const Window& b) {
  return same(a.sizes, b.sizes) && same(a.strides, b.strides) && same(a.offset, b.offset);
}

bool are_apart(const Window& a, const Window& b) {
  auto end = [](const Window& window) {
    int64_t last = window.offset.value();
    for (int i = 0; i < window.sizes.size(); ++i) {
      if (window.sizes[i].value() == 0) return window.offset.value();
      last += (window.sizes[i].value() - 1) * window.strides[i].value();
    }
    return last + 1;
  };
  return end(a) <= b.offset.value() || end(b) <= a.offset.value();
}

Window window_of(Walk& walk, const TensorValue& tensor) {
  const TensorSpec& base = walk.graph().info(tensor.base->original).spec;
  Window window{base.sizes, base.strides, 0};
  ValueRef current = tensor.base->original;
  for (const ViewStep& step : tensor.views) {
    std::vector<Operand> operands = step.operands;
    operands[0] = current;
    Node* node = walk.graph().add_op(*step.row, std::move(operands), walk.frames().location());
    OutSpec out = view_outs(*node)[static_cast<size_t>(step.out)];
    window = {out.spec.sizes, out.spec.strides, window.offset + out.view_offset};
    current = {node, step.out};
  }
  return window;
}

}  // namespace

const std::shared_ptr<TensorBase>& Walk::base_of(TensorValue* tensor) {
  if (tensor->base == nullptr) {
    ValueRef value = graph_value(tensor);
    tensor->base = std::make_shared<TensorBase>();
    tensor->base->original = tensor->base->current = value;
    tensor->base->source = tensor->source;
    if (tensor->source != nullptr) tensor->base->object = object_tensor(*tensor);
  }
  return tensor->base;
}

void Walk::make_alias(TensorValue* alias, TensorValue* viewed, const Node& node, int out) {
  alias->base = base_of(viewed);
  alias->views = viewed->views;
  alias->views.push_back({node.op, node.operands, out});
  alias->version = alias->base->version;
}

ValueRef Walk::derive(ValueRef base, const TensorValue& tensor) {
  ValueRef current = base;
  for (const ViewStep& step : tensor.views) {
    std::vector<Operand> operands = step.operands;
    operands[0] = current;
    Node* node = graph_->add_op(*step.row, std::move(operands), frames_.location());
    node->outs[static_cast<size_t>(step.out)].spec.requires_grad = tensor.spec.requires_grad;
    current = {node, step.out};
  }
  return current;
}

ValueRef Walk::output_value(TensorValue* tensor) {
  // A view of an input stays one: the input is written at the exit, after the view was made.
  bool views_input = tensor->base != nullptr && tensor->base->source != nullptr;
  if (views_input && tensor->base->version > 0) return derive(tensor->base->original, *tensor);
  return graph_value(tensor);
}

void Walk::check_apart(const Tensor& written, const Source* source, const Tensor& other, const Source* other_source) {
  if (source == other_source) return;
  if (other->kind() != TensorKind::Real || ranges_meet(written, other)) {
    graph_break(BreakReason::tensor_write, "it shares memory with another tensor of this region");
  }
  guards_.no_overlap(source, other_source);
}

void Walk::check_apart_from_written(TensorValue* input) {
  for (const auto& base : written_inputs_)
    check_apart(base->object, base->source, object_tensor(*input), input->source);
}

void Walk::note_written_input(const std::shared_ptr<TensorBase>& base) {
  if (base->version > 0) return;
  if (base->object->kind() != TensorKind::Real || base->object->storage()->read_only())
    graph_break(BreakReason::tensor_write, "its memory is read-only");
  for (const auto& [source, value] : by_source_) {
    auto* other = as<TensorValue>(value);
    if (other == nullptr || other->ref.node == nullptr) continue;
    check_apart(base->object, base->source, object_tensor(*other), source);
  }
  written_inputs_.push_back(base);
}

ValueRef Walk::whole_base(TensorValue* tensor, ValueRef value) {
  static const OpRow* const copy = find_op("copy");
  static const OpRow* const scatter = find_op("scatter_view");
  const TensorSpec& layout = graph_->info(tensor->base->original).spec;
  ValueRef next = value;
  if (!tensor->views.empty()) {
    Window window = window_of(*this, *tensor);
    Node* node = graph_->add_op(
        *scatter, {tensor->base->current, value, window.sizes, window.strides, Scalar::symbolic(window.offset)},
        frames_.location());
    next = {node, 0};
  } else if (!same_layout(graph_->info(value).spec, layout)) {
    Node* node = graph_->add_op(*copy, {tensor->base->current, value, Scalar(false)}, frames_.location());
    next = {node, 0};
  }
  // The memory of an input stays its own.
  bool is_kept = tensor->base->source != nullptr || strides_over_elements(layout);
  if (!is_kept || !same_layout(graph_->info(next).spec, layout))
    graph_break(BreakReason::tensor_write, "its elements do not lie one after another");
  return next;
}

void Walk::write_tensor(TensorValue* tensor, ValueRef value) {
  std::shared_ptr<TensorBase> base = base_of(tensor);
  if (base->source != nullptr) note_written_input(base);
  ValueRef next;
  try {
    next = whole_base(tensor, value);
  } catch (const Error& error) {
    graph_break(BreakReason::tensor_write, error.what());
  }
  // A write under no_grad leaves the flag of what is written, whatever mode its values were computed in.
  next.node->outs[static_cast<size_t>(next.out)].spec.requires_grad = graph_->info(base->original).spec.requires_grad;
  base->current = next;
  ++base->version;
  if (tensor->views.empty()) {
    tensor->ref = next;
    tensor->version = base->version;
  }
}

ValueRef Walk::original_value(TensorValue* tensor) { return derive(base_of(tensor)->original, *tensor); }

std::vector<std::pair<ValueRef, ValueRef>> Walk::written_values() const {
  std::vector<std::pair<ValueRef, ValueRef>> values;
  for (const auto& base : written_inputs_)
    if (base->version > 0) values.emplace_back(base->original, base->current);
  return values;
}

namespace {

// What an op reads while it writes to `target`. Two different windows of one base may overlap, which is an error there.
void check_read_beside_write(Walk& walk, const std::string& op, TensorValue* target, const ValuePtr& value) {
  if (auto* sequence = as<SequenceValue>(value))
    for (const ValuePtr& item : sequence->items) check_read_beside_write(walk, op, target, item);
  auto* tensor = as<TensorValue>(value);
  if (tensor == nullptr) return;
  // What the region itself computed with a gradient is no leaf, and goes on requiring one.
  bool stays = target->source == nullptr && walk.base_of(target)->source == nullptr && target->spec.requires_grad;
  if (tensor->spec.requires_grad && walk.grad_mode && !stays)
    graph_break(BreakReason::tensor_write, op + " with a tensor that requires grad");
  walk.graph_value(tensor);
  if (tensor == target || tensor->base != walk.base_of(target)) return;
  Window read = window_of(walk, *tensor), written = window_of(walk, *target);
  if (!same_window(read, written) && !are_apart(read, written))
    graph_break(BreakReason::tensor_write, op + " of two views of one tensor");
}

void check_reads(Walk& walk, const std::string& op, TensorValue* target, const CallArgs& args) {
  walk.graph_value(target);
  for (const ValuePtr& value : args.positional) check_read_beside_write(walk, op, target, value);
  for (const auto& [name, value] : args.keywords) check_read_beside_write(walk, op, target, value);
}

}  // namespace

void Walk::write_result(TensorValue* target, ValueRef value) {
  static const OpRow* const cast = find_op("cast");
  if (graph_->info(value).spec.dtype != target->spec.dtype)
    value = {graph_->add_op(*cast, {value, target->spec.dtype}, frames_.location()), 0};
  write_tensor(target, value);
}

ValuePtr call_in_place(Walk& walk, const OpRow& row, const CallArgs& args) {
  auto* self = args.positional.empty() ? nullptr : as<TensorValue>(args.positional[0]);
  if (self == nullptr) raise_here();
  ValuePtr keep = args.positional[0];
  check_reads(walk, row.name + "_", self, args);
  if (has_expanded_dim(self->spec)) raise_here();
  ValuePtr result = call_op(walk, row, args, CallForm::Method);
  auto* computed = as<TensorValue>(result);
  if (computed == nullptr || !has_in_place_form(*computed->ref.node->op)) raise_here();
  // cumsum_ and cumprod_ refuse to be asked for another dtype.
  for (const Operand& operand : computed->ref.node->operands) {
    if (const auto* asked = std::get_if<DType>(&operand); asked != nullptr && *asked != self->spec.dtype) raise_here();
  }
  try {
    check_write(row, walk.graph().info(computed->ref).spec, self->spec);
    walk.write_result(self, computed->ref);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal) throw;
    raise_here();
  }
  return keep;
}

// One tensor, or a tuple or list of them.
std::vector<ValuePtr> out_targets(Walk& walk, const OpRow& row, const ValuePtr& out) {
  if (walk.is_tensor(out)) return {out};
  auto targets = elements_of(walk, out);
  if (!targets) graph_break(BreakReason::tensor_write, str_cat(row.name, " with out= a ", describe(out)));
  if (!is_list_argument(type_of(out))) raise_here();
  for (const ValuePtr& target : *targets)
    if (!walk.is_tensor(target)) raise_here();
  return *targets;
}

ValuePtr call_with_out(Walk& walk, const OpRow& row, const CallArgs& args, CallForm form) {
  CallArgs plain{args.positional, {}};
  ValuePtr out;
  for (const auto& [name, value] : args.keywords) {
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
      out = value;
    } else {
      plain.keywords.emplace_back(name, value);
    }
  }
  if (same_object(walk, out, walk.none())) return call_op(walk, row, plain, form);
  std::vector<ValuePtr> targets = out_targets(walk, row, out);
  for (const ValuePtr& target : targets) {
    // With gradients there is no out=: the call raises.
    if (as<TensorValue>(target)->spec.requires_grad && walk.grad_mode) raise_here();
    check_reads(walk, row.name + " with out=", as<TensorValue>(target), plain);
    check_reads(walk, row.name + " with out=", as<TensorValue>(target), {{target}, {}});
    if (has_expanded_dim(as<TensorValue>(target)->spec)) raise_here();
  }
  ValuePtr result = call_op(walk, row, plain, form);
  auto* several = as<SequenceValue>(result);
  std::vector<ValuePtr> results = several != nullptr ? several->items : std::vector<ValuePtr>{result};
  if (results.size() != targets.size()) raise_here();
  // All are judged before the first is written.
  std::vector<ValueRef> values;
  for (size_t i = 0; i < results.size(); ++i) {
    ValueRef value = as<TensorValue>(results[i])->ref;
    const TensorSpec& spec = walk.graph().info(value).spec;
    const TensorSpec& target = as<TensorValue>(targets[i])->spec;
    bool fits = spec.rank() == target.rank();
    for (int dim = 0; fits && dim < spec.rank(); ++dim) fits = md::known_equal(spec.sizes[dim], target.sizes[dim]);
    if (!fits) graph_break(BreakReason::tensor_write, row.name + " resizes its out=");
    try {
      check_out_dtype(*value.node->op, spec.dtype, target.dtype);
    } catch (const Error&) {
      raise_here();
    }
    values.push_back(value);
  }
  for (size_t i = 0; i < values.size(); ++i) walk.write_result(as<TensorValue>(targets[i]), values[i]);
  if (targets.size() == 1) return out;
  auto written = make_value<SequenceValue>(false, std::move(targets));
  written->type = several->type;
  return written;
}

}  // namespace md
