#include "symbolic/state/deferred_output.h"

#include <algorithm>

namespace md {

namespace {

int version_of(const TensorValue& tensor) { return tensor.base ? tensor.base->version : 0; }

// Returns nullopt if the value is not a mutable container of these kinds.
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

DeferredOutput::DeferredOutput() = default;
DeferredOutput::~DeferredOutput() = default;

std::vector<QueuedOutput> DeferredOutput::take_queued() { return std::move(queued_); }

void DeferredOutput::add(QueuedOutput output) { queued_.push_back(std::move(output)); }

std::vector<HostCallSite> DeferredOutput::take_host_calls() { return std::move(host_calls_); }

int DeferredOutput::add_host_call(HostCallSite site) {
  host_calls_.push_back(std::move(site));
  return static_cast<int>(host_calls_.size()) - 1;
}

int DeferredOutput::logged_version(const TensorBase* base) const {
  auto found = logged_versions_.find(base);
  return found != logged_versions_.end() ? found->second : 0;
}

void DeferredOutput::set_logged_version(const TensorBase* base, int version) { logged_versions_[base] = version; }

bool is_fixed(const ValuePtr& value) {
  if (!value) return true;
  switch (value->kind) {
    case ValueKind::Object:
      return !as<ObjectValue>(value)->traced_class;
    case ValueKind::Null:
    case ValueKind::Tensor:
    case ValueKind::Computed:
    case ValueKind::Number:
      return true;
    case ValueKind::Sequence: {
      auto* sequence = as<SequenceValue>(value);
      return !sequence->is_list && std::ranges::all_of(sequence->items, is_fixed);
    }
    case ValueKind::Dict:
    case ValueKind::Set:
    case ValueKind::Slice:
    case ValueKind::Cell:
    case ValueKind::Function:
    case ValueKind::BoundMethod:
    case ValueKind::PolicyFunction:
    case ValueKind::Instance:
    case ValueKind::RaisedPart:
    case ValueKind::Iterator:
    case ValueKind::Super:
    case ValueKind::Constructed:
    case ValueKind::DictView:
    case ValueKind::Identity:
    case ValueKind::InstanceDict:
      return false;
  }
  throw Error(ErrorKind::Internal, "a value of no kind");
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

}  // namespace md
