#include "guards/wrapper_callables.h"

#include <unordered_map>
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

std::unordered_map<PyObject*, PyObject*>& replacements() {
  static auto* table = new std::unordered_map<PyObject*, PyObject*>();
  return *table;
}

}  // namespace

void add_replacement(BorrowedRef callable, BorrowedRef function) {
  Py_INCREF(callable.get());
  replacements()[callable.get()] = Py_NewRef(function.get());
}

BorrowedRef find_replacement(BorrowedRef callable) {
  auto found = replacements().find(callable.get());
  return found == replacements().end() ? nullptr : found->second;
}

void add_wrapper_callable(PyTypeObject* type, FunctionInside inside) { wrapper_rows().push_back({type, inside}); }

FunctionInside find_wrapper_callable(PyTypeObject* type) {
  for (const WrapperRow& row : wrapper_rows())
    if (row.type == type) return row.inside;
  return nullptr;
}

}  // namespace md
