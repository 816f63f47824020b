// THE tables of what the trace knows: a handler for each opcode, and one for each known callable. The files of the handlers fill them, by
// static objects; no row is written twice, so that their order does not matter.
#pragma once
#include <initializer_list>
#include <utility>
#include <vector>

#include "bytecode/bytecode.h"
#include "symbolic/values/call_args.h"

namespace md {

class Tracer;

using OpcodeHandler = void (*)(Tracer& tracer, const Instruction& instruction);
// A callable that the trace knows: takes the arguments, returns the result, or null if it pushed an inlined frame instead.
using CallHandler = ValuePtr (*)(Tracer& tracer, const CallArgs& args);

OpcodeHandler opcode_handler(Opcode op);  // null: a break (unsupported_opcode)
struct OpcodeRegistration {
  OpcodeRegistration(std::initializer_list<std::pair<Opcode, OpcodeHandler>> rows);
};

// Known callables, by identity: builtins, methods of built-in types, our own functions.
void register_call(BorrowedRef callable, CallHandler handler);  // held strongly
CallHandler find_call(BorrowedRef callable);                    // null: none
// Its function calls register_call() once, at import.
struct CallRegistration {
  explicit CallRegistration(void (*fill)());
};
// The same for callables of a module that the program may import later: called before each capture until it returns true.
struct LateCallRegistration {
  explicit LateCallRegistration(bool (*fill)());
};
void fill_call_registry();
void fill_late_call_registry();

}  // namespace md
