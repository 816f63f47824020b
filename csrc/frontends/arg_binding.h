// From a Python call to an op's arguments, in two steps shared by eager dispatch and capture:
// which value goes to which parameter, then value to Arg.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "cpython/ref.h"
#include "tensor/ops/op_row.h"

namespace md {

// For each parameter: the index of its value among positional-then-keyword values, or kDefault.
// A variadic_ints parameter given as separate numbers (x.view(2, 3)) has `variadic_count` values starting at its index.
struct BoundCall {
  static constexpr int kDefault = -1;
  std::vector<int> value_of_param;
  int variadic_count = 0;
};

// positional_is_int[i]: whether positional value i is a number (decides the variadic form). kw_names: a tuple of str, or null.
// Throws Error(Type) in Python's and torch's manner: "add() missing 1 required argument: 'other'", "... got an unexpected keyword argument 'q'".
BoundCall bind_call(const Schema& schema, const std::vector<bool>& positional_is_int, BorrowedRef kw_names);

// What an overload is chosen by: the form of a value, known for symbolic values too.
enum class ValueForm : uint8_t {
  None,
  Tensor,
  TensorList,
  Bool,
  Int,
  Float,
  IntList,
  Dtype,
  Str,
  Device,
  MemoryFormat,
  Other
};
ValueForm value_form(BorrowedRef value);
bool accepts(const Param& param, ValueForm form);

// The rows of an op's Python name, in the order in which they are tried.
const std::vector<const OpRow*>& overloads_of(const OpRow& row);

struct BoundOp {
  const OpRow* row;
  BoundCall call;
};
// Any row of an op's overloads ("max" stands for "max", "max.dim", "max.other"): binds the first one that takes the values.
// forms: of the positional values, then of the keywords'. An op with one row binds by names and counts only, so that the
// conversion can name the wrong argument. Throws Error(Type).
BoundOp bind_overload(const OpRow& row, std::span<const ValueForm> forms, BorrowedRef kw_names);

// What an op takes as a list: tuples and lists, of subclasses too, and no other sequence.
inline bool is_list_argument(PyTypeObject* type) {
  return PyType_HasFeature(type, Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS) != 0;
}

// Converts one Python object for one parameter; throws Error(Type) naming op, argument and type found. Tensors are unwrapped.
Arg arg_from_python(const OpRow& row, const Param& param, BorrowedRef value);
// The Python object for a non-tensor Arg (graph nodes' args in the FX face); tensors are wrapped.
Ref arg_to_python(const Arg& arg);

}  // namespace md
