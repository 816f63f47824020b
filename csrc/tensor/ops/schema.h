// Schema strings: "cat(Tensor[] tensors, int dim=0) -> Tensor". Parsed once per row.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/arg.h"

namespace md {

// Syntax: Tensor, Tensor[], Scalar, Number (Tensor or Scalar), int, int[], int[*] (f(1, 2) means f((1, 2))), float,
// bool, dtype, str, device, memory_format, any; "?" after a type allows None, "Tensor(a!)" is written to, "*"
// starts the keyword-only parameters.
enum class ParamType : uint8_t {
  Tensor,
  TensorList,
  Scalar,
  Number,
  Int,
  IntList,
  Float,
  Bool,
  Dtype,
  Str,
  Device,
  MemoryFormat,
  Any
};

struct Param {
  std::string name;
  ParamType type;
  bool optional = false;
  bool keyword_only = false;
  bool variadic_ints = false;
  bool mutated = false;
  // Whether its argument takes part in type promotion: tensors, except masks and indices, and numbers in place of
  // tensors (not alpha, dim, eps).
  bool promotes = false;
  std::optional<Arg> default_value;
};

struct Schema {
  std::string name;
  std::vector<Param> params;
  std::vector<ParamType> returns;         // Tensor or TensorList (split, unbind: as many as the shape rule says)
  std::vector<std::string> return_names;  // one per return, empty unless the schema names them: "(Tensor values, ...)"
  std::string text;

  int positional_count() const;
  int find(std::string_view param) const;  // -1: no such parameter
};

// Throws Error(Value) with the position of the first invalid character.
Schema parse_schema(std::string_view text);

}  // namespace md
