// minidynamo.return_types.max(values, indices): a struct sequence for each op whose schema names its results.
#pragma once
#include "cpython/ref.h"
#include "tensor/op_row.h"

namespace md {

// nullptr where the schema gives no names. Made at the first call, lives as long as the process.
PyTypeObject* named_results_type(const OpRow& row);

}  // namespace md
