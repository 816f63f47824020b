#include "symbolic/values/call_args.h"

namespace md {

const ValuePtr* CallArgs::keyword(const char* name) const {
  for (const auto& [key, value] : keywords)
    if (PyUnicode_CompareWithASCIIString(key, name) == 0) return &value;
  return nullptr;
}

}  // namespace md
