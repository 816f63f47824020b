#include "snapshot/operator_methods.h"

#include "bytecode/binary_operators.h"

namespace md {

namespace {

// Indexed by Py_LT .. Py_GE.
constexpr OperatorMethods kComparisons[] = {{nullptr, "__lt__", "__gt__", "<"},  {nullptr, "__le__", "__ge__", "<="},
                                            {nullptr, "__eq__", "__eq__", "=="}, {nullptr, "__ne__", "__ne__", "!="},
                                            {nullptr, "__gt__", "__lt__", ">"},  {nullptr, "__ge__", "__le__", ">="}};

// Returns NotImplemented if the type has no such method.
Ref try_method(PyObject* self, PyObject* other, const char* name) {
  Ref text = Ref::steal(PyUnicode_InternFromString(name));
  if (!text) return nullptr;
  PyObject* method = _PyType_Lookup(Py_TYPE(self), text);
  if (method == nullptr) return Ref::share(Py_NotImplemented);
  descrgetfunc bind = Py_TYPE(method)->tp_descr_get;
  Ref bound =
      bind != nullptr ? Ref::steal(bind(method, self, reinterpret_cast<PyObject*>(Py_TYPE(self)))) : Ref::share(method);
  return bound ? Ref::steal(PyObject_CallOneArg(bound, other)) : Ref();
}

}  // namespace

OperatorMethods operator_methods(const Instruction& at) {
  if (at.op == Opcode::COMPARE_OP) return kComparisons[at.arg];
  const BinaryOperator& row = binary_operator(at.arg);
  if (is_in_place(at.arg)) return {row.in_place, row.method, row.reflected, row.in_place_sign};
  return {nullptr, row.method, row.reflected, row.sign_in_errors};
}

Ref finish_operator(const Instruction& at, BorrowedRef operands, Ref result) {
  if (!result || result.get() != Py_NotImplemented) return result;
  PyObject* left = PyTuple_GET_ITEM(operands.get(), 0);
  PyObject* right = PyTuple_GET_ITEM(operands.get(), 1);
  auto tried = static_cast<OperatorTry>(PyLong_AsLong(PyTuple_GET_ITEM(operands.get(), 2)));
  OperatorMethods names = operator_methods(at);
  bool compares = at.op == Opcode::COMPARE_OP;
  if (tried == OperatorTry::InPlace) result = try_method(left, right, names.plain);
  bool may_reflect = tried != OperatorTry::Reflected && (compares || Py_TYPE(left) != Py_TYPE(right));
  if (result && result.get() == Py_NotImplemented && may_reflect) result = try_method(right, left, names.reflected);
  if (!result || result.get() != Py_NotImplemented) return result;
  if (compares && (at.arg == Py_EQ || at.arg == Py_NE))
    return Ref::share((left == right) == (at.arg == Py_EQ) ? Py_True : Py_False);
  PyErr_Format(PyExc_TypeError,
               compares ? "'%s' not supported between instances of '%.100s' and '%.100s'"
                        : "unsupported operand type(s) for %s: '%.100s' and '%.100s'",
               names.sign, Py_TYPE(left)->tp_name, Py_TYPE(right)->tp_name);
  return nullptr;
}

}  // namespace md
