#include "symbolic/values/value_cycles.h"

#include <unordered_set>

namespace md {

namespace {

using Values = std::vector<ValuePtr>;

void take_all(Values& from, Values& into) {
  for (ValuePtr& value : from) into.push_back(std::move(value));
  from.clear();
}

template <typename Pairs>
void take_seconds(Pairs& from, Values& into) {
  for (auto& [key, value] : from)
    if (value) into.push_back(std::move(value));
  from.clear();
}

void take_writes(PendingWrites& writes, Values& into) {
  into.push_back(std::move(writes.contents));
  take_all(writes.appended, into);
  take_seconds(writes.stores, into);
}

void take_parts(const ValuePtr& value, Values& into) {
  if (auto* object = as<ObjectValue>(value)) {
    if (object->writes) take_writes(*object->writes, into);
  } else if (auto* sequence = as<SequenceValue>(value)) {
    take_all(sequence->items, into);
  } else if (auto* dict = as<DictValue>(value)) {
    take_seconds(dict->entries, into);
  } else if (auto* cell = as<CellValue>(value)) {
    into.push_back(std::move(cell->contents));
  } else if (auto* function = as<FunctionValue>(value)) {
    for (ValuePtr* part : {&function->defaults, &function->kw_defaults, &function->annotations})
      into.push_back(std::move(*part));
    into.emplace_back(std::move(function->dict));
    take_all(function->closure, into);
    take_seconds(function->names, into);
  } else if (auto* method = as<BoundMethodValue>(value)) {
    into.push_back(method->function);
    into.push_back(method->self);
  } else if (auto* instance = as<InstanceValue>(value)) {
    take_seconds(instance->attributes, into);
    if (instance->exception) {
      take_all(instance->exception->args, into);
      for (ValuePtr* part :
           {&instance->exception->context, &instance->exception->cause, &instance->exception->split_from})
        into.push_back(std::move(*part));
    }
  } else if (auto* iterator = as<IteratorValue>(value)) {
    take_all(iterator->bases, into);
    into.push_back(std::move(iterator->yielded));
    into.push_back(std::move(iterator->returned));
  } else if (auto* view = as<DictViewValue>(value)) {
    into.push_back(view->dict);
  } else if (auto* made = as<ConstructedValue>(value)) {
    take_all(made->positional, into);
    take_seconds(made->keywords, into);
    take_seconds(made->copied, into);
  } else if (auto* wrapper = as<PolicyFunctionValue>(value)) {
    into.push_back(wrapper->function);
    take_seconds(wrapper->copied, into);
  }
}

}  // namespace

void break_cycles(Values reached) {
  Values kept;  // so that no address is freed and reused before the end
  std::unordered_set<const Value*> seen;
  while (!reached.empty()) {
    ValuePtr value = std::move(reached.back());
    reached.pop_back();
    if (!value || !seen.insert(value.get()).second) continue;
    take_parts(value, reached);
    kept.push_back(std::move(value));
  }
}

}  // namespace md
