#include "symbolic/tensors/tensor_parts.h"

#include <iterator>

#include "frontends/tensor_language.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/tensors/tensor_callables.h"

namespace md {
namespace {

bool is_part(const ValuePtr& value) {
  auto* made = as<ConstructedValue>(value);
  return made != nullptr && made->positional.size() == 1 && is_tensor(made->positional[0]);
}

}  // namespace

ValuePtr make_part(Tracer& tracer, const ValuePtr& tensor, const TensorAttribute& attribute) {
  auto made = make_value<ConstructedValue>(tracer.values().constant(reinterpret_cast<PyObject*>(attribute.part)),
                                           std::vector<ValuePtr>{tensor}, std::vector<std::pair<Ref, ValuePtr>>{});
  made->maker = tracer.values().constant(attribute.value);
  return made;
}

BorrowedRef member_of_part(const ValuePtr& value, BorrowedRef name) {
  PyObject* member = is_part(value) ? _PyType_Lookup(type_of(value), name) : nullptr;
  const TensorCallable* known = member != nullptr ? find_tensor_callable(member) : nullptr;
  return known != nullptr && known->is_of_part ? member : nullptr;
}

ValuePtr call_member_of_part(Tracer& tracer, const ValuePtr& value, const char* name, std::vector<ValuePtr> more) {
  if (!is_part(value)) return nullptr;
  Ref text = check(PyUnicode_InternFromString(name));
  BorrowedRef member = member_of_part(value, text);
  if (!member) return nullptr;
  CallArgs args{{value}, {}};
  args.positional.insert(args.positional.end(), std::make_move_iterator(more.begin()),
                         std::make_move_iterator(more.end()));
  return call_tensor_callable(tracer, *find_tensor_callable(member), args);
}

ValuePtr iterated_part(Tracer& tracer, const ValuePtr& value) {
  auto* made = as<ConstructedValue>(value);
  if (made != nullptr && made->iterated_step != 0)
    graph_break(BreakReason::unknown_iteration, "over what has been iterated over");
  ValuePtr elements = call_member_of_part(tracer, value, "__iter__");
  if (elements) made->iterated_step = tracer.step_number();
  return elements;
}

}  // namespace md
