// What a value of the trace holds: elements, attributes, cells, pending writes.
#pragma once
#include "symbolic/values/value.h"

namespace md {

// Calls visit(part) for each, null ones too; a part is a ValuePtr or a Handle.
template <typename Visit>
void visit_parts(const ValuePtr& value, const Visit& visit) {
  auto all = [&](auto& parts) {
    for (auto& part : parts) visit(part);
  };
  auto seconds = [&](auto& pairs) {
    for (auto& [key, part] : pairs) visit(part);
  };
  auto each = [&](auto&... parts) { (visit(parts), ...); };
  if (auto* object = as<ObjectValue>(value)) {
    if (!object->writes) return;
    visit(object->writes->contents);
    all(object->writes->appended);
    seconds(object->writes->stores);
    seconds(object->writes->attributes);
  } else if (auto* tensor = as<TensorValue>(value)) {
    visit(tensor->converted_from);
  } else if (auto* sequence = as<SequenceValue>(value)) {
    all(sequence->items);
    seconds(sequence->attributes);
  } else if (auto* dict = as<DictValue>(value)) {
    seconds(dict->entries);
    seconds(dict->attributes);
  } else if (auto* cell = as<CellValue>(value)) {
    visit(cell->contents);
  } else if (auto* function = as<FunctionValue>(value)) {
    each(function->defaults, function->kw_defaults, function->annotations, function->dict);
    all(function->closure);
    seconds(function->names);
  } else if (auto* method = as<BoundMethodValue>(value)) {
    each(method->function, method->self);
  } else if (auto* instance = as<InstanceValue>(value)) {
    seconds(instance->attributes);
    if (!instance->exception) return;
    all(instance->exception->args);
    each(instance->exception->context, instance->exception->cause, instance->exception->split_from);
  } else if (auto* iterator = as<IteratorValue>(value)) {
    all(iterator->bases);
    each(iterator->yielded, iterator->returned);
  } else if (auto* view = as<DictViewValue>(value)) {
    visit(view->dict);
  } else if (auto* made = as<ConstructedValue>(value)) {
    all(made->positional);
    seconds(made->keywords);
    seconds(made->copied);
  } else if (auto* wrapper = as<PolicyFunctionValue>(value)) {
    visit(wrapper->function);
    seconds(wrapper->copied);
  }
}

}  // namespace md
