#include "symbolic/name_spaces.h"

namespace md {

ObjectValue* globals_function(Walk& walk) {
  ValuePtr function = walk.frame().function;
  while (auto* made = as<FunctionValue>(function))
    function = made->globals_from ? made->globals_from : walk.root().function;
  return as<ObjectValue>(function);
}

ValuePtr call_globals(Walk& walk, const CallArgs& args) {
  walk.require_count(args, 0, 0);
  ObjectValue* function = globals_function(walk);
  auto* model = reinterpret_cast<PyFunctionObject*>(function->object.get());
  if (!PyDict_CheckExact(model->func_globals))
    walk.graph_break(BreakReason::unknown_container, "globals that are not a dict");
  return walk.globals_dict(ValuePtr(function));
}

}  // namespace md
