// Entering and leaving Python functions: argument binding, continuations.
#include <algorithm>

#include "base/config.h"
#include "cpython/text.h"
#include "guards/guard_set.h"
#include "guards/wrapper_callables.h"
#include "symbolic/attributes/attributes.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/calls/marked_calls.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/endings.h"
#include "symbolic/trace/outermost_frame.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

struct Callee {
  PyCodeObject* code;
  ObjectValue* real;    // a pre-existing function, or null
  FunctionValue* made;  // a function created in the trace, or null
};

Callee callee_of(const ValuePtr& function) {
  if (auto* made = as<FunctionValue>(function))
    return {reinterpret_cast<PyCodeObject*>(made->code.get()), nullptr, made};
  auto* real = as<ObjectValue>(function);
  return {reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(real->object.get())), real, nullptr};
}

// Binds the arguments of a call to the callee's parameters; a mismatch is a TypeError, raised by the interpreter at the
// call.
class ArgumentBinder {
 public:
  ArgumentBinder(Tracer& tracer, const Callee& callee, const Bytecode& bytecode)
      : tracer_(tracer), callee_(callee), bytecode_(bytecode), slots_(bytecode.slot_count(), tracer.frames().null()) {}

  std::vector<ValuePtr> bind(CallArgs& args) {
    bind_positional(args);
    bind_keywords(args);
    PyCodeObject* code = callee_.code;
    for (int i = 0; i < code->co_argcount; ++i)
      if (unset(i)) slots_[i] = default_of(i);
    for (int i = code->co_argcount; i < parameters(); ++i)
      if (unset(i)) slots_[i] = keyword_default_of(i);
    return std::move(slots_);
  }

 private:
  bool unset(int slot) const { return slots_[slot]->kind == ValueKind::Null; }
  int parameters() const { return callee_.code->co_argcount + callee_.code->co_kwonlyargcount; }

  void bind_positional(CallArgs& args) {
    int count = static_cast<int>(args.positional.size());
    int taken = std::min(count, callee_.code->co_argcount);
    for (int i = 0; i < taken; ++i) slots_[i] = args.positional[i];
    if ((callee_.code->co_flags & CO_VARARGS) != 0) {
      std::vector<ValuePtr> rest(args.positional.begin() + taken, args.positional.end());
      slots_[parameters()] = make_value<SequenceValue>(false, std::move(rest));
    } else if (count > taken) {
      raise_here();
    }
  }

  void bind_keywords(CallArgs& args) {
    Handle<DictValue> rest;
    bool takes_rest = (callee_.code->co_flags & CO_VARKEYWORDS) != 0;
    if (takes_rest) rest = make_value<DictValue>();
    for (auto& [name, value] : args.keywords) {
      int slot = parameter_named(name.get());
      if (slot >= 0) {
        if (!unset(slot)) raise_here();
        slots_[slot] = value;
      } else if (takes_rest && rest->find(name.get()) < 0) {
        rest->set(name.get(), value);
      } else {
        raise_here();
      }
    }
    if (takes_rest) slots_[parameters() + ((callee_.code->co_flags & CO_VARARGS) != 0 ? 1 : 0)] = rest;
  }

  int parameter_named(BorrowedRef name) const {
    for (int i = callee_.code->co_posonlyargcount; i < parameters(); ++i)
      if (PyUnicode_Compare(bytecode_.slot_name(i), name) == 0) return i;
    return -1;
  }

  ValuePtr default_of(int parameter) {
    if (callee_.made != nullptr) {
      auto defaults = callee_.made->defaults ? elements_of(tracer_, callee_.made->defaults) : nullptr;
      int count = defaults ? static_cast<int>(defaults->size()) : 0;
      int at = parameter - (callee_.code->co_argcount - count);
      if (at < 0) raise_here();
      return (*defaults)[at];
    }
    PyObject* defaults = PyFunction_GET_DEFAULTS(callee_.real->object.get());
    int count = defaults != nullptr && defaults != Py_None ? static_cast<int>(PyTuple_GET_SIZE(defaults)) : 0;
    int at = parameter - (callee_.code->co_argcount - count);
    if (at < 0) raise_here();
    // Defaults belong to the last parameters, so the source counts from the end.
    const Source* source = tracer_.sources().get(SourceKind::Defaults, callee_.real->source, nullptr, at - count);
    tracer_.guards().present(source);  // a guard on its presence may be the only one
    return value_at(tracer_, source, Ref::share(PyTuple_GET_ITEM(defaults, at)));
  }

  ValuePtr keyword_default_of(int parameter) {
    BorrowedRef name = bytecode_.slot_name(parameter);
    if (callee_.made != nullptr) {
      auto* defaults = as<DictValue>(callee_.made->kw_defaults);
      int at = defaults != nullptr ? defaults->find(name) : -1;
      if (at < 0) raise_here();
      return defaults->entries[at].value;
    }
    if (tracer_.effects().any_dict_written_at(name)) graph_break(BreakReason::unguardable_object, "keyword defaults");
    PyObject* defaults = PyFunction_GET_KW_DEFAULTS(callee_.real->object.get());
    PyObject* value = defaults != nullptr ? PyDict_GetItemWithError(defaults, name) : nullptr;
    if (value == nullptr) raise_here();
    const Source* source = tracer_.sources().get(SourceKind::KwDefault, callee_.real->source, name);
    tracer_.guards().present(source);
    return value_at(tracer_, source, Ref::share(value));
  }

  Tracer& tracer_;
  const Callee& callee_;
  const Bytecode& bytecode_;
  std::vector<ValuePtr> slots_;
};

}  // namespace

bool is_python_function(const ValuePtr& value) {
  if (value->kind == ValueKind::Function) return true;
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || object->source == nullptr) return false;
  if (PyFunction_Check(object->object.get())) return true;
  const WrapperType* wrapper = find_wrapper_type(object->object.type());
  BorrowedRef inner = wrapper != nullptr ? wrapper->inner(object->object) : BorrowedRef();
  return inner && PyFunction_Check(inner.get());
}

namespace {

// The function behind a library's mark, where the library's own file calls it: torch marks methods of optimizers once
// its compiler has run. Null: the mark counts.
ValuePtr behind_mark(Tracer& tracer, const ValuePtr& function) {
  static PyObject* const kOriginal = PyUnicode_InternFromString("_torchdynamo_orig_callable");
  if (!ignores_marks(tracer.frames().bytecode().code())) return nullptr;
  ValuePtr original = optional_attribute(tracer, function, kOriginal);
  return original != nullptr && is_python_function(original) ? original : nullptr;
}

}  // namespace

void call_function(Tracer& tracer, const ValuePtr& function, CallArgs args, ContinuationKind continuation,
                   ValuePtr continuation_value) {
  if (ValuePtr text = guarded_repr(tracer, function, args))
    return apply_continuation(tracer, continuation, continuation_value, text);
  if (Disabled disabled = disabled_by(callee_of(function).code); disabled != Disabled::Not) {
    if (ValuePtr original = behind_mark(tracer, function))
      return call_function(tracer, original, std::move(args), continuation, std::move(continuation_value));
    graph_break(disabled == Disabled::All ? BreakReason::disabled_call : BreakReason::disabled_frame_call,
                text_of(callee_of(function).code->co_qualname));
  }
  int flags = callee_of(function).code->co_flags;
  bool is_generator = (flags & CO_GENERATOR) != 0 && (flags & (CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR)) == 0;
  if (!is_generator)
    return inline_function(tracer, function, std::move(args), continuation, std::move(continuation_value));
  apply_continuation(tracer, continuation, continuation_value,
                     make_generator(tracer, function, args, frame_of(tracer, function, args)));
}

void inline_function(Tracer& tracer, const ValuePtr& function, CallArgs args, ContinuationKind continuation,
                     ValuePtr continuation_value) {
  if (auto* object = as<ObjectValue>(function); object != nullptr && !PyFunction_Check(object->object.get())) {
    const Policy* inside = nullptr;
    ValuePtr inner = open_wrapper(tracer, function, *find_wrapper_type(object->object.type()), inside);
    inline_function(tracer, inner, std::move(args), continuation, std::move(continuation_value));
    tracer.frames().innermost().policy = inside;
    return;
  }
  Callee callee = callee_of(function);
  int flags = callee.code->co_flags;
  if ((flags & CO_GENERATOR) != 0) graph_break(BreakReason::generator_call, text_of(callee.code->co_name));
  std::shared_ptr<SymbolicFrame> inner = frame_of(tracer, function, args);
  inner->continuation = continuation;
  inner->continuation_value = std::move(continuation_value);
  tracer.frames().enter(std::move(inner));
}

void guard_code(Tracer& tracer, ObjectValue& function) {
  // In addition to a guard on identity, if any: __code__ can be assigned, and several functions share this code.
  tracer.guards().code_match(function.source,
                             reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function.object.get())));
  function.type_guarded = true;
}

// Creates a frame of the function, binds its parameters and guards its code.
std::shared_ptr<SymbolicFrame> frame_of(Tracer& tracer, const ValuePtr& function, CallArgs& args) {
  Callee callee = callee_of(function);
  if (is_left_code(callee.code)) graph_break(BreakReason::skipped_call, text_of(callee.code->co_qualname));
  if (callee.real != nullptr) guard_code(tracer, *callee.real);
  int flags = callee.code->co_flags;
  if ((flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0)
    graph_break(BreakReason::async_construct, text_of(callee.code->co_name));
  if (static_cast<int64_t>(tracer.frames().depth()) > config().inline_depth_limit)
    graph_break(BreakReason::inline_depth, text_of(callee.code->co_name));
  const Bytecode* bytecode = Bytecode::of(callee.code);
  tracer.frames().note_entered(bytecode);
  auto inner = std::make_shared<SymbolicFrame>();
  inner->bytecode = bytecode;
  inner->function = function;
  inner->slots = ArgumentBinder(tracer, callee, *bytecode).bind(args);
  inner->policy = tracer.frames().innermost().policy;
  inner->entry_step = tracer.step_number();
  return inner;
}
namespace {

void check_operator_result(Tracer& tracer, const ValuePtr& result) {
  bool is_root = tracer.frames().depth() == 1;
  // Python would try the other operand's method.
  if (same_object(tracer, result, tracer.values().constant(Py_NotImplemented))) {
    if (is_root) raise_here();
    const SymbolicFrame& caller = tracer.frames()[tracer.frames().depth() - 2];
    throw DeclinedSignal{{caller.bytecode, caller.index}};
  }
  const SymbolicFrame* caller = is_root ? nullptr : &tracer.frames()[tracer.frames().depth() - 2];
  const Bytecode& code = is_root ? *tracer.entry().next_caller().bytecode : *caller->bytecode;
  const Instruction& at = code[is_root ? tracer.entry().next_caller().index : caller->index];
  if (at.op == Opcode::COMPARE_OP && at.arg2 != 0 && !truth_of(tracer, result)) raise_here();
}

}  // namespace

void return_value(Tracer& tracer, ValuePtr result) {
  close_dropped_locals(tracer);
  if (IteratorValue* generator = tracer.frames().innermost().generator) {
    generator->exhausted = true;
    generator->returned = std::move(result);
    tracer.frames().leave();
    return;
  }
  ContinuationKind kind = tracer.frames().innermost().continuation;
  if (kind == ContinuationKind::None) {
    return tracer.finish_with(std::move(result));
  }
  // A result that the continuation rejects is an error raised by the caller's instruction: the callee has to return for
  // real.
  if ((kind == ContinuationKind::PushSelf && !same_object(tracer, result, tracer.values().none())) ||
      ((kind == ContinuationKind::PushBool || kind == ContinuationKind::PushNotBool ||
        kind == ContinuationKind::Jump) &&
       !tracer.values().is_exactly(result, &PyBool_Type)))
    raise_here();
  // Validate the result before the callee's frame is popped.
  bool needs_truth = kind == ContinuationKind::PushBool || kind == ContinuationKind::PushNotBool ||
                     kind == ContinuationKind::PushTruth || kind == ContinuationKind::PushNotTruth ||
                     kind == ContinuationKind::Jump;
  if (needs_truth && !truth_of(tracer, result))
    graph_break(is_tensor(result) ? BreakReason::data_dependent_branch : BreakReason::unknown_truth);
  if (kind == ContinuationKind::PushLength && int_of(tracer, result).value_or(-1) < 0) raise_here();
  if (kind == ContinuationKind::PushOperator) check_operator_result(tracer, result);
  ValuePtr value = tracer.frames().innermost().continuation_value;
  if (tracer.frames().depth() == 1) {
    value = enter_caller(tracer);
  } else {
    tracer.frames().leave();
  }
  tracer.frames().note_stack();
  apply_continuation(tracer, kind, value, std::move(result));
}

void apply_continuation(Tracer& tracer, ContinuationKind kind, const ValuePtr& continuation_value, ValuePtr result) {
  switch (kind) {
    case ContinuationKind::Push:
    case ContinuationKind::NextOrStop:
    case ContinuationKind::PushIterator:
      tracer.frames().push(std::move(result));
      return;
    case ContinuationKind::PushCallable:
      tracer.frames().push_callable(std::move(result));
      return;
    case ContinuationKind::PushSelf:
      tracer.frames().push(continuation_value);
      return;
    case ContinuationKind::Discard:
      return;
    case ContinuationKind::PushLength:
      tracer.frames().push(std::move(result));
      return;
    case ContinuationKind::PushOperator: {
      const Instruction& at = tracer.frames().bytecode()[tracer.frames().innermost().index];
      bool truth = at.op == Opcode::COMPARE_OP && at.arg2 != 0;
      tracer.frames().push(truth ? tracer.values().boolean(*truth_of(tracer, result)) : std::move(result));
      return;
    }
    case ContinuationKind::Hold:
      tracer.pending().set_result(std::move(result));
      return;
    case ContinuationKind::PushBool:
    case ContinuationKind::PushTruth:
    case ContinuationKind::PushNotBool:
    case ContinuationKind::PushNotTruth: {
      std::optional<bool> truth = truth_of(tracer, result);
      MD_ASSERT(truth, "a continuation met a value without a known truth");
      bool negate = kind == ContinuationKind::PushNotBool || kind == ContinuationKind::PushNotTruth;
      tracer.frames().push(tracer.values().boolean(*truth != negate));
      return;
    }
    case ContinuationKind::Jump: {
      const Instruction& at = tracer.frames().bytecode()[tracer.frames().innermost().index];
      std::optional<bool> truth = truth_of(tracer, result);
      MD_ASSERT(truth, "a jump met a value without a known truth");
      if (*truth == (at.op == Opcode::POP_JUMP_IF_TRUE)) tracer.frames().jump(at.arg);
      return;
    }
    case ContinuationKind::None:
      raise(ErrorKind::Internal, "an inlined frame without a continuation");
  }
}

}  // namespace md
