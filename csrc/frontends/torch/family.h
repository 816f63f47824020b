// The row of torch's tensors, and how it comes to be: a Python part (minidynamo/_families/torch.py) says what torch's functions
// mean, and gives samples for the layout.
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

}  // namespace md::torch
