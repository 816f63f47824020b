// What a callable of a tensor library means, as the library's module in minidynamo/_families tells it.
#pragma once
#include <string>

#include "bindings/bindings.h"
#include "frontends/tensor_language.h"

namespace md {

// `operand` is the name of a row, or the function, by the kind. Throws Error(Key) for a name without a row.
TensorCallable meaning_of(const pybind11::object& callable, const std::string& name, const std::string& kind,
                          const pybind11::object& operand, bool is_method);

}  // namespace md
