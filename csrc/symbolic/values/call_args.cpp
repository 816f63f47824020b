#include "symbolic/values/call_args.h"

namespace md {

const ValuePtr* CallArgs::keyword(const char* name) const {
  for (const auto& [key, value] : keywords)
    if (PyUnicode_CompareWithASCIIString(key, name) == 0) return &value;
  return nullptr;
}

Ref CallArgs::keyword_names() const {
  Ref names = check(PyTuple_New(static_cast<Py_ssize_t>(keywords.size())));
  for (size_t i = 0; i < keywords.size(); ++i)
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(keywords[i].first.get()));
  return names;
}

}  // namespace md
