#include "frontends/minidynamo/tensor_gradients.h"

#include "autograd/accumulate_node.h"
#include "autograd/backward.h"
#include "autograd/grad_history.h"
#include "base/error.h"
#include "cpython/errors.h"
#include "cpython/no_collections.h"
#include "frontends/minidynamo/fast_call.h"
#include "frontends/minidynamo/grad_node_object.h"
#include "frontends/minidynamo/gradient_hooks.h"
#include "frontends/minidynamo/python_grad_node.h"
#include "frontends/minidynamo/tensor_object.h"
#include "tensor/ops/write_op.h"
#include "tensor/simd/room.h"

namespace md {
namespace {

bool is_user_leaf(PyObject* self) {
  const Tensor& tensor = tensor_of(self);
  return tensor->kind() == TensorKind::Real ? is_leaf(tensor) : as_tensor_object(self)->user_leaf;
}

void check_gradient(const Tensor& tensor, const Tensor& gradient) {
  if (is_same(tensor, gradient)) raise(ErrorKind::Runtime, "can't assign Variable as its own grad");
  if (gradient->dtype() != tensor->dtype())
    raise(
        ErrorKind::Runtime, "attempting to assign a gradient with dtype '", row(gradient->dtype()).type_name,
        "' to a tensor with grad_dtype '", scalar_type_name(tensor->dtype()),
        "'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's "
        "grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. "
        "Diverging "
        "the dtypes of a tensor and its gradient may break downstream systems that assume they match.");
  if (!same(gradient.spec().sizes, tensor.spec().sizes))
    raise(ErrorKind::Runtime, "attempting to assign a gradient of size '", list_str(gradient.spec().sizes.span()),
          "' to a tensor of size '", list_str(tensor.spec().sizes.span()),
          "'. Please ensure that the gradient and the tensor are the same size");
}

void warn_of_grad() {
  check_status(PyErr_WarnEx(
      PyExc_UserWarning,
      "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
      "populated "
      "during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, use "
      ".retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the "
      "leaf "
      "Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.",
      1));
}

// The object of a gradient: the one that was given or made last, while it is of the same tensor.
Ref grad_object(PyObject* self, const Tensor& gradient) {
  PyObject*& kept = as_tensor_object(self)->grad;
  if (!gradient.defined()) {
    Py_CLEAR(kept);
    return Ref::share(Py_None);
  }
  if (kept != nullptr && is_same(tensor_of(kept), gradient)) return Ref::share(kept);
  Ref made = wrap_tensor(gradient);
  Py_XSETREF(kept, Py_NewRef(made.get()));
  return made;
}

}  // namespace

void set_requires_grad(PyObject* self, bool value, const char* words) {
  const Tensor& tensor = tensor_of(self);
  if (value && !is_inexact(tensor->dtype())) raise(ErrorKind::Runtime, words);
  if (!value && tensor.requires_grad() && !is_user_leaf(self)) {
    raise(ErrorKind::Runtime,
          "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
          "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
  }
  // A computed tensor stays computed; one without a gradient becomes a leaf.
  if (value && !tensor.requires_grad()) as_tensor_object(self)->user_leaf = true;
  tensor.set_requires_grad(value);
}

PyObject* get_grad(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (tensor->kind() != TensorKind::Real) return Ref::share(Py_None);
    GradHistory* history = history_of(tensor);
    bool is_kept = history != nullptr && (history->retains_gradient || history->gradient.defined());
    if (tensor.requires_grad() && !is_kept && !is_leaf(tensor)) warn_of_grad();
    return grad_object(self, gradient_of(tensor));
  });
}

namespace {

bool has_hooks(const GradHistory& history) {
  if (!history.hooks.empty() || !history.accumulated_hooks.empty() || history.retains_gradient) return true;
  GradNodePtr node = history.accumulator.lock();
  return node && (!node->node_hooks.empty() || !node->tensor_hooks.empty() || !node->retaining.empty());
}

// The object of a gradient that is replaced may run code when it dies.
bool may_run_code_at_its_end(PyObject* tensor) {
  auto* object = as_tensor_object(tensor);
  return Py_REFCNT(tensor) == 1 && (object->dict != nullptr || object->weak_list != nullptr ||
                                    object->grad != nullptr || !Py_IS_TYPE(tensor, &tensor_type));
}

}  // namespace

PyObject* plain_gradient(PyObject* self) {
  const Tensor& tensor = tensor_of(self);
  if (tensor->kind() != TensorKind::Real) return nullptr;
  GradHistory* history = history_of(tensor);
  if (history == nullptr) return Py_None;
  if (tensor.requires_grad() && (!is_leaf(tensor) || has_hooks(*history))) return nullptr;
  PyObject* kept = as_tensor_object(self)->grad;
  if (!history->gradient.defined()) return Py_None;
  if (kept != nullptr && is_same(tensor_of(kept), history->gradient)) return kept;
  if (kept != nullptr && may_run_code_at_its_end(kept)) return nullptr;
  const NoCollections no_collections;
  return grad_object(self, history->gradient).get();
}

int set_grad(PyObject* self, PyObject* value, void*) {
  try {
    const Tensor& tensor = tensor_of(self);
    if (value == nullptr || value == Py_None) {
      set_gradient(tensor, {});
      Py_CLEAR(as_tensor_object(self)->grad);
      return 0;
    }
    if (!is_tensor(value))
      raise(ErrorKind::Type, "assigned grad expected to be a Tensor or None but got grad of type ",
            Py_TYPE(value)->tp_name);
    check_gradient(tensor, tensor_of(value));
    set_gradient(tensor, tensor_of(value));
    Py_XSETREF(as_tensor_object(self)->grad, Py_NewRef(value));
    if (!PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
    return 0;
  } catch (...) {
    set_error_from_current_exception();
    return -1;
  }
}

int set_data(PyObject* self, PyObject* value, void*) {
  try {
    if (value == nullptr) raise(ErrorKind::Runtime, "Deleting tensor data is not allowed. Delete tensor instead!");
    if (!is_tensor(value))
      raise(ErrorKind::Type, "Variable data has to be a tensor, but got ", Py_TYPE(value)->tp_name);
    const Tensor& tensor = tensor_of(self);
    const Tensor& source = tensor_of(value);
    if (tensor->kind() != TensorKind::Real || source->kind() != TensorKind::Real)
      raise(ErrorKind::Runtime, "data of a tensor without elements cannot be set");
    if (tensor.requires_grad() && !is_floating(source->dtype()) && !is_complex(source->dtype()))
      raise(ErrorKind::Runtime, "data set to a tensor that requires gradients must be floating point or complex dtype");
    take_elements(tensor, source);
    // A node made for other sizes or another dtype would refuse the gradients that arrive from now on.
    if (GradHistory* history = history_of(tensor)) history->accumulator.reset();
    return 0;
  } catch (...) {
    set_error_from_current_exception();
    return -1;
  }
}

PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    GradNodePtr node = tensor->kind() == TensorKind::Real ? node_of(tensor) : nullptr;
    return node ? grad_node_object(node) : Ref::share(Py_None);
  });
}

PyObject* get_is_leaf(PyObject* self, void*) {
  return PyBool_FromLong(!tensor_of(self).requires_grad() || is_user_leaf(self));
}

PyObject* get_retains_grad(PyObject* self, void*) {
  GradHistory* history = history_of(tensor_of(self));
  return PyBool_FromLong(history != nullptr && history->retains_gradient);
}

PyObject* get_output_nr(PyObject* self, void*) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    bool is_computed = tensor->kind() == TensorKind::Real && !is_leaf(tensor);
    return check(PyLong_FromLong(is_computed ? edge_of(tensor).index : 0));
  });
}

// The tensor that this one is a view of, as far as autograd follows it.
PyObject* get_base(PyObject* self, void*) {
  return guarded([&] {
    GradHistory* history = history_of(tensor_of(self));
    return history != nullptr && history->base.defined() ? wrap_tensor(history->base) : Ref::share(Py_None);
  });
}

namespace {

// ---- methods that minidynamo.autograd implements ----

constexpr const char* kMethods[][3] = {
    {"backward", "backward_of",
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None) -> None\n\n"
     "Adds the gradients of the tensor to the leaves that it was computed from."},
    {"register_hook", "register_tensor_hook",
     "register_hook(hook) -> RemovableHandle\n\nhook(gradient) is called with each gradient; a Tensor replaces it."},
    {"register_post_accumulate_grad_hook", "register_accumulated_hook",
     "register_post_accumulate_grad_hook(hook) -> RemovableHandle\n\nhook(self) is called behind each accumulation "
     "into grad."},
    {"retain_grad", "retain_grad", "retain_grad() -> None\n\nHas backward() set grad of a computed tensor, too."},
    {"__deepcopy__", "deepcopy_of", "__deepcopy__(memo) -> Tensor\n\nA copy of a leaf and of its gradient."},
};

// Of a module of minidynamo.autograd, which is imported with the first use.
Ref autograd_function(const char* module, const char* name) {
  Ref loaded = check(PyImport_ImportModule(str_cat("minidynamo.autograd.", module).c_str()));
  return check(PyObject_GetAttrString(loaded, name));
}

template <size_t kMethod>
PyObject* call_method(PyObject* self, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    static PyObject* const function = autograd_function("tensor_methods", kMethods[kMethod][1]).release();
    std::vector<PyObject*> all = {self};
    Py_ssize_t total = arg_count + (kw_names == nullptr ? 0 : PyTuple_GET_SIZE(kw_names));
    all.insert(all.end(), args, args + total);
    return check(PyObject_Vectorcall(function, all.data(), static_cast<size_t>(arg_count + 1), kw_names));
  });
}

// ---- functions ----

std::vector<Tensor> tensors_from(BorrowedRef sequence) {
  Ref tuple = check(PySequence_Tuple(sequence));
  std::vector<Tensor> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
    PyObject* object = PyTuple_GET_ITEM(tuple.get(), i);
    if (!is_tensor(object)) raise(ErrorKind::Type, "expected a Tensor, got ", Py_TYPE(object)->tp_name);
    tensors.push_back(tensor_of(object));
  }
  return tensors;
}

// A tensor, or (node, index).
GradEdge edge_from(PyObject* object, const char* what) {
  if (PyTuple_Check(object) && PyTuple_GET_SIZE(object) == 2 && is_grad_node(PyTuple_GET_ITEM(object, 0)))
    return {grad_node_of(PyTuple_GET_ITEM(object, 0)), static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(object, 1)))};
  if (!is_tensor(object)) raise(ErrorKind::Type, what, ": expected a Tensor, got ", Py_TYPE(object)->tp_name);
  return edge_of(tensor_of(object));
}

std::vector<GradEdge> edges_from(BorrowedRef sequence, const char* what) {
  Ref tuple = check(PySequence_Tuple(sequence));
  std::vector<GradEdge> edges;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i)
    edges.push_back(edge_from(PyTuple_GET_ITEM(tuple.get(), i), what));
  return edges;
}

PyObject* backward_has_inputs_function(PyObject*, PyObject*) { return PyBool_FromLong(backward_has_inputs()); }

PyObject* run_backward_function(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values =
        read_args("_run_backward", {"roots", "gradients", "inputs", "keeps_graph", "creates_graph", "checks_nan"}, args,
                  arg_count, kw_names);
    std::vector<GradEdge> roots = edges_from(values[0], "roots");
    std::vector<GradEdge> inputs;
    if (values[2] != Py_None) inputs = edges_from(values[2], "inputs");
    BackwardOptions options{PyObject_IsTrue(values[3]) == 1, PyObject_IsTrue(values[4]) == 1,
                            PyObject_IsTrue(values[5]) == 1};
    std::vector<Tensor> gradients = gradients_from(values[1], "gradients");
    std::vector<Tensor> found = run_backward(roots, std::move(gradients), inputs, options);
    Ref tuple = check(PyTuple_New(static_cast<Py_ssize_t>(found.size())));
    for (size_t i = 0; i < found.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_gradient(found[i]).release());
    return tuple;
  });
}

// Adds a gradient as backward() does at a leaf.
PyObject* accumulate_function(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values =
        read_args("_accumulate_gradient", {"tensor", "gradient"}, args, arg_count, kw_names);
    const Tensor& tensor = tensor_of(values[0]);
    AccumulateNode(tensor).apply({gradient_from(values[1], "gradient")});
    return Ref::share(Py_None);
  });
}

PyObject* add_hook_function(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("_add_gradient_hook", {"tensor", "hook"}, args, arg_count, kw_names);
    auto hook = gradient_hook(values[1]);
    add_hook(tensor_of(values[0]), hook);
    return check(PyLong_FromVoidPtr(hook.get()));
  });
}

PyObject* remove_hook_function(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("_remove_gradient_hook", {"tensor", "number"}, args, arg_count, kw_names);
    const void* hook = PyLong_AsVoidPtr(values[1]);
    const Tensor& tensor = tensor_of(values[0]);
    remove_hook(tensor, static_cast<const GradientHook*>(hook));
    if (GradHistory* history = history_of(tensor))
      std::erase_if(history->accumulated_hooks, [&](const auto& entry) { return entry.get() == hook; });
    return Ref::share(Py_None);
  });
}

PyObject* add_accumulated_hook_function(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("_add_accumulated_hook", {"tensor", "hook"}, args, arg_count, kw_names);
    auto hook = accumulated_hook(values[1], values[0]);
    own_history(tensor_of(values[0])).accumulated_hooks.push_back(hook);
    return check(PyLong_FromVoidPtr(hook.get()));
  });
}

// Whether something outside of these leaves is reached from the tensors.
PyObject* depends_on_others_function(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("_depends_on_others", {"tensors", "leaves"}, args, arg_count, kw_names);
    std::vector<GradEdge> roots, leaves;
    for (const Tensor& tensor : tensors_from(values[0])) roots.push_back(edge_of(tensor));
    for (const Tensor& leaf : tensors_from(values[1])) leaves.push_back(edge_of(leaf));
    return check(PyBool_FromLong(reaches_others(roots, leaves)));
  });
}

// Whether an output is an operand, or a view of what an operand is, too.
bool shares_base(const Tensor& output, const Tensor& operand) {
  auto base_of = [](const Tensor& tensor) {
    GradHistory* history = history_of(tensor);
    return history != nullptr && history->base.defined() ? history->base : tensor;
  };
  return is_same(base_of(output), base_of(operand));
}

// A result of a Function whose output is one of the operands, or a view of one.
PyObject* note_function_view_function(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values =
        read_args("_note_function_view", {"result", "output", "operands"}, args, arg_count, kw_names);
    for (const Tensor& operand : tensors_from(values[2])) {
      if (!shares_base(tensor_of(values[1]), operand)) continue;
      note_view(tensor_of(values[0]), operand, ViewOrigin::OfFunction);
      break;
    }
    return Ref::share(Py_None);
  });
}

PyObject* backward_number_function(PyObject*, PyObject*) { return PyLong_FromUnsignedLongLong(backward_number()); }

PyObject* will_run_function(PyObject*, PyObject* node) {
  return guarded([&] {
    if (!is_grad_node(node)) raise(ErrorKind::Type, "_will_run: expected a node, got ", Py_TYPE(node)->tp_name);
    return check(PyBool_FromLong(will_run(*grad_node_of(node))));
  });
}

PyObject* retain_function(PyObject*, PyObject* object) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(object);
    if (!is_leaf(tensor)) own_history(tensor).retain(edge_of(tensor).index);
    return Ref::share(Py_None);
  });
}

// A tensor over the same elements that goes back to a node's result; of None to nothing.
PyObject* alias_function(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args("_alias_with_history", {"tensor", "edge"}, args, arg_count, kw_names);
    GradEdge edge = values[1] == Py_None ? GradEdge{} : edge_from(values[1], "edge");
    return wrap_tensor(alias_with_edge(tensor_of(values[0]), std::move(edge)));
  });
}

// Makes outputs the results of a node that runs Python's functions; returns the node.
PyObject* attach_function(PyObject*, PyObject* const* args, Py_ssize_t arg_count, PyObject* kw_names) {
  return guarded([&] {
    std::vector<PyObject*> values = read_args(
        "_attach_function", {"name", "context", "run", "release", "inputs", "outputs"}, args, arg_count, kw_names);
    const char* name = PyUnicode_AsUTF8(values[0]);
    if (name == nullptr) throw PythonError();
    auto node = make_grad_node<PythonGradNode>(std::string(name), values[1], values[2], values[3]);
    for (const Tensor& input : tensors_from(values[4])) node->edges.push_back(edge_of(input));
    std::vector<Tensor> outputs = tensors_from(values[5]);
    for (const Tensor& output : outputs) node->outputs.push_back({output->dtype(), output.spec().sizes});
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!is_inexact(outputs[i]->dtype())) continue;
      bool is_written =
          outputs[i].requires_grad() || (history_of(outputs[i]) && history_of(outputs[i])->base.defined());
      if (is_written) {
        rebase(outputs[i], {node, static_cast<int>(i)});
      } else {
        set_edge(outputs[i], {node, static_cast<int>(i)});
      }
    }
    return grad_node_object(node);
  });
}

PyObject* detach_in_place(PyObject* self, PyObject*) {
  return guarded([&] {
    const Tensor& tensor = tensor_of(self);
    if (tensor->kind() != TensorKind::Real) raise(ErrorKind::NotImplemented, "detach_() of a tensor without values");
    if (GradHistory* history = history_of(tensor)) {
      if (history->base.defined())
        raise(ErrorKind::Runtime,
              "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
              "training, "
              "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() "
              "cannot be "
              "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
              "torch/optim/optimizer.py as the solution.");
      history->stop_retaining();
      history->edge = {};
      history->is_stale = false;
    }
    tensor.set_requires_grad(false);
    return Ref::share(self);
  });
}

}  // namespace

std::vector<PyMethodDef> gradient_methods() {
  return {{"detach_", detach_in_place, METH_NOARGS,
           "detach_() -> Tensor\n\nHas the tensor forget what it was computed from, and gives it back."},
          fast_method(kMethods[0][0], call_method<0>, kMethods[0][2]),
          fast_method(kMethods[1][0], call_method<1>, kMethods[1][2]),
          fast_method(kMethods[2][0], call_method<2>, kMethods[2][2]),
          fast_method(kMethods[3][0], call_method<3>, kMethods[3][2]),
          fast_method(kMethods[4][0], call_method<4>, kMethods[4][2])};
}

std::vector<PyMethodDef> gradient_functions() {
  return {
      fast_method(
          "_run_backward", run_backward_function,
          "Runs nodes back from roots; without inputs leaves accumulate, with some their gradients are returned."),
      fast_method("_accumulate_gradient", accumulate_function, "Adds to a tensor's grad as backward() does."),
      fast_method("_add_gradient_hook", add_hook_function, "Adds a hook of a tensor's gradient; returns its number."),
      fast_method("_remove_gradient_hook", remove_hook_function, "Removes a hook by its number."),
      fast_method("_add_accumulated_hook", add_accumulated_hook_function,
                  "Adds a hook behind accumulation; returns its number."),
      fast_method("_depends_on_others", depends_on_others_function,
                  "Whether tensors were computed from other leaves than these."),
      fast_method("_note_function_view", note_function_view_function,
                  "Says that a Function's result is a view of an operand."),
      {"_backward_number", backward_number_function, METH_NOARGS, "Of the backward that this thread runs; 0: none."},
      {"_backward_has_inputs", backward_has_inputs_function, METH_NOARGS,
       "Whether the backward that this thread runs ends at given tensors, not at the leaves."},
      {"_will_run", will_run_function, METH_O, "Whether the backward that this thread runs comes to a node."},
      {"_retain_gradient", retain_function, METH_O, "Has backward() keep the gradient of a computed tensor."},
      fast_method("_alias_with_history", alias_function,
                  "The same elements with another history, (node, index) or None."),
      fast_method("_attach_function", attach_function,
                  "Makes tensors the results of a node that runs Python's functions."),
  };
}

}  // namespace md
