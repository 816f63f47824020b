#include "symbolic/state/graph_builder.h"

#include <algorithm>
#include <utility>

#include "autograd/derivative.h"
#include "base/error.h"
#include "graph/failing_ops.h"
#include "graph/views.h"
#include "guards/guard_set.h"
#include "guards/tensor_family.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "tensor/memory_overlap.h"

namespace md {

namespace {

bool lies_alike(const TensorSpec& a, const TensorSpec& b) { return a.dtype == b.dtype && same_layout(a, b); }

// Along an empty dim, a stride of a view is a product with size 0, while a new tensor uses size 1. Equal stride
// expressions therefore mean equal strides only if no such dim is empty; this adds that guard.
bool strides_over_elements(const TensorSpec& spec) {
  for (int inner = 0; inner < spec.rank(); ++inner) {
    Dim size = spec.sizes[inner], step = size * spec.strides[inner];
    auto goes_over = [step](Dim stride) { return same(stride, step); };
    if (size.is_symbolic() && std::any_of(spec.strides.begin(), spec.strides.end(), goes_over) && known_equal(size, 0))
      return false;
  }
  return true;
}

bool watches_flags(const std::vector<const TensorFamily*>& families) {
  return std::ranges::any_of(families, [](const TensorFamily* family) { return flags_watched_by(*family) != 0; });
}

// The one that records operations; null: none does.
const TensorFamily* recording_library(const std::vector<const TensorFamily*>& families) {
  auto records = [](const TensorFamily* family) { return family->recorder != nullptr; };
  auto found = std::ranges::find_if(families, records);
  return found == families.end() ? nullptr : *found;
}

Tensor object_tensor(const TensorValue& value) { return hold(*value.family, value.object); }

}  // namespace

GraphBuilder::GraphBuilder(ValueReader& values, const FrameStack& frames)
    : values_(values), frames_(frames), graph_(std::make_shared<Graph>()) {}

GraphBuilder::~GraphBuilder() = default;

Node* GraphBuilder::add_op(const OpRow& row, std::vector<Operand> operands) {
  Node* node = graph_->add_op(row, std::move(operands), frames_.location());
  node->is_under_inference = modes().inference;
  masked_parts_.check(*node);
  // After a host call the region cannot be run again, by a library that would see the exception.
  if (graph_->has_host_call() && may_raise_float_flags(*node) && watches_flags(families_))
    graph_break(BreakReason::call_out, row.name);
  return node;
}

void GraphBuilder::leave_to_library(Node& call) {
  const TensorFamily* library = recording_library(families_);
  if (library == nullptr) return;
  for (ValueInfo& info : call.outs)
    info.spec.requires_grad = info.spec.requires_grad && modes(*library).records_gradient();
  require_derivative(call);
}

void GraphBuilder::require_derivative(const Node& node) const {
  auto requires_grad = [](const ValueInfo& info) { return info.spec.requires_grad; };
  if (std::ranges::none_of(node.outs, requires_grad) || recording_library(families_) == nullptr) return;
  if (derivative_of(*node.op) == nullptr) graph_break(BreakReason::needs_gradient, node.op->name);
}

void GraphBuilder::note_family(const TensorFamily& family) {
  if (std::ranges::find(families_, &family) == families_.end()) families_.push_back(&family);
}

bool GraphBuilder::lend_default_dtype(const TensorFamily& family) {
  bool is_ours = &family == &default_family();
  if (!is_ours && family.default_dtype == nullptr) return true;
  DType wanted = is_ours ? own_default_dtype() : family.default_dtype();
  if (!default_dtype_ && wanted != own_default_dtype()) lent_dtype_.emplace(wanted);
  if (!default_dtype_) default_dtype_ = wanted;
  return *default_dtype_ == wanted;
}

bool GraphBuilder::has_scalars() const {
  return std::ranges::any_of(families_, [](const TensorFamily* family) { return family->family_of_result != nullptr; });
}

GradModes& GraphBuilder::modes(const TensorFamily& family) {
  auto found = std::ranges::find(modes_, &family, &TracedModes::family);
  if (found != modes_.end()) return found->now;
  GradModes initial = family.modes();
  return modes_.emplace_back(TracedModes{&family, initial, initial, initial}).now;
}

bool GraphBuilder::modes_changed() const {
  return std::ranges::any_of(modes_, [](const TracedModes& each) { return each.now != each.initial; });
}

ValueRef GraphBuilder::scalar_input(const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  PyTypeObject* type = values_.exact_type(value);
  auto known = scalar_inputs_.find(value.get());
  if (known != scalar_inputs_.end()) return known->second;
  Scalar::Kind kind = type == &PyFloat_Type ? Scalar::Kind::Float : Scalar::Kind::Int;
  std::string text = object != nullptr ? name(object->source, values_.start().bytecode) : "computed";
  ValueRef ref{graph_->add_scalar_input(text, kind), 0};
  // The input keeps its Value alive, so the address stays unique as a key.
  inputs_.push_back({object != nullptr ? object->source : nullptr, value});
  scalar_inputs_[value.get()] = ref;
  return ref;
}

GraphBuilder::Window GraphBuilder::window_of(const TensorValue& tensor) {
  const TensorSpec& base = graph_->info(tensor.base->original).spec;
  Window window{{base.sizes, base.strides, 0}, 0};
  ValueRef current = tensor.base->original;
  for (const ViewStep& step : tensor.views) {
    std::vector<Operand> operands = step.operands;
    operands[0] = current;
    Node* node = add_op(*step.row, std::move(operands));
    OutSpec out = view_outs(*node)[static_cast<size_t>(step.out)];
    Dim item = static_cast<int64_t>(item_size(out.spec.dtype));
    window.first_byte = window.first_byte + out.view_offset * item;
    window.view = {out.spec.sizes, out.spec.strides, floor_divide(window.first_byte, item)};
    current = {node, step.out};
  }
  return window;
}

StridedView GraphBuilder::strided_view_of(const TensorValue& tensor) {
  if (tensor.spec.dtype != graph_->info(tensor.base->original).spec.dtype)
    graph_break(BreakReason::tensor_write, "a write beside views in another dtype");
  return window_of(tensor).view;
}

bool GraphBuilder::is_leaf_apart(const TensorValue& tensor) const {
  if (!tensor.is_made_apart || tensor.views.empty() || tensor.family->recorder == nullptr) return false;
  if (tensor.has_view(kCutsGradient) || tensor.spec.requires_grad || !is_inexact(tensor.spec.dtype)) return false;
  return graph_->info(tensor.base->current).spec.requires_grad;
}

ValueRef GraphBuilder::graph_value(TensorValue* tensor) {
  if (is_leaf_apart(*tensor) && modes(*tensor->family).records_gradient())
    graph_break(BreakReason::needs_gradient, "a view that was made without a history");
  return value_in_graph(tensor);
}

ValueRef GraphBuilder::value_in_graph(TensorValue* tensor) {
  if (tensor->is_replaced && tensor->spec.requires_grad && modes(*tensor->family).records_gradient())
    graph_break(BreakReason::store_attribute, "a tensor with gradients whose data was replaced in this region");
  if (tensor->base != nullptr && tensor->version != tensor->base->version) {
    tensor->ref = derive(tensor->base->current, *tensor);
    tensor->version = tensor->base->version;
  }
  if (tensor->ref.node != nullptr) return tensor->ref;
  check_apart_from_written(tensor);
  for (const TensorValue* replaced : replaced_inputs_) require_other_object(*replaced, *tensor);
  MD_ASSERT(tensor->source != nullptr, "a tensor without a node and without a source");
  values_.guard_tensor(tensor);
  note_family(*tensor->family);
  tensor->ref = {graph_->add_tensor_input(name(tensor->source, values_.start().bytecode), tensor->spec), 0};
  inputs_.push_back({tensor->source, nullptr});
  return tensor->ref;
}

const std::shared_ptr<TensorBase>& GraphBuilder::base_of(TensorValue* tensor) {
  if (tensor->base == nullptr) {
    ValueRef value = graph_value(tensor);
    tensor->share(std::make_shared<TensorBase>());
    tensor->base->original = tensor->base->current = value;
    tensor->base->source = tensor->source;
    if (tensor->source != nullptr) tensor->base->object = object_tensor(*tensor);
  }
  return tensor->base;
}

void GraphBuilder::make_alias(TensorValue* alias, TensorValue* viewed, const Node& node, int out) {
  alias->share(base_of(viewed));
  alias->is_replaced = viewed->is_replaced;
  alias->is_made_apart = viewed->is_made_apart || !modes(*viewed->family).records_gradient();
  alias->view_step = gradient_runs_.step();
  alias->several_step = viewed->several_step;
  if (alias->several_step == 0 && node.op->returns_list()) alias->several_step = gradient_runs_.step();
  alias->views = viewed->views;
  alias->views.push_back({node.op, node.operands, out, node.op->has(kUncounted) ? std::make_shared<int>() : nullptr});
  alias->version = alias->base->version;
  alias->converted_step = viewed->converted_step;
  alias->converted_from = viewed->converted_from;
  if (item_size(alias->spec.dtype) > item_size(viewed->spec.dtype)) require_aligned(*alias);
}

// Of elements that are wider than those of what they are a view of.
void GraphBuilder::require_aligned(const TensorValue& alias) {
  Dim item = static_cast<int64_t>(item_size(alias.spec.dtype));
  const Source* owner = alias.base->source;
  const ValuePtr input = owner != nullptr ? values_.find(owner) : nullptr;
  bool is_aligned = known_equal(remainder(window_of(alias).first_byte, item), 0) &&
                    (!input || lies_at_multiple(as<TensorValue>(input)->object, item.value()));
  if (!is_aligned) graph_break(BreakReason::tensor_operands, "wider elements that are not aligned");
  if (owner != nullptr) values_.guards().aligned(owner, item.value());
}

ValueRef GraphBuilder::derive(ValueRef base, const TensorValue& tensor) {
  ValueRef current = base;
  for (const ViewStep& step : tensor.views) {
    std::vector<Operand> operands = step.operands;
    operands[0] = current;
    Node* node = add_op(*step.row, std::move(operands));
    node->outs[static_cast<size_t>(step.out)].spec.requires_grad = tensor.spec.requires_grad;
    current = {node, step.out};
  }
  return current;
}

ValueRef GraphBuilder::output_value(TensorValue* tensor) {
  // A view of an input stays a view: the input is written at the exit, after the view was created.
  bool views_input = tensor->base != nullptr && tensor->base->source != nullptr;
  if (views_input && tensor->base->version > 0) return derive(tensor->base->original, *tensor);
  return value_in_graph(tensor);
}

void GraphBuilder::check_apart(const TensorBase& written, const TensorValue& other) {
  if (written.source == other.source) return;
  ValuePtr owner = values_.find(written.source);
  if (as<TensorValue>(owner)->object.get() == other.object.get()) throw SharedTensorSignal{};
  Tensor tensor = object_tensor(other);
  if (tensor->kind() != TensorKind::Real || ranges_meet(written.object, tensor)) {
    graph_break(BreakReason::tensor_write, "it shares memory with another tensor of this region");
  }
  values_.guards().no_overlap(written.source, other.source);
}

void GraphBuilder::check_apart_from_written(TensorValue* input) {
  for (const auto& base : written_inputs_) check_apart(*base, *input);
}

// Another input that is the same object would be read as it was.
void GraphBuilder::require_other_object(const TensorValue& replaced, const TensorValue& input) {
  if (replaced.object.get() == input.object.get()) throw SharedTensorSignal{};
  const TensorSpec &a = replaced.spec, &b = input.spec;
  bool may_be_same = a.dtype == b.dtype && a.rank() == b.rank() && a.requires_grad == b.requires_grad &&
                     replaced.object.type() == input.object.type();
  auto may_equal = [](Dim one, Dim other) { return one.is_symbolic() || other.is_symbolic() || same(one, other); };
  for (int dim = 0; may_be_same && dim < a.rank(); ++dim) may_be_same = may_equal(a.sizes[dim], b.sizes[dim]);
  if (may_be_same) values_.guards().alias(replaced.source, input.source, false);
}

void GraphBuilder::replace_data(TensorValue& input, TensorValue* data) {
  for (const auto& [source, known] : values_.by_source())
    if (auto* other = as<TensorValue>(known); other != nullptr && other != &input && other->ref.node != nullptr)
      require_other_object(input, *other);
  ValueRef value = graph_value(data);
  input.share(base_of(data));
  input.views = data->views;
  input.ref = value;
  input.version = input.base->version;
  bool requires_grad = input.spec.requires_grad;
  input.spec = data->spec;
  input.spec.requires_grad = requires_grad;
  input.is_replaced = input.is_made_apart = true;
  replaced_inputs_.push_back(&input);
}

void GraphBuilder::note_written_input(const std::shared_ptr<TensorBase>& base) {
  if (base->version > 0) return;
  if (base->object->kind() != TensorKind::Real || base->object->storage()->read_only())
    graph_break(BreakReason::tensor_write, "its memory is read-only");
  values_.guards().writable(base->source);
  for (const auto& [source, value] : values_.by_source()) {
    auto* other = as<TensorValue>(value);
    if (other == nullptr || other->ref.node == nullptr) continue;
    check_apart(*base, *other);
  }
  written_inputs_.push_back(base);
}

namespace {

// Whether no two places of the view are one in memory; false may be wrong.
bool lies_apart(const StridedView& view) {
  return !any_symbolic(view.sizes.span()) && !any_symbolic(view.strides.span()) && elements_are_apart(layout_of(view));
}

}  // namespace

// The base with a value in the place of a view of it. A view in another dtype is a window of the same bytes in that
// dtype.
ValueRef GraphBuilder::with_window(const TensorValue& tensor, ValueRef value) {
  static const OpRow* const scatter = find_op("scatter_view");
  static const OpRow* const view_dtype = find_op("view.dtype");
  const TensorSpec& base = graph_->info(tensor.base->original).spec;
  DType dtype = tensor.spec.dtype, own = base.dtype;
  auto steps_back = [](Dim stride) { return !stride.is_symbolic() && stride.value() < 0; };
  if (dtype != own && std::ranges::any_of(base.strides.span(), steps_back))
    graph_break(BreakReason::tensor_write, "a view in another dtype of an array that steps backwards");
  auto in_dtype = [&](ValueRef whole, DType wanted) {
    return dtype == own ? whole : ValueRef{add_op(*view_dtype, {whole, wanted}), 0};
  };
  StridedView view = window_of(tensor).view;
  if (tensor.has_view(kOverlaps) && !lies_apart(view))
    graph_break(BreakReason::tensor_write, "elements that the view has at several places");
  Node* node = add_op(*scatter, {in_dtype(tensor.base->current, dtype), value, view.sizes, view.strides,
                                 Scalar::symbolic(view.offset)});
  return in_dtype({node, 0}, own);
}

ValueRef GraphBuilder::whole_base(TensorValue* tensor, ValueRef value) {
  static const OpRow* const copy = find_op("copy");
  const TensorSpec& layout = graph_->info(tensor->base->original).spec;
  ValueRef next = value;
  if (!tensor->views.empty()) {
    next = with_window(*tensor, value);
  } else if (!lies_alike(graph_->info(value).spec, layout)) {
    Node* node = add_op(*copy, {tensor->base->current, value, Scalar(false)});
    next = {node, 0};
  }
  // An input keeps its own memory.
  bool is_kept = tensor->base->source != nullptr || strides_over_elements(layout);
  if (!is_kept || !lies_alike(graph_->info(next).spec, layout))
    graph_break(BreakReason::tensor_write, "its elements do not lie one after another");
  return next;
}

namespace {

void gain_history(TensorBase& base) {
  for (TensorValue* member : base.members)
    if (!member->has_view(kCutsGradient)) member->spec.requires_grad = true;
}

}  // namespace

bool GraphBuilder::may_gain_history(const TensorValue& tensor) const {
  const TensorBase* base = tensor.base.get();
  if (base == nullptr || tensor.source != nullptr || base->source != nullptr || tensor.converted_step != 0)
    return false;
  bool is_whole = tensor.spec.dtype == graph_->info(base->original).spec.dtype;
  return is_whole && !tensor.spec.requires_grad && !tensor.has_view(kCutsGradient) && tensor.several_step == 0 &&
         std::ranges::none_of(base->members, [](const TensorValue* member) { return member->is_made_apart; });
}

int* own_counter(const TensorValue& tensor) {
  auto last = std::ranges::find_if(tensor.views.rbegin(), tensor.views.rend(),
                                   [](const ViewStep& step) { return step.own_writes != nullptr; });
  return last != tensor.views.rend() ? last->own_writes.get() : nullptr;
}

void GraphBuilder::write_tensor(TensorValue* tensor, ValueRef value) {
  if (tensor->has_view(kReadOnly)) raise_here();
  std::shared_ptr<TensorBase> base = base_of(tensor);
  bool is_counted = tensor->converted_from && as<TensorValue>(tensor->converted_from)->family->written != nullptr;
  if (is_counted) graph_break(BreakReason::tensor_write, "a write that another library does not count");
  // Into data, or into the memory that a tensor had before.
  auto is_of = [&](const TensorValue* input) { return input->base == base || input->source == base->source; };
  if (std::ranges::any_of(replaced_inputs_, is_of))
    graph_break(BreakReason::store_attribute, "a write beside data that was replaced in this region");
  if (gradient_runs_.is_memory_of_new_leaf(*base))
    graph_break(BreakReason::tensor_write, "a leaf that the region makes");
  bool records = modes(*tensor->family).records_gradient();
  if (records && graph_->info(value).spec.requires_grad && may_gain_history(*tensor)) gain_history(*base);
  bool is_recorded = tensor->spec.requires_grad && records;
  bool requires_grad = is_recorded || graph_->info(base->current).spec.requires_grad;
  bool is_silent = !is_recorded && requires_grad;
  if (base->source != nullptr) note_written_input(base);
  ValueRef next;
  try {
    next = whole_base(tensor, value);
  } catch (const Error& error) {
    graph_break(BreakReason::tensor_write, error.what());
  }
  // A write under no_grad keeps the requires_grad of the target, whatever mode its values were computed in.
  next.node->outs[static_cast<size_t>(next.out)].spec.requires_grad = requires_grad;
  if (is_silent && base->source != nullptr) gradient_runs_.note_leaf_value(next, base->source);
  if (is_silent && base->source == nullptr) gradient_runs_.note_unrecorded(next);
  int* counter = own_counter(*tensor);
  if (counter != nullptr) gradient_runs_.note_hidden_write(base->current);
  gradient_runs_.note_overwritten(std::exchange(base->current, next));
  ++base->version;
  if (counter != nullptr || !counts_writes_) ++base->uncounted;
  if (counter != nullptr && counts_writes_) ++*counter;
  if (tensor->views.empty()) {
    tensor->ref = next;
    tensor->version = base->version;
  }
}

std::vector<std::pair<ValueRef, ValueRef>> GraphBuilder::written_values() const {
  std::vector<std::pair<ValueRef, ValueRef>> values;
  for (const auto& base : written_inputs_)
    if (base->version > 0) values.emplace_back(base->original, base->current);
  return values;
}

void GraphBuilder::write_result(TensorValue* target, ValueRef value) {
  static const OpRow* const cast = find_op("cast");
  if (graph_->info(value).spec.dtype != target->spec.dtype) value = {add_op(*cast, {value, target->spec.dtype}), 0};
  write_tensor(target, value);
}

}  // namespace md
