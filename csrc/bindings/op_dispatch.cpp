#include "bindings/op_dispatch.h"

#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "bindings/tensor_buffer.h"
#include "bindings/tensor_object.h"
#include "cpython/errors.h"
#include "frontends/arg_binding.h"
#include "frontends/eager.h"

namespace md {
namespace {

// The values of a call: self, positional, then one for each keyword.
class CallValues {
 public:
  CallValues(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names)
      : self_(self), args_(args), shift_(self == nullptr ? 0 : 1), positional_(static_cast<int>(arg_count) + shift_),
        kw_names_(kw_names) {}

  int positional_count() const { return positional_; }
  BorrowedRef kw_names() const { return kw_names_; }
  BorrowedRef operator[](int i) const { return i < shift_ ? self_ : args_[i - shift_]; }

 private:
  PyObject* self_;
  PyObject* const* args_;
  int shift_;
  int positional_;
  PyObject* kw_names_;
};

bool is_int(BorrowedRef value) {
  if (PyLong_Check(value.get())) return !PyBool_Check(value.get());
  return PyIndex_Check(value.get()) && !is_tensor(value) && !PySequence_Check(value.get());
}

void push_defaults(const OpRow& row, std::vector<Arg>& args) {
  for (size_t i = args.size(); i < row.schema.params.size(); ++i) args.push_back(*row.schema.params[i].default_value);
}

// Positional values that are one to one with the first parameters, the others having defaults.
bool is_plain(const Schema& schema, const CallValues& values) {
  int given = values.positional_count();
  if (values.kw_names() || given > schema.positional_count()) return false;
  for (int i = 0; i < static_cast<int>(schema.params.size()); ++i) {
    const Param& param = schema.params[i];
    if (i < given ? param.variadic_ints : !param.default_value) return false;
  }
  return true;
}

std::vector<Arg> plain_args(const OpRow& row, const CallValues& values) {
  std::vector<Arg> args;
  args.reserve(row.schema.params.size());
  for (int i = 0; i < values.positional_count(); ++i) {
    args.push_back(arg_from_python(row, row.schema.params[i], values[i]));
  }
  push_defaults(row, args);
  return args;
}

Arg variadic_arg(const OpRow& row, const Param& param, const CallValues& values, int first, int count) {
  Ref tuple = check(PyTuple_New(count));
  for (int i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(values[first + i].get()));
  return arg_from_python(row, param, tuple);
}

std::vector<Arg> bound_args(const OpRow& row, const CallValues& values) {
  std::vector<bool> positional_is_int;
  for (int i = 0; i < values.positional_count(); ++i) positional_is_int.push_back(is_int(values[i]));
  BoundCall bound = bind_call(row.schema, positional_is_int, values.kw_names());
  std::vector<Arg> args;
  args.reserve(row.schema.params.size());
  for (size_t i = 0; i < row.schema.params.size(); ++i) {
    const Param& param = row.schema.params[i];
    int value = bound.value_of_param[i];
    if (value == BoundCall::kDefault) {
      args.push_back(*param.default_value);
    } else if (param.variadic_ints && bound.variadic_count > 0) {
      args.push_back(variadic_arg(row, param, values, value, bound.variadic_count));
    } else {
      args.push_back(arg_from_python(row, param, values[value]));
    }
  }
  return args;
}

Ref wrap_tuple(std::vector<Tensor>& results) {
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; i < results.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_tensor(std::move(results[i])).release());
  }
  return tuple;
}

// An op that gives back its very argument (contiguous, an in-place op) gives back the argument's object.
PyObject* find_same(const Tensor& result, BorrowedRef value) {
  return value && is_tensor(value) && is_same(tensor_of(value), result) ? value.get() : nullptr;
}

PyObject* wrap_call(const OpRow& row, BorrowedRef first, std::vector<Tensor> results) {
  if (results.size() == 1) {
    if (PyObject* same = find_same(results[0], first)) return Py_NewRef(same);
  }
  return wrap_results(row, std::move(results)).release();
}

bool is_numpy_array(BorrowedRef value) { return std::strcmp(value.type()->tp_name, "numpy.ndarray") == 0; }

// A tensor, a number or a NumPy array as an operand; nullopt: the operator is not ours.
std::optional<Arg> operand(const OpRow& row, const Param& param, BorrowedRef value) {
  if (is_numpy_array(value)) {
    bool writable = false;
    return tensor_over_buffer(value, row.name.c_str(), &writable);
  }
  bool ours = is_tensor(value) || PyFloat_Check(value.get()) || PyLong_Check(value.get());
  if (!ours) {
    PyNumberMethods* methods = value.type()->tp_as_number;
    bool number_like = methods != nullptr && (methods->nb_index != nullptr || methods->nb_float != nullptr);
    if (!number_like || PySequence_Check(value.get())) return std::nullopt;
  }
  return arg_from_python(row, param, value);
}

}  // namespace

Ref wrap_results(const OpRow& row, std::vector<Tensor> results) {
  bool one = row.schema.returns.size() == 1 && row.schema.returns[0] == ParamType::Tensor;
  return one ? wrap_tensor(std::move(results.at(0))) : wrap_tuple(results);
}

PyObject* dispatch(const OpRow& row, PyObject* self, PyObject* const* args, Py_ssize_t arg_count,
                   PyObject* kw_names) noexcept {
  try {
    CallValues values(self, args, arg_count, kw_names);
    std::vector<Arg> converted = is_plain(row.schema, values) ? plain_args(row, values) : bound_args(row, values);
    BorrowedRef first = values.positional_count() > 0 ? values[0] : BorrowedRef();
    return wrap_call(row, first, apply_op(row, converted));
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

PyObject* dispatch_operator(const OpRow& row, PyObject* a, PyObject* b) noexcept {
  try {
    std::optional<Arg> first = operand(row, row.schema.params[0], a);
    std::optional<Arg> second = operand(row, row.schema.params[1], b);
    if (!first || !second) return Py_NewRef(Py_NotImplemented);
    std::vector<Arg> args;
    args.reserve(row.schema.params.size());
    args.push_back(std::move(*first));
    args.push_back(std::move(*second));
    push_defaults(row, args);
    return wrap_call(row, nullptr, apply_op(row, args));
  } catch (...) {
    set_error_from_current_exception();
    return nullptr;
  }
}

PyObject* dispatch_operator(const OpRow& row, PyObject* a) noexcept { return dispatch(row, a, nullptr, 0, nullptr); }

}  // namespace md
