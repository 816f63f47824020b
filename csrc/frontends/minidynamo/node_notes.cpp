#include "frontends/minidynamo/node_notes.h"

#include "autograd/backward.h"
#include "cpython/errors.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/grad_node_object.h"

namespace md {
namespace {

struct PythonNotes : NodeNotes {
  Ref dict = check(PyDict_New());
};

// stack() -> list of str; failed(node) warns.
class PythonObserver : public NodeObserver {
 public:
  PythonObserver(BorrowedRef stack, BorrowedRef failed) : stack_(Ref::share(stack)), failed_(Ref::share(failed)) {}

  void made(GradNode& node) override {
    Ref metadata = metadata_of(node);
    check_status(PyDict_SetItemString(metadata, "traceback_", check(PyObject_CallNoArgs(stack_))));
    if (GradNode* parent = applied_node())
      check_status(PyDict_SetItemString(metadata, "parent_", grad_node_object(parent->shared_from_this())));
  }

  void failed(GradNode& node) override {
    ErrorAside aside;
    try {
      check(PyObject_CallOneArg(failed_, grad_node_object(node.shared_from_this())));
    } catch (...) {
      set_error_from_current_exception();
      PyErr_WriteUnraisable(failed_);
    }
  }

 private:
  Ref stack_, failed_;
};

PyObject* set_observer(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("_set_node_observer", {"stack", "failed"}, args, arg_count, kw_names);
    // A backward of another thread may be using the one before: observers live on.
    NodeObserver* observer = values[0] == Py_None ? nullptr : new PythonObserver(values[0], values[1]);
    node_observer.store(observer, std::memory_order_relaxed);
    return Ref::share(Py_None);
  });
}

}  // namespace

Ref metadata_of(GradNode& node) {
  if (node.notes == nullptr) node.notes = std::make_unique<PythonNotes>();
  return static_cast<PythonNotes&>(*node.notes).dict;
}

std::vector<PyMethodDef> node_note_functions() {
  return {fast_method("_set_node_observer", set_observer,
                      "Calls stack() for each node that is made, and failed(node) for one that fails; None: none.")};
}

}  // namespace md
