#include "cpython/text.h"

#include "cpython/errors.h"

namespace md {

std::string_view text_view(BorrowedRef string) {
  Py_ssize_t length = 0;
  const char* chars = PyUnicode_AsUTF8AndSize(string, &length);
  if (chars != nullptr) return {chars, static_cast<size_t>(length)};
  PyErr_Clear();
  return {};
}

std::string text_of(BorrowedRef string) {
  if (!string || !PyUnicode_Check(string.get())) return "?";
  ErrorAside aside;
  std::string text = "?";
  if (std::string_view exact = text_view(string); exact.data() != nullptr) {
    text = exact;
  } else if (Ref bytes = Ref::steal(PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace"))) {
    text.assign(PyBytes_AS_STRING(bytes.get()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.get())));
  } else {
    PyErr_Clear();
  }
  return text;
}

}  // namespace md
