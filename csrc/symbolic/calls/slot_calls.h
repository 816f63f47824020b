// Slot wrappers, the methods that Python makes of the slots of a built-in type (int.__add__): a call is the operator of
// that slot, where the operator asks no other slot.
#pragma once
#include <string_view>

#include "symbolic/trace/registry.h"

namespace md {

// form: "whole", if the slot never returns NotImplemented, "comparison", "arithmetic", or "reflected": the function
// takes the operands in reverse. The function is inlined as a polyfill is.
void register_slot(BorrowedRef name, std::string_view form, BorrowedRef function);
// Returns true for a slot wrapper that call_slot() may know.
bool is_known_slot(BorrowedRef descriptor);
// The call of a slot wrapper; null: unknown.
ValuePtr call_slot(Tracer& tracer, const ValuePtr& callable, const CallArgs& args);

}  // namespace md
