#include "symbolic/tensors/traced_calls.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "cpython/errors.h"
#include "cpython/imports.h"
#include "cpython/text.h"
#include "frontends/eager.h"
#include "graph/gradient.h"
#include "graph/views.h"
#include "guards/guard_set.h"
#include "guards/guarded_ref.h"
#include "snapshot/serving_code.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/unbacked_sizes.h"
#include "symbolic/tensors/host_calls.h"
#include "symbolic/tensors/library_calls.h"
#include "symbolic/tensors/tensor_ops.h"
#include "symbolic/trace/endings.h"
#include "tensor/ops/gradient_flow.h"
#include "tensor/tensor_modes.h"

namespace md {

namespace {

// State of one call_traced. Values are numbered; a recording tensor carries the numbers of the capture and of its
// value.
struct Capture {
  Tracer& tracer;
  const TensorFamily& family;  // of the tensors for which recording ones stand
  uint64_t number;
  std::vector<ValuePtr> values;
  std::unordered_map<Value*, Ref> objects;  // one object per tensor, so that `is` holds
  Capture* outer;
  const Source* self = nullptr;  // of the object whose method is called
};

thread_local Capture* innermost = nullptr;
std::atomic<uint64_t> captures{0};
constexpr int kIndexBits = 24;

class TraceRecorder : public Recorder {
 public:
  std::vector<Tensor> record(const OpRow& row, std::span<const Arg> args) override;
};

TraceRecorder& recorder() {
  static TraceRecorder instance;
  return instance;
}

Capture& capture_of(const Tensor& tensor) {
  auto bits = reinterpret_cast<uintptr_t>(tensor.recorded_value());
  for (Capture* capture = innermost; capture != nullptr; capture = capture->outer)
    if (capture->number == bits >> kIndexBits) return *capture;
  raise(ErrorKind::Runtime, "a tensor of a capture that has ended was used");
}

const ValuePtr& value_of(Capture& capture, const Tensor& tensor) {
  auto bits = reinterpret_cast<uintptr_t>(tensor.recorded_value());
  return capture.values[bits & ((uintptr_t{1} << kIndexBits) - 1)];
}

Tensor recording_tensor(Capture& capture, const ValuePtr& value) {
  if (capture.values.size() >> kIndexBits != 0) raise(ErrorKind::Runtime, "a traced call makes too many tensors");
  uintptr_t bits = capture.number << kIndexBits | capture.values.size();
  capture.values.push_back(value);
  return Tensor::recording(as<TensorValue>(value)->spec, &recorder(), reinterpret_cast<void*>(bits));
}

bool is_recording(const Tensor& tensor) { return tensor->kind() == TensorKind::Recording; }

ValueRef graph_value(Capture& capture, const Tensor& tensor) {
  if (is_recording(tensor)) {
    if (&capture_of(tensor) != &capture)
      raise(ErrorKind::Runtime, "a tensor of another capture was used in a traced call");
    return capture.tracer.builder().graph_value(as<TensorValue>(value_of(capture, tensor)));
  }
  if (tensor->kind() != TensorKind::Real) raise(ErrorKind::Runtime, "a fake tensor was used in a traced call");
  // Tensors captured by the function are constants of the graph.
  return {capture.tracer.graph().add_constant("constant", tensor), 0};
}

struct SetOperand {
  Capture& capture;
  Operand& operand;
  void operator()(std::monostate) const {}
  void operator()(const Tensor& tensor) const { operand.emplace<ValueRef>(graph_value(capture, tensor)); }
  void operator()(const std::vector<Tensor>& tensors) const {
    auto& refs = operand.emplace<std::vector<ValueRef>>();
    for (const Tensor& tensor : tensors) refs.push_back(graph_value(capture, tensor));
  }
  template <typename T>
  void operator()(const T& value) const {
    operand.emplace<T>(value);
  }
};

Capture& capture_of_args(std::span<const Arg> args) {
  for (const Arg& arg : args) {
    if (auto* tensor = std::get_if<Tensor>(&arg); tensor != nullptr && tensor->defined() && is_recording(*tensor))
      return capture_of(*tensor);
    if (auto* list = std::get_if<std::vector<Tensor>>(&arg))
      for (const Tensor& tensor : *list)
        if (is_recording(tensor)) return capture_of(tensor);
  }
  raise(ErrorKind::Internal, "an op was recorded without a recording tensor");
}

Tensor recording_result(Capture& capture, Node* node, size_t i, const TensorFamily& family) {
  return recording_tensor(capture,
                          make_value<TensorValue>(ValueRef{node, static_cast<int>(i)}, node->outs[i].spec, family));
}

std::vector<Tensor> recording_results(Capture& capture, Node* node, size_t count) {
  std::vector<Tensor> outs;
  for (size_t i = 0; i < count; ++i) outs.push_back(recording_result(capture, node, i, capture.family));
  return outs;
}

bool results_require_grad(const Capture& capture, const Node& node) {
  return capture.tracer.builder().modes().records_gradient() && passes_gradient(*node.op) &&
         any_requires_grad(node.operands);
}

std::vector<Tensor> TraceRecorder::record(const OpRow& row, std::span<const Arg> args) {
  Capture& capture = capture_of_args(args);
  if (row.kind == OpKind::HostCall || row.has(kEagerOnly))
    raise(ErrorKind::NotImplemented, python_name(row), "() cannot be recorded");
  std::vector<Operand> operands(args.size());
  for (size_t i = 0; i < args.size(); ++i) std::visit(SetOperand{capture, operands[i]}, args[i]);
  Node* node = capture.tracer.builder().add_op(row, std::move(operands));
  bool requires_grad = results_require_grad(capture, *node);
  for (ValueInfo& out : node->outs) out.spec.requires_grad = requires_grad && is_inexact(out.spec.dtype);
  capture.tracer.builder().require_derivative(*node);
  std::vector<Tensor> outs = recording_results(capture, node, node->outs.size());
  const Tensor* viewed = args.empty() ? nullptr : std::get_if<Tensor>(&args[0]);
  if (viewed == nullptr || !viewed->defined() || !is_recording(*viewed) || !is_strided_view(*node)) return outs;
  auto* of = as<TensorValue>(value_of(capture, *viewed));
  if (outs.size() == 1 && row.is_argument(of->spec, node->outs[0].spec)) return {*viewed};
  for (size_t i = 0; i < outs.size(); ++i)
    capture.tracer.builder().make_alias(as<TensorValue>(value_of(capture, outs[i])), of, *node, static_cast<int>(i));
  return outs;
}

// ---- arguments and results

PyObject* cannot_capture_type() {
  static PyObject* const type = imported("minidynamo._dynamo.traced_calls", "CannotCapture").release();
  return type;
}

[[noreturn]] void no_argument(const ValuePtr& value) {
  graph_break(BreakReason::traced_call, str_cat("an argument is a ", describe(value)));
}

// The library's own tensors have sizes that are numbers, and history.
void prepare_for_library(Tracer& tracer, TensorValue* tensor) {
  tracer.builder().graph_value(tensor);
  for (const DimVec& dims : {tensor->spec.sizes, tensor->spec.strides})
    for (Dim dim : dims)
      if (dim.is_symbolic()) tracer.shapes().relation(dim, DimRelation::Equal, dim.hint());
}

Ref to_object(Capture& capture, const ValuePtr& value) {
  Tracer& tracer = capture.tracer;
  if (auto* tensor = as<TensorValue>(value)) {
    Ref& object = capture.objects[tensor];
    if (!object) {
      if (!are_kin(*tensor->family, capture.family))
        graph_break(BreakReason::traced_call, str_cat("an argument is a ", tensor->family->name, " tensor"));
      tracer.values().guard_tensor(tensor);
      refuse_unbacked_sizes(tracer, tensor->spec);
      if (&capture.family != &default_family()) prepare_for_library(tracer, tensor);
      object = default_family().wrap(recording_tensor(capture, value));
    }
    return object;
  }
  if (Ref constant = constant_of(tracer, value)) return constant;
  bool is_plain = type_of(value) == &PyList_Type || type_of(value) == &PyDict_Type || is_plain_tuple(tracer, value);
  if (auto elements = is_plain ? elements_of(tracer, value) : nullptr) {
    Ref list = check(PyList_New(0));
    for (const ValuePtr& element : *elements) check_status(PyList_Append(list, to_object(capture, element)));
    return type_of(value) == &PyList_Type ? std::move(list) : check(PyList_AsTuple(list));
  }
  if (auto entries = is_plain ? entries_of(tracer, value) : nullptr) {
    Ref dict = check(PyDict_New());
    for (const auto& [key, item] : *entries) check_status(PyDict_SetItem(dict, key, to_object(capture, item)));
    return dict;
  }
  auto* known = as<ObjectValue>(value);
  if (known == nullptr || !GuardSet::can_hold(known->object.get())) no_argument(value);
  // Functions and classes are guarded by identity; the state of any other object would be read unguarded.
  PyTypeObject* type = tracer.values().exact_type(value);
  bool stateless =
      type == &PyFunction_Type || type == &PyType_Type || type == &PyCFunction_Type || can_hold_strongly(known->object);
  if (!stateless) no_argument(value);
  return Ref::share(tracer.values().identity_of(value));
}

// Of a class of collections.namedtuple() whose objects have nothing but their fields.
bool is_named_tuple(BorrowedRef object) {
  PyTypeObject* type = object.type();
  if (type->tp_base != &PyTuple_Type || type->tp_dictoffset != 0) return false;
  static PyObject* const fields = PyUnicode_InternFromString("_fields");
  return _PyType_Lookup(type, fields) != nullptr;
}

ValuePtr from_object(Capture& capture, BorrowedRef object) {
  Tracer& tracer = capture.tracer;
  if (Tensor tensor = tensor_of_object(object); tensor.defined()) {
    if (!is_recording(tensor))
      graph_break(BreakReason::traced_call, "the result is a tensor that was not computed from the arguments");
    return value_of(capture_of(tensor), tensor);
  }
  if (is_guardable_constant(object)) return tracer.values().constant(object);
  bool is_named = is_named_tuple(object);
  if (PyList_CheckExact(object.get()) || PyTuple_CheckExact(object.get()) || is_named) {
    std::vector<ValuePtr> items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object.get()); ++i)
      items.push_back(from_object(capture, PySequence_Fast_GET_ITEM(object.get(), i)));
    auto sequence = make_value<SequenceValue>(PyList_CheckExact(object.get()) != 0, std::move(items));
    if (is_named) sequence->type = tracer.values().constant(reinterpret_cast<PyObject*>(object.type()));
    return sequence;
  }
  if (PyDict_CheckExact(object.get())) {
    auto dict = make_value<DictValue>();
    PyObject *key, *item;
    Py_ssize_t position = 0;
    while (PyDict_Next(object, &position, &key, &item) != 0) {
      if (!is_guardable_constant(key)) graph_break(BreakReason::traced_call, "the result has an unknown key");
      dict->set(key, from_object(capture, item));
    }
    return dict;
  }
  graph_break(BreakReason::traced_call, str_cat("the result is a ", object.type()->tp_name));
}

// Disables capture inside the call, and sets the modes of the trace's current point.
class TracedScope {
 public:
  explicit TracedScope(Capture& capture) : capture_(capture), modes_(tensor_modes()) {
    capture.outer = std::exchange(innermost, &capture);
    tensor_modes().grad_enabled = capture.tracer.builder().modes().grad;
    tensor_modes().inference_mode = capture.tracer.builder().modes().inference;
    tensor_modes().autocast = capture.tracer.builder().modes().autocast;
    capture.tracer.guards().global_state(default_family());
    if (&capture.family != &default_family()) {
      library_modes_ = capture.family.modes();
      capture.family.set_modes(capture.tracer.builder().modes(capture.family));
    }
  }
  ~TracedScope() {
    innermost = capture_.outer;
    tensor_modes() = modes_;
    if (library_modes_) capture_.family.set_modes(*library_modes_);
  }
  TracedScope(const TracedScope&) = delete;

 private:
  Capture& capture_;
  TensorModes modes_;
  std::optional<GradModes> library_modes_;
  ServingCode serving_;
};

std::string attribute_text(BorrowedRef object, const char* name) {
  return text_of(check(PyObject_GetAttrString(object, name)));
}

[[noreturn]] void leave_failed_call(PyObject* cannot_capture) {
  if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw PythonError();
  if (PyErr_ExceptionMatches(cannot_capture) == 0) raise_here();
  Ref error = take_raised();
  std::string reason = attribute_text(error.get(), "reason");
  for (const BreakRow& row : break_rows())
    if (reason == row.name)
      graph_break(static_cast<BreakReason>(&row - break_rows().data()), attribute_text(error.get(), "context"));
  raise(ErrorKind::Internal, "no break reason is named ", reason);
}

}  // namespace

bool is_tracing() { return innermost != nullptr; }

namespace {

// The signal would cross Python frames: raises CannotCapture instead.
[[noreturn]] void refuse_host_call(const char* reason, const std::string& context) {
  Ref error = check(PyObject_CallFunction(cannot_capture_type(), "ss", reason, context.c_str()));
  PyErr_SetObject(cannot_capture_type(), error);
  throw PythonError();
}

// Results have the sizes that the fake reports, which must not be unbacked.
TensorSpec spec_of_result(Tracer& tracer, TensorSpec spec) {
  refuse_unbacked_sizes(tracer, spec);
  return spec;
}

}  // namespace

std::vector<Tensor> record_host_call(const std::string& name, BorrowedRef run, std::span<const Tensor> tensors,
                                     std::span<const Tensor> like, std::span<const int> written, bool may_raise) {
  if (innermost == nullptr) raise(ErrorKind::Runtime, "record_call_out() outside of a traced call");
  Capture& capture = *innermost;
  HostCallRequest request{name, run, {}, {}, {}, {}};
  request.may_raise = may_raise;
  for (const Tensor& tensor : tensors) {
    request.operands.push_back(graph_value(capture, tensor));
    request.tensors.push_back(is_recording(tensor) ? as<TensorValue>(value_of(capture, tensor)) : nullptr);
  }
  try {
    for (const Tensor& tensor : like) request.results.push_back(spec_of_result(capture.tracer, tensor.spec()));
    for (int at : written) {
      TensorValue* tensor = request.tensors[static_cast<size_t>(at)];
      if (tensor == nullptr) graph_break(BreakReason::tensor_write, name + " writes to a constant");
      request.written.emplace_back(at, tensor);
    }
    return recording_results(capture, append_host_call(capture.tracer, request), like.size());
  } catch (const RestartSignal&) {
    refuse_host_call(break_row(BreakReason::caught_call_out).name, name);
  } catch (const BreakSignal& signal) {
    refuse_host_call(break_row(signal.reason).name, signal.context);
  }
}

Ref example_of(const Tensor& recording) {
  if (innermost == nullptr) raise(ErrorKind::Runtime, "example_of() outside of a traced call");
  auto* value = as<TensorValue>(value_of(capture_of(recording), recording));
  const TensorFamily& family = *value->family;
  auto hints = [](const DimVec& dims) {
    std::vector<int64_t> found;
    for (Dim dim : dims) found.push_back(dim.is_symbolic() ? dim.hint() : dim.value());
    return found;
  };
  if (family.wrap != nullptr) {
    Tensor one = Tensor::empty(TensorSpec::contiguous(value->spec.dtype, {}));
    std::memset(one->memory(), 0, item_size(value->spec.dtype));
    return family.wrap(one);
  }
  std::vector<int64_t> sizes = hints(value->spec.sizes), strides = hints(value->spec.strides);
  TensorView view;
  view.dtype = value->spec.dtype;
  view.rank = value->spec.rank();
  view.sizes = sizes.data();
  view.strides = strides.data();
  return family.empty(view);
}

namespace {

// The arguments of a library's function, and the recording tensors among them.
class LibraryArguments {
 public:
  explicit LibraryArguments(Capture& capture) : capture_(capture) {}

  LibraryArgument of(BorrowedRef object) {
    LibraryArgument argument;
    if (Tensor tensor = tensor_of_object(object); tensor.defined() && is_recording(tensor)) {
      argument.operand = add(tensor);
      argument.family = as<TensorValue>(value_of(capture_, tensor))->family;
    } else if (holds_tensor(object)) {
      argument.is_list = PyList_CheckExact(object.get()) != 0;
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object.get()); ++i)
        argument.items.push_back(of(PySequence_Fast_GET_ITEM(object.get(), i)));
    } else {
      argument.object = Ref::share(object.get());
    }
    return argument;
  }
  std::vector<ValueRef> operands;
  std::vector<TensorValue*> tensors;

 private:
  static bool holds_tensor(BorrowedRef object) {
    if (!PyList_CheckExact(object.get()) && !PyTuple_CheckExact(object.get())) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object.get()); ++i) {
      BorrowedRef item = PySequence_Fast_GET_ITEM(object.get(), i);
      if (tensor_of_object(item).defined() || holds_tensor(item)) return true;
    }
    return false;
  }
  int add(const Tensor& tensor) {
    operands.push_back(graph_value(capture_, tensor));
    tensors.push_back(as<TensorValue>(value_of(capture_, tensor)));
    return static_cast<int>(operands.size()) - 1;
  }
  Capture& capture_;
};

[[noreturn]] void refuse_library_call(const LibraryCall& call, const std::string& what) {
  refuse_host_call(break_row(BreakReason::unknown_c_function).name, str_cat(call.name, what));
}

// New objects that share no memory, of dtypes that are captured.
void add_results(LibraryCall& call, BorrowedRef result) {
  if (result.get() == Py_None) return;
  call.returns_sequence = PyTuple_Check(result.get()) || PyList_Check(result.get());
  auto add = [&](BorrowedRef object) {
    const TensorFamily* family = family_of(object);
    if (family == nullptr || !are_kin(*family, call.family))
      refuse_library_call(call, str_cat(" that returns a ", object.type()->tp_name));
    TensorView view;
    if (!read_view(*family, object, view))
      refuse_library_call(call, str_cat(" that returns an array which ", view.refusal));
    call.results.push_back({view.spec(), object.type()});
  };
  if (!call.returns_sequence) return add(result);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(result.get()); ++i)
    add(PySequence_Fast_GET_ITEM(result.get(), i));
  if (call.results.empty()) refuse_library_call(call, " that returns nothing");
}

// Behind a call that is made once, operations that may be flagged begin a region of their own: that costs more than
// Python's call.
void refuse_dear_call(Tracer& tracer, const LibraryCall& call) {
  if (!call.repeatable && flags_watched_by(call.family) != 0 && !tracer.frames().innermost().policy->fullgraph)
    refuse_library_call(call, ", which is made once, while floating-point exceptions are not ignored");
}

Node* append_library_call(Tracer& tracer, std::shared_ptr<const LibraryCall> call, const LibraryArguments& arguments,
                          const Source* self) {
  if (call->repeatable) {
    std::vector<Operand> operands(arguments.operands.size());
    for (size_t i = 0; i < operands.size(); ++i) operands[i].emplace<ValueRef>(arguments.operands[i]);
    std::shared_ptr<const OpRow> row = repeatable_row(std::move(call), operands.size());
    Node* node = tracer.builder().add_op(*row, std::move(operands));
    node->owned_op = row;
    return node;
  }
  HostCallRequest request{call->name, nullptr, arguments.operands, arguments.tensors, result_specs(*call), {}};
  request.library = std::move(call);
  request.self = self;
  return append_host_call(tracer, request);
}

}  // namespace

std::vector<Tensor> record_library_call(const std::string& name, BorrowedRef function, BorrowedRef positional,
                                        BorrowedRef keywords, BorrowedRef result, bool repeatable,
                                        BorrowedRef generator) {
  if (innermost == nullptr) raise(ErrorKind::Runtime, "record_library_call() outside of a traced call");
  Capture& capture = *innermost;
  auto call = std::make_shared<LibraryCall>(
      LibraryCall{.family = capture.family, .name = name, .function = Ref::share(function)});
  call->repeatable = repeatable;
  if (generator) call->generator = Ref::share(generator.get());
  LibraryArguments arguments(capture);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positional.get()); ++i)
    call->arguments.push_back(arguments.of(PyTuple_GET_ITEM(positional.get(), i)));
  if (PyDict_GET_SIZE(keywords.get()) > 0) {
    Ref names = check(PyDict_Keys(keywords));
    call->keyword_names = check(PyList_AsTuple(names));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(call->keyword_names.get()); ++i)
      call->arguments.push_back(
          arguments.of(PyDict_GetItemWithError(keywords, PyTuple_GET_ITEM(call->keyword_names.get(), i))));
  }
  add_results(*call, result);
  refuse_dear_call(capture.tracer, *call);
  try {
    Node* node = append_library_call(capture.tracer, call, arguments, capture.self);
    std::vector<Tensor> outs;
    for (size_t i = 0; i < call->results.size(); ++i)
      outs.push_back(recording_result(capture, node, i, *find_family(call->results[i].type)));
    return outs;
  } catch (const RestartSignal&) {
    refuse_host_call(break_row(BreakReason::caught_call_out).name, name);
  } catch (const BreakSignal& signal) {
    refuse_host_call(break_row(signal.reason).name, signal.context);
  }
}

namespace {

ValuePtr call_traced(Tracer& tracer, const TensorFamily& family, BorrowedRef callable, const CallArgs& args,
                     const Source* self = nullptr) {
  // imports a module, which must not happen while an exception is set
  PyObject* cannot_capture = cannot_capture_type();
  Capture capture{tracer, family, ++captures, {}, {}, nullptr, self};
  Ref positional = check(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (size_t i = 0; i < args.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), i, to_object(capture, args.positional[i]).release());
  Ref keywords = check(PyDict_New());
  for (const auto& [name, value] : args.keywords)
    check_status(PyDict_SetItem(keywords, name, to_object(capture, value)));
  TracedScope scope(capture);
  Ref result = Ref::steal(PyObject_Call(callable, positional, keywords));
  if (!result) leave_failed_call(cannot_capture);
  return from_object(capture, result.get());
}

bool holds_tensor_of(const ValuePtr& value, const TensorFamily*& family) {
  if (auto* tensor = as<TensorValue>(value)) {
    if (tensor->family == &default_family()) return false;
    family = tensor->family;
    return true;
  }
  auto* sequence = as<SequenceValue>(value);
  return sequence != nullptr &&
         std::ranges::any_of(sequence->items, [&](const ValuePtr& item) { return holds_tensor_of(item, family); });
}

}  // namespace

ValuePtr call_traced(Tracer& tracer, BorrowedRef callable, const CallArgs& args) {
  return call_traced(tracer, default_family(), callable, args);
}

ValuePtr call_opaque(Tracer& tracer, const TensorFamily& family, BorrowedRef function, const CallArgs& args,
                     const Source* self) {
  static PyObject* const partial = imported("functools", "partial").release();
  if (family.opaque_tracer == nullptr)
    graph_break(BreakReason::traced_call, str_cat("an argument is a ", family.name, " tensor"));
  check_state(tracer, family);
  Ref trace = check(PyObject_CallFunctionObjArgs(partial, family.opaque_tracer().get(), function.get(), nullptr));
  return call_traced(tracer, family, trace, args, self);
}

const TensorFamily* other_family(const CallArgs& args) {
  const TensorFamily* family = nullptr;
  for (const ValuePtr& value : args.positional)
    if (holds_tensor_of(value, family)) return family;
  for (const auto& [name, value] : args.keywords)
    if (holds_tensor_of(value, family)) return family;
  return nullptr;
}

namespace {

thread_local ConstantResults* constant_results = nullptr;

}  // namespace

ConstantResults::ConstantResults() : outer_(std::exchange(constant_results, this)) {}
ConstantResults::~ConstantResults() { constant_results = outer_; }
ConstantResults* ConstantResults::current() { return constant_results; }

Ref ConstantResults::next(uint64_t trace) {
  if (trace != trace_) taken_ = 0;
  trace_ = trace;
  return taken_ < results_.size() ? results_[taken_++] : Ref();
}

void ConstantResults::add(const Ref& result) {
  results_.push_back(result);
  taken_ = results_.size();
}

ValuePtr constant_result(Tracer& tracer, BorrowedRef callable, const CallArgs& args) {
  static const OpRow* const clone = find_op("clone");
  PyObject* cannot_capture = cannot_capture_type();
  Capture none{tracer, default_family(), ++captures, {}, {}, nullptr};
  auto known = [&](const ValuePtr& value) {
    if (is_tensor(value)) graph_break(BreakReason::traced_call, "a constant result of a tensor argument");
    return to_object(none, value);
  };
  Ref positional = check(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (size_t i = 0; i < args.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), i, known(args.positional[i]).release());
  Ref keywords = check(PyDict_New());
  for (const auto& [name, value] : args.keywords) check_status(PyDict_SetItem(keywords, name, known(value)));
  ConstantResults* results = ConstantResults::current();
  Ref result = results != nullptr ? results->next(tracer.number()) : Ref();
  tracer.guards().global_state(default_family());
  if (!result) {
    TracedScope scope(none);
    result = Ref::steal(PyObject_Call(callable, positional, keywords));
    if (result && results != nullptr) results->add(result);
  }
  if (!result) leave_failed_call(cannot_capture);
  if (Tensor tensor = tensor_of_object(result); tensor.defined()) {
    Node* constant = tracer.graph().add_constant("constant", tensor);
    Node* node = tracer.builder().add_op(*clone, {ValueRef{constant, 0}});
    return make_value<TensorValue>(ValueRef{node, 0}, node->outs[0].spec, default_family());
  }
  if (ValuePtr value = value_of_result(tracer, result)) return value;
  graph_break(BreakReason::traced_call, str_cat("the constant result is a ", result.type()->tp_name));
}

}  // namespace md
