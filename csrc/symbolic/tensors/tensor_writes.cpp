// Writes into symbolic tensors. The graph stays functional: a write creates a new value of the base, and every tensor
// that shares the base is derived from it again on its next read. A write to an input becomes an effect at the exit.
#include "symbolic/tensors/tensor_writes.h"
#include "base/error.h"
#include "frontends/arg_binding.h"
#include "frontends/in_place.h"
#include "graph/views.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/trace/tracer.h"
#include "tensor/memory_overlap.h"
#include "tensor/ops/write_op.h"

namespace md {
namespace {

bool are_apart(const StridedView& a, const StridedView& b) {
  auto place_of = [](const StridedView& view) {
    Reach reach = reach_of(layout_of(view));
    return Reach{.low = view.offset.value() + reach.low, .end = view.offset.value() + reach.end};
  };
  Reach first = place_of(a), second = place_of(b);
  return first.end <= second.low || second.end <= first.low;
}

bool meet(const StridedView& a, const StridedView& b) {
  return !are_apart(a, b) && elements_meet(layout_of(a), a.offset.value(), layout_of(b), b.offset.value());
}

// Whether our result for a value that is read beside the write to a view of its base is that of the library. Different
// views that fill their ranges may overlap, which is an error. Of other views all is read before anything is written,
// if the library does so.
bool agrees_with_library(const OpRow& row, const TensorFamily& family, const StridedView& read,
                         const StridedView& written) {
  bool is_same = same_view(read, written);
  if (family.reads_before_it_writes)
    return is_same || !family.refuses_overlap || are_apart(read, written) || !is_dense(layout_of(read)) ||
           !is_dense(layout_of(written));
  return is_same ? row.works_by_element() : !meet(read, written);
}

[[noreturn]] void end_before_views(Tracer& tracer, const std::string& op, const TensorValue& target) {
  GraphBreak found{BreakReason::tensor_write, op + " of a view that has a history of its own", "", {}, ""};
  throw RestartSignal{target.several_step, std::move(found), tracer.frames().innermost().policy};
}

// Under a history a view of several, as chunk makes them, and a view made under no_grad are not written: plain code
// raises, and names what made the view, which the region therefore does not make.
void refuse_views(Tracer& tracer, const std::string& op, TensorValue* target) {
  if (target->views.empty() || !tracer.builder().modes(*target->family).records_gradient()) return;
  if (target->several_step != 0 && target->spec.requires_grad) end_before_views(tracer, op, *target);
  bool base_requires_grad = tracer.graph().info(tracer.builder().base_of(target)->current).spec.requires_grad;
  bool is_made_apart = base_requires_grad && !target->spec.requires_grad && !target->has_view(kCutsGradient);
  if (is_made_apart) graph_break(BreakReason::tensor_write, op + " of a view that has a history of its own");
}

// For a tensor of an op that writes to `target`. A target computed in the region is not a leaf: it has a history, or
// may have one from now on.
void refuse_gradient(Tracer& tracer, const std::string& op, TensorValue* target, const TensorValue& tensor) {
  if (!tensor.spec.requires_grad || !tracer.builder().modes(*tensor.family).grad) return;
  bool is_computed = target->source == nullptr && tracer.builder().base_of(target)->source == nullptr;
  if (is_computed && (target->spec.requires_grad || tracer.builder().may_gain_history(*target))) return;
  if (target->several_step != 0) end_before_views(tracer, op, *target);
  graph_break(BreakReason::tensor_write, op + " with a tensor that requires grad");
}

// Checks a value read by an op that writes to `target`.
void check_read_beside_write(Tracer& tracer, const OpRow& row, const std::string& op, TensorValue* target,
                             const ValuePtr& value) {
  if (auto* sequence = as<SequenceValue>(value))
    for (const ValuePtr& item : sequence->items) check_read_beside_write(tracer, row, op, target, item);
  auto* tensor = as<TensorValue>(value);
  if (tensor == nullptr) return;
  refuse_gradient(tracer, op, target, *tensor);
  tracer.builder().graph_value(tensor);
  if (tensor->base != tracer.builder().base_of(target)) return;
  if (target->family->reads_before_it_writes && !target->family->refuses_overlap) return;
  StridedView read = tracer.builder().strided_view_of(*tensor), written = tracer.builder().strided_view_of(*target);
  if (!agrees_with_library(row, *target->family, read, written))
    graph_break(BreakReason::tensor_write, op + " of two views of one tensor");
}

// Of the operands from `first` on.
void check_reads(Tracer& tracer, const OpRow& row, const std::string& op, TensorValue* target, const CallArgs& args,
                 size_t first) {
  tracer.builder().graph_value(target);
  refuse_views(tracer, op, target);
  for (size_t i = first; i < args.positional.size(); ++i)
    check_read_beside_write(tracer, row, op, target, args.positional[i]);
  for (const auto& [name, value] : args.keywords) check_read_beside_write(tracer, row, op, target, value);
}

// out= gains no history: beside what requires grad the call raises.
void refuse_history_beside_out(Tracer& tracer, const std::string& op, const ValuePtr& value) {
  if (auto* sequence = as<SequenceValue>(value))
    for (const ValuePtr& item : sequence->items) refuse_history_beside_out(tracer, op, item);
  auto* tensor = as<TensorValue>(value);
  if (tensor != nullptr && tensor->spec.requires_grad && tracer.builder().modes(*tensor->family).grad)
    graph_break(BreakReason::tensor_write, op + " with a tensor that requires grad");
}

}  // namespace

void check_stand_in_writes(Tracer& tracer, const TensorCallable& callable, const CallArgs& args) {
  auto* target = args.positional.empty() ? nullptr : as<TensorValue>(args.positional[0]);
  if (target == nullptr || target->family->reads_before_it_writes) return;
  auto check = [&](const ValuePtr& value) {
    auto* tensor = as<TensorValue>(value);
    if (tensor == nullptr || tensor == target || tensor->base == nullptr) return;
    tracer.builder().graph_value(tensor);
    if (tensor->base != tracer.builder().base_of(target)) return;
    if (meet(tracer.builder().strided_view_of(*tensor), tracer.builder().strided_view_of(*target)))
      graph_break(BreakReason::tensor_write, str_cat(callable.name, " of two views of one tensor"));
  };
  for (size_t i = 1; i < args.positional.size(); ++i) check(args.positional[i]);
  for (const auto& [name, value] : args.keywords) check(value);
}

namespace {

// The library raises.
void require_storable(const TensorFamily& family, DType from, DType to) {
  if (family.may_store != nullptr && !family.may_store(from, to)) raise_here();
}

}  // namespace

// What writes is unseen by Python if it implements x[i, j] = y.
bool has_in_place_form(const OpRow& row) {
  return (row.variants & (kInPlace | kOperator)) != 0 || row.kind == OpKind::Write;
}

namespace {

// Without autocast: what the result is written to was passed by the caller.
ValuePtr call_as_given(Tracer& tracer, const OpRow& row, const CallArgs& args, CallForm form) {
  GraphBuilder::OwnModesScope scope(tracer.builder());
  tracer.builder().modes().autocast.enabled = false;
  return call_op(tracer, row, args, form);
}

}  // namespace

ValuePtr call_in_place(Tracer& tracer, const OpRow& row, const CallArgs& args) {
  auto* self = args.positional.empty() ? nullptr : as<TensorValue>(args.positional[0]);
  if (self == nullptr) raise_here();
  ValuePtr keep = args.positional[0];
  const std::string op = row.name + "_";
  refuse_gradient(tracer, op, self, *self);
  check_reads(tracer, row, op, self, args, 1);
  if (has_expanded_dim(self->spec)) raise_here();
  ValuePtr result = call_as_given(tracer, row, args, CallForm::Method);
  auto* computed = as<TensorValue>(result);
  if (computed == nullptr || !has_in_place_form(*computed->ref.node->op)) raise_here();
  // cumsum_ and cumprod_ refuse another dtype.
  for (const Operand& operand : computed->ref.node->operands) {
    if (const auto* asked = std::get_if<DType>(&operand); asked != nullptr && *asked != self->spec.dtype) raise_here();
  }
  if (row.kind != OpKind::Write) require_storable(*self->family, computed->spec.dtype, self->spec.dtype);
  try {
    check_write(row, tracer.graph().info(computed->ref).spec, self->spec);
    tracer.builder().write_result(self, computed->ref);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal) throw;
    raise_here();
  }
  return keep;
}

// One tensor, or a tuple or list of them.
std::vector<ValuePtr> out_targets(Tracer& tracer, const OpRow& row, const ValuePtr& out) {
  if (is_tensor(out)) return {out};
  auto targets = elements_of(tracer, out);
  if (!targets) graph_break(BreakReason::tensor_write, str_cat(row.name, " with out= a ", describe(out)));
  if (!is_list_argument(type_of(out))) raise_here();
  for (const ValuePtr& target : *targets)
    if (!is_tensor(target)) raise_here();
  return *targets;
}

ValuePtr call_with_out(Tracer& tracer, const OpRow& row, const CallArgs& args, CallForm form) {
  CallArgs plain{args.positional, {}};
  ValuePtr out;
  for (const auto& [name, value] : args.keywords) {
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
      out = value;
    } else {
      plain.keywords.emplace_back(name, value);
    }
  }
  if (same_object(tracer, out, tracer.values().none())) return call_op(tracer, row, plain, form);
  std::vector<ValuePtr> targets = out_targets(tracer, row, out);
  const std::string op = row.name + " with out=";
  for (const ValuePtr& value : plain.positional) refuse_history_beside_out(tracer, op, value);
  for (const auto& [name, value] : plain.keywords) refuse_history_beside_out(tracer, op, value);
  for (const ValuePtr& target : targets) {
    // out= does not support gradients: the call raises.
    if (as<TensorValue>(target)->spec.requires_grad && tracer.builder().modes(*as<TensorValue>(target)->family).grad)
      raise_here();
    check_reads(tracer, row, op, as<TensorValue>(target), plain, 0);
    if (has_expanded_dim(as<TensorValue>(target)->spec)) raise_here();
  }
  ValuePtr result = call_as_given(tracer, row, plain, form);
  auto* several = as<SequenceValue>(result);
  std::vector<ValuePtr> results = several != nullptr ? several->items : std::vector<ValuePtr>{result};
  if (results.size() != targets.size()) raise_here();
  // All are checked before the first is written.
  std::vector<ValueRef> values;
  for (size_t i = 0; i < results.size(); ++i) {
    ValueRef value = as<TensorValue>(results[i])->ref;
    const TensorSpec& spec = tracer.graph().info(value).spec;
    const TensorSpec& target = as<TensorValue>(targets[i])->spec;
    bool fits = spec.rank() == target.rank();
    for (int dim = 0; fits && dim < spec.rank(); ++dim) fits = md::known_equal(spec.sizes[dim], target.sizes[dim]);
    if (!fits) graph_break(BreakReason::tensor_write, row.name + " resizes its out=");
    require_storable(*as<TensorValue>(targets[i])->family, spec.dtype, target.dtype);
    try {
      check_out_dtype(*value.node->op, spec.dtype, target.dtype);
    } catch (const Error&) {
      raise_here();
    }
    values.push_back(value);
  }
  for (size_t i = 0; i < values.size(); ++i) tracer.builder().write_result(as<TensorValue>(targets[i]), values[i]);
  if (targets.size() == 1) return out;
  auto written = make_value<SequenceValue>(false, std::move(targets));
  written->type = several->type;
  return written;
}

}  // namespace md
