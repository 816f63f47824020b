#include "snapshot/computations.h"

namespace md {

namespace {

PyObject* join(PyObject* const* part, size_t count) {
  Ref pieces = check(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; i < count; ++i) PyTuple_SET_ITEM(pieces.get(), i, Py_NewRef(part[i]));
  static PyObject* const empty = PyUnicode_InternFromString("");
  return PyUnicode_Join(empty, pieces);
}

using Evaluate = PyObject* (*)(PyObject* const* part, size_t count);
struct ComputationRow {
  const char* name;
  Raises raises;
  Evaluate evaluate;
};
constexpr ComputationRow kRows[] = {
#define MD_COMPUTATION(name, raises, expression) \
  {#name, Raises::raises,                        \
   []([[maybe_unused]] PyObject* const* part, [[maybe_unused]] size_t count) -> PyObject* { return expression; }},
#include "snapshot/computations.def"
#undef MD_COMPUTATION
};

}  // namespace

const char* computation_name(Computation computation) { return kRows[static_cast<int>(computation)].name; }

Raises raises(Computation computation) { return kRows[static_cast<int>(computation)].raises; }

Ref compute(Computation computation, std::span<PyObject* const> parts) {
  return Ref::steal(kRows[static_cast<int>(computation)].evaluate(parts.data(), parts.size()));
}

}  // namespace md
