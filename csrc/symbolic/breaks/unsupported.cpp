// Turns a graph break into the Python exception.
#include "cpython/errors.h"
#include "cpython/imports.h"
#include "cpython/ref.h"
#include "symbolic/breaks/graph_break.h"

namespace md {
namespace {

Ref text(const std::string& value) {
  return check(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "surrogateescape"));
}

// [(file, line, function), ...]; the exception class makes a traceback.StackSummary of it on demand.
Ref stack_of(const GraphBreak& graph_break) {
  Ref list = check(PyList_New(0));
  for (const SourceLine& line : graph_break.user_stack) {
    Ref file = text(line.file);
    Ref function = text(line.function);
    Ref entry = check(Py_BuildValue("(OiO)", file.get(), line.line, function.get()));
    check_status(PyList_Append(list, entry));
  }
  return list;
}

}  // namespace

void raise_unsupported(const GraphBreak& graph_break) {
  const BreakRow& row = break_row(graph_break.reason);
  Ref type = imported("minidynamo._dynamo.exc", "Unsupported");
  Ref message = text(raised_text(graph_break));
  Ref stack = stack_of(graph_break);
  Ref exception = check(PyObject_CallFunction(type, "OssO", message.get(), row.title, row.id, stack.get()));
  PyErr_SetObject(type, exception);
  throw CaptureError();
}

}  // namespace md
