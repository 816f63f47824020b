#include "guards/text_stream.h"

#include <algorithm>
#include <string>

#include "cpython/imports.h"
#include "cpython/object_layout.h"
#include "guards/constants.h"

namespace md {

namespace {

PyTypeObject* io_type(const char* name) {
  return reinterpret_cast<PyTypeObject*>(imported("_io", name).release());  // never released
}

struct IoTypes {
  PyTypeObject* text = io_type("TextIOWrapper");
  PyTypeObject* string = io_type("StringIO");
  PyTypeObject* bytes = io_type("BytesIO");
  PyTypeObject* writer = io_type("BufferedWriter");
  PyTypeObject* random = io_type("BufferedRandom");
  PyTypeObject* file = io_type("FileIO");
  Py_ssize_t buffer = object_member_offset(text, "buffer");
  Py_ssize_t encoding = object_member_offset(text, "encoding");
  Py_ssize_t raw_of_writer = object_member_offset(writer, "raw");
  Py_ssize_t raw_of_random = object_member_offset(random, "raw");
};

const IoTypes& io_types() {
  static const IoTypes types;
  return types;
}

// Whether the methods that print() uses are inherited from the base.
bool writes_like(PyObject* object, PyTypeObject* base) {
  static PyObject* const kNames[] = {PyUnicode_InternFromString("write"), PyUnicode_InternFromString("flush")};
  PyTypeObject* type = Py_TYPE(object);
  if (!PyType_IsSubtype(type, base) || type->tp_getattro != base->tp_getattro) return false;
  return std::ranges::all_of(kNames, [&](PyObject* name) {
    PyObject* own = nullptr;
    return _PyType_Lookup(type, name) == _PyType_Lookup(base, name) && pv_instance_lookup(object, name, &own) == 0;
  });
}

// Whether its encoder is a C function.
bool has_plain_encoding(PyObject* stream) {
  Py_ssize_t at = io_types().encoding;
  PyObject* encoding = at >= 0 ? object_member(stream, at) : nullptr;
  if (encoding == nullptr || !PyUnicode_CheckExact(encoding)) return false;
  static const char* const kNames[] = {"utf-8",      "UTF-8",  "utf8",       "ascii",          "us-ascii", "latin-1",
                                       "iso-8859-1", "latin1", "ISO-8859-1", "ANSI_X3.4-1968", "US-ASCII", "utf-8-sig"};
  return std::ranges::any_of(kNames,
                             [&](const char* name) { return PyUnicode_CompareWithASCIIString(encoding, name) == 0; });
}

bool is_plain_buffer(PyObject* buffer) {
  const IoTypes& io = io_types();
  if (buffer == nullptr) return false;
  if (Py_IS_TYPE(buffer, io.bytes)) return true;
  Py_ssize_t at = Py_IS_TYPE(buffer, io.writer)   ? io.raw_of_writer
                  : Py_IS_TYPE(buffer, io.random) ? io.raw_of_random
                                                  : -1;
  PyObject* raw = at >= 0 ? object_member(buffer, at) : nullptr;
  return raw != nullptr && Py_IS_TYPE(raw, io.file);
}

}  // namespace

bool is_plain_text_stream(PyObject* object) {
  const IoTypes& io = io_types();
  if (writes_like(object, io.string)) return true;
  return writes_like(object, io.text) && io.buffer >= 0 && is_plain_buffer(object_member(object, io.buffer)) &&
         has_plain_encoding(object);
}

}  // namespace md
