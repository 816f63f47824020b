#include "symbolic/tensors/host_calls.h"

#include <algorithm>

#include "cpython/errors.h"
#include "cpython/gil_scope.h"
#include "cpython/traceback.h"
#include "graph/failing_ops.h"
#include "snapshot/serving_code.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/host_call_sites.h"
#include "symbolic/tensors/library_calls.h"
#include "symbolic/trace/tracer.h"
#include "tensor/memory_overlap.h"
#include "tensor/simd/copy.h"
#include "tensor/tensor_modes.h"

namespace md {

namespace {

thread_local int64_t begun = 0;
thread_local std::optional<FailedHostCall> failed;
thread_local HostCallFrames* current_frames = nullptr;
thread_local int64_t begun_at_start = 0;  // value of `begun` when current_frames was installed
thread_local UncommittedWrites* uncommitted = nullptr;
thread_local const std::function<void()>* before_calls = nullptr;

// A written operand: copied before the call; the copy is output `out` of the node.
struct Written {
  size_t operand;
  size_t out;
  int target;  // the operand that holds the input's tensor as at the region's start; -1: not an input
};

struct Context {
  std::string name;
  Ref run;                          // never released: a custom operator or a marked function
  std::vector<TensorSpec> results;  // symbolic sizes and strides of these are operands
  // Layout of the operands: arguments of run(), targets, pairs (original, current) of inputs written before, outputs of
  // the site's snapshot, tensors among the frames' locals, sizes and strides of results.
  size_t operand_count;
  size_t pairs_begin;
  size_t failure_begin;
  size_t locals_begin;
  size_t sizes_begin;
  std::vector<size_t> sized;  // indices of the results with such operands, two per result
  bool has_failure = false;
  bool may_raise = true;
  bool is_number = false;
  std::shared_ptr<const LibraryCall> library;
  size_t described_frames = 0;  // number of frames in the snapshot
  GradModes modes;
  std::vector<Written> written;
  std::vector<SourceLine> lines;  // outermost first
  int root_instruction;
  uint64_t trace;
  int site;
};

[[noreturn]] void refuse(const Context& context, const std::string& what) {
  PyErr_SetString(PyExc_RuntimeError, str_cat(context.name, ": ", what).c_str());
  throw PythonError();
}

// Sets the modes of the call for a scope.
class ModesScope {
 public:
  explicit ModesScope(const GradModes& modes) : before_(tensor_modes()) {
    tensor_modes() = {modes.grad, modes.inference, modes.autocast};
  }
  ~ModesScope() { tensor_modes() = before_; }
  ModesScope(const ModesScope&) = delete;

 private:
  TensorModes before_;
};

const Tensor& tensor_at(const OpCall& call, size_t i) { return std::get<Tensor>(call.args[i]); }

bool is_symbolic(const TensorSpec& spec) { return !has_fixed_layout(spec); }

// The spec of result `i` in this call.
TensorSpec result_spec(const Context& context, const OpCall& call, size_t i) {
  TensorSpec spec = context.results[i];
  for (size_t at = 0; at < context.sized.size(); ++at) {
    if (context.sized[at] != i) continue;
    spec.sizes = std::get<DimVec>(call.args[context.sizes_begin + 2 * at]);
    spec.strides = std::get<DimVec>(call.args[context.sizes_begin + 2 * at + 1]);
  }
  return spec;
}

// The spec of the copy that is written to.
TensorSpec written_spec(const OpCall& call, const Written& written) {
  TensorSpec spec = tensor_at(call, written.operand).spec();
  spec.requires_grad = false;
  return spec;
}

}  // namespace

// One execution of a host call.
struct HostCallRun {
  const Context& context;
  const OpCall& call;
  std::span<Tensor> outs;

  void run() {
    if (before_calls != nullptr) (*before_calls)();
    ++begun;
    failed.reset();
    std::vector<Tensor> given;
    for (size_t i = 0; i < context.operand_count; ++i) given.push_back(tensor_at(call, i));
    copy_written(given);
    note_writes_before();
    auto attempt = [&](size_t linked) { return call_python(given, linked); };
    // Outside a region the plan is run by user code, which handles its exceptions. Nothing sees the frames of a call
    // that raises none.
    bool in_region = context.may_raise && current_frames != nullptr && current_frames->trace() == context.trace;
    if (in_region) {
      std::vector<Tensor> locals;
      for (size_t i = context.locals_begin; i < context.sizes_begin; ++i) locals.push_back(tensor_at(call, i));
      current_frames->run(context.site, locals, attempt);
    } else {
      attempt(context.lines.size());
    }
    if (uncommitted != nullptr) note_writes(uncommitted->writes_);
    if (PyErr_Occurred() == nullptr) return;
    if (in_region) note_failure();
    throw PythonError();
  }

 private:
  void copy_written(std::vector<Tensor>& given) {
    for (const Written& written : context.written) {
      Tensor copy = Tensor::empty(written_spec(call, written));
      copy_elements(given[written.operand], copy);
      // An operand that is passed twice stays one tensor.
      Tensor original = given[written.operand];
      for (Tensor& each : given)
        if (is_same(each, original)) each = copy;
      outs[written.out] = copy;
    }
  }

  void note_writes_before() {
    if (uncommitted == nullptr) return;
    uncommitted->writes_.clear();
    for (size_t i = context.pairs_begin; i < context.failure_begin; i += 2)
      uncommitted->writes_.emplace_back(tensor_at(call, i), tensor_at(call, i + 1));
  }

  void note_writes(std::vector<std::pair<Tensor, Tensor>>& writes) {
    for (const Written& written : context.written)
      if (written.target >= 0)
        writes.emplace_back(tensor_at(call, static_cast<size_t>(written.target)), outs[written.out]);
  }

  // Records the failure, including what the call had written before it raised.
  void note_failure() {
    failed = FailedHostCall{context.trace, context.site, context.root_instruction, {}, {}};
    if (!context.has_failure) return;
    for (size_t i = context.failure_begin; i < context.locals_begin; ++i) failed->outputs.push_back(tensor_at(call, i));
    note_writes(failed->written);
    // A tensor created in the region appears in those outputs only, so it can be written directly.
    for (const Written& written : context.written)
      if (written.target < 0) copy_elements(outs[written.out], tensor_at(call, written.operand));
    if (uncommitted != nullptr) uncommitted->writes_.clear();
  }

  bool call_python(const std::vector<Tensor>& given, size_t linked) {
    Ref self = context.library && current_frames != nullptr ? current_frames->self(context.site) : Ref();
    std::vector<Ref> held;
    std::vector<PyObject*> args;
    if (!context.library)
      for (const Tensor& tensor : given) args.push_back(held.emplace_back(default_family().wrap(tensor)).get());
    try {
      ServingCode serving;
      HostCallFramesScope no_frames(nullptr);
      ModesScope modes(context.modes);
      Ref result = context.library ? context.library->call(given, self)
                                   : Ref::steal(PyObject_Vectorcall(context.run, args.data(), args.size(), nullptr));
      if (!result) throw PythonError();
      if (context.library) {
        std::string what = context.library->take(result, outs);
        if (!what.empty()) refuse(context, what);
        return true;
      }
      take_results(result.get(), given);
      return true;
    } catch (...) {
      set_error_from_current_exception();
      // Adds traceback entries for frames that could not be linked. Those in the snapshot will be rebuilt.
      for (size_t depth = context.lines.size(); depth-- > std::max(linked, context.described_frames);) {
        const SourceLine& line = context.lines[depth];
        add_traceback_entry(line.file.c_str(), line.line, line.function.c_str());
      }
      return false;
    }
  }

  // A number as a 0-dim tensor.
  Tensor number_of(BorrowedRef result, const TensorSpec& expected) {
    Tensor number = Tensor::empty(expected);
    if (expected.dtype == DType::float64) {
      if (!PyFloat_CheckExact(result.get())) refuse(context, "returned something other than a float");
      *number.data<double>() = PyFloat_AS_DOUBLE(result.get());
      return number;
    }
    int overflow = 0;
    int64_t value = PyLong_CheckExact(result.get()) ? PyLong_AsLongLongAndOverflow(result, &overflow) : 0;
    if (!PyLong_CheckExact(result.get()) || overflow != 0) refuse(context, "returned something other than an int64");
    *number.data<int64_t>() = value;
    return number;
  }

  void take_results(BorrowedRef result, const std::vector<Tensor>& given) {
    if (context.is_number) {
      outs[0] = number_of(result, result_spec(context, call, 0));
      return;
    }
    size_t count = context.results.size();
    if (!PyTuple_Check(result.get()) || PyTuple_GET_SIZE(result.get()) != static_cast<Py_ssize_t>(count))
      refuse(context, str_cat("returned something other than ", count, " tensors"));
    for (size_t i = 0; i < count; ++i) {
      BorrowedRef item = PyTuple_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i));
      Tensor tensor = tensor_of_object(item);
      if (!tensor.defined()) refuse(context, str_cat("result ", i, " is a ", item.type()->tp_name, ", not a Tensor"));
      TensorSpec expected = result_spec(context, call, i);
      if (tensor->kind() != TensorKind::Real) refuse(context, str_cat("result ", i, " is a tensor without data"));
      if (tensor->dtype() != expected.dtype || !same(tensor.spec().sizes, expected.sizes))
        refuse(context, str_cat("result ", i, " is ", tensor.spec().str(), ", but its fake says ", expected.str()));
      for (const Tensor& input : given)
        if (input->storage().get() == tensor->storage().get())
          refuse(context, str_cat("result ", i, " shares memory with an input, which a custom operator must not do"));
      outs[i] = tensor;
    }
  }
};

namespace {

void run_host_call(void* raw, const OpCall& call, std::span<Tensor> outs) {
  HostCallRun{*static_cast<const Context*>(raw), call, outs}.run();
}

void host_call_shapes(const OpCall& call, std::vector<OutSpec>& outs) {
  const auto& context = *static_cast<const Context*>(call.row.host_call.context);
  for (size_t i = 0; i < context.results.size(); ++i) outs.push_back(OutSpec{result_spec(context, call, i)});
  for (const Written& written : context.written) outs.push_back(OutSpec{written_spec(call, written)});
}

// The last graph or plan with this row may be destroyed in any thread, even after the interpreter has been finalised.
void release_row(const OpRow* row) {
  auto* context = static_cast<Context*>(row->host_call.context);
  if (Py_IsInitialized()) {
    GilScope gil;
    delete context;
  } else {
    context->run.release();
    delete context;
  }
  delete row;
}

std::string schema_text(size_t tensors, size_t operands, size_t results) {
  std::string text = "call_out(";
  for (size_t i = 0; i < operands; ++i) text += str_cat(i == 0 ? "" : ", ", i < tensors ? "Tensor a" : "int[] a", i);
  if (results == 1) return text + ") -> Tensor";
  text += ") -> (";
  for (size_t i = 0; i < results; ++i) text += i == 0 ? "Tensor" : ", Tensor";
  return text + ")";
}

std::shared_ptr<const OpRow> make_row(Context* context, size_t operands) {
  auto* row = new OpRow{};
  row->host_call.context = context;
  std::shared_ptr<const OpRow> owner(row, release_row);
  row->name = context->library ? name_in_graph(*context->library) : context->name;
  row->schema =
      parse_schema(schema_text(context->sizes_begin, operands, context->results.size() + context->written.size()));
  row->kind = OpKind::HostCall;
  row->promotion = Promotion::None;
  row->shape_rule = host_call_shapes;
  row->host_call.run = run_host_call;
  return owner;
}

// Only the arguments of run() carry gradients, not the tensors passed along for frames and failures.
void keep_gradient_of_operands(const Graph& graph, Node& node, const std::vector<ValueRef>& operands) {
  auto requires_grad = [&](const ValueRef& value) { return graph.info(value).spec.requires_grad; };
  if (std::any_of(operands.begin(), operands.end(), requires_grad)) return;
  for (ValueInfo& out : node.outs) out.spec.requires_grad = false;
}

// Breaks if a write to this operand cannot be tracked.
void check_written(Tracer& tracer, const HostCallRequest& request, TensorValue* tensor) {
  if (tensor->spec.requires_grad && tracer.builder().modes(*tensor->family).grad)
    graph_break(BreakReason::tensor_write, request.name + " writes to a tensor that requires grad");
  if (has_expanded_dim(tensor->spec))
    graph_break(BreakReason::tensor_write, request.name + " writes to an expanded tensor");
}

// The same tensor passed twice stays one tensor for the operator, but two views of one tensor would become two.
void check_apart_from_others(Tracer& tracer, const HostCallRequest& request, int at, TensorValue* tensor) {
  const std::shared_ptr<TensorBase>& base = tracer.builder().base_of(tensor);
  for (size_t i = 0; i < request.tensors.size(); ++i) {
    TensorValue* other = request.tensors[i];
    if (other == nullptr || other == tensor || static_cast<int>(i) == at || other->base != base) continue;
    graph_break(BreakReason::tensor_write, request.name + " writes to a tensor of which it is given another view");
  }
}

}  // namespace

namespace {

void check_place(Tracer& tracer, const HostCallRequest& request, bool has_failure) {
  if (tracer.outputs().has_output())
    graph_break(
        BreakReason::caught_call_out, request.name,
        "What was printed or logged before it is written when the region is left, so that the region ends here.");
  if (has_failure && !may_describe_failure(tracer)) graph_break(BreakReason::caught_call_out, request.name);
}

// Tensors that the call writes to, without duplicates; what an input was before becomes an operand.
std::vector<TensorValue*> add_written(Tracer& tracer, const HostCallRequest& request, Context& context,
                                      std::vector<ValueRef>& operands) {
  std::vector<TensorValue*> written;
  for (const auto& [at, tensor] : request.written) {
    check_written(tracer, request, tensor);
    check_apart_from_others(tracer, request, at, tensor);
    if (std::find(written.begin(), written.end(), tensor) != written.end()) continue;
    written.push_back(tensor);
    int target = -1;
    if (tracer.builder().base_of(tensor)->source != nullptr) {
      target = static_cast<int>(operands.size());
      operands.push_back(tracer.builder().original_value(tensor));
    }
    context.written.push_back({static_cast<size_t>(at), request.results.size() + context.written.size(), target});
  }
  return written;
}

std::vector<Operand> node_operands_of(const std::vector<ValueRef>& values, const Context& context) {
  std::vector<Operand> operands(values.size());
  for (size_t i = 0; i < values.size(); ++i) operands[i].emplace<ValueRef>(values[i]);
  for (size_t i : context.sized) {
    operands.emplace_back(context.results[i].sizes);
    operands.emplace_back(context.results[i].strides);
  }
  return operands;
}

// A call to which add_what_may_fail() has added all that stood before it.
bool comes_after_what_may_fail(const Node& node) {
  if (!is_op(node, OpKind::HostCall) || node.op->host_call.run != run_host_call) return false;
  return static_cast<const Context*>(node.op->host_call.context)->library != nullptr;
}

// What is computed before the call is computed there, so that its exceptions are met while the region may still be
// repeated.
void add_what_may_fail(const Tracer& tracer, std::vector<ValueRef>& operands) {
  const auto& nodes = tracer.graph().nodes();
  auto comes_after = [](const auto& node) { return comes_after_what_may_fail(*node); };
  auto last = std::find_if(nodes.rbegin(), nodes.rend(), comes_after);
  auto first = last == nodes.rend() ? nodes.begin() : last.base() - 1;
  for (auto at = first; at != nodes.end(); ++at) {
    const Node& node = **at;
    if (node.kind != NodeKind::Op || node.outs.empty() || node.outs[0].is_scalar) continue;
    if (may_raise_float_flags(node) || may_fail(*node.op, node.operands, node.outs) || is_op(node, OpKind::HostCall))
      operands.push_back({at->get(), 0});
  }
}

}  // namespace

Node* append_host_call(Tracer& tracer, const HostCallRequest& request) {
  bool has_failure = request.may_raise && !may_call_host(tracer);
  check_place(tracer, request, has_failure);
  std::vector<ValueRef> failure_outputs, locals;
  bool shows_locals = request.library == nullptr && request.may_raise;
  int site = add_host_call_site(tracer, locals, has_failure ? &failure_outputs : nullptr, shows_locals);
  if (request.self != nullptr) tracer.outputs().set_self_of_last_call(request.self);
  auto context = std::make_unique<Context>();
  context->name = request.name;
  context->run = Ref::share(request.run);
  context->results = request.results;
  context->may_raise = request.may_raise;
  context->is_number = request.is_number;
  context->library = request.library;
  context->operand_count = request.operands.size();
  context->lines = tracer.frames().user_stack();
  context->root_instruction = tracer.frames().root().index;
  context->trace = tracer.number();
  std::vector<ValueRef> operands = request.operands;
  std::vector<TensorValue*> written = add_written(tracer, request, *context, operands);
  if (request.library) add_what_may_fail(tracer, operands);
  context->pairs_begin = operands.size();
  for (const auto& [original, now] : tracer.builder().written_values()) {
    operands.push_back(original);
    operands.push_back(now);
  }
  context->failure_begin = operands.size();
  context->has_failure = has_failure;
  context->described_frames = has_failure ? described_frames(tracer) : 0;
  operands.insert(operands.end(), failure_outputs.begin(), failure_outputs.end());
  context->locals_begin = operands.size();
  operands.insert(operands.end(), locals.begin(), locals.end());
  context->sizes_begin = operands.size();
  for (size_t i = 0; i < request.results.size(); ++i)
    if (is_symbolic(request.results[i])) context->sized.push_back(i);
  context->site = site;
  context->modes = tracer.builder().modes();
  std::vector<size_t> outs;
  for (const Written& each : context->written) outs.push_back(each.out);
  std::vector<Operand> node_operands = node_operands_of(operands, *context);
  std::shared_ptr<const OpRow> row = make_row(context.release(), node_operands.size());
  Node* node = tracer.builder().add_op(*row, std::move(node_operands));
  node->owned_op = row;
  keep_gradient_of_operands(tracer.graph(), *node, request.operands);
  tracer.builder().leave_to_library(*node);
  if (!written.empty()) tracer.cannot_undo();
  for (size_t i = 0; i < written.size(); ++i)
    tracer.builder().write_tensor(written[i], {node, static_cast<int>(outs[i])});
  return node;
}

HostCallFramesScope::HostCallFramesScope(HostCallFrames* frames)
    : previous_(std::exchange(current_frames, frames)), begun_before_(std::exchange(begun_at_start, begun)) {}
HostCallFramesScope::~HostCallFramesScope() {
  current_frames = previous_;
  begun_at_start = begun_before_;
}

BeforeHostCalls::BeforeHostCalls(const std::function<void()>* check) : before_(std::exchange(before_calls, check)) {}
BeforeHostCalls::~BeforeHostCalls() { before_calls = before_; }

UncommittedWrites::UncommittedWrites() : outer_(std::exchange(uncommitted, this)) {}
UncommittedWrites::~UncommittedWrites() {
  uncommitted = outer_;
  for (const auto& [target, value] : writes_) {
    copy_elements(value, target);
    target->storage()->bump_version();
  }
}

int64_t host_calls_begun() { return begun; }

bool host_call_has_run() { return current_frames != nullptr && begun != begun_at_start; }

std::optional<FailedHostCall> take_failed_host_call() { return std::exchange(failed, std::nullopt); }

}  // namespace md
