// The __dict__ of an object, as vars() shows it.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

std::unique_ptr<std::vector<DictValue::Entry>> instance_entries(Tracer& tracer, const InstanceDictValue& dict);
ValuePtr instance_item(Tracer& tracer, const InstanceDictValue& dict, BorrowedRef key);
// Null value: deleted.
void store_instance_item(Tracer& tracer, const InstanceDictValue& dict, BorrowedRef key, ValuePtr value);
// Null: the object has a __dict__ of another kind, or none.
ValuePtr instance_dict(Tracer& tracer, const ValuePtr& owner);

}  // namespace md
