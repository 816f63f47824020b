#include "symbolic/facts/name_spaces.h"

#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/value_facts.h"

namespace md {

ObjectValue* globals_function(Tracer& tracer) {
  ValuePtr function = tracer.frames().innermost().function;
  while (auto* made = as<FunctionValue>(function))
    function = made->globals_from ? made->globals_from : tracer.frames().root().function;
  return as<ObjectValue>(function);
}

ValuePtr builtin_value(Tracer& tracer, ObjectValue* function, BorrowedRef name) {
  static PyObject* const kSign = PyUnicode_InternFromString("__build_class__");
  auto builtin = [&](BorrowedRef key) { return tracer.sources().get(SourceKind::Builtin, function->source, key); };
  if (tracer.effects().any_dict_written()) {
    auto* model = reinterpret_cast<PyFunctionObject*>(function->object.get());
    if (!value_at(tracer, builtin(kSign)) || tracer.effects().is_waiting_for_writes(model->func_builtins, kSign))
      graph_break(BreakReason::unknown_container, "the dict of builtins, which is written to");
    tracer.guards().present(builtin(kSign));
  }
  ValuePtr value = value_at(tracer, builtin(name));
  if (!value) raise_here();
  return value;
}

ValuePtr loaded_module(Tracer& tracer, BorrowedRef name) {
  static PyObject* const kSign = PyUnicode_InternFromString("builtins");
  auto module = [&](BorrowedRef key) { return tracer.sources().get(SourceKind::LoadedModule, nullptr, key); };
  if (tracer.effects().any_dict_written()) {
    if (!value_at(tracer, module(kSign)) || tracer.effects().is_waiting_for_writes(PyImport_GetModuleDict(), kSign))
      return nullptr;
    tracer.guards().present(module(kSign));
  }
  return value_at(tracer, module(name));
}

ValuePtr global_value(Tracer& tracer, BorrowedRef name) {
  ObjectValue* function = globals_function(tracer);
  auto* model = reinterpret_cast<PyFunctionObject*>(function->object.get());
  if (!PyDict_CheckExact(model->func_globals) || !PyDict_CheckExact(model->func_builtins))
    graph_break(BreakReason::unknown_container, "globals that are not a dict");
  if (tracer.effects().any_dict_written()) {
    if (auto written = written_item(globals_dict(tracer, ValuePtr(function)), name))
      return *written ? *written : builtin_value(tracer, function, name);
  }
  const Source* global = tracer.sources().get(SourceKind::Global, function->source, name);
  if (ValuePtr value = value_at(tracer, global)) return value;
  tracer.guards().absent(global);
  return builtin_value(tracer, function, name);
}

ValuePtr call_globals(Tracer& tracer, const CallArgs& args) {
  require_count(args, 0, 0);
  ObjectValue* function = globals_function(tracer);
  auto* model = reinterpret_cast<PyFunctionObject*>(function->object.get());
  if (!PyDict_CheckExact(model->func_globals))
    graph_break(BreakReason::unknown_container, "globals that are not a dict");
  return globals_dict(tracer, ValuePtr(function));
}

}  // namespace md
