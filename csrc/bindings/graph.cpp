#include "bindings/graph.h"

#include <pybind11/stl.h>

#include "bindings/backend.h"
#include "bindings/bindings.h"
#include "bindings/plan_facts.h"
#include "eval_frame/backends.h"
#include "frontends/arg_binding.h"
#include "graph/passes.h"
#include "guards/tensor_family.h"
#include "symbolic/breaks/graph_break.h"

namespace py = pybind11;

namespace md {
namespace {

// A plan and its graph, as a Python callable.
struct BoundPlan {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const Graph> graph;
  bool exact_layout;  // the plan only accepts the captured sizes and strides
};

// A result of a node, by name: it may outlive the graph.
struct GraphValue {
  std::string node;
  int out;
};

GraphValue graph_value(ValueRef value) { return {value.node->name, value.out}; }

std::vector<GraphValue> graph_values(const std::vector<ValueRef>& values) {
  std::vector<GraphValue> named;
  for (const ValueRef& value : values) named.push_back(graph_value(value));
  return named;
}

py::object to_object(Ref ref) { return py::reinterpret_steal<py::object>(ref.release()); }

py::object wrap(Tensor tensor) { return to_object(default_family().wrap(std::move(tensor))); }

py::tuple wrap_all(std::vector<Tensor> tensors) {
  py::tuple result(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) result[i] = wrap(std::move(tensors[i]));
  return result;
}

py::tuple call_plan(const BoundPlan& self, const py::args& args) {
  std::vector<PyObject*> values;
  for (py::handle value : args) values.push_back(value.ptr());
  return wrap_all(run_plan(*self.plan, *self.graph, graph_inputs(*self.graph, values, self.exact_layout)));
}

// Runs the graph as a captured region would.
BoundPlan compiled(const std::shared_ptr<Graph>& graph, const py::object& backend, const py::list& example_inputs) {
  std::vector<Ref> inputs;
  for (py::handle input : example_inputs) inputs.push_back(Ref::share(input.ptr()));
  return {plan_from_backend(backend.ptr(), graph, inputs), graph, true};
}

std::shared_ptr<Graph> parse_verified(const std::string& text) {
  std::shared_ptr<Graph> graph = parse_graph(text);
  verify(*graph);
  return graph;
}

std::shared_ptr<Graph> optimized(const Graph& graph) {
  std::shared_ptr<Graph> copy = graph.clone();
  run_passes(*copy);
  return copy;
}

py::list node_list(const py::object& self) {
  py::list nodes;
  for (const auto& node : self.cast<const Graph&>().nodes()) {
    nodes.append(py::cast(node.get(), py::return_value_policy::reference_internal, self));
  }
  return nodes;
}

const char* kind_name(const Node& node) {
  switch (node.kind) {
    case NodeKind::TensorInput:
      return "tensor input";
    case NodeKind::ScalarInput:
      return "scalar input";
    case NodeKind::TensorConst:
      return "constant";
    case NodeKind::Op:
      break;
  }
  return "op";
}

// Replaces varying sizes by those at capture, for users who look at an example.
DimVec hinted(const DimVec& dims) {
  DimVec numbers;
  for (Dim dim : dims) numbers.push_back(dim.hint());
  return numbers;
}

// Values become GraphValue objects, which the Python wrapper replaces by its own nodes.
py::object operand_to_python(const Operand& operand) {
  if (const auto* value = std::get_if<ValueRef>(&operand)) return py::cast(graph_value(*value));
  if (const auto* list = std::get_if<std::vector<ValueRef>>(&operand)) return py::cast(graph_values(*list));
  if (const auto* dims = std::get_if<DimVec>(&operand)) return to_object(arg_to_python(hinted(*dims)));
  if (const auto* scalar = std::get_if<Scalar>(&operand); scalar != nullptr && scalar->is_symbolic())
    return py::int_(scalar->as_dim().hint());
  return to_object(arg_to_python(to_arg(operand, nullptr)));
}

// (args, kwargs) as the user could have written them: arguments equal to their defaults are omitted.
py::tuple call_arguments(const Node& node) {
  py::list args;
  py::dict kwargs;
  bool by_name = false;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Param& param = node.op->schema.params[i];
    if (is_default(param, node.operands[i])) {
      by_name = true;
    } else if (by_name || param.keyword_only) {
      kwargs[py::str(param.name)] = operand_to_python(node.operands[i]);
    } else {
      args.append(operand_to_python(node.operands[i]));
    }
  }
  return py::make_tuple(py::tuple(args), kwargs);
}

// A fake tensor for each result, and the Python type of a scalar.
py::list example_values(const Node& node) {
  static constexpr PyTypeObject* kScalarTypes[] = {&PyBool_Type, &PyLong_Type, &PyFloat_Type};
  py::list values;
  for (const ValueInfo& info : node.outs) {
    if (info.is_scalar) {
      values.append(py::handle(reinterpret_cast<PyObject*>(kScalarTypes[static_cast<int>(info.scalar_kind)])));
    } else {
      TensorSpec spec = info.spec;
      spec.sizes = hinted(spec.sizes);
      spec.strides = hinted(spec.strides);
      values.append(wrap(Tensor::fake(spec)));
    }
  }
  return values;
}

// As in code(): f32[s0, 3][3, 1]cpu.
std::vector<std::string> types_of_results(const Node& node) {
  std::vector<std::string> types;
  for (const ValueInfo& info : node.outs) types.push_back(code_type(info));
  return types;
}

py::object constant_value(const Node& node) {
  return node.kind == NodeKind::TensorConst ? wrap(node.constant) : py::none();
}

py::object path_of_op(const Node& node) {
  return node.kind == NodeKind::Op ? py::object(py::str(op_path(*node.op))) : py::none();
}

// "function", "method", or the operator's name in the module operator.
py::object form_of_call(const Node& node) {
  if (node.kind != NodeKind::Op) return py::none();
  switch (call_form(node)) {
    case CallForm::Operator:
      return py::str(str_cat("operator.", operator_symbol(*node.op)->name));
    case CallForm::Method:
      return py::str("method");
    case CallForm::Function:
      break;
  }
  return py::str("function");
}

std::string stack_trace(const Node& node) {
  return node.location == nullptr ? std::string() : format_stack(*node.location);
}

void bind_node(py::module_& module) {
  py::class_<GraphValue>(module, "GraphValue")
      .def_readonly("node", &GraphValue::node)
      .def_readonly("out", &GraphValue::out)
      .def("__repr__", [](const GraphValue& value) { return str_cat("%", value.node, ".", value.out); });
  py::class_<Node, std::unique_ptr<Node, py::nodelete>>(module, "Node")
      .def_property_readonly("kind", &kind_name)
      .def_readonly("name", &Node::name)
      .def_readonly("target", &Node::target)
      .def_property_readonly(
          "op",
          [](const Node& node) { return node.op == nullptr ? std::string() : std::string(method_name(*node.op)); })
      .def_property_readonly("path", &path_of_op)
      .def_property_readonly("form", &form_of_call)
      .def_property_readonly("arguments", &call_arguments)
      .def_property_readonly("example_values", &example_values)
      .def_property_readonly("types", &types_of_results)
      .def_property_readonly("constant", &constant_value)
      .def_property_readonly("stack_trace", &stack_trace)
      .def("__repr__", [](const Node& node) { return "%" + node.name; });
}

}  // namespace

Ref graph_to_python(const std::shared_ptr<const Graph>& graph) {
  // The Python class has no methods that modify the graph.
  return Ref::steal(py::cast(std::const_pointer_cast<Graph>(graph)).release().ptr());
}

std::shared_ptr<const Plan> plan_of_python(BorrowedRef object, const Graph& graph) {
  if (!py::isinstance<BoundPlan>(py::handle(object.get()))) return nullptr;
  const auto& bound = py::cast<const BoundPlan&>(py::handle(object.get()));
  return bound.graph.get() == &graph ? bound.plan : nullptr;
}

void bind_graph(py::module_& module) {
  bind_node(module);
  py::class_<BoundPlan>(module, "Plan")
      .def("__call__", &call_plan)
      .def("__str__", [](const BoundPlan& self) { return self.plan->print(); })
      .def("facts", [](const BoundPlan& self) { return plan_facts(*self.plan); })
      .def_property_readonly("estimated_ns", [](const BoundPlan& self) { return self.plan->estimated_ns(); });
  py::class_<Graph, std::shared_ptr<Graph>>(module, "Graph")
      .def_static("parse", &parse_verified, py::arg("text"), py::pos_only())
      .def("__str__", [](const Graph& self) { return print(self); })
      .def("verify", [](const Graph& self) { verify(self); })
      .def(
          "code", [](const Graph& self, bool readable) { return print_code(self, readable, &source_text); },
          py::arg("readable") = false)
      .def("optimized", &optimized)
      .def("compiled", &compiled, py::arg("backend"), py::arg("example_inputs"))
      .def("lower", [](const std::shared_ptr<Graph>& self) { return BoundPlan{lower(self), self, true}; })
      .def("eager", [](const std::shared_ptr<Graph>& self) { return BoundPlan{eager_plan(self), self, false}; })
      .def_property_readonly("nodes", &node_list)
      .def_property_readonly("outputs", [](const Graph& self) { return graph_values(self.outputs()); })
      .def_property_readonly("op_count", &Graph::op_count);
}

}  // namespace md
