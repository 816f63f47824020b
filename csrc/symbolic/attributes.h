// Attribute look-up as CPython does it, by type and dict look-up alone.
#pragma once
#include "symbolic/walk.h"

namespace md {

// What a type attribute gives for an instance that does not shadow it.
struct Bound {
  ValuePtr value;           // null: a getter was inlined
  bool is_method = false;   // value is a function to be called with the instance
  ValuePtr self = nullptr;  // instead of the object that was asked
};

// probing: what is not there is an answer, not an error.
Bound look_up(Walk& walk, const ValuePtr& object, BorrowedRef name, bool probing = false);
// What the object's own storage holds; null: nothing by that name.
ValuePtr own_value(Walk& walk, const ValuePtr& object, BorrowedRef name);
// The getter (0) or setter (1) in Python of a property that the walk made; null: another object, or none.
ValuePtr part_of_property(const ValuePtr& descriptor, size_t part);
inline bool is_data_descriptor(PyTypeObject* descriptor_type) { return descriptor_type->tp_descr_set != nullptr; }

}  // namespace md
