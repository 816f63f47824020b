// Tables of what the tracer knows: a handler per opcode, and one per known callable. Static objects in the files of the
// handlers fill them; no row is written twice, so their order does not matter.
#pragma once
#include <initializer_list>
#include <utility>
#include <vector>

#include "bytecode/bytecode.h"
#include "symbolic/values/call_args.h"

namespace md {

class Tracer;

using OpcodeHandler = void (*)(Tracer& tracer, const Instruction& instruction);
// Handler of a known callable: takes the arguments, returns the result, or null if it pushed an inlined frame instead.
using CallHandler = ValuePtr (*)(Tracer& tracer, const CallArgs& args);

OpcodeHandler opcode_handler(Opcode op);  // null: a break (unsupported_opcode)
struct OpcodeRegistration {
  OpcodeRegistration(std::initializer_list<std::pair<Opcode, OpcodeHandler>> rows);
};

// Known callables, by identity: builtins, methods of built-in types, the package's own functions.
void register_call(BorrowedRef callable, CallHandler handler);  // keeps a strong reference
CallHandler find_call(BorrowedRef callable);                    // null if there is none
// Its function calls register_call(); runs once, at import.
struct CallRegistration {
  explicit CallRegistration(void (*fill)());
};
// Likewise for callables of a module that the program may import later: runs before each capture until it returns true.
struct LateCallRegistration {
  explicit LateCallRegistration(bool (*fill)());
};
void fill_call_registry();
void fill_late_call_registry();

}  // namespace md
