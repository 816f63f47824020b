// A class that the trace made. What looks at it sees its model: a real class of the same bases with the same names, which nobody
// else has, where stand-ins take the places of what only the trace knows. The trace drops the model when it ends.
#pragma once
#include "symbolic/values/value.h"

namespace md {

struct TracedClass {
  TracedClass() = default;
  TracedClass(const TracedClass&) = delete;
  ~TracedClass();
  PyTypeObject* model() const { return reinterpret_cast<PyTypeObject*>(as<ObjectValue>(value)->object.get()); }

  ValuePtr value;  // an ObjectValue of the model, without a source
  ValuePtr meta;   // its class: type, or one of the program's that makes classes as type does
  ValuePtr name, qualname;
  ValuePtr bases;                      // a tuple
  std::vector<ValuePtr> base_classes;  // what it holds
  Handle<DictValue> names;             // what the class itself holds, but for what every class is given
  Handle<DictValue> first_names;       // as type.__new__ got them
  // Stored since then, in order; null: deleted.
  std::vector<std::pair<Ref, ValuePtr>> stores;
  ValuePtr names_cell;  // __classdict__ of the body; null: the body has none
};

class Tracer;
using Keywords = std::vector<std::pair<Ref, ValuePtr>>;
// __x__: a name with a meaning of its own.
bool is_special_name(BorrowedRef name);
// type.__new__(meta, name, bases, names): the class, and the calls of __set_name__ and __init_subclass__. Breaks where making the
// class would run other Python code.
ValuePtr make_class(Tracer& tracer, const ValuePtr& meta, const ValuePtr& name, const ValuePtr& bases,
                    const Handle<DictValue>& names, const Keywords& keywords = {});
// What of the class's own holds where its objects keep something (a slot, __dict__). Another class has another one.
bool is_descriptor_of_traced_class(Tracer& tracer, const ValuePtr& value);
// What an attribute of type itself (__name__, __bases__ ...) is for this class; null: not known.
ValuePtr field_of_class(Tracer& tracer, const TracedClass& made, BorrowedRef name);
// Null value: deleted, which must be there. False: not to be done by the trace.
bool store_on_class(Tracer& tracer, TracedClass& made, BorrowedRef name, const ValuePtr& value);

}  // namespace md
