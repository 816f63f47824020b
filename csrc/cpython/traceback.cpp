#include "cpython/traceback.h"

#include "cpython/ref.h"

#include <frameobject.h>

namespace md {

void add_traceback_entry(const char* file, int line, const char* function) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Ref globals = Ref::steal(PyDict_New());
  Ref code = Ref::steal(reinterpret_cast<PyObject*>(PyCode_NewEmpty(file, function, line)));
  Ref frame;
  if (globals && code)
    frame = Ref::steal(reinterpret_cast<PyObject*>(
        PyFrame_New(PyThreadState_Get(), reinterpret_cast<PyCodeObject*>(code.get()), globals, nullptr)));
  PyErr_Clear();  // out of memory: leave the entry out
  PyErr_Restore(type, value, traceback);
  if (frame) PyTraceBack_Here(reinterpret_cast<PyFrameObject*>(frame.get()));
}

}  // namespace md
