// x[mask] = f(x[mask], y[mask]): captured as x = where(mask, f(x, y), x), in which f sees an element at the mask in the
// place of each that is not.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// x[mask], for a mask over all dims; null: not captured so. Not where sizes that depend on data are captured.
ValuePtr part_at_mask(Tracer& tracer, TensorValue* tensor, const ValuePtr& key);
// x[mask] = value. False: not captured so.
bool store_part_at_mask(Tracer& tracer, TensorValue* tensor, const ValuePtr& key, const ValuePtr& value);

}  // namespace md
