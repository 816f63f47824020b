#include "snapshot/operator_methods.h"

namespace md {

namespace {

struct BinaryRow {
  const char *in_place, *plain, *reflected, *sign, *in_place_sign;
};
// Indexed by BINARY_OP's argument; the second half of the arguments is the in-place forms.
constexpr BinaryRow kBinary[] = {{"__iadd__", "__add__", "__radd__", "+", "+="},
                                 {"__iand__", "__and__", "__rand__", "&", "&="},
                                 {"__ifloordiv__", "__floordiv__", "__rfloordiv__", "//", "//="},
                                 {"__ilshift__", "__lshift__", "__rlshift__", "<<", "<<="},
                                 {"__imatmul__", "__matmul__", "__rmatmul__", "@", "@="},
                                 {"__imul__", "__mul__", "__rmul__", "*", "*="},
                                 {"__imod__", "__mod__", "__rmod__", "%", "%="},
                                 {"__ior__", "__or__", "__ror__", "|", "|="},
                                 {"__ipow__", "__pow__", "__rpow__", "** or pow()", "**="},
                                 {"__irshift__", "__rshift__", "__rrshift__", ">>", ">>="},
                                 {"__isub__", "__sub__", "__rsub__", "-", "-="},
                                 {"__itruediv__", "__truediv__", "__rtruediv__", "/", "/="},
                                 {"__ixor__", "__xor__", "__rxor__", "^", "^="}};
constexpr int kBinaryCount = static_cast<int>(std::size(kBinary));

// Indexed by Py_LT .. Py_GE.
constexpr OperatorMethods kComparisons[] = {{nullptr, "__lt__", "__gt__", "<"},  {nullptr, "__le__", "__ge__", "<="},
                                            {nullptr, "__eq__", "__eq__", "=="}, {nullptr, "__ne__", "__ne__", "!="},
                                            {nullptr, "__gt__", "__lt__", ">"},  {nullptr, "__ge__", "__le__", ">="}};

// NotImplemented where the type has no such method.
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
  const BinaryRow& row = kBinary[at.arg % kBinaryCount];
  bool in_place = at.arg >= kBinaryCount;
  return {in_place ? row.in_place : nullptr, row.plain, row.reflected, in_place ? row.in_place_sign : row.sign};
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
