#include "symbolic/walk.h"

#include "base/config.h"
#include "guards/wrapper_callables.h"
#include "symbolic/region_finisher.h"
#include "tensor/tensor_modes.h"

namespace md {

namespace {

OpcodeHandler* handler_table() {
  static OpcodeHandler table[256] = {};
  return table;
}

std::unordered_map<PyObject*, CallHandler>& call_registry() {
  static auto* registry = new std::unordered_map<PyObject*, CallHandler>();  // lives as long as the process
  return *registry;
}

std::vector<WrapperType>& wrapper_types() {
  static auto* types = new std::vector<WrapperType>();
  return *types;
}

SourceLine line_of(const SymbolicFrame& frame) {
  PyCodeObject* code = frame.bytecode->code();
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  const char* function = PyUnicode_AsUTF8(code->co_name);
  if (file == nullptr || function == nullptr) PyErr_Clear();
  return {file != nullptr ? file : "?", frame.bytecode->line_at(frame.index), function != nullptr ? function : "?"};
}

}  // namespace

OpcodeHandler opcode_handler(Opcode op) { return handler_table()[static_cast<int>(op)]; }

OpcodeRegistration::OpcodeRegistration(std::initializer_list<std::pair<Opcode, OpcodeHandler>> rows) {
  for (auto [op, handler] : rows) handler_table()[static_cast<int>(op)] = handler;
}

void register_call(BorrowedRef callable, CallHandler handler) {
  Py_INCREF(callable.get());
  call_registry()[callable] = handler;
}

CallHandler find_call(BorrowedRef callable) {
  auto& registry = call_registry();
  auto found = registry.find(callable);
  return found == registry.end() ? nullptr : found->second;
}

void register_wrapper_type(const WrapperType& wrapper) {
  wrapper_types().push_back(wrapper);
  add_wrapper_callable(wrapper.type, wrapper.inner);
}

const WrapperType* find_wrapper_type(PyTypeObject* type) {
  for (const WrapperType& wrapper : wrapper_types())
    if (wrapper.type == type) return &wrapper;
  return nullptr;
}

const ValuePtr* CallArgs::keyword(const char* name) const {
  for (const auto& [key, value] : keywords)
    if (PyUnicode_CompareWithASCIIString(key, name) == 0) return &value;
  return nullptr;
}

Walk::Walk(const WalkStart& start, int64_t forced_stop, const GraphBreak* forced_break)
    : start_(start),
      forced_stop_(forced_stop),
      forced_break_(forced_break),
      graph_(std::make_shared<Graph>()),
      null_(make_value<NullValue>()) {
  grad_mode = initial_grad_mode_ = tensor_modes().grad_enabled;
  inference_mode = initial_inference_mode_ = tensor_modes().inference_mode;
  start_root();
}

void Walk::start_root() {
  auto frame = std::make_unique<SymbolicFrame>();
  const Bytecode& code = start_.bytecode;
  frame->bytecode = &code;
  frame->policy = start_.policy;
  frame->index = frame->next = start_.index;
  frame->function = at(sources().function(), Ref::share(start_.view.function));
  int slots = code.slot_count();
  for (int slot = 0; slot < start_.view.slot_count; ++slot) {
    BorrowedRef object = start_.view.get(slot);
    ValuePtr value = null_;
    if (object) {
      const Source* source = sources().local(slot);
      bool is_cell = slot < slots && start_.index > 0 && code.slot_kind(slot) != SlotKind::Local &&
                     Py_IS_TYPE(object.get(), &PyCell_Type);
      if (is_cell) {
        value = cell_at(source, Ref::share(object));
      } else {
        value = at(source, Ref::share(object));
        if (auto* known = as<ObjectValue>(value)) known->opaque_iterator = slot >= slots && PyIter_Check(object.get());
      }
    }
    (slot < slots ? frame->slots : frame->stack).push_back(value);
  }
  while (static_cast<int>(frame->slots.size()) < slots) frame->slots.push_back(null_);
  initial_slots_ = frame->slots;
  initial_stack_ = frame->stack;
  frames_.push_back(std::move(frame));
}

CapturedRegion Walk::run() {
  while (!finished_) {
    SymbolicFrame& current = frame();
    current.index = current.next;
    stack_before_ = current.stack;
    try {
      step();
    } catch (const BreakSignal& signal) {
      frame().stack = stack_before_;
      GraphBreak found{signal.reason, signal.context, signal.explanation, user_stack(),
                       opcode_gloss(bytecode()[frame().index].op)};
      if (frames_.size() > 1 && !may_nest(true)) throw RestartSignal{frames_[1]->root_step, found};
      return finish(ExitKind::Break, std::move(found));
    } catch (const RaiseSignal&) {
      frame().stack = stack_before_;
      return finish(ExitKind::Raise, std::nullopt);
    }
  }
  return finish(ExitKind::Return, std::nullopt);
}

bool Walk::may_nest(bool is_break) const { return !is_break || frames_.front()->policy->nested_graph_breaks; }

void Walk::step() {
  SymbolicFrame& current = frame();
  const Instruction& instruction = (*current.bytecode)[current.index];
  ++steps_;
  if (frames_.size() == 1 && root_steps_++ == forced_stop_ && forced_break_ != nullptr)
    throw BreakSignal{forced_break_->reason, forced_break_->context, forced_break_->explanation};
  int64_t stress = config().snapshot_stress;
  bool prologue = instruction.op == Opcode::MAKE_CELL || instruction.op == Opcode::COPY_FREE_VARS || instruction.op == Opcode::RESUME;
  if (stress > 0 && steps_ > stress && !prologue) graph_break(BreakReason::snapshot_stress);
  if (steps_ > config().walk_limit &&
      (instruction.op == Opcode::JUMP_BACKWARD || instruction.op == Opcode::CALL || steps_ > 2 * config().walk_limit))
    graph_break(BreakReason::walk_limit, str_cat("after ", steps_, " instructions"));
  if ((steps_ & 0xfff) == 0) check_status(PyErr_CheckSignals());
  OpcodeHandler handler = opcode_handler(instruction.op);
  if (handler == nullptr) graph_break(BreakReason::unsupported_opcode, opcode_name(instruction.op));
  current.next = current.index + 1;
  handler(*this, instruction);
}

CapturedRegion Walk::finish(ExitKind exit, std::optional<GraphBreak> found) {
  if (found && forced_break_ != nullptr && frames_.size() == 1) found->user_stack = forced_break_->user_stack;
  return RegionFinisher(*this).finish(exit, std::move(found));
}

ValuePtr Walk::pop() {
  MD_ASSERT(!frame().stack.empty(), "symbolic stack underflow");
  ValuePtr value = std::move(frame().stack.back());
  frame().stack.pop_back();
  return value;
}

std::vector<ValuePtr> Walk::pop_many(int count) {
  std::vector<ValuePtr>& stack = frame().stack;
  MD_ASSERT(static_cast<int>(stack.size()) >= count, "symbolic stack underflow");
  std::vector<ValuePtr> values(std::make_move_iterator(stack.end() - count), std::make_move_iterator(stack.end()));
  stack.resize(stack.size() - count);
  return values;
}

ValuePtr& Walk::peek(int distance) {
  std::vector<ValuePtr>& stack = frame().stack;
  MD_ASSERT(static_cast<int>(stack.size()) >= distance, "symbolic stack underflow");
  return stack[stack.size() - distance];
}

void Walk::graph_break(BreakReason reason, std::string context, std::string explanation) {
  throw BreakSignal{reason, std::move(context), std::move(explanation)};
}

void Walk::raise_here() {
  // An error of looking ahead is Python's to raise again, at its own place.
  PyErr_Clear();
  throw RaiseSignal{};
}

std::vector<SourceLine> Walk::user_stack() const {
  std::vector<SourceLine> stack;
  for (const auto& frame : frames_) stack.push_back(line_of(*frame));
  return stack;
}

void Walk::set_policy(const Policy* policy) {
  static PyObject* const kPackage = PyUnicode_InternFromString("minidynamo");
  for (auto at = frames_.rbegin(); at != frames_.rend(); ++at) {
    (*at)->policy = policy;
    // Our own __enter__ and __exit__ come between; the first frame of another module is the one meant.
    auto* function = as<ObjectValue>((*at)->function);
    PyObject* module =
        function != nullptr ? reinterpret_cast<PyFunctionObject*>(function->object.get())->func_module : nullptr;
    bool ours = module != nullptr && PyUnicode_Check(module) && PyUnicode_Tailmatch(module, kPackage, 0, 10, -1) == 1;
    if (!ours) return;
  }
}

CapturedRegion capture_region(const WalkStart& start) {
  int64_t forced_stop = -1;
  std::optional<GraphBreak> forced_break;
  for (;;) {
    Walk walk(start, forced_stop, forced_break ? &*forced_break : nullptr);
    try {
      return walk.run();
    } catch (const RestartSignal& restart) {
      // The break lies below a call that cannot be left half-way: walk again and end at that call.
      forced_stop = restart.root_step;
      forced_break = restart.graph_break;
    }
  }
}

}  // namespace md
