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

Ref call_part(Tracer& tracer, const ValuePtr& value);

// A built-in class, which is immortal, or a weak reference to an object that is equal to itself alone; null otherwise.
Ref object_part(Tracer& tracer, const ValuePtr& value) {
  auto* object = as<ObjectValue>(value);
  if (object == nullptr || is_guardable_constant(object->object)) return nullptr;
  bool is_class = PyType_CheckExact(object->object.get()) != 0;
  if (is_class && !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object->object.get()), Py_TPFLAGS_HEAPTYPE))
    return Ref::share(tracer.values().identity_of(value));
  bool may_be = object->source != nullptr && !object->traced_class && is_equal_to_itself_alone(object->object) &&
                PyType_SUPPORTS_WEAKREFS(object->object.type());
  if (!may_be) return nullptr;
  tracer.values().exact_type(value);
  return check(PyWeakref_NewRef(tracer.values().identity_of(value).get(), nullptr));
}

// The parts of a tuple that is hashed and compared as one; null for other values.
Ref tuple_part(Tracer& tracer, const ValuePtr& value) {
  auto elements = elements_as_key(tracer, value);
  if (!elements) return nullptr;
  Ref parts = check(PyTuple_New(static_cast<Py_ssize_t>(elements->size())));
  for (size_t i = 0; i < elements->size(); ++i)
    PyTuple_SET_ITEM(parts.get(), static_cast<Py_ssize_t>(i), call_part(tracer, (*elements)[i]).release());
  return parts;
}

Ref call_part(Tracer& tracer, const ValuePtr& value) {
  if (Ref object = object_part(tracer, value)) return object;
  Ref constant = is_tensor(value) ? Ref() : constant_of(tracer, value);
  // A NaN is found by identity only.
  bool is_exact = constant && is_guardable_constant(constant.get()) && !holds_nan(constant);
  if (Ref tuple = is_exact ? Ref() : tuple_part(tracer, value)) return tuple;
  if (!is_exact) graph_break(BreakReason::unhashable_key, "an argument of a cached function: " + describe(value));
  if (PyObject_Hash(constant) == -1) raise_current(tracer);
  return constant;
}

Ref argument_part(Tracer& tracer, const ValuePtr& value, bool compares_types) {
  Ref part = call_part(tracer, value);
  if (compares_types && PyTuple_CheckExact(part.get()) && tracer.values().exact_type(value) != &PyTuple_Type)
    graph_break(BreakReason::unhashable_key, "an argument of a cached function: " + describe(value));
  return part;
}

// The call as cached_calls.h represents it.
Ref parts_of_call(Tracer& tracer, const CallArgs& args, bool compares_types) {
  Ref positional = check(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (size_t i = 0; i < args.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i),
                     argument_part(tracer, args.positional[i], compares_types).release());
  Ref keywords = check(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size() * 2)));
  Py_ssize_t at = 0;
  for (const auto& [name, value] : args.keywords) {
    PyTuple_SET_ITEM(keywords.get(), at++, Py_NewRef(name.get()));
    PyTuple_SET_ITEM(keywords.get(), at++, argument_part(tracer, value, compares_types).release());
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
  Ref call = parts_of_call(tracer, args, compares_argument_types(cached));
  Ref key = cached_call_key(cached, call);
  if (!key) graph_break(BreakReason::unhashable_key, "an argument of a cached function");
  CacheAdditions& additions = tracer.effects().additions_to(cached);

  PyObject *kept = nullptr, *added = PyDict_GetItemWithError(additions.results, key);
  if (added == Py_None) graph_break(BreakReason::unknown_callable, "a cached function that runs for the same call");
  if (added != nullptr) {
    tracer.effects().add({EffectKind::CacheHit, callable, arguments_value(args), nullptr});
    return additions.values[PyLong_AsSize_t(added)];
  }
  int found = lookup_cached_call(cached, call, &kept);
  if (found < 0) graph_break(BreakReason::unhashable_key, "an argument of a cached function");
  const Source* result = tracer.sources().cached_result(source, call);
  if (found > 0) {
    tracer.guards().present(result);
    tracer.effects().add({EffectKind::CacheHit, callable, arguments_value(args), nullptr});
    return value_at(tracer, result, Ref::share(kept));
  }
  return call_uncached(tracer, callable, args, additions, key, result);
}

}  // namespace md
