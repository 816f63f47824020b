// Tensors of other libraries as arguments: objects with __dlpack__ that are not our tensors.
#pragma once
#include <span>
#include <string>

#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

bool is_foreign_tensor(BorrowedRef value);
// One of ours; undefined for another object.
Tensor own_tensor(BorrowedRef object);
// "torch.Tensor": module and name.
std::string full_type_name(BorrowedRef value);
// Raises TypeError that names both types and how to convert.
[[noreturn]] void raise_foreign_tensor(const std::string& op, BorrowedRef value);
// Raises because an argument that must be a tensor is not one.
[[noreturn]] void raise_no_tensor(const std::string& op, const char* argument, BorrowedRef value);
// Raises the same if one of the values is foreign.
void refuse_foreign_tensors(const std::string& op, std::span<PyObject* const> values);

}  // namespace md
