// The __dict__ of an object, as returned by vars().
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

std::unique_ptr<std::vector<DictValue::Entry>> instance_entries(Tracer& tracer, const InstanceDictValue& dict);
ValuePtr instance_item(Tracer& tracer, const InstanceDictValue& dict, BorrowedRef key);
// Null value: deleted.
void store_instance_item(Tracer& tracer, const InstanceDictValue& dict, BorrowedRef key, ValuePtr value);
// Null: the object has another kind of __dict__, or none.
ValuePtr instance_dict(Tracer& tracer, const ValuePtr& owner);

}  // namespace md
