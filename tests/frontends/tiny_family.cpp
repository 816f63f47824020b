// A second tensor family, as small as one can be: tiny.Array, up to two dims of double over memory of its own, with
// views, a version counter, read-only arrays, and a mode that its functions ask for. One file holds the type, its
// functions, and the row that makes it a family.
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>

#include "frontends/family_api.h"
#include "frontends/tensor_facts.h"

using namespace md;

namespace {

struct Array {
  PyObject_HEAD double* data;  // owned if `base` is null
  PyObject* base;              // owned: the array whose memory this is
  int64_t sizes[2], strides[2];
  int64_t version;
  int rank;
  bool read_only, poisoned;
};

extern PyTypeObject array_type;
const FamilyApi* api;
TensorFamily family;
uint64_t mode = 0;  // what tiny.mode() returns

Array* as_array(PyObject* object) { return reinterpret_cast<Array*>(object); }
int64_t count_of(const Array& array) {
  int64_t count = 1;
  for (int i = 0; i < array.rank; ++i) count *= array.sizes[i];
  return count;
}

PyObject* new_array(int rank, const int64_t* sizes) {
  auto* array = as_array(array_type.tp_alloc(&array_type, 0));
  if (array == nullptr) return nullptr;
  array->rank = rank;
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    array->sizes[i] = sizes[i];
    array->strides[i] = stride;
    stride *= sizes[i];
  }
  array->data = new double[static_cast<size_t>(count_of(*array))];
  return reinterpret_cast<PyObject*>(array);
}

PyObject* new_view(PyObject* owner, const TensorView& view) {
  PyObject* object = array_type.tp_alloc(&array_type, 0);
  if (object == nullptr) return nullptr;
  Array* array = as_array(object);
  array->rank = view.rank;
  for (int i = 0; i < view.rank; ++i) {
    array->sizes[i] = view.sizes[i];
    array->strides[i] = view.strides[i];
  }
  array->data = static_cast<double*>(view.data);
  array->base = Py_NewRef(as_array(owner)->base != nullptr ? as_array(owner)->base : owner);
  array->read_only = as_array(owner)->read_only;
  return object;
}

void dealloc(PyObject* self) {
  Array* array = as_array(self);
  if (array->base == nullptr) delete[] array->data;
  Py_CLEAR(array->base);
  Py_TYPE(self)->tp_free(self);
}

double& at(const Array& array, int64_t index) {
  int64_t place = 0;
  for (int i = array.rank - 1; i >= 0; --i) {
    place += index % array.sizes[i] * array.strides[i];
    index /= array.sizes[i];
  }
  return array.data[place];
}

bool is_array(PyObject* object) { return Py_IS_TYPE(object, &array_type); }

PyObject* type_error(const char* text) {
  PyErr_SetString(PyExc_TypeError, text);
  return nullptr;
}

// An array of the same sizes, or a number.
template <typename Apply>
PyObject* combined(PyObject* a, PyObject* b, Apply apply) {
  if (!is_array(a) || (is_array(b) && count_of(*as_array(a)) != count_of(*as_array(b)))) Py_RETURN_NOTIMPLEMENTED;
  double number = 0;
  if (!is_array(b)) {
    if (!PyFloat_Check(b) && !PyLong_Check(b)) Py_RETURN_NOTIMPLEMENTED;
    number = PyFloat_AsDouble(b);
  }
  PyObject* result = new_array(as_array(a)->rank, as_array(a)->sizes);
  for (int64_t i = 0; result != nullptr && i < count_of(*as_array(a)); ++i)
    at(*as_array(result), i) = apply(at(*as_array(a), i), is_array(b) ? at(*as_array(b), i) : number);
  return result;
}

PyObject* add(PyObject* a, PyObject* b) {
  return combined(a, b, [](double x, double y) { return x + y; });
}
PyObject* multiply(PyObject* a, PyObject* b) {
  return combined(a, b, [](double x, double y) { return x * y; });
}

PyObject* written(PyObject* self, PyObject* values) {
  Array* array = as_array(self);
  if (values == nullptr || values == Py_NotImplemented) return values;
  if (array->read_only) {
    Py_DECREF(values);
    PyErr_SetString(PyExc_ValueError, "the array is read-only");
    return nullptr;
  }
  for (int64_t i = 0; i < count_of(*array); ++i) at(*array, i) = at(*as_array(values), i);
  Py_DECREF(values);
  ++array->version;
  return Py_NewRef(self);
}
PyObject* scale_(PyObject* self, PyObject* factor) { return written(self, multiply(self, factor)); }
PyObject* add_in_place(PyObject* self, PyObject* other) { return written(self, add(self, other)); }

// a[i] and a[i:j] of the first dim, as views.
PyObject* item(PyObject* self, PyObject* key) {
  Array* array = as_array(self);
  TensorView view{.rank = array->rank, .sizes = array->sizes, .strides = array->strides, .data = array->data};
  int64_t sizes[2];
  if (PySlice_Check(key)) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0) return nullptr;
    std::copy(array->sizes, array->sizes + 2, sizes);
    sizes[0] = PySlice_AdjustIndices(array->sizes[0], &start, &stop, step);
    view.sizes = sizes;
    view.data = array->data + start * array->strides[0];
    if (step != 1) return type_error("a step is not supported");
    return new_view(self, view);
  }
  Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
  if (index == -1 && PyErr_Occurred() != nullptr) return nullptr;
  view.rank -= 1;
  view.sizes += 1;
  view.strides = array->strides + 1;
  view.data = array->data + index * array->strides[0];
  return new_view(self, view);
}

int store_item(PyObject* self, PyObject* key, PyObject* value) {
  PyObject* window = item(self, key);
  if (window == nullptr) return -1;
  PyObject* values = is_array(value) ? Py_NewRef(value) : multiply(window, PyFloat_FromDouble(0));
  if (values != nullptr && !is_array(value)) values = add(values, value);
  PyObject* done = written(window, values);
  Py_DECREF(window);
  if (done == nullptr) return -1;
  Py_DECREF(done);
  ++as_array(self)->version;
  return 0;
}

// PEP 3118: memoryview(array).
int get_buffer(PyObject* self, Py_buffer* view, int) {
  Array* array = as_array(self);
  std::memset(view, 0, sizeof *view);
  view->buf = array->data;
  view->obj = Py_NewRef(self);
  view->itemsize = 8;
  view->len = 8 * count_of(*array);
  view->ndim = array->rank;
  view->format = const_cast<char*>("d");
  auto* dims = new Py_ssize_t[4];
  for (int i = 0; i < array->rank; ++i) {
    dims[i] = array->sizes[i];
    dims[2 + i] = 8 * array->strides[i];
  }
  view->shape = dims;
  view->strides = dims + 2;
  view->internal = dims;
  return 0;
}
void release_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

PyObject* total(PyObject* self, PyObject*) {
  PyObject* result = new_array(0, nullptr);
  double sum = 0;
  for (int64_t i = 0; i < count_of(*as_array(self)); ++i) sum += at(*as_array(self), i);
  if (result != nullptr) as_array(result)->data[0] = sum;
  return result;
}

PyObject* shape_of(const TensorView& view) {
  PyObject* shape = PyTuple_New(view.rank);
  for (int i = 0; shape != nullptr && i < view.rank; ++i)
    PyTuple_SET_ITEM(shape, i, PyLong_FromLongLong(view.sizes[i]));
  return shape;
}
PyObject* get_shape(PyObject* self, void*) {
  return shape_of({.rank = as_array(self)->rank, .sizes = as_array(self)->sizes});
}
PyObject* get_rank(PyObject* self, void*) { return PyLong_FromLong(as_array(self)->rank); }
PyObject* get_version(PyObject* self, void*) { return PyLong_FromLongLong(as_array(self)->version); }
PyObject* get_base(PyObject* self, void*) {
  PyObject* base = as_array(self)->base;
  return Py_NewRef(base != nullptr ? base : Py_None);
}

// array([1, 2], read_only=False, poisoned=False); of a list of lists two dims.
PyObject* array(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"data", "read_only", "poisoned", nullptr};
  PyObject* data;
  int read_only = 0, poisoned = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|pp", const_cast<char**>(names), &PyList_Type, &data, &read_only,
                                   &poisoned))
    return nullptr;
  Py_ssize_t rows = PyList_GET_SIZE(data);
  bool nested = rows > 0 && PyList_Check(PyList_GET_ITEM(data, 0));
  int64_t sizes[] = {rows, nested ? PyList_GET_SIZE(PyList_GET_ITEM(data, 0)) : 0};
  PyObject* result = new_array(nested ? 2 : 1, sizes);
  for (int64_t i = 0; result != nullptr && i < count_of(*as_array(result)); ++i) {
    PyObject* row = nested ? PyList_GET_ITEM(data, i / sizes[1]) : data;
    as_array(result)->data[i] = PyFloat_AsDouble(PyList_GET_ITEM(row, nested ? i % sizes[1] : i));
  }
  if (result == nullptr) return nullptr;
  as_array(result)->read_only = read_only != 0;
  as_array(result)->poisoned = poisoned != 0;
  return result;
}

PyObject* add_function(PyObject*, PyObject* args) {
  PyObject *a, *b;
  return PyArg_ParseTuple(args, "OO", &a, &b) ? add(a, b) : nullptr;
}
PyObject* multiply_function(PyObject*, PyObject* args) {
  PyObject *a, *b;
  return PyArg_ParseTuple(args, "OO", &a, &b) ? multiply(a, b) : nullptr;
}
// a * k + b, for which the row has a stand-in.
PyObject* axpy(PyObject*, PyObject* args) {
  PyObject *a, *k, *b;
  if (!PyArg_ParseTuple(args, "OOO", &a, &k, &b)) return nullptr;
  PyObject* product = multiply(a, k);
  PyObject* sum = product != nullptr ? add(product, b) : nullptr;
  Py_XDECREF(product);
  return sum;
}
PyObject* get_mode(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(mode); }
PyObject* set_mode(PyObject*, PyObject* value) {
  mode = PyLong_AsUnsignedLongLong(value);
  Py_RETURN_NONE;
}
// Nothing is known of it: it doubles its argument.
PyObject* secret(PyObject*, PyObject* value) { return add(value, value); }
// Known to break.
PyObject* largest(PyObject*, PyObject* value) {
  double most = at(*as_array(value), 0);
  for (int64_t i = 1; i < count_of(*as_array(value)); ++i) most = std::max(most, at(*as_array(value), i));
  return PyFloat_FromDouble(most);
}

// ---- the row

bool read(PyObject* object, TensorView& view) {
  Array* array = as_array(object);
  view.dtype = DType::float64;
  view.rank = array->rank;
  view.sizes = array->sizes;
  view.strides = array->strides;
  view.data = array->data;
  view.refusal = "is poisoned";
  return !array->poisoned;
}
bool is_writable(PyObject* object) { return !as_array(object)->read_only; }
Ref empty(const TensorView& view) { return check(new_array(view.rank, view.sizes)); }
Ref alias(PyObject* owner, const TensorView& view, ViewTraits) { return check(new_view(owner, view)); }
void note_written(PyObject* object, int count) { as_array(object)->version += count; }
int64_t counted_writes(PyObject* object) { return as_array(object)->version; }
PyTypeObject* result_type(DType, int) { return &array_type; }

StateWords state() { return {mode}; }
std::string state_text(const StateWords& words) { return "tiny_mode=" + std::to_string(words[0]); }
std::string state_difference(const StateWords&, const StateWords&) { return " tiny_mode"; }

Ref rank_fact(const TensorSpec& spec, std::span<PyObject* const>, PyObject*) {
  return check(PyLong_FromLong(spec.rank()));
}

const TensorAttribute* attribute(std::string_view name) {
  static const TensorFact rank{"rank", false, TensorFact::Sizes::Nothing, rank_fact, ""};
  static const TensorAttribute shape_row{.kind = TensorAttribute::Kind::Shape};
  static const TensorAttribute rank_row{.kind = TensorAttribute::Kind::Fact, .fact = &rank};
  return name == "shape" ? &shape_row : name == "rank" ? &rank_row : nullptr;
}

std::unordered_map<PyObject*, TensorCallable> callables;
const TensorCallable* find(PyObject* callable) {
  auto found = callables.find(callable);
  return found != callables.end() ? &found->second : nullptr;
}

Ref size_object(std::span<const int64_t> sizes) {
  return check(shape_of({.rank = static_cast<int>(sizes.size()), .sizes = sizes.data()}));
}
PyTypeObject* size_type() { return &PyTuple_Type; }

// axpy(a, k, b) over tensors of the package.
PyObject* make_stand_in(PyObject* module) {
  PyObject* names = PyDict_Copy(PyModule_GetDict(module));
  PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins());
  Py_XDECREF(PyRun_String("def axpy(a, k, b):\n    return a * k + b\n", Py_file_input, names, names));
  return Py_XNewRef(PyDict_GetItemString(names, "axpy"));
}

bool register_family(PyObject* module) {
  api = static_cast<const FamilyApi*>(PyCapsule_Import(FamilyApi::kCapsuleName, 0));
  if (api == nullptr) return false;
  family = *api->own;
  family.name = "tiny";
  family.rank = 1;
  family.read = read;
  family.is_writable = is_writable;
  family.contained = nullptr;
  family.wrap = nullptr;
  family.empty = empty;
  family.alias = alias;
  family.written = note_written;
  family.writes = counted_writes;
  family.result_type = result_type;
  family.counts_changes = false;
  family.state = state;
  family.state_text = state_text;
  family.state_difference = state_difference;
  family.attribute = attribute;
  family.find = find;
  family.size_object = size_object;
  family.size_type = size_type;
  auto function = [&](const char* name) { return PyObject_GetAttrString(module, name); };
  auto method = [&](const char* name) {
    return PyObject_GetAttrString(reinterpret_cast<PyObject*>(&array_type), name);
  };
  auto op = [&](const char* name, CallForm form) {
    return TensorCallable{
        .kind = TensorCallableKind::Op, .family = &family, .name = name, .row = api->find_op(name), .form = form};
  };
  callables[function("add")] = op("add", CallForm::Function);
  callables[function("multiply")] = op("mul", CallForm::Function);
  callables[method("total")] = op("sum", CallForm::Method);
  callables[method("scale_")] = {
      .kind = TensorCallableKind::InPlaceOp, .family = &family, .name = "scale_", .row = api->find_op("mul")};
  callables[function("axpy")] = {
      .kind = TensorCallableKind::StandIn, .family = &family, .name = "axpy", .function = make_stand_in(module)};
  callables[function("mode")] = {.kind = TensorCallableKind::State, .family = &family, .name = "mode", .answer = [] {
                                   return check(PyLong_FromUnsignedLongLong(mode));
                                 }};
  callables[function("largest")] = {
      .kind = TensorCallableKind::Breaks, .family = &family, .name = "largest", .refusal = TensorRefusal::Number};
  api->register_type(&array_type, family);
  return true;
}

PyMethodDef array_methods[] = {
    {"total", total, METH_NOARGS, nullptr}, {"scale_", scale_, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyGetSetDef array_attributes[] = {{"shape", get_shape, nullptr, nullptr, nullptr},
                                  {"rank", get_rank, nullptr, nullptr, nullptr},
                                  {"version", get_version, nullptr, nullptr, nullptr},
                                  {"base", get_base, nullptr, nullptr, nullptr},
                                  {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef functions[] = {{"array", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array)),
                            METH_VARARGS | METH_KEYWORDS, nullptr},
                           {"add", add_function, METH_VARARGS, nullptr},
                           {"multiply", multiply_function, METH_VARARGS, nullptr},
                           {"axpy", axpy, METH_VARARGS, nullptr},
                           {"mode", get_mode, METH_NOARGS, nullptr},
                           {"set_mode", set_mode, METH_O, nullptr},
                           {"secret", secret, METH_O, nullptr},
                           {"largest", largest, METH_O, nullptr},
                           {nullptr, nullptr, 0, nullptr}};
PyNumberMethods numbers{};
PyMappingMethods mapping{nullptr, item, store_item};
PyBufferProcs buffer{get_buffer, release_buffer};
PyTypeObject array_type;  // filled by PyInit_tiny
PyModuleDef module_def{PyModuleDef_HEAD_INIT, "tiny", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_tiny() {
  numbers.nb_add = add;
  numbers.nb_multiply = multiply;
  numbers.nb_inplace_add = add_in_place;
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&array_type), 1);
  array_type.tp_name = "tiny.Array";
  array_type.tp_basicsize = sizeof(Array);
  array_type.tp_flags = Py_TPFLAGS_DEFAULT;
  array_type.tp_dealloc = dealloc;
  array_type.tp_methods = array_methods;
  array_type.tp_getset = array_attributes;
  array_type.tp_as_number = &numbers;
  array_type.tp_as_mapping = &mapping;
  array_type.tp_as_buffer = &buffer;
  if (PyType_Ready(&array_type) < 0) return nullptr;
  PyObject* module = PyModule_Create(&module_def);
  if (module == nullptr) return nullptr;
  PyModule_AddObjectRef(module, "Array", reinterpret_cast<PyObject*>(&array_type));
  if (!register_family(module)) return nullptr;
  return module;
}
