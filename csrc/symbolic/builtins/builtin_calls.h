// Shared by the handlers of builtins.
#pragma once
#include <span>

#include "symbolic/trace/tracer.h"

namespace md {

struct BuiltinRow {
  const char* name;  // in module builtins
  CallHandler handler;
};
void register_builtin_rows(std::span<const BuiltinRow> rows);

[[noreturn]] void break_on_builtin(const char* name, const ValuePtr& value);
// All elements of an iterable argument of the builtin with this name.
std::vector<ValuePtr> iterated(Tracer& tracer, const char* name, const ValuePtr& value,
                               LengthHint hint = LengthHint::Unknown);

}  // namespace md
