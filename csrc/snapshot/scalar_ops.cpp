#include "snapshot/scalar_ops.h"

namespace md {

namespace {

PyObject* join(PyObject* const* part, size_t count) {
  Ref pieces = check(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(pieces.get(), i, Py_NewRef(part[i]));
  static PyObject* const empty = PyUnicode_InternFromString("");
  return PyUnicode_Join(empty, pieces);
}

using Evaluate = PyObject* (*)(PyObject* const* part, size_t count);
struct ScalarOpRow {
  const char* name;
  Raises raises;
  Evaluate evaluate;
};
constexpr ScalarOpRow kRows[] = {
#define MD_SCALAR_OP(name, raises, expression, fixed, on_sizes, compare, in_graph) \
  {#name, Raises::raises,                                                          \
   []([[maybe_unused]] PyObject* const* part, [[maybe_unused]] size_t count) -> PyObject* { return expression; }},
#include "snapshot/scalar_ops.def"
#undef MD_SCALAR_OP
};

}  // namespace

const char* scalar_op_name(ScalarOp scalar_op) { return kRows[static_cast<int>(scalar_op)].name; }

Raises raises(ScalarOp scalar_op) { return kRows[static_cast<int>(scalar_op)].raises; }

Ref compute(ScalarOp scalar_op, std::span<PyObject* const> parts) {
  return Ref::steal(kRows[static_cast<int>(scalar_op)].evaluate(parts.data(), parts.size()));
}

}  // namespace md
