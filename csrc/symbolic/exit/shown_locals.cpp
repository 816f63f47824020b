// The locals of a frame that are visible to Python code run inside a region.
#include "symbolic/exit/region_finisher.h"

#include <unordered_set>

namespace md {

namespace {

// The values inside a value; nullopt if it is not shown among the locals of a frame: generators are not rebuilt, raised
// exceptions belong to the interpreter, computed numbers are evaluated at exits, and a class is created once.
std::optional<std::vector<ValuePtr>> parts_of(const ValuePtr& value) {
  switch (value->kind) {
    case ValueKind::Object:
      if (as<ObjectValue>(value)->traced_class) return std::nullopt;
      return std::vector<ValuePtr>{};
    case ValueKind::Null:
    case ValueKind::Tensor:
    case ValueKind::Set:
      return std::vector<ValuePtr>{};
    case ValueKind::Sequence:
      return as<SequenceValue>(value)->items;
    case ValueKind::Dict: {
      if (as<DictValue>(value)->type) return std::nullopt;
      std::vector<ValuePtr> parts;
      for (const DictValue::Entry& entry : as<DictValue>(value)->entries) parts.push_back(entry.value);
      return parts;
    }
    case ValueKind::Cell: {
      auto* cell = as<CellValue>(value);
      return cell->source != nullptr ? std::vector<ValuePtr>{} : std::vector<ValuePtr>{cell->contents};
    }
    case ValueKind::Function: {
      auto* function = as<FunctionValue>(value);
      std::vector<ValuePtr> parts = function->closure;
      for (const ValuePtr& part :
           {function->globals_from, function->defaults, function->kw_defaults, function->annotations})
        parts.push_back(part);
      return parts;
    }
    case ValueKind::BoundMethod:
      return std::vector<ValuePtr>{as<BoundMethodValue>(value)->function, as<BoundMethodValue>(value)->self};
    case ValueKind::PolicyFunction:
      return std::vector<ValuePtr>{as<PolicyFunctionValue>(value)->function};
    case ValueKind::Slice: {
      auto* slice = as<SliceValue>(value);
      return std::vector<ValuePtr>{slice->start, slice->stop, slice->step};
    }
    case ValueKind::Instance: {
      auto* instance = as<InstanceValue>(value);
      if (instance->exception) return std::nullopt;
      std::vector<ValuePtr> parts{instance->type};
      for (const auto& [name, attribute] : instance->attributes) parts.push_back(attribute);
      return parts;
    }
    case ValueKind::Number:
      return std::vector<ValuePtr>{};
    case ValueKind::Computed:
      if (!as<ComputedValue>(value)->known) return std::nullopt;
      return std::vector<ValuePtr>{};
    case ValueKind::RaisedPart:
    case ValueKind::Iterator:
    case ValueKind::Super:
    case ValueKind::Constructed:
    case ValueKind::DictView:
    case ValueKind::Identity:
    case ValueKind::InstanceDict:
      return std::nullopt;
  }
  return std::nullopt;
}

bool can_show(const ValuePtr& value) {
  std::unordered_set<const Value*> met{value.get()};
  std::vector<ValuePtr> open{value};
  while (!open.empty()) {
    ValuePtr next = std::move(open.back());
    open.pop_back();
    std::optional<std::vector<ValuePtr>> parts = parts_of(next);
    if (!parts) return false;
    for (const ValuePtr& part : *parts)
      if (part && met.insert(part.get()).second) open.push_back(part);
  }
  return true;
}

}  // namespace

FrameState RegionFinisher::locals_of(const SymbolicFrame& frame, bool innermost) {
  FrameState state;
  state.bytecode = frame.bytecode;
  bool has_own_closure = frame.function->kind == ValueKind::Function;
  for (int slot = 0; slot < static_cast<int>(frame.slots.size()); ++slot) {
    ValuePtr value = frame.slots[slot];
    if (auto* cell = as<CellValue>(value)) {
      // Free variables of pre-existing functions are in place already.
      if (frame.bytecode->slot_kind(slot) == SlotKind::Free && !has_own_closure) continue;
      bool is_known = cell->source == nullptr || cell->stored || (cell->loaded && cell->contents);
      if (!is_known && !has_own_closure) continue;
      if (is_known) value = cell->contents;
    }
    if (!value || value->kind == ValueKind::Null || may_leave_unset(frame, slot, value, innermost)) continue;
    if (can_show(value)) state.slots.push_back({slot, recipe_of(value)});
  }
  return state;
}

Snapshot RegionFinisher::describe_locals(std::vector<ValueRef>& outputs) {
  size_t depth = frames_.depth();
  for (size_t i = 0; i < depth; ++i) snapshot_.frames.push_back(locals_of(frames_[i], i + 1 == depth));
  outputs = std::move(outputs_);
  return std::move(snapshot_);
}

}  // namespace md
