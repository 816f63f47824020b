#include "frontends/minidynamo/gradient_hooks.h"

#include "base/error.h"
#include "cpython/errors.h"
#include "cpython/weak_reference.h"
#include "frontends/minidynamo/tensor_object.h"

namespace md {
namespace {

std::string name_of(const Ref& function) {
  Ref text = Ref::steal(PyObject_GetAttrString(function, "__name__"));
  const char* name = text ? PyUnicode_AsUTF8(text) : nullptr;
  if (name == nullptr) PyErr_Clear();
  return name == nullptr ? function.type()->tp_name : name;
}

[[noreturn]] void raise_no_gradient(const Ref& result) {
  raise(ErrorKind::Type, "expected Variable, but hook returned '", result.type()->tp_name, "'");
}

class PythonGradientHook : public GradientHook {
 public:
  explicit PythonGradientHook(BorrowedRef function) : function_(Ref::share(function)) {}
  Tensor call(const Tensor& gradient) override {
    Ref result = check(PyObject_CallOneArg(function_, wrap_gradient(gradient)));
    if (result.get() != Py_None && !is_tensor(result)) raise_no_gradient(result);
    Tensor replaced = gradient_from(result, "hook");
    if (replaced.defined() && !same(replaced.spec().sizes, gradient.spec().sizes))
      raise(ErrorKind::Runtime, "hook '", name_of(function_), "' has changed the size of value");
    return replaced;
  }

 private:
  Ref function_;
};

Ref wrap_all(const std::vector<Tensor>& gradients) {
  Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(gradients.size())));
  for (size_t i = 0; i < gradients.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_gradient(gradients[i]).release());
  return tuple;
}

class PythonNodeHook : public GradNodeHook {
 public:
  PythonNodeHook(BorrowedRef before, BorrowedRef after) : before_(Ref::share(before)), after_(Ref::share(after)) {}
  void before(std::vector<Tensor>& of_results) override {
    if (!before_) return;
    replace(of_results, before_, check(PyObject_CallOneArg(before_, wrap_all(of_results))));
  }
  void after(std::vector<Tensor>& of_operands, const std::vector<Tensor>& of_results) override {
    if (!after_) return;
    replace(
        of_operands, after_,
        check(PyObject_CallFunctionObjArgs(after_, wrap_all(of_operands).get(), wrap_all(of_results).get(), nullptr)));
  }

 private:
  static void replace(std::vector<Tensor>& gradients, const Ref& hook, const Ref& result) {
    if (result.get() == Py_None) return;
    std::vector<Tensor> replaced = gradients_from(result, "hook");
    if (replaced.size() != gradients.size())
      raise(ErrorKind::Runtime, "hook '", name_of(hook), "' has returned an incorrect number of values (got ",
            replaced.size(), ", but expected ", gradients.size(), ")");
    gradients = std::move(replaced);
  }
  Ref before_, after_;
};

class PythonAccumulatedHook : public AccumulatedHook {
 public:
  PythonAccumulatedHook(BorrowedRef function, BorrowedRef leaf)
      : function_(Ref::share(function)), leaf_(check(PyWeakref_NewRef(leaf, nullptr))) {}
  void call() override {
    Ref leaf = Ref::share(referent_of(leaf_));
    if (leaf.get() == Py_None) return;
    Ref result = check(PyObject_CallOneArg(function_, leaf));
    if (result.get() != Py_None) raise_no_gradient(result);
  }

 private:
  Ref function_, leaf_;
};

}  // namespace

std::shared_ptr<GradientHook> gradient_hook(BorrowedRef function) {
  return std::make_shared<PythonGradientHook>(function);
}

std::shared_ptr<GradNodeHook> grad_node_hook(BorrowedRef before, BorrowedRef after) {
  return std::make_shared<PythonNodeHook>(before, after);
}

std::shared_ptr<AccumulatedHook> accumulated_hook(BorrowedRef function, BorrowedRef leaf) {
  return std::make_shared<PythonAccumulatedHook>(function, leaf);
}

Ref wrap_gradient(const Tensor& gradient) { return gradient.defined() ? wrap_tensor(gradient) : Ref::share(Py_None); }

Tensor gradient_from(BorrowedRef object, const char* what) {
  if (object.get() == Py_None) return {};
  if (is_tensor(object)) return tensor_of(object);
  raise(ErrorKind::Type, what, ": expected a Tensor or None, got ", object.type()->tp_name);
}

std::vector<Tensor> gradients_from(BorrowedRef sequence, const char* what) {
  if (is_tensor(sequence) || sequence.get() == Py_None) return {gradient_from(sequence, what)};
  Ref tuple = check(PySequence_Tuple(sequence));
  std::vector<Tensor> gradients;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i)
    gradients.push_back(gradient_from(PyTuple_GET_ITEM(tuple.get(), i), what));
  return gradients;
}

}  // namespace md
