#include "symbolic/wrapper_types.h"

#include <vector>

#include "guards/wrapper_callables.h"

namespace md {

namespace {

std::vector<WrapperType>& wrapper_types() {
  static auto* types = new std::vector<WrapperType>();
  return *types;
}

}  // namespace

void register_wrapper_type(const WrapperType& wrapper) {
  wrapper_types().push_back(wrapper);
  add_wrapper_callable(wrapper.type, wrapper.inner);
}

const WrapperType* find_wrapper_type(PyTypeObject* type) {
  for (const WrapperType& wrapper : wrapper_types())
    if (wrapper.type == type) return &wrapper;
  return nullptr;
}

}  // namespace md
