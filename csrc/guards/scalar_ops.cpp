#include "guards/scalar_ops.h"

#include <cctype>
#include <string_view>

#include "base/error.h"

namespace md {

namespace {

PyObject* join(PyObject* const* part, size_t count) {
  Ref pieces = check(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(pieces.get(), i, Py_NewRef(part[i]));
  static PyObject* const empty = PyUnicode_InternFromString("");
  return PyUnicode_Join(empty, pieces);
}

// Results of more bits are left to the program, at its own place.
constexpr size_t kMostBits = 1 << 16;

PyObject* too_large() {
  PyErr_SetString(PyExc_OverflowError, "a number that is too large to be computed ahead");
  return nullptr;
}

size_t bit_length(PyObject* integer) {
  static PyObject* const kBitLength = PyUnicode_InternFromString("bit_length");
  return PyLong_AsSize_t(check(PyObject_CallMethodNoArgs(integer, kBitLength)));
}

// Whether `count` times `width` bits are beyond the limit.
bool counts_too_many(PyObject* count, size_t width) {
  int overflow = 0;
  long long number = PyLong_AsLongLongAndOverflow(count, &overflow);
  if (overflow < 0 || (overflow == 0 && number < 0)) return false;
  return width != 0 && (overflow > 0 || static_cast<size_t>(number) > kMostBits / width);
}

PyObject* shifted_left(PyObject* const* part) {
  bool is_zero = PyObject_IsTrue(part[0]) == 0;
  return !is_zero && counts_too_many(part[1], 1) ? too_large() : PyNumber_Lshift(part[0], part[1]);
}

PyObject* power(PyObject* const* part) {
  bool is_whole = PyLong_Check(part[0]) && PyLong_Check(part[1]);
  // The powers of 0, 1 and -1 stay small.
  size_t width = is_whole ? bit_length(part[0]) : 0;
  return width > 1 && counts_too_many(part[1], width) ? too_large() : PyNumber_Power(part[0], part[1], Py_None);
}

// The first of the smallest, or of the largest, as min() and max() choose.
PyObject* extreme(PyObject* const* part, size_t count, int op) {
  PyObject* best = part[0];
  for (size_t i = 1; i < count; ++i) {
    int better = PyObject_RichCompareBool(part[i], best, op);
    if (better < 0) return nullptr;
    if (better == 1) best = part[i];
  }
  return Py_NewRef(best);
}

using Evaluate = PyObject* (*)(PyObject* const* part, size_t count);
struct ScalarOpRow {
  const char* name;
  std::string_view sign;
  Raises raises;
  Evaluate evaluate;
};
constexpr ScalarOpRow kRows[] = {
#define MD_SCALAR_OP(name, sign, raises, expression, fixed, on_sizes, compare, in_graph) \
  {#name, sign, Raises::raises,                                                          \
   []([[maybe_unused]] PyObject* const* part, [[maybe_unused]] size_t count) -> PyObject* { return expression; }},
#include "guards/scalar_ops.def"
#undef MD_SCALAR_OP
};

}  // namespace

const char* scalar_op_name(ScalarOp scalar_op) { return kRows[static_cast<int>(scalar_op)].name; }

std::string scalar_op_text(ScalarOp scalar_op, std::span<const std::string> operands) {
  std::string_view sign = kRows[static_cast<int>(scalar_op)].sign;
  bool is_operator = !sign.empty() && (std::isalpha(sign[0]) == 0 || sign.back() == ' ');
  if (is_operator && operands.size() == 1) return str_cat(sign, operands[0]);
  if (is_operator) return str_cat("(", operands[0], " ", sign, " ", operands[1], ")");
  std::string list;
  for (const std::string& operand : operands.subspan(sign.empty() ? 1 : 0))
    list += (list.empty() ? "" : ", ") + operand;
  return str_cat(sign.empty() ? std::string_view(operands[0]) : sign, "(", list, ")");
}

Raises raises(ScalarOp scalar_op) { return kRows[static_cast<int>(scalar_op)].raises; }

Ref compute(ScalarOp scalar_op, std::span<PyObject* const> parts) {
  return Ref::steal(kRows[static_cast<int>(scalar_op)].evaluate(parts.data(), parts.size()));
}

}  // namespace md
