// The row of torch's tensors, and how it comes to be: a Python part (minidynamo/_families/torch.py) says what torch's
// functions mean, and gives samples for the layout.
#pragma once
#include <span>

#include "frontends/tensor_language.h"
#include "frontends/torch/layout.h"

namespace md::torch {

// Finds torch's functions. False: torch is no family, for the reason in `why`. Throws PythonError.
bool prepare(BorrowedRef module, std::string& why);
// Of the samples, the first is ordinary. Registers the exact types. False: as above.
bool start(std::span<const Sample> samples, std::span<PyTypeObject* const> types, std::string& why);
// Says what a callable of torch means. The first meaning stays.
void add_callable(BorrowedRef callable, TensorCallable meaning);
// What regions call as it is, by `tracer` (TensorFamily::opaque_tracer): objects of exactly this type, functions whose
// address is in this set of ints.
void set_opaque_tracer(BorrowedRef tracer);
// TensorFamily::recorder.
void set_recorder(BorrowedRef function);
void add_opaque_type(BorrowedRef type);
void add_opaque_addresses(BorrowedRef set);
// In graphs the op is torch's function at this path; or its method of the op's name.
void name_function(const OpRow& row, std::string path);
void name_method(const OpRow& row);

}  // namespace md::torch
