#include "frontends/minidynamo/saved_tensor_object.h"

#include <new>

#include "autograd/saved_tensor.h"
#include "base/error.h"
#include "cpython/errors.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/grad_node_object.h"
#include "frontends/minidynamo/tensor_object.h"

namespace md {
namespace {

class PythonPackedTensor : public PackedTensor {
 public:
  PythonPackedTensor(Ref value, Ref unpack) : value_(std::move(value)), unpack_(std::move(unpack)) {}
  Tensor unpacked() override {
    Ref result = check(PyObject_CallOneArg(unpack_, value_));
    if (!is_tensor(result))
      raise(ErrorKind::Type, "Output of saved tensor unpack_hook expected to be a Tensor but got result of type ",
            result.type()->tp_name);
    return tensor_of(result);
  }

 private:
  Ref value_, unpack_;
};

class PythonSavedTensorHooks : public SavedTensorHooks {
 public:
  PythonSavedTensorHooks(BorrowedRef pack, BorrowedRef unpack) : pack_(Ref::share(pack)), unpack_(Ref::share(unpack)) {}
  std::unique_ptr<PackedTensor> packed(const Tensor& tensor) override {
    return std::make_unique<PythonPackedTensor>(check(PyObject_CallOneArg(pack_, wrap_tensor(tensor))), unpack_);
  }

 private:
  Ref pack_, unpack_;
};

struct SavedTensorObject {
  PyObject_HEAD SavedTensor saved;
};
SavedTensor& saved_of(PyObject* self) { return reinterpret_cast<SavedTensorObject*>(self)->saved; }

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  saved_of(self).~SavedTensor();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* unpacked(PyObject* self, PyObject* node) {
  return guarded([&] {
    GradNode* saver = node == Py_None ? nullptr : grad_node_of(node).get();
    Tensor tensor = saved_of(self).unpacked(saver);
    return tensor.defined() ? wrap_tensor(tensor) : Ref::share(Py_None);
  });
}

PyObject* set_output(PyObject* self, PyObject* output) {
  return guarded([&] {
    saved_of(self).set_output(static_cast<int>(PyLong_AsLong(output)));
    return Ref::share(Py_None);
  });
}

void require_callable(PyObject* object, const char* what) {
  if (!PyCallable_Check(object)) raise(ErrorKind::Type, what, " must be callable");
}

PyObject* register_hooks(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values =
        read_args("register_hooks", {"pack_hook", "unpack_hook"}, args, arg_count, kw_names);
    PythonSavedTensorHooks hooks(values[0], values[1]);
    saved_of(self).pack_by(hooks);
    return Ref::share(Py_None);
  });
}

PyMethodDef methods[] = {
    {"unpacked", unpacked, METH_O, "The tensor with its history; of the node that saved it, or None."},
    {"set_output", set_output, METH_O, "Says which result of its node it is."},
    fast_method("register_hooks", register_hooks,
                "register_hooks(pack_hook, unpack_hook) -> None\n\nHas hooks keep the tensor from now on."),
    {nullptr, nullptr, 0, nullptr},
};

Ref make_type() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                {Py_tp_methods, methods},
                                {Py_tp_doc, const_cast<char*>("A tensor that a node keeps for its backward.")},
                                {0, nullptr}};
  static PyType_Spec spec = {"minidynamo._C._SavedTensor", sizeof(SavedTensorObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return check(PyType_FromSpec(&spec));
}

// output: which result of its node the tensor is; None: an operand.
PyObject* save_tensor(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("_save_tensor", {"tensor", "output"}, args, arg_count, kw_names);
    bool is_result = values[1] != Py_None;
    SavedTensor saved(tensor_of(values[0]), is_result, is_result ? static_cast<int>(PyLong_AsLong(values[1])) : 0);
    auto* type = reinterpret_cast<PyTypeObject*>(saved_tensor_type().get());
    Ref self = check(type->tp_alloc(type, 0));
    new (&saved_of(self)) SavedTensor(std::move(saved));
    return self;
  });
}

PyObject* push_hooks(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values =
        read_args("_push_saved_tensor_hooks", {"pack_hook", "unpack_hook"}, args, arg_count, kw_names);
    require_callable(values[0], "pack_hook");
    require_callable(values[1], "unpack_hook");
    push_saved_tensor_hooks(std::make_unique<PythonSavedTensorHooks>(values[0], values[1]));
    return Ref::share(Py_None);
  });
}

PyObject* pop_hooks(PyObject*, PyObject*) {
  return guarded([&] {
    pop_saved_tensor_hooks();
    return Ref::share(Py_None);
  });
}

}  // namespace

BorrowedRef saved_tensor_type() {
  static PyObject* const type = make_type().release();
  return type;
}

std::vector<PyMethodDef> saved_tensor_functions() {
  return {
      fast_method("_save_tensor", save_tensor, "A tensor as it is at this moment, for a node's backward."),
      fast_method("_push_saved_tensor_hooks", push_hooks, "Has functions pack and unpack what this thread saves."),
      {"_pop_saved_tensor_hooks", pop_hooks, METH_NOARGS, "Ends the innermost pair of functions that pack."},
  };
}

}  // namespace md
