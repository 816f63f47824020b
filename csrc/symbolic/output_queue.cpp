#include "symbolic/output_queue.h"

#include <algorithm>

#include "base/config.h"
#include "symbolic/outcomes.h"
#include "symbolic/region_finisher.h"

namespace md {

namespace {

int version_of(const TensorValue& tensor) { return tensor.base ? tensor.base->version : 0; }

// Null: no container that is written to in this way.
std::optional<std::vector<ValuePtr>> contents_of(const ValuePtr& value) {
  if (auto* sequence = as<SequenceValue>(value)) return sequence->items;
  std::vector<ValuePtr> contents;
  if (auto* dict = as<DictValue>(value); dict != nullptr && dict->owner == nullptr) {
    for (const DictValue::Entry& entry : dict->entries) contents.push_back(entry.value);
    return contents;
  }
  auto* instance = as<InstanceValue>(value);
  if (instance == nullptr || instance->exception) return std::nullopt;
  for (const auto& [name, attribute] : instance->attributes) contents.push_back(attribute);
  return contents;
}

}  // namespace

bool is_fixed(const ValuePtr& value) {
  if (!value) return true;
  switch (value->kind) {
    case ValueKind::Object:
      return !as<ObjectValue>(value)->made_class;
    case ValueKind::Null:
    case ValueKind::Tensor:
    case ValueKind::Computed:
    case ValueKind::Number:
      return true;
    case ValueKind::Sequence: {
      auto* sequence = as<SequenceValue>(value);
      return !sequence->is_list && std::ranges::all_of(sequence->items, is_fixed);
    }
    default:
      return false;
  }
}

bool add_shown(const ValuePtr& value, std::vector<ShownValue>& shown) {
  if (!value || std::ranges::any_of(shown, [&](const ShownValue& each) { return each.value == value; })) return true;
  if (auto* tensor = as<TensorValue>(value)) {
    if (tensor->source == nullptr) shown.push_back({value, {}, version_of(*tensor)});
    return true;
  }
  if (value->kind != ValueKind::Sequence && is_fixed(value)) return true;
  std::optional<std::vector<ValuePtr>> contents = contents_of(value);
  if (!contents) return false;
  shown.push_back({value, *contents, 0});
  return std::ranges::all_of(*contents, [&](const ValuePtr& part) { return add_shown(part, shown); });
}

bool is_as_shown(const ShownValue& shown) {
  if (auto* tensor = as<TensorValue>(shown.value)) return version_of(*tensor) == shown.version;
  std::optional<std::vector<ValuePtr>> contents = contents_of(shown.value);
  return contents && *contents == shown.contents;
}

// What was written so far and is kept elsewhere is put among the effects.
void Walk::log_state() {
  for (const auto& base : written_inputs_) {
    int& logged = logged_versions_[base.get()];
    if (base->version == logged) continue;
    PendingEffect write{EffectKind::WriteTensor, by_source_.at(base->source), nullptr, nullptr};
    write.tensor = base->current;
    write.count = base->version - logged;
    logged = base->version;
    effects_.push_back(std::move(write));
  }
  for (const ValuePtr& cell : stored_cells_)
    effects_.push_back({EffectKind::SetCell, cell, nullptr, as<CellValue>(cell)->contents});
  auto log_mode = [&](EffectKind kind, bool mode, bool& logged) {
    if (mode == logged) return;
    PendingEffect change{kind, nullptr, nullptr, nullptr};
    change.flag = logged = mode;
    effects_.push_back(std::move(change));
  };
  log_mode(EffectKind::GradMode, grad_mode, logged_grad_mode_);
  log_mode(EffectKind::InferenceMode, inference_mode, logged_inference_mode_);
}

// Whether the instruction calls this and does nothing else with the result than to push it.
bool Walk::calls_directly(BorrowedRef callable) {
  Opcode op = frames_.bytecode()[frames_.innermost().index].op;
  if (op != Opcode::CALL && op != Opcode::CALL_KW && op != Opcode::CALL_FUNCTION_EX) return false;
  return std::ranges::any_of(stack_before_, [&](const ValuePtr& value) {
    auto* method = as<BoundMethodValue>(value);
    auto* object = as<ObjectValue>(method != nullptr ? method->function : value);
    if (object == nullptr) return false;
    PyObject* known = object->object;
    if (Py_IS_TYPE(known, &PyMethod_Type)) known = PyMethod_GET_FUNCTION(known);
    return known == callable.get();
  });
}

void Walk::queue_output(OutputRequest request) {
  auto refuse = [&] { graph_break(request.reason, request.context); };
  if (!config().capture_output) refuse();
  // A frame that the region has left cannot be shown: the driver makes the call.
  if (!returns_.empty()) end_silently_before(instruction_step_);
  bool is_caught =
      std::ranges::any_of(frames_, [](const auto& frame) { return catches(*frame->bytecode, frame->index); });
  bool has_after = request.runs_python || is_caught;
  if (!frames_.handled().empty()) refuse();
  if (has_after && !may_describe_failure()) refuse();
  if (request.runs_python && (!held_.empty() || !calls_directly(request.callable.get()))) refuse();

  QueuedOutput output;
  for (const PendingEffect& effect : effects_) {
    if (effect.kind == EffectKind::Output) continue;
    std::vector<ValuePtr> parts{effect.value, effect.key};
    // The list of what comes in is nobody's.
    if (effect.kind == EffectKind::ListSplice) parts = as<SequenceValue>(effect.value)->items;
    for (const ValuePtr& part : parts)
      if ((has_after && !is_fixed(part)) || !add_shown(part, output.shown)) refuse();
  }
  for (const ValuePtr& cell : stored_cells_) {
    const ValuePtr& contents = as<CellValue>(cell)->contents;
    if ((has_after && !is_fixed(contents)) || !add_shown(contents, output.shown)) refuse();
  }

  output.step = instruction_step_;
  output.graph_break = {request.reason, request.context, "", frames_.user_stack(), ""};
  output.policy = frames_.innermost().policy;
  output.site.runs_python = request.runs_python;
  CallOutSite& site = output.site.site;
  if (has_after) {
    // In a call of C code that waits, nobody goes on after an exception but the instruction that made it.
    std::vector<ValuePtr> stack = held_.empty() ? frames_.innermost().stack : held_.front().stack;
    if (held_.empty()) stack.push_back(none());
    RegionFinisher finisher(*this);
    site.failure = finisher.describe_output(stack, request.runs_python, output.after);
    output.made_after = finisher.made_values();
    for (const auto& [value, recipe] : output.made_after) add_shown(value, output.frames);
  }
  if (request.runs_python) {
    RegionFinisher finisher(*this);
    site.locals = finisher.describe_locals(output.locals);
    output.made_locals = finisher.made_values();
    for (const auto& [value, recipe] : output.made_locals) add_shown(value, output.frames);
  } else {
    site.locals.frames.resize(frames_.depth());
  }
  add_frames(site);
  log_state();

  PendingEffect call{EffectKind::Output, constant(request.callable.get()), nullptr, nullptr};
  std::vector<ValuePtr> values = request.args.positional;
  if (!request.args.keywords.empty()) {
    Ref names = check(PyTuple_New(static_cast<Py_ssize_t>(request.args.keywords.size())));
    for (size_t i = 0; i < request.args.keywords.size(); ++i) {
      const auto& [name, value] = request.args.keywords[i];
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(name.get()));
      values.push_back(value);
    }
    call.key = constant(names);
  }
  call.value = make_value<SequenceValue>(false, std::move(values));
  call.start = static_cast<int64_t>(queued_.size());
  freeze_deques();
  effects_.push_back(std::move(call));
  queued_.push_back(std::move(output));
}

}  // namespace md
