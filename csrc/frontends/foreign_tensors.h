// Tensors of other libraries, as arguments: what has __dlpack__ and is no tensor of ours.
#pragma once
#include <span>
#include <string>

#include "cpython/ref.h"

namespace md {

bool is_foreign_tensor(BorrowedRef value);
// "torch.Tensor": the module and the name.
std::string full_type_name(BorrowedRef value);
// Raises TypeError that names both types and says how one becomes the other.
[[noreturn]] void raise_foreign_tensor(const std::string& op, BorrowedRef value);
// An argument that must be a tensor is none.
[[noreturn]] void raise_no_tensor(const std::string& op, const char* argument, BorrowedRef value);
// The same where one of the values is foreign.
void refuse_foreign_tensors(const std::string& op, std::span<PyObject* const> values);

}  // namespace md
