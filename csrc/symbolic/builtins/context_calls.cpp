// contextvars.ContextVar: get, set and reset in the context of the frame.
#include <algorithm>

#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/registry.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

[[noreturn]] void break_on(const char* method) {
  graph_break(BreakReason::unknown_c_function, str_cat("ContextVar.", method));
}

// The variable is read where it comes from at each run.
const Source* source_of_variable(Tracer& tracer, const CallArgs& args, const char* method) {
  auto* variable = args.positional.empty() ? nullptr : as<ObjectValue>(args.positional[0]);
  if (variable == nullptr || tracer.values().exact_type(args.positional[0]) != &PyContextVar_Type) raise_here();
  if (variable->source == nullptr) break_on(method);
  return variable->source;
}

// What the program has set the variable to; null: nothing, which is guarded.
ValuePtr value_set(Tracer& tracer, const ValuePtr& variable) {
  std::vector<ContextWrite>& writes = tracer.effects().context_writes();
  for (auto write = writes.rbegin(); write != writes.rend(); ++write)
    if (!write->is_reset && same_object(tracer, write->variable, variable)) return write->value;
  const Source* source = tracer.sources().get(SourceKind::ContextValue, as<ObjectValue>(variable)->source, nullptr);
  ValuePtr value = value_at(tracer, source);
  if (!value) tracer.guards().absent(source);
  return value;
}

ValuePtr call_get(Tracer& tracer, const CallArgs& args) {
  const Source* variable = source_of_variable(tracer, args, "get");
  if (args.positional.size() > 2 || !args.keywords.empty()) raise_here();
  if (ValuePtr value = value_set(tracer, args.positional[0])) return value;
  if (args.positional.size() == 2) return args.positional[1];
  const Source* source = tracer.sources().get(SourceKind::ContextValue, variable, nullptr, 1);
  ValuePtr value = value_at(tracer, source);
  if (!value) raise_here();
  return value;
}

ValuePtr call_set(Tracer& tracer, const CallArgs& args) {
  source_of_variable(tracer, args, "set");
  if (args.positional.size() != 2 || !args.keywords.empty()) raise_here();
  const ValuePtr &variable = args.positional[0], &value = args.positional[1];
  auto token = make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(&PyContextToken_Type)),
                                            std::vector<ValuePtr>{variable}, std::vector<std::pair<Ref, ValuePtr>>{});
  token->creation_step = tracer.step_number();
  size_t effect = tracer.effects().log().size();
  tracer.effects().add({EffectKind::ContextSet, variable, nullptr, value});
  tracer.effects().context_writes().push_back({variable, value, token, effect});
  return token;
}

// The variable is as before the call of set() that returned the token: that one and later ones are undone.
ValuePtr call_reset(Tracer& tracer, const CallArgs& args) {
  source_of_variable(tracer, args, "reset");
  if (args.positional.size() != 2 || !args.keywords.empty()) raise_here();
  std::vector<ContextWrite>& writes = tracer.effects().context_writes();
  auto write = std::ranges::find_if(writes, [&](const ContextWrite& each) { return each.token == args.positional[1]; });
  if (write == writes.end() || write->is_reset) break_on("reset");
  if (!same_object(tracer, write->variable, args.positional[0])) raise_here();
  if (tracer.effects().is_shown(write->effect)) break_on("reset");
  for (auto later = write; later != writes.end(); ++later) {
    if (later->is_reset || !same_object(tracer, later->variable, args.positional[0])) continue;
    tracer.effects().undo(later->effect);
    later->is_reset = true;
  }
  return tracer.values().none();
}

void add_context_calls() {
  auto method = [](const char* name) {
    return check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyContextVar_Type), name));
  };
  register_call(method("get").get(), call_get);
  register_call(method("set").get(), call_set);
  register_call(method("reset").get(), call_reset);
}

const CallRegistration call_registration(add_context_calls);

}  // namespace

}  // namespace md
