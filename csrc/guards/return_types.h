// Return types such as minidynamo.return_types.max(values, indices): a struct sequence for each op
// whose schema names its results.
#pragma once
#include <optional>

#include "cpython/ref.h"
#include "tensor/ops/op_row.h"

namespace md {

// nullptr if the schema has no names. Created on first use, lives as long as the process.
PyTypeObject* return_type_of(const OpRow& row);

bool is_return_type(PyTypeObject* type);
// Index of the element with this name; nullopt if there is none, or if `type` is not a return type.
std::optional<int> return_field(PyTypeObject* type, BorrowedRef name);

// A new object of the type, with as many items as it has names.
Ref make_returned(PyTypeObject* type, BorrowedRef tuple);

}  // namespace md
