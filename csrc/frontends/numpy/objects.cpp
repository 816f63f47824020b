#include "frontends/numpy/objects.h"

#include "base/error.h"
#include "cpython/tuples.h"
#include "frontends/dtype_object.h"
#include "frontends/numpy/library.h"
#include "frontends/size_object.h"

namespace md::numpy {

BorrowedRef dtype_object(DType dtype) { return library().descrs[static_cast<size_t>(dtype)]; }

Ref size_object(std::span<const int64_t> sizes) { return tuple_of(sizes); }

Ref own_face(BorrowedRef object) {
  struct Builtin {
    PyTypeObject* type;
    DType dtype;
  };
  static const Builtin kBuiltins[] = {{&PyFloat_Type, DType::float64},
                                      {&PyLong_Type, DType::int64},
                                      {&PyBool_Type, DType::bool_},
                                      {&PyComplex_Type, DType::complex128}};
  DType dtype = DType::float64;
  if (dtype_of_descr(object.get(), dtype)) return Ref::share(dtype_to_python(dtype));
  if (!PyType_Check(object.get())) return Ref::share(object);
  auto* type = reinterpret_cast<PyTypeObject*>(object.get());
  if (dtype_of_scalar_type(type, dtype)) return Ref::share(dtype_to_python(dtype));
  for (const Builtin& each : kBuiltins)
    if (each.type == type) return Ref::share(dtype_to_python(each.dtype));
  return Ref::share(object);
}

Ref numpy_face(BorrowedRef object) {
  if (object.type() == md::size_type()) return check(PySequence_Tuple(object));
  if (object.type() != md::dtype_type()) return Ref::share(object);
  BorrowedRef found = dtype_object(*dtype_from_python(object));
  return Ref::share(found ? found : object);
}

}  // namespace md::numpy
