// Return types such as minidynamo.return_types.max(values, indices): a struct sequence for each op
// whose schema names its results.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cpython/ref.h"
#include "tensor/ops/op_row.h"

namespace md {

// nullptr if the schema has no names. Created on first use, lives as long as the process.
PyTypeObject* return_type_of(const OpRow& row);

// Makes a library's struct sequence with the fields of `own`, one of ours, a return type too. It lives as long as the
// process.
void add_return_type(PyTypeObject* type, PyTypeObject* own);
// The same for any struct sequence: `names` of its fields.
void add_return_type(PyTypeObject* type, const std::vector<std::string>& names);
bool is_return_type(PyTypeObject* type);
// Index of the element with this name; nullopt if there is none, or if `type` is not a return type.
std::optional<int> return_field(PyTypeObject* type, BorrowedRef name);

// A new object of the type, with as many items as it has names.
Ref make_returned(PyTypeObject* type, BorrowedRef tuple);

}  // namespace md
