#include "symbolic/tensors/library_calls.h"

#include <algorithm>
#include <utility>

#include "cpython/errors.h"
#include "cpython/gil_scope.h"
#include "cpython/traceback.h"
#include "guards/object_memory.h"
#include "snapshot/serving_code.h"
#include "symbolic/trace/tracer.h"
#include "tensor/parallel/float_flags.h"

namespace md {

namespace {

thread_local bool may_repeat = false;
thread_local LibraryDraws* innermost_draws = nullptr;

constexpr const char kOwner[] = "minidynamo.operand";

void release_operand(PyObject* capsule) { delete static_cast<Tensor*>(PyCapsule_GetPointer(capsule, kOwner)); }

// The tensor as an object of the library: the one that has its memory, or one that keeps it.
Ref object_of_operand(const TensorFamily& family, const Tensor& tensor) {
  if (family.over_memory == nullptr || is_in_object(tensor)) return object_of_input(family, tensor);
  Ref owner = check(PyCapsule_New(new Tensor(tensor), kOwner, release_operand));
  return family.over_memory(owner, view_of(*tensor.impl()));
}

Ref object_of(const LibraryCall& call, const LibraryArgument& argument, std::span<const Tensor> operands) {
  if (argument.object) return Ref::share(argument.object.get());
  if (argument.operand >= 0) {
    const Tensor& tensor = operands[static_cast<size_t>(argument.operand)];
    return object_of_operand(*argument.family, tensor);
  }
  auto count = static_cast<Py_ssize_t>(argument.items.size());
  Ref sequence = check(argument.is_list ? PyList_New(count) : PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = object_of(call, argument.items[static_cast<size_t>(i)], operands).release();
    argument.is_list ? PyList_SET_ITEM(sequence.get(), i, item) : PyTuple_SET_ITEM(sequence.get(), i, item);
  }
  return sequence;
}

// Empty: the object is as the trace has seen it.
std::string difference(const LibraryCall& call, const LibraryResult& expected, BorrowedRef object, Tensor& out) {
  auto differs = [&](const std::string& what) {
    return str_cat(call.name, "() returned ", what, ", not ", expected.spec.str());
  };
  if (object.type() != expected.type) return differs(str_cat("a ", object.type()->tp_name));
  Tensor tensor = tensor_of_result(object.get());
  if (!tensor.defined()) return differs("an array that is not captured");
  if (tensor->dtype() != expected.spec.dtype || !same(tensor.spec().sizes, expected.spec.sizes))
    return differs(tensor.spec().str());
  if (tensor->numel() > 0)
    for (int i = 0; i < tensor->rank(); ++i)
      if (tensor->sizes()[i] > 1 && tensor->strides()[i] != expected.spec.strides[i].value())
        return differs("an array with other strides");
  out = std::move(tensor);
  return {};
}

}  // namespace

Ref LibraryCall::call(std::span<const Tensor> operands, BorrowedRef self) const {
  std::vector<Ref> held;
  std::vector<PyObject*> given;
  if (self) given.push_back(self.get());
  for (const LibraryArgument& argument : arguments)
    given.push_back(held.emplace_back(object_of(*this, argument, operands)).get());
  size_t keywords = keyword_names ? static_cast<size_t>(PyTuple_GET_SIZE(keyword_names.get())) : 0;
  FloatFlagsAside aside;
  size_t positional = given.size() - keywords;
  if (repeatable && family.call_raising != nullptr)
    return family.call_raising(function, given.data(), positional, keyword_names.get());
  return Ref::steal(PyObject_Vectorcall(function, given.data(), positional, keyword_names.get()));
}

std::string LibraryCall::take(BorrowedRef result, std::span<Tensor> outs) const {
  if (results.empty()) {
    if (result.get() != Py_None) return str_cat(name, "() returned a ", result.type()->tp_name, ", not None");
    outs[0] = Tensor::empty(result_specs(*this)[0]);
    *outs[0].data<double>() = 0;
    return {};
  }
  if (!returns_sequence) return difference(*this, results[0], result, outs[0]);
  bool fits = PyTuple_Check(result.get()) || PyList_Check(result.get());
  if (!fits || PySequence_Fast_GET_SIZE(result.get()) != static_cast<Py_ssize_t>(results.size()))
    return str_cat(name, "() returned something else than ", results.size(), " arrays");
  for (size_t i = 0; i < results.size(); ++i) {
    BorrowedRef item = PySequence_Fast_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i));
    std::string what = difference(*this, results[i], item, outs[i]);
    if (!what.empty()) return what;
  }
  return {};
}

std::string name_in_graph(const LibraryCall& call) {
  std::string name = call.name;
  std::ranges::replace(name, '.', '_');
  return name;
}

std::vector<TensorSpec> result_specs(const LibraryCall& call) {
  std::vector<TensorSpec> specs;
  for (const LibraryResult& result : call.results) specs.push_back(result.spec);
  if (specs.empty()) specs.push_back(TensorSpec::contiguous(DType::float64, {}));
  return specs;
}

namespace {

using SharedCall = std::shared_ptr<const LibraryCall>;

const LibraryCall& call_in(void* context) { return **static_cast<const SharedCall*>(context); }

// Whether the function has raised the current exception, and raises it again where it is called again. What a handler
// of a signal raises that ran meanwhile is not its own.
bool is_of_the_library(const LibraryCall& call) {
  bool is_known = false;
  for (PyObject* type : {PyExc_ValueError, PyExc_TypeError, PyExc_ArithmeticError, PyExc_IndexError, PyExc_MemoryError,
                         PyExc_RuntimeError})
    is_known = is_known || PyErr_ExceptionMatches(type) != 0;
  ErrorAside raised;
  return is_known && came_from_library(raised.get(), call.function);
}

void run_repeatable(void* context, const OpCall& op, std::span<Tensor> outs) {
  const LibraryCall& call = call_in(context);
  std::vector<Tensor> operands;
  for (const Arg& arg : op.args) operands.push_back(std::get<Tensor>(arg));
  std::string what;
  {
    ServingCode serving;
    RepeatableRun others(false);
    LibraryDraws::note(call);
    Ref result = call.call(operands, nullptr);
    if (result) what = call.take(result, outs);
  }
  if (PyErr_Occurred() != nullptr) {
    if (!may_repeat || !is_of_the_library(call)) throw PythonError();
    PyErr_Clear();
    what = str_cat(call.name, "() raised");
  }
  if (what.empty()) return;
  raise(ErrorKind::Runtime, what);
}

void shapes_of_repeatable(const OpCall& op, std::vector<OutSpec>& outs) {
  for (const TensorSpec& spec : result_specs(call_in(op.row.host_call.context))) outs.push_back(OutSpec{spec});
}

// The last graph or plan with this row may be destroyed in any thread, even after the interpreter has been finalised.
void release_row(const OpRow* row) {
  auto* call = static_cast<SharedCall*>(row->host_call.context);
  if (Py_IsInitialized()) {
    GilScope gil;
    delete call;
  }
  delete row;
}

std::string schema_text(size_t operands, size_t results) {
  std::string text = "library_call(";
  for (size_t i = 0; i < operands; ++i) text += str_cat(i == 0 ? "" : ", ", "Tensor a", i);
  if (results == 1) return text + ") -> Tensor";
  text += ") -> (";
  for (size_t i = 0; i < results; ++i) text += i == 0 ? "Tensor" : ", Tensor";
  return text + ")";
}

}  // namespace

std::shared_ptr<const OpRow> repeatable_row(SharedCall call, size_t operands) {
  auto* row = new OpRow{};
  row->name = name_in_graph(*call);
  row->schema = parse_schema(schema_text(operands, result_specs(*call).size()));
  row->kind = OpKind::HostCall;
  row->promotion = Promotion::None;
  row->shape_rule = shapes_of_repeatable;
  row->host_call.run = run_repeatable;
  row->host_call.repeatable = true;
  row->host_call.draws = static_cast<bool>(call->generator);
  row->host_call.context = new SharedCall(std::move(call));
  return {row, release_row};
}

RepeatableRun::RepeatableRun(bool repeats) : before_(std::exchange(may_repeat, repeats)) {}
RepeatableRun::~RepeatableRun() { may_repeat = before_; }

LibraryDraws::LibraryDraws() : outer_(std::exchange(innermost_draws, this)) {}

LibraryDraws::~LibraryDraws() {
  innermost_draws = outer_;
  if (outer_ == nullptr) return;
  for (auto& [generator, state] : before_)
    if (!outer_->has(generator)) outer_->before_.emplace_back(std::move(generator), std::move(state));
}

bool LibraryDraws::has(BorrowedRef generator) const {
  return std::ranges::any_of(before_, [&](const auto& each) { return each.first.get() == generator.get(); });
}

void LibraryDraws::note(const LibraryCall& call) {
  if (!call.generator || innermost_draws == nullptr || innermost_draws->has(call.generator)) return;
  Ref state = check(PyObject_CallMethod(call.generator.get(), "get_state", nullptr));
  innermost_draws->before_.emplace_back(Ref::share(call.generator.get()), std::move(state));
}

void LibraryDraws::roll_back() {
  ErrorAside raised;
  for (const auto& [generator, state] : before_)
    if (!Ref::steal(PyObject_CallMethod(generator.get(), "set_state", "O", state.get())))
      PyErr_WriteUnraisable(generator.get());
  before_.clear();
}

}  // namespace md
