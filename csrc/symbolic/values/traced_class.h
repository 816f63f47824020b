// A traced class: one created in the trace. Reads of the class go to its model: a real class, private to the trace,
// with the same bases and names, and with proxies for values that only the trace knows. The trace drops the model when
// it ends.
#pragma once
#include "symbolic/values/value.h"

namespace md {

struct TracedClass {
  TracedClass() = default;
  TracedClass(const TracedClass&) = delete;
  ~TracedClass();
  PyTypeObject* model() const { return class_in(value); }

  ValuePtr value;  // an ObjectValue of the model, without a source
  ValuePtr meta;   // its class: type, or a user-defined metaclass that creates classes as type does
  ValuePtr name, qualname;
  ValuePtr bases;                      // a tuple
  std::vector<ValuePtr> base_classes;  // the elements of `bases`
  Handle<DictValue> names;             // the class's own namespace, without what type adds to every class
  Handle<DictValue> first_names;       // as passed to type.__new__
  // Stored since then, in order; null: deleted.
  std::vector<std::pair<Ref, ValuePtr>> stores;
  ValuePtr names_cell;  // __classdict__ of the body; null if the body has none
};

class Tracer;
using Keywords = std::vector<std::pair<Ref, ValuePtr>>;
// Returns true for __x__, a name with a special meaning.
bool is_special_name(BorrowedRef name);
// type.__new__(meta, name, bases, names): creates the class, and calls __set_name__ and __init_subclass__. Breaks if
// creating the class would run other Python code.
ValuePtr make_class(Tracer& tracer, const ValuePtr& meta, const ValuePtr& name, const ValuePtr& bases,
                    const Handle<DictValue>& names, const Keywords& keywords = {});
// Returns true for a descriptor of the class that accesses storage of its objects (a slot, __dict__): each class has
// its own.
bool is_descriptor_of_traced_class(Tracer& tracer, const ValuePtr& value);
// The value of an attribute of type itself (__name__, __bases__ ...) for this class; null if unknown.
ValuePtr field_of_class(Tracer& tracer, const TracedClass& made, BorrowedRef name);
// Null value: deletes the attribute, which must exist. Returns false if the trace cannot do it.
bool store_on_class(Tracer& tracer, TracedClass& made, BorrowedRef name, const ValuePtr& value);

}  // namespace md
