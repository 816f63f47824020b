// Attribute look-up as in CPython, by type and dict look-ups alone.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// A type attribute as seen through an instance that does not shadow it.
struct Bound {
  ValuePtr value;           // null: a getter was inlined
  bool is_method = false;   // value is a function to be called with the instance
  ValuePtr self = nullptr;  // replaces the object as the instance
};

// probing: a missing attribute is a result, not an error.
Bound look_up(Tracer& tracer, const ValuePtr& object, BorrowedRef name, bool probing = false);
// The object's own attribute of this name; null if there is none.
ValuePtr own_value(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// The Python getter (0) or setter (1) of a property created in the trace; null otherwise.
ValuePtr part_of_property(const ValuePtr& descriptor, size_t part);
// Properties, also of subclasses that read as property does.
inline bool reads_as_property(PyTypeObject* descriptor_type) {
  return PyType_IsSubtype(descriptor_type, &PyProperty_Type) != 0 &&
         descriptor_type->tp_descr_get == PyProperty_Type.tp_descr_get;
}

inline bool is_data_descriptor(PyTypeObject* descriptor_type) { return descriptor_type->tp_descr_set != nullptr; }

ValuePtr attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// Likewise, if no getter has to be inlined; null if there is no such attribute, which is guarded.
ValuePtr optional_attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// Replaces `operands` values on the stack by the attribute, or by method and self.
void load_attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name, int operands);
void load_method(Tracer& tracer, const ValuePtr& object, BorrowedRef name, int operands);
// The attribute after super's class in the MRO of start_type (the object's type, or the object), not bound. Null:
// absent (guarded).
ValuePtr super_attribute(Tracer& tracer, const SuperValue& super, BorrowedRef name, ValuePtr& start_type);
// Attribute of the object's type along its MRO, not bound; null: absent (guarded).
ValuePtr type_attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// Attribute of a class along its MRO, not bound; null: absent (guarded).
ValuePtr class_attribute(Tracer& tracer, const ValuePtr& type, BorrowedRef name);
// Likewise, if it is a Python function and the object's type is the user's; null otherwise.
ValuePtr user_method(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// Likewise for any type. That the class has no such method, or another one, is guarded.
ValuePtr python_method(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// The type as a value.
ValuePtr type_value(Tracer& tracer, const ValuePtr& object);

}  // namespace md
