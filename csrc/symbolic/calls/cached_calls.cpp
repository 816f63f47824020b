// Calls of functions wrapped by functools.lru_cache and functools.cache.
//   1. Whether the cache holds the call is guarded. On a hit the result is read from the cache, and the look-up is an
//      effect: it counts, and makes the entry the newest. On a miss the function is inlined, and storing the result is
//      an effect.
//   2. A miss in a full cache drops an entry: the interpreter makes that call.
#include <algorithm>

#include "guards/cached_calls.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

Ref constant_argument(Tracer& tracer, const ValuePtr& value) {
  // A built-in class is immortal: the cache entry cannot keep anything alive.
  if (auto* object = as<ObjectValue>(value); object != nullptr && PyType_CheckExact(object->object.get()))
    if (!PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object->object.get()), Py_TPFLAGS_HEAPTYPE))
      return Ref::share(tracer.values().identity_of(value));
  Ref constant = is_tensor(value) ? Ref() : constant_of(tracer, value);
  // A NaN is found by identity only.
  bool is_exact = constant && is_guardable_constant(constant.get()) && !holds_nan(constant);
  if (!is_exact) graph_break(BreakReason::unhashable_key, "an argument of a cached function: " + describe(value));
  if (PyObject_Hash(constant) == -1) raise_current(tracer);
  return constant;
}

// Null: the first argument is a constant like the others.
Ref first_object(Tracer& tracer, const CallArgs& args) {
  auto* object = args.positional.empty() ? nullptr : as<ObjectValue>(args.positional[0]);
  bool may_be = object != nullptr && object->source != nullptr && !is_guardable_constant(object->object.get()) &&
                is_equal_to_itself_alone(object->object) && PyType_SUPPORTS_WEAKREFS(object->object.type());
  if (!may_be) return nullptr;
  tracer.values().exact_type(args.positional[0]);
  return Ref::share(tracer.values().identity_of(args.positional[0]));
}

// (positional, names and values of keywords)
Ref constant_call(Tracer& tracer, const CallArgs& args, bool has_first) {
  size_t skipped = has_first ? 1 : 0;
  Ref positional = check(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size() - skipped)));
  for (size_t i = skipped; i < args.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i - skipped),
                     constant_argument(tracer, args.positional[i]).release());
  Ref keywords = check(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size() * 2)));
  Py_ssize_t at = 0;
  for (const auto& [name, value] : args.keywords) {
    PyTuple_SET_ITEM(keywords.get(), at++, Py_NewRef(name.get()));
    PyTuple_SET_ITEM(keywords.get(), at++, constant_argument(tracer, value).release());
  }
  return check(PyTuple_Pack(2, positional.get(), keywords.get()));
}

// The arguments as the effects take them: the positional ones, and a dict of the keywords.
ValuePtr arguments_value(const CallArgs& args) {
  auto keywords = make_value<DictValue>();
  for (const auto& [name, value] : args.keywords) keywords->set(name.get(), value);
  std::vector<ValuePtr> parts{make_value<SequenceValue>(false, args.positional), keywords};
  return make_value<SequenceValue>(false, std::move(parts));
}

ValuePtr call_uncached(Tracer& tracer, const ValuePtr& callable, const CallArgs& args, CacheAdditions& additions,
                       const Ref& key, const Source* result_source) {
  const Source* source = as<ObjectValue>(callable)->source;
  Py_ssize_t count = 0, bound = 0;
  cached_call_counts(as<ObjectValue>(callable)->object, count, bound);
  if (bound > 0) {
    auto running = static_cast<Py_ssize_t>(PyDict_GET_SIZE(additions.results.get()));
    if (count + running >= bound) graph_break(BreakReason::last_reference);
    tracer.guards().length(tracer.sources().get(SourceKind::CachedResults, source, nullptr), count);
  }
  if (bound != 0) {
    tracer.guards().absent(result_source);
    check_status(PyDict_SetItem(additions.results, key, Py_None));
  }
  auto log_miss = [&](ValuePtr value) {
    tracer.effects().add({EffectKind::CacheMiss, callable, arguments_value(args), std::move(value)});
    tracer.cannot_undo();
  };
  ValuePtr result;
  try {
    result =
        call_now(tracer, value_at(tracer, tracer.sources().get(SourceKind::WrappedFunction, source, nullptr)), args);
  } catch (const RaiseSignal& signal) {
    if (signal.exception) {
      if (bound != 0) check_status(PyDict_DelItem(additions.results, key));
      log_miss(nullptr);
    }
    throw;
  }
  log_miss(result);
  if (bound != 0) {
    check_status(PyDict_SetItem(additions.results, key, check(PyLong_FromSize_t(additions.values.size()))));
    additions.values.push_back(result);
  }
  return result;
}

}  // namespace

ValuePtr call_cached(Tracer& tracer, const ValuePtr& callable, const CallArgs& args) {
  const Source* source = as<ObjectValue>(callable)->source;
  if (source == nullptr) graph_break(BreakReason::unguardable_object, "a cached function");
  PyObject* cached = tracer.values().identity_of(callable);
  Ref first = first_object(tracer, args);
  Ref call = constant_call(tracer, args, static_cast<bool>(first));
  Ref key = cached_call_key(cached, first, call);
  CacheAdditions& additions = tracer.effects().additions_to(cached);

  PyObject *kept = nullptr, *added = PyDict_GetItemWithError(additions.results, key);
  if (added == Py_None) graph_break(BreakReason::unknown_callable, "a cached function that runs for the same call");
  if (added != nullptr) {
    tracer.effects().add({EffectKind::CacheHit, callable, arguments_value(args), nullptr});
    return additions.values[PyLong_AsSize_t(added)];
  }
  int found = lookup_cached_call(cached, first, call, &kept);
  if (found < 0) graph_break(BreakReason::unhashable_key, "an argument of a cached function");
  const Source* result = tracer.sources().cached_result(source, first, call);
  if (found > 0) {
    tracer.guards().present(result);
    tracer.effects().add({EffectKind::CacheHit, callable, arguments_value(args), nullptr});
    return value_at(tracer, result, Ref::share(kept));
  }
  return call_uncached(tracer, callable, args, additions, key, result);
}

}  // namespace md
