#include "frontends/numpy/library.h"

#include <algorithm>

#include "base/error.h"
#include "guards/constants.h"

namespace md::numpy {
namespace {

NumpyLibrary loaded;

PyObject* attribute(BorrowedRef object, const char* name) {
  return check(PyObject_GetAttrString(object, name)).release();
}

void find_functions(void** api) {
  ArrayApi& functions = loaded.functions;
  functions.descr_from_type = reinterpret_cast<decltype(functions.descr_from_type)>(api[45]);
  functions.scalar = reinterpret_cast<decltype(functions.scalar)>(api[60]);
  functions.new_from_descr = reinterpret_cast<decltype(functions.new_from_descr)>(api[94]);
  functions.set_base_object = reinterpret_cast<decltype(functions.set_base_object)>(api[282]);
  loaded.array = static_cast<PyTypeObject*>(api[2]);
}

// dtype("int64") is the object that arrays of this dtype have.
void find_dtypes(BorrowedRef module) {
  Ref dtype_type = check(PyObject_GetAttrString(module, "dtype"));
  for (int i = 0; i < kDTypeCount; ++i) {
    auto at = static_cast<size_t>(i);
    const char* name = row(static_cast<DType>(i)).names.numpy;
    loaded.descrs[at] = nullptr;
    loaded.scalars[at] = nullptr;
    if (name == nullptr) continue;
    loaded.descrs[at] = check(PyObject_CallFunction(dtype_type, "s", name)).release();
    loaded.scalars[at] = reinterpret_cast<PyTypeObject*>(attribute(loaded.descrs[at], "type"));
    register_constant_type(Py_TYPE(loaded.descrs[at]));
  }
}

template <typename Object>
bool found_in(const std::array<Object*, kDTypeCount>& table, const Object* object, DType& dtype) {
  auto found = std::ranges::find(table, object);
  if (object == nullptr || found == table.end()) return false;
  dtype = static_cast<DType>(found - table.begin());
  return true;
}

}  // namespace

NumpyLibrary& library() { return loaded; }

void load(BorrowedRef numpy, BorrowedRef umath) {
  Ref capsule = check(PyObject_GetAttrString(umath, "_ARRAY_API"));
  auto** api = static_cast<void**>(PyCapsule_GetPointer(capsule, nullptr));
  if (api == nullptr) throw PythonError();
  find_functions(api);
  find_dtypes(numpy);
  loaded.asarray = attribute(numpy, "asarray");
  loaded.ufunc = reinterpret_cast<PyTypeObject*>(attribute(numpy, "ufunc"));
  loaded.make_error_state = attribute(umath, "_make_extobj");
  loaded.error_state = attribute(umath, "_extobj_contextvar");
}

bool dtype_of_descr(const PyObject* descr, DType& dtype) { return found_in(loaded.descrs, descr, dtype); }
bool dtype_of_scalar_type(const PyTypeObject* type, DType& dtype) { return found_in(loaded.scalars, type, dtype); }

}  // namespace md::numpy
