// Converts a Python call to an op's arguments, in two steps shared by eager dispatch and capture: assign values to
// parameters, then convert values to Arg.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "cpython/ref.h"
#include "tensor/ops/op_row.h"

namespace md {

// For each parameter: the index of its value among the positional, then keyword values, or kDefault. A variadic_ints
// parameter passed as separate numbers (x.view(2, 3)) has `variadic_count` values starting at its index.
struct BoundCall {
  static constexpr int kDefault = -1;
  std::vector<int> value_of_param;
  int variadic_count = 0;
};

// positional_is_int[i]: whether positional value i is a number (selects the variadic form). kw_names: a tuple of str,
// or null. Throws Error(Type) with the messages of Python and torch: "add() missing 1 required argument: 'other'", "...
// got an unexpected keyword argument 'q'".
BoundCall bind_call(const Schema& schema, const std::vector<bool>& positional_is_int, BorrowedRef kw_names);

// What overload resolution looks at: the form of a value, known for symbolic values too.
enum class ValueForm : uint8_t {
  None,
  Tensor,
  TensorList,
  Bool,
  Int,
  Float,
  Complex,
  IntList,
  Dtype,
  Str,
  Device,
  MemoryFormat,
  Other
};
ValueForm value_form(BorrowedRef value);
bool accepts(const Param& param, ValueForm form);
// Whether a Python complex number stands for a tensor there.
bool takes_complex_number(const OpRow& row, const Param& param);

// The rows with an op's Python name, in the order in which they are tried.
const std::vector<const OpRow*>& overloads_of(const OpRow& row);

struct BoundOp {
  const OpRow* row;
  BoundCall call;
};
// Any row of an op's overloads ("max" represents "max", "max.dim", "max.other"): binds the first that accepts the
// values. forms: of the positional, then of the keyword values. An op with one row binds by names and counts only, so
// that the conversion can name the wrong argument. Throws Error(Type).
BoundOp bind_overload(const OpRow& row, std::span<const ValueForm> forms, BorrowedRef kw_names);

// Whether an op accepts it as a list: tuples and lists, including subclasses, and no other sequence.
inline bool is_list_argument(PyTypeObject* type) {
  return PyType_HasFeature(type, Py_TPFLAGS_TUPLE_SUBCLASS | Py_TPFLAGS_LIST_SUBCLASS) != 0;
}

// Converts one Python object for one parameter; throws Error(Type) naming op, argument
// and actual type. Unwraps tensors.
Arg arg_from_python(const OpRow& row, const Param& param, BorrowedRef value);
// The Python object for a non-tensor Arg (args of graph nodes in FX); wraps tensors.
Ref arg_to_python(const Arg& arg);

}  // namespace md
