#include "frontends/minidynamo/generator_object.h"

#include <new>
#include <random>

#include "cpython/errors.h"
#include "frontends/device_object.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/random_bytes.h"

namespace md {
namespace {

struct GeneratorObject {
  PyObject_HEAD RandomGenerator generator;
};

RandomGenerator& own(PyObject* self) { return reinterpret_cast<GeneratorObject*>(self)->generator; }

PyObject* generator_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"device", nullptr};
  PyObject* device = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device)) return nullptr;
  return guarded([&] {
    device_from_python(device, "Generator(): argument 'device'");
    Ref self = check(type->tp_alloc(type, 0));
    new (&own(self)) RandomGenerator;
    return self;
  });
}

void generator_dealloc(PyObject* self) {
  own(self).~RandomGenerator();
  Py_TYPE(self)->tp_free(self);
}

PyObject* manual_seed(PyObject* self, PyObject* value) {
  return guarded([&] {
    own(self).set_state(RandomState(seed_from_python(value)));
    return Ref::share(self);
  });
}

PyObject* initial_seed(PyObject* self, PyObject*) { return PyLong_FromUnsignedLongLong(own(self).initial_seed()); }

PyObject* seed(PyObject* self, PyObject*) {
  std::random_device device;
  uint64_t value = (uint64_t{device()} << 32) | device();
  own(self).set_state(RandomState(value));
  return PyLong_FromUnsignedLongLong(value);
}

PyObject* get_state(PyObject* self, PyObject*) {
  return guarded([&] { return random_state_to_tensor(own(self).state()); });
}

PyObject* set_state(PyObject* self, PyObject* value) {
  return guarded([&] {
    own(self).set_state(random_state_from_tensor(value));
    return Ref::share(self);
  });
}

PyObject* clone_state(PyObject* self, PyObject*) {
  return guarded([&] {
    Ref copy = check(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(Py_TYPE(self))));
    own(copy).set_state(own(self).state());
    return copy;
  });
}

PyObject* get_device(PyObject*, void*) { return Py_NewRef(cpu_device().get()); }

PyMethodDef methods[] = {
    {"manual_seed", manual_seed, METH_O, "manual_seed(seed) -> Generator\n\nRestarts the generator and returns it."},
    {"initial_seed", initial_seed, METH_NOARGS, "initial_seed() -> int\n\nThe seed that it was started with."},
    {"seed", seed, METH_NOARGS, "seed() -> int\n\nRestarts with a random seed and returns the seed."},
    {"get_state", get_state, METH_NOARGS, "get_state() -> Tensor\n\nThe state as bytes."},
    {"set_state", set_state, METH_O, "set_state(new_state) -> Generator\n\nContinues from a state."},
    {"clone_state", clone_state, METH_NOARGS, "clone_state() -> Generator\n\nAnother generator in the same state."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef getset[] = {
    {"device", get_device, nullptr, "The CPU.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyTypeObject* make_type() {
  static PyTypeObject type;  // zero-initialised
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
  type.tp_name = "minidynamo.Generator";
  type.tp_basicsize = sizeof(GeneratorObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_doc = "Generator(device='cpu')\n\nA stream of random numbers of its own: rand(3, generator=g).";
  type.tp_new = generator_new;
  type.tp_dealloc = generator_dealloc;
  for (PyMethodDef* def = methods; def->ml_name != nullptr; ++def) {
    def->ml_doc = doc_with_signature(def->ml_name, def->ml_doc, true);
  }
  type.tp_methods = methods;
  type.tp_getset = getset;
  check_status(PyType_Ready(&type));
  return &type;
}

}  // namespace

PyTypeObject* generator_type() {
  static PyTypeObject* type = make_type();
  return type;
}

RandomGenerator& generator_of(BorrowedRef object, std::string_view op) {
  if (object.type() != generator_type()) {
    raise(ErrorKind::Type, op, "(): argument 'generator' must be Generator, not ", object.type()->tp_name);
  }
  return own(object.get());
}

uint64_t seed_from_python(BorrowedRef value) {
  Ref number = Ref::steal(PyNumber_Long(value));
  if (!number) {
    ErrorKind kind = PyErr_ExceptionMatches(PyExc_TypeError) != 0 ? ErrorKind::Type : ErrorKind::Value;
    PyErr_Clear();
    raise(kind, "manual_seed(): argument 'seed' must be what int() takes, got an object of type ",
          value.type()->tp_name);
  }
  int overflow = 0;
  long long is_signed = PyLong_AsLongLongAndOverflow(number, &overflow);
  uint64_t seed = static_cast<uint64_t>(is_signed);
  if (overflow > 0) seed = PyLong_AsUnsignedLongLong(number);
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    raise(ErrorKind::Value, "manual_seed(): Overflow when unpacking long long");
  }
  return seed;
}

}  // namespace md
