// numpy.errstate: what NumPy does about floating-point exceptions in this thread's context.
#pragma once
#include <string>

#include "guards/tensor_family.h"

namespace md::numpy {

// False: NumPy has it elsewhere than expected.
bool can_read_state();
StateWords state();
std::string state_text(const StateWords& words);
std::string state_difference(const StateWords& expected, const StateWords& now);
const char* unusual_state();
// The floating-point exceptions that are not ignored, as bits of MXCSR.
uint32_t watched_flags(const StateWords& words);
// Calls a function in a state in which what is not ignored raises. Null: an exception is set.
Ref call_raising(BorrowedRef function, PyObject* const* arguments, size_t positional, BorrowedRef keyword_names);

}  // namespace md::numpy
