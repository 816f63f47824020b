#include "symbolic/facts/name_spaces.h"

#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/pending_writes.h"
#include "symbolic/facts/value_facts.h"

namespace md {

ObjectValue* globals_function(Walk& walk) {
  ValuePtr function = walk.frames().innermost().function;
  while (auto* made = as<FunctionValue>(function))
    function = made->globals_from ? made->globals_from : walk.frames().root().function;
  return as<ObjectValue>(function);
}

ValuePtr builtin_value(Walk& walk, ObjectValue* function, BorrowedRef name) {
  static PyObject* const kSign = PyUnicode_InternFromString("__build_class__");
  auto builtin = [&](BorrowedRef key) { return walk.sources().get(SourceKind::Builtin, function->source, key); };
  if (walk.effects().any_dict_written()) {
    auto* model = reinterpret_cast<PyFunctionObject*>(function->object.get());
    if (!value_at(walk, builtin(kSign)) || walk.effects().is_waiting_for_writes(model->func_builtins, kSign))
      graph_break(BreakReason::unknown_container, "the dict of builtins, which is written to");
    walk.guards().present(builtin(kSign));
  }
  ValuePtr value = value_at(walk, builtin(name));
  if (!value) raise_here();
  return value;
}

ValuePtr loaded_module(Walk& walk, BorrowedRef name) {
  static PyObject* const kSign = PyUnicode_InternFromString("builtins");
  auto module = [&](BorrowedRef key) { return walk.sources().get(SourceKind::LoadedModule, nullptr, key); };
  if (walk.effects().any_dict_written()) {
    if (!value_at(walk, module(kSign)) || walk.effects().is_waiting_for_writes(PyImport_GetModuleDict(), kSign))
      return nullptr;
    walk.guards().present(module(kSign));
  }
  return value_at(walk, module(name));
}

ValuePtr global_value(Walk& walk, BorrowedRef name) {
  ObjectValue* function = globals_function(walk);
  auto* model = reinterpret_cast<PyFunctionObject*>(function->object.get());
  if (!PyDict_CheckExact(model->func_globals) || !PyDict_CheckExact(model->func_builtins))
    graph_break(BreakReason::unknown_container, "globals that are not a dict");
  if (walk.effects().any_dict_written()) {
    if (auto written = written_item(globals_dict(walk, ValuePtr(function)), name))
      return *written ? *written : builtin_value(walk, function, name);
  }
  const Source* global = walk.sources().get(SourceKind::Global, function->source, name);
  if (ValuePtr value = value_at(walk, global)) return value;
  walk.guards().absent(global);
  return builtin_value(walk, function, name);
}

ValuePtr call_globals(Walk& walk, const CallArgs& args) {
  require_count(args, 0, 0);
  ObjectValue* function = globals_function(walk);
  auto* model = reinterpret_cast<PyFunctionObject*>(function->object.get());
  if (!PyDict_CheckExact(model->func_globals))
    graph_break(BreakReason::unknown_container, "globals that are not a dict");
  return globals_dict(walk, ValuePtr(function));
}

}  // namespace md
