#include "guards/wrapper_callables.h"

#include <vector>

namespace md {

namespace {

struct WrapperRow {
  PyTypeObject* type;
  FunctionInside inside;
};

std::vector<WrapperRow>& wrapper_rows() {
  static auto* rows = new std::vector<WrapperRow>();
  return *rows;
}

}  // namespace

void add_wrapper_callable(PyTypeObject* type, FunctionInside inside) { wrapper_rows().push_back({type, inside}); }

FunctionInside find_wrapper_callable(PyTypeObject* type) {
  for (const WrapperRow& row : wrapper_rows())
    if (row.type == type) return row.inside;
  return nullptr;
}

}  // namespace md
