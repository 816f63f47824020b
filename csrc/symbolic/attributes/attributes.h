// Attribute look-up as CPython does it, by type and dict look-up alone.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// What a type attribute gives for an instance that does not shadow it.
struct Bound {
  ValuePtr value;           // null: a getter was inlined
  bool is_method = false;   // value is a function to be called with the instance
  ValuePtr self = nullptr;  // instead of the object that was asked
};

// probing: what is not there is an answer, not an error.
Bound look_up(Tracer& tracer, const ValuePtr& object, BorrowedRef name, bool probing = false);
// What the object's own storage holds; null: nothing by that name.
ValuePtr own_value(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// The getter (0) or setter (1) in Python of a property that the trace made; null: another object, or none.
ValuePtr part_of_property(const ValuePtr& descriptor, size_t part);
inline bool is_data_descriptor(PyTypeObject* descriptor_type) { return descriptor_type->tp_descr_set != nullptr; }

ValuePtr attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// The same where a getter needs no inlining; null: there is no such attribute, which is guarded.
ValuePtr optional_attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// Replace `operands` values by the attribute, or by method and self.
void load_attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name, int operands);
void load_method(Tracer& tracer, const ValuePtr& object, BorrowedRef name, int operands);
// Behind super's class in the MRO of start_type, which is the object's type or the object; not bound. Null: absent (guarded).
ValuePtr super_attribute(Tracer& tracer, const SuperValue& super, BorrowedRef name, ValuePtr& start_type);
// Attribute of the object's type along its MRO, not bound; null: absent (guarded).
ValuePtr type_attribute(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// Attribute of a class along its MRO, not bound; null: absent (guarded).
ValuePtr class_attribute(Tracer& tracer, const ValuePtr& type, BorrowedRef name);
// The same where it is a Python function and the object's type a user's; null: Python does something else.
ValuePtr user_method(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// The same, whatever the type is. That the class has no such method, or which other, is guarded.
ValuePtr python_method(Tracer& tracer, const ValuePtr& object, BorrowedRef name);
// The type as a value.
ValuePtr type_value(Tracer& tracer, const ValuePtr& object);

}  // namespace md
