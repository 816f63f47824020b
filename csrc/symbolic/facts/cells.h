// Cells: their contents, shared by LOAD_DEREF, closures and STORE_DEREF.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

ValuePtr load_cell(Tracer& tracer, CellValue* cell);  // null: empty
void store_cell(Tracer& tracer, const ValuePtr& cell, ValuePtr contents);
// The value of a pre-existing cell.
ValuePtr cell_at(Tracer& tracer, const Source* source, Ref object);

}  // namespace md
