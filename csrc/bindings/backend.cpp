#include "bindings/backend.h"

#include "base/error.h"
#include "bindings/graph.h"
#include "cpython/errors.h"
#include "cpython/imports.h"
#include "cpython/text.h"
#include "eval_frame/callable_plan.h"
#include "eval_frame/gil_release.h"
#include "frontends/arg_binding.h"
#include "guards/object_memory.h"
#include "guards/tensor_family.h"
#include "snapshot/serving_code.h"

namespace md {
namespace {

std::string name_of(BorrowedRef backend) {
  Ref name = Ref::steal(PyObject_GetAttrString(backend, "__name__"));
  if (!name) PyErr_Clear();
  return name && PyUnicode_Check(name.get()) ? text_of(name) : backend.type()->tp_name;
}

// Replaces the current exception by BackendCompilerFailed with it as the cause.
[[noreturn]] void raise_backend_failed(BorrowedRef backend) {
  // Ctrl-C and exit are not failures of the backend.
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw PythonError();
  Ref inner = take_raised();
  Ref failed_type = imported("minidynamo._dynamo.exc", "BackendCompilerFailed");
  Ref failed = check(PyObject_CallFunctionObjArgs(failed_type, backend.get(), inner.get(), nullptr));
  PyException_SetCause(failed, Ref(inner).release());
  PyErr_SetObject(failed_type, failed);
  CaptureError error;
  error.outlives_handlers = true;
  throw error;
}

Ref call_backend(BorrowedRef backend, const ShownGraph& graph, const std::vector<Ref>& example_inputs) {
  ServingCode serving;
  Ref graph_object = graph_to_python(graph);
  Ref gm = check(PyObject_CallOneArg(imported("minidynamo.fx", "GraphModule"), graph_object));
  Ref inputs = check(PyList_New(0));
  for (const Ref& input : example_inputs) check_status(PyList_Append(inputs, input));
  Ref compiled = Ref::steal(PyObject_CallFunctionObjArgs(backend, gm.get(), inputs.get(), nullptr));
  if (!compiled) raise_backend_failed(backend);
  if (PyCallable_Check(compiled) == 0) {
    PyErr_Format(PyExc_TypeError, "a backend must return a callable, not %.200s", compiled.type()->tp_name);
    raise_backend_failed(backend);
  }
  // A backend that returns the graph module means its forward.
  if (compiled.get() == gm.get()) return check(PyObject_GetAttrString(gm, "forward"));
  return compiled;
}

// Results are computed in memory of the family.
class FamilyHost : public RunHost {
 public:
  explicit FamilyHost(const TensorFamily& family) : family_(family) {}
  Tensor allocate(size_t, const TensorSpec& spec) override {
    return family_.wrap != nullptr ? Tensor() : new_result(family_, spec);
  }
  void commit() override {}

 private:
  const TensorFamily& family_;
};

GraphInput tensor_input(const Node& node, BorrowedRef value, bool exact_layout) {
  Tensor tensor = tensor_of_object(value);
  if (!tensor.defined()) {
    raise(ErrorKind::Type, "graph: input ", node.target, " must be a tensor, not ", value.type()->tp_name);
  }
  const TensorSpec& expected = node.outs[0].spec;
  const TensorSpec& found = tensor.spec();
  bool fits = tensor->kind() == TensorKind::Real && found.dtype == expected.dtype && found.rank() == expected.rank();
  if (exact_layout && !any_symbolic(expected.sizes.span())) fits = fits && same_layout(found, expected);
  if (!fits) {
    raise(ErrorKind::Value, "graph: input ", node.target, " was captured as ", expected.str(), ", got ", found.str());
  }
  return {tensor, {}};
}

GraphInput scalar_input(const Node& node, BorrowedRef value) {
  Scalar::Kind kind = node.outs[0].scalar_kind;
  if (kind == Scalar::Kind::Bool && PyBool_Check(value)) return {{}, Scalar(value.get() == Py_True)};
  if (kind == Scalar::Kind::Int && PyLong_CheckExact(value)) {
    long long number = PyLong_AsLongLong(value);
    if (number == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    return {{}, Scalar(static_cast<int64_t>(number))};
  }
  if (kind == Scalar::Kind::Float && PyFloat_CheckExact(value)) return {{}, Scalar(PyFloat_AS_DOUBLE(value.get()))};
  raise(ErrorKind::Type, "graph: input ", node.target, " must be ", code_type(node.outs[0]), ", not ",
        value.type()->tp_name);
}

}  // namespace

std::shared_ptr<const Plan> plan_from_callable(BorrowedRef backend, const ShownGraph& graph,
                                               const std::vector<Ref>& example_inputs) {
  Ref compiled = call_backend(backend, graph, example_inputs);
  if (std::shared_ptr<const Plan> plan = plan_of_python(compiled, *graph.graph)) return plan;
  return callable_plan(std::move(compiled), name_of(backend), graph);
}

std::vector<GraphInput> graph_inputs(const Graph& graph, std::span<PyObject* const> values, bool exact_layout) {
  if (values.size() != graph.inputs().size()) {
    raise(ErrorKind::Type, "graph: takes ", graph.inputs().size(), " inputs, got ", values.size());
  }
  std::vector<GraphInput> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    const Node& node = *graph.inputs()[i];
    bool is_scalar = node.kind == NodeKind::ScalarInput;
    inputs.push_back(is_scalar ? scalar_input(node, values[i]) : tensor_input(node, values[i], exact_layout));
  }
  return inputs;
}

std::vector<Ref> run_plan(const Plan& plan, const ShownGraph& graph, std::span<const GraphInput> inputs) {
  std::vector<Tensor> outputs(graph.graph->outputs().size());
  {
    GilRelease release(is_long(plan));
    FamilyHost host(*graph.family);
    plan.run_into(inputs, outputs, host);
  }
  std::vector<const TensorFamily*> families(outputs.size(), graph.family);
  move_shared_outputs(families, outputs);
  std::vector<Ref> objects;
  for (Tensor& output : outputs) objects.push_back(object_of_result(*graph.family, std::move(output)));
  return objects;
}

}  // namespace md
