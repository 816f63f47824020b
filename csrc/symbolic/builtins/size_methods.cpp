// Size(), numel() of a Size, math.prod(), and index() and count() of tuples, of elements that vary.
#include "symbolic/builtins/size_methods.h"

#include <algorithm>

#include "cpython/imports.h"
#include "frontends/size_object.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/builtins/builtin_calls.h"
#include "symbolic/builtins/iterators.h"
#include "symbolic/builtins/pure_calls.h"
#include "symbolic/builtins/sequence_search.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/computed_numbers.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/trace/registry.h"
#include "symbolic/values/number_types.h"

namespace md {

namespace {

PyObject* method(PyTypeObject* type, const char* name) {
  return check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name)).release();
}

bool any_varies(const std::vector<ValuePtr>& items) { return std::ranges::any_of(items, is_dynamic); }

ValuePtr folded(Tracer& tracer, BorrowedRef function, const char* name, const CallArgs& args) {
  ValuePtr result = fold_pure_call(tracer, function, args);
  if (!result) break_on_builtin(name, args.positional.empty() ? tracer.values().none() : args.positional[0]);
  return result;
}

template <bool counts>
ValuePtr search_in_tuple(Tracer& tracer, const CallArgs& args) {
  static constexpr const char* kName = counts ? "count" : "index";
  static PyObject* const function = method(&PyTuple_Type, kName);
  size_t count = args.positional.size();
  bool is_plain =
      count >= 2 && count <= (counts ? 2 : 4) && args.keywords.empty() && is_plain_tuple(tracer, args.positional[0]);
  auto items = is_plain ? elements_of(tracer, args.positional[0]) : nullptr;
  bool varies = items && (any_varies(*items) || is_dynamic(args.positional[1]));
  return varies ? search_items(tracer, args, *items, counts) : folded(tracer, function, kName, args);
}

// From 1 on, as Python multiplies.
ValuePtr product_of(Tracer& tracer, const std::vector<ValuePtr>& items) {
  ValuePtr total = tracer.values().integer(1);
  for (const ValuePtr& item : items) {
    ValuePtr product = computed(tracer, ScalarOp::Multiply, {total, item});
    // Of two known numbers.
    if (!product) {
      Ref left = constant_of(tracer, total), right = constant_of(tracer, item);
      product = tracer.values().constant(check(PyNumber_Multiply(left, right)));
    }
    total = product;
  }
  return total;
}

ValuePtr call_numel(Tracer& tracer, const CallArgs& args) { return count_of_sizes(tracer, size_type(), args); }

ValuePtr call_prod(Tracer& tracer, const CallArgs& args) {
  static PyObject* const function = imported("math", "prod").release();
  bool is_plain = args.positional.size() == 1 && args.keywords.empty();
  auto items = is_plain ? elements_of(tracer, args.positional[0]) : nullptr;
  bool varies = items && any_varies(*items) && std::ranges::all_of(*items, is_real_number);
  return varies ? product_of(tracer, *items) : folded(tracer, function, "prod", args);
}

ValuePtr call_size(Tracer& tracer, const CallArgs& args) { return make_sizes(tracer, size_type(), args); }

void add_size_calls() {
  register_call(reinterpret_cast<PyObject*>(size_type()), call_size);
  register_call(method(size_type(), "numel"), call_numel);
  register_call(imported("math", "prod").get(), call_prod);
  register_call(method(&PyTuple_Type, "index"), search_in_tuple<false>);
  register_call(method(&PyTuple_Type, "count"), search_in_tuple<true>);
}

const CallRegistration call_registration(add_size_calls);

}  // namespace

ValuePtr make_sizes(Tracer& tracer, PyTypeObject* type, const CallArgs& args) {
  BorrowedRef callable = reinterpret_cast<PyObject*>(type);
  bool is_plain = args.positional.size() == 1 && args.keywords.empty();
  auto items = is_plain ? elements_of(tracer, args.positional[0]) : nullptr;
  if (!items || !any_varies(*items)) return folded(tracer, callable, "Size", args);
  for (const ValuePtr& item : *items)
    if (!tracer.values().is_exactly(item, &PyLong_Type)) return folded(tracer, callable, "Size", args);
  return shape_of_items(tracer, type, std::move(*items));
}

ValuePtr count_of_sizes(Tracer& tracer, PyTypeObject* type, const CallArgs& args) {
  require_method_count(args, 0, 0);
  auto items = is_shape(args.positional[0]) ? elements_of(tracer, args.positional[0]) : nullptr;
  if (items && any_varies(*items)) return product_of(tracer, *items);
  return folded(tracer, check(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "numel")), "numel", args);
}

}  // namespace md
