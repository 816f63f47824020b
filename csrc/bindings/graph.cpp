#include "bindings/graph.h"

#include <pybind11/stl.h>

#include "bindings/backend.h"
#include "bindings/bindings.h"
#include "bindings/plan_facts.h"
#include "eval_frame/backends.h"
#include "frontends/arg_binding.h"
#include "frontends/memory_format_object.h"
#include "frontends/minidynamo/op_dispatch.h"
#include "graph/passes.h"
#include "graph/symbols.h"
#include "guards/object_memory.h"
#include "guards/tensor_family.h"
#include "symbolic/breaks/graph_break.h"

namespace py = pybind11;

namespace md {
namespace {

// A plan and its graph, as a Python callable.
struct BoundPlan {
  std::shared_ptr<const Plan> plan;
  ShownGraph shown;
  bool exact_layout;  // the plan only accepts the captured sizes and strides
};

// A result of a node, by name: it may outlive the graph.
struct GraphValue {
  std::string node;
  int out;
};

// A number that varies: "s0 + 1".
struct GraphNumber {
  std::string text;
};

GraphValue graph_value(ValueRef value) { return {value.node->name, value.out}; }

std::vector<GraphValue> graph_values(const std::vector<ValueRef>& values) {
  std::vector<GraphValue> named;
  for (const ValueRef& value : values) named.push_back(graph_value(value));
  return named;
}

py::object to_object(Ref ref) { return py::reinterpret_steal<py::object>(ref.release()); }

py::tuple call_plan(const BoundPlan& self, const py::args& args) {
  std::vector<PyObject*> values;
  for (py::handle value : args) values.push_back(value.ptr());
  std::vector<Ref> results =
      run_plan(*self.plan, self.shown, graph_inputs(*self.shown.graph, values, self.exact_layout));
  py::tuple tuple(results.size());
  for (size_t i = 0; i < results.size(); ++i) tuple[i] = to_object(std::move(results[i]));
  return tuple;
}

// Runs the graph as a captured region would.
BoundPlan compiled(const ShownGraph& graph, const py::object& backend, const py::list& example_inputs) {
  std::vector<Ref> inputs;
  for (py::handle input : example_inputs) inputs.push_back(Ref::share(input.ptr()));
  return {plan_from_backend(backend.ptr(), graph, inputs, {}, rules_asked_for()), graph, true};
}

ShownGraph parse_verified(const std::string& text) {
  std::shared_ptr<Graph> graph = parse_graph(text);
  verify(*graph);
  return {graph, &default_family()};
}

ShownGraph optimized(const ShownGraph& shown) {
  std::shared_ptr<Graph> copy = shown.graph->clone();
  run_passes(*copy);
  return {copy, shown.family};
}

py::list node_list(const py::object& self) {
  py::list nodes;
  for (const auto& node : self.cast<const ShownGraph&>().graph->nodes()) {
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

py::object dim_to_python(Dim dim) {
  return dim.is_symbolic() ? py::cast(GraphNumber{dim.str()}) : py::object(py::int_(dim.value()));
}

// Values and numbers that vary become GraphValue and GraphNumber objects, which the Python wrapper replaces by its own
// nodes.
py::object operand_to_python(const TensorFamily& family, const Param& param, const Operand& operand) {
  if (const auto* value = std::get_if<ValueRef>(&operand)) return py::cast(graph_value(*value));
  if (const auto* list = std::get_if<std::vector<ValueRef>>(&operand)) return py::cast(graph_values(*list));
  if (const auto* dims = std::get_if<DimVec>(&operand)) {
    py::list sizes;
    for (Dim dim : *dims) sizes.append(dim_to_python(dim));
    return py::tuple(sizes);
  }
  if (const auto* text = std::get_if<std::string>(&operand); text != nullptr && param.type == ParamType::MemoryFormat)
    return to_object(object_in(family, memory_format_object(*text)));
  if (const auto* scalar = std::get_if<Scalar>(&operand); scalar != nullptr && scalar->is_symbolic())
    return dim_to_python(scalar->as_dim());
  return to_object(object_in(family, arg_to_python(to_arg(operand, nullptr))));
}

// (args, kwargs) as the user could have written them.
py::tuple call_arguments(const ShownGraph& shown, const Node& node) {
  py::list args;
  py::dict kwargs;
  std::vector<ArgumentForm> forms = argument_forms(node, *shown.family->face);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    if (forms[i] == ArgumentForm::Omitted) continue;
    const Param& param = node.op->schema.params[i];
    py::object value = operand_to_python(*shown.family, param, node.operands[i]);
    if (forms[i] == ArgumentForm::Named)
      kwargs[py::str(param.name)] = value;
    else
      args.append(value);
  }
  return py::make_tuple(py::tuple(args), kwargs);
}

// A fake tensor for each result, and the Python type of a scalar.
py::list example_values(const ShownGraph& shown, const Node& node) {
  static constexpr PyTypeObject* kScalarTypes[] = {&PyBool_Type, &PyLong_Type, &PyFloat_Type};
  py::list values;
  for (const ValueInfo& info : node.outs) {
    if (info.is_scalar) {
      values.append(py::handle(reinterpret_cast<PyObject*>(kScalarTypes[static_cast<int>(info.scalar_kind)])));
    } else {
      TensorSpec spec = info.spec;
      spec.sizes = hinted(spec.sizes);
      spec.strides = hinted(spec.strides);
      values.append(to_object(shown.family->fake(spec)));
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

// By symbol: the input that has it, and the dim there; -1: the number itself, -2: the only element.
py::dict symbols_of_inputs(const ShownGraph& shown) {
  SymbolList symbols = symbols_of(*shown.graph);
  std::vector<SymbolPlace> places = symbol_places(*shown.graph, symbols);
  py::dict found;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].input < 0) continue;
    const Node& input = *shown.graph->inputs()[static_cast<size_t>(places[i].input)];
    bool is_element = places[i].dim < 0 && input.kind == NodeKind::TensorInput;
    found[py::str(symbols.symbols()[i].str())] = py::make_tuple(input.name, is_element ? -2 : places[i].dim);
  }
  return found;
}

py::object constant_value(const ShownGraph& shown, const Node& node) {
  if (node.kind != NodeKind::TensorConst) return py::none();
  return to_object(object_of_result(*shown.family, node.constant));
}

py::object path_of_op(const ShownGraph& shown, const Node& node) {
  return node.kind == NodeKind::Op ? py::object(py::str(shown.family->face->op_path(*node.op))) : py::none();
}

// "function", "method", or the operator's name in the module operator.
py::object form_of_call(const ShownGraph& shown, const Node& node) {
  if (node.kind != NodeKind::Op) return py::none();
  switch (call_form(node, *shown.family->face)) {
    case CallForm::Operator:
      return py::str(str_cat("operator.", operator_symbol(*node.op)->name));
    case CallForm::Method:
      return py::str("method");
    case CallForm::Function:
      break;
  }
  return py::str("function");
}

const TensorFamily& family_named(const std::string& library) {
  for (const TensorFamily* family : tensor_families())
    if (library == family->name) return *family;
  raise(ErrorKind::Key, "no library is named ", library);
}

// The tensor or object of the default family in the place of the library's.
py::object to_own(const std::string& library, const py::object& value) {
  if (Tensor tensor = tensor_of_object(value.ptr()); tensor.defined()) return to_object(default_family().wrap(tensor));
  return to_object(own_object(family_named(library), value.ptr()));
}

// The reverse.
py::object from_own(const std::string& library, const py::object& value) {
  const TensorFamily& family = family_named(library);
  if (Tensor tensor = tensor_of_object(value.ptr()); tensor.defined())
    return to_object(object_of_input(family, tensor));
  return to_object(object_in(family, value.ptr()));
}

// An op by the name of its row, over our tensors.
py::object call_op(const std::string& row, const py::args& args, const py::kwargs& kwargs) {
  const OpRow* op = find_op(row);
  if (op == nullptr) raise(ErrorKind::Key, "no op is named ", row);
  std::vector<PyObject*> values;
  for (py::handle value : args) values.push_back(value.ptr());
  py::list names;
  for (const auto& [name, value] : kwargs) {
    names.append(name);
    values.push_back(value.ptr());
  }
  PyObject* result =
      dispatch(*op, nullptr, values.data(), static_cast<Py_ssize_t>(args.size()), py::tuple(names).ptr());
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

std::string stack_trace(const Node& node) {
  return node.location == nullptr ? std::string() : format_stack(*node.location);
}

// A step that calls Python, over our tensors.
py::object call_host(const Node& node, const py::args& values) {
  std::vector<Arg> args;
  for (py::handle value : values) {
    if (Tensor tensor = tensor_of_object(value.ptr()); tensor.defined()) {
      args.emplace_back(std::move(tensor));
      continue;
    }
    DimVec dims;
    for (py::handle size : value) dims.push_back(size.cast<int64_t>());
    args.emplace_back(std::move(dims));
  }
  return to_object(wrap_results(*node.op, run_op(*node.op, args)));
}

void bind_node(py::module_& module) {
  py::class_<GraphValue>(module, "GraphValue")
      .def_readonly("node", &GraphValue::node)
      .def_readonly("out", &GraphValue::out)
      .def("__repr__", [](const GraphValue& value) { return str_cat("%", value.node, ".", value.out); });
  py::class_<GraphNumber>(module, "GraphNumber")
      .def_readonly("text", &GraphNumber::text)
      .def("__repr__", [](const GraphNumber& number) { return number.text; });
  py::class_<Node, std::unique_ptr<Node, py::nodelete>>(module, "Node")
      .def_property_readonly("kind", &kind_name)
      .def_readonly("name", &Node::name)
      .def_readonly("target", &Node::target)
      .def_property_readonly(
          "op",
          [](const Node& node) { return node.op == nullptr ? std::string() : std::string(method_name(*node.op)); })
      .def_property_readonly("types", &types_of_results)
      .def_property_readonly("symbol",
                             [](const Node& node) { return node.size.is_symbolic() ? node.size.str() : std::string(); })
      .def_property_readonly("is_host_call", [](const Node& node) { return is_op(node, OpKind::HostCall); })
      .def("call_host", &call_host)
      .def_property_readonly("has_several_results", &has_several_results)
      .def_property_readonly(
          "row", [](const Node& node) { return node.op == nullptr ? std::string() : std::string(node.op->name); })
      .def_property_readonly("stack_trace", &stack_trace)
      .def("__repr__", [](const Node& node) { return "%" + node.name; });
}

// What a node is to a reader of the graph: in the family in which that is shown.
void bind_shown(py::class_<ShownGraph>& graph) {
  graph.def("path", &path_of_op, py::arg("node"))
      .def("form", &form_of_call, py::arg("node"))
      .def("arguments", &call_arguments, py::arg("node"))
      .def("example_values", &example_values, py::arg("node"))
      .def("constant", &constant_value, py::arg("node"))
      .def("symbols_of_inputs", &symbols_of_inputs)
      .def_property_readonly("library", [](const ShownGraph& self) { return self.family->name; })
      .def_property_readonly("is_own", [](const ShownGraph& self) { return self.family == &default_family(); });
}

}  // namespace

Ref graph_to_python(const ShownGraph& graph) { return Ref::steal(py::cast(graph).release().ptr()); }

std::shared_ptr<const Plan> plan_of_python(BorrowedRef object, const Graph& graph) {
  if (!py::isinstance<BoundPlan>(py::handle(object.get()))) return nullptr;
  const auto& bound = py::cast<const BoundPlan&>(py::handle(object.get()));
  return bound.shown.graph.get() == &graph ? bound.plan : nullptr;
}

void bind_graph(py::module_& module) {
  bind_node(module);
  module.def("_to_own", &to_own, py::arg("library"), py::arg("value"));
  module.def("_from_own", &from_own, py::arg("library"), py::arg("value"));
  module.def("_call_op", &call_op);
  py::class_<BoundPlan>(module, "Plan")
      .def("__call__", &call_plan)
      .def("__str__", [](const BoundPlan& self) { return self.plan->print(); })
      .def("facts", [](const BoundPlan& self) { return plan_facts(*self.plan); })
      .def_property_readonly("estimated_ns", [](const BoundPlan& self) { return self.plan->estimated_ns(); });
  py::class_<ShownGraph> graph(module, "Graph");
  bind_shown(graph);
  graph.def_static("parse", &parse_verified, py::arg("text"), py::pos_only())
      .def("__str__", [](const ShownGraph& self) { return print(*self.graph); })
      .def("verify", [](const ShownGraph& self) { verify(*self.graph); })
      .def(
          "code",
          [](const ShownGraph& self, bool readable) {
            return print_code(*self.graph, readable, &source_text, *self.family->face);
          },
          py::arg("readable") = false)
      .def("optimized", &optimized)
      .def("compiled", &compiled, py::arg("backend"), py::arg("example_inputs"))
      .def("lower", [](const ShownGraph& self) { return BoundPlan{lower(self.graph), self, true}; })
      .def("eager", [](const ShownGraph& self) { return BoundPlan{eager_plan(self.graph), self, false}; })
      .def_property_readonly("nodes", &node_list)
      .def_property_readonly("outputs", [](const ShownGraph& self) { return graph_values(self.graph->outputs()); })
      .def_property_readonly("op_count", [](const ShownGraph& self) { return self.graph->op_count(); });
}

}  // namespace md
