#include "frontends/minidynamo/grad_node_object.h"

#include <new>
#include <unordered_map>

#include "autograd/accumulate_node.h"
#include "autograd/grad_history.h"
#include "base/error.h"
#include "cpython/errors.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/gradient_hooks.h"
#include "frontends/minidynamo/node_notes.h"
#include "frontends/minidynamo/python_grad_node.h"
#include "frontends/minidynamo/tensor_object.h"

namespace md {
namespace {

struct GradNodeObject {
  PyObject_HEAD GradNodePtr node;
};

GradNodeObject* own(PyObject* self) { return reinterpret_cast<GradNodeObject*>(self); }

// The object of each node that has one; borrowed. Read and written under the GIL.
std::unordered_map<const GradNode*, PyObject*>& living() {
  static auto* map = new std::unordered_map<const GradNode*, PyObject*>;
  return *map;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  auto found = living().find(own(self)->node.get());
  if (found != living().end() && found->second == self) living().erase(found);
  own(self)->node.~GradNodePtr();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* name(PyObject* self, PyObject*) {
  return guarded([&] { return check(PyUnicode_FromString(own(self)->node->name().c_str())); });
}

PyObject* get_next_functions(PyObject* self, void*) {
  return guarded([&] {
    const std::vector<GradEdge>& edges = own(self)->node->edges;
    Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(edges.size())));
    for (size_t i = 0; i < edges.size(); ++i) {
      Ref node = edges[i].node ? grad_node_object(edges[i].node) : Ref::share(Py_None);
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                       check(Py_BuildValue("(Oi)", node.get(), edges[i].index)).release());
    }
    return tuple;
  });
}

PyObject* get_metadata(PyObject* self, void*) {
  return guarded([&] { return metadata_of(*own(self)->node); });
}

// The leaf of an accumulating node.
PyObject* get_variable(PyObject* self, void*) {
  return guarded([&] {
    auto* node = dynamic_cast<AccumulateNode*>(own(self)->node.get());
    if (node == nullptr)
      raise(ErrorKind::Attribute, "'", own(self)->node->name(), "' object has no attribute 'variable'");
    return wrap_tensor(node->leaf());
  });
}

PyObject* add_hook(PyObject* self, PyObject* before, PyObject* after) {
  return guarded([&] {
    auto hook = grad_node_hook(before, after);
    own(self)->node->node_hooks.push_back(hook);
    return check(PyLong_FromVoidPtr(hook.get()));
  });
}
PyObject* add_post_hook(PyObject* self, PyObject* function) { return add_hook(self, nullptr, function); }
PyObject* add_pre_hook(PyObject* self, PyObject* function) { return add_hook(self, function, nullptr); }

PyObject* remove_node_hook(PyObject* self, PyObject* number) {
  return guarded([&] {
    const void* hook = PyLong_AsVoidPtr(number);
    std::erase_if(own(self)->node->node_hooks, [&](const auto& entry) { return entry.get() == hook; });
    return Ref::share(Py_None);
  });
}

PyObject* sequence_number(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(own(self)->node->sequence());
}

// A Function's node has the attributes of its context, too.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  auto* node = dynamic_cast<PythonGradNode*>(own(self)->node.get());
  if (node == nullptr) return nullptr;
  PyErr_Clear();
  return PyObject_GetAttr(node->context(), name);
}

PyMethodDef methods[] = {
    {"name", name, METH_NOARGS, "name() -> str"},
    {"_add_hook", add_post_hook, METH_O, "Adds a hook; returns its number."},
    {"_add_prehook", add_pre_hook, METH_O, "Adds a hook that runs first; returns its number."},
    {"_remove_hook", remove_node_hook, METH_O, "Removes a hook by its number."},
    {"_sequence_nr", sequence_number, METH_NOARGS, "Larger for nodes made later."},
    {nullptr, nullptr, 0, nullptr},
};
PyGetSetDef getset[] = {
    {"next_functions", get_next_functions, nullptr, "(node, index) of each operand; (None, 0) for one without.",
     nullptr},
    {"metadata", get_metadata, nullptr, "A dict for the user.", nullptr},
    {"variable", get_variable, nullptr, "The leaf whose gradient is accumulated.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

Ref make_base_type() {
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                                {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, getset},
                                {Py_tp_doc, const_cast<char*>("A node of the graph that backward() runs.")},
                                {0, nullptr}};
  static PyType_Spec spec = {"minidynamo.autograd.graph.Node", sizeof(GradNodeObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return check(PyType_FromSpec(&spec));
}

// A subclass for each name of nodes: "CopySlices" of "torch::autograd::CopySlices".
PyTypeObject* type_named(const std::string& name, bool is_function) {
  static auto* types = new std::unordered_map<std::string, PyTypeObject*>;
  std::string plain = name.substr(name.rfind(':') + 1);
  // The texts of classes in builtins have no module.
  plain = (is_function ? "minidynamo.autograd.function." : "builtins.") + plain;
  PyTypeObject*& type = (*types)[plain];
  if (type == nullptr) {
    static PyType_Slot no_slots[] = {{0, nullptr}};
    auto* text = new std::string(plain);  // types of nodes are never freed
    PyType_Spec spec = {text->c_str(), sizeof(GradNodeObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, no_slots};
    type = reinterpret_cast<PyTypeObject*>(check(PyType_FromSpecWithBases(&spec, grad_node_type())).release());
    if (!is_function) type->tp_name = text->c_str() + text->rfind('.') + 1;
  }
  return type;
}

}  // namespace

BorrowedRef grad_node_type() {
  static PyObject* const type = make_base_type().release();
  return type;
}

Ref grad_node_object(const GradNodePtr& node) {
  // The module completes the class.
  static PyObject* const completed = check(PyImport_ImportModule("minidynamo.autograd.graph")).release();
  (void)completed;
  auto found = living().find(node.get());
  if (found != living().end()) return Ref::share(found->second);
  PyTypeObject* type = type_named(node->name(), dynamic_cast<PythonGradNode*>(node.get()) != nullptr);
  Ref self = check(type->tp_alloc(type, 0));
  new (&own(self)->node) GradNodePtr(node);
  living()[node.get()] = self.get();
  return self;
}

bool is_grad_node(BorrowedRef object) {
  return PyObject_TypeCheck(object.get(), reinterpret_cast<PyTypeObject*>(grad_node_type().get()));
}
const GradNodePtr& grad_node_of(BorrowedRef object) { return own(object.get())->node; }

}  // namespace md
