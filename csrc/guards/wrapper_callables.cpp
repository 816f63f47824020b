#include "guards/wrapper_callables.h"

#include <unordered_map>

#include "base/host_hooks.h"

namespace md {

namespace {

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

const WrapperType* find_wrapper_type(PyTypeObject* type) {
  auto* find = host_hooks.find_wrapper_type.load();
  return find != nullptr ? find(type) : nullptr;
}

}  // namespace md
