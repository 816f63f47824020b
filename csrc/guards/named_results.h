// minidynamo.return_types.max(values, indices): a struct sequence for each op whose schema names its results.
#pragma once
#include <optional>

#include "cpython/ref.h"
#include "tensor/ops/op_row.h"

namespace md {

// nullptr where the schema gives no names. Made at the first call, lives as long as the process.
PyTypeObject* named_results_type(const OpRow& row);

bool is_named_results(PyTypeObject* type);
// Which element has the name; nullopt: none, or not a type of named results.
std::optional<int> named_result_index(PyTypeObject* type, BorrowedRef name);

// A new object of the type, of as many items as it has names.
Ref make_named_results(PyTypeObject* type, BorrowedRef tuple);

}  // namespace md
