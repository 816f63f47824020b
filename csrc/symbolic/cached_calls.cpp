// Calls of what functools.lru_cache and functools.cache make.
//  1. Whether the cache has kept the call is guarded. What it has kept is had from it, and the look-up is an effect: a hit counts,
//     and makes the entry the newest one. Otherwise the function is inlined, and keeping the result is an effect.
//  2. A cache that is full would drop an entry at a miss: Python makes that call.
#include <algorithm>

#include "guards/cached_calls.h"
#include "guards/constants.h"
#include "symbolic/exceptions.h"
#include "symbolic/outcomes.h"
#include "symbolic/value_facts.h"
#include "symbolic/walk.h"

namespace md {

namespace {

Ref constant_argument(Walk& walk, const ValuePtr& value) {
  // A built-in class holds nothing that dies.
  if (auto* object = as<ObjectValue>(value); object != nullptr && PyType_CheckExact(object->object.get()))
    if (!PyType_HasFeature(reinterpret_cast<PyTypeObject*>(object->object.get()), Py_TPFLAGS_HEAPTYPE))
      return Ref::share(walk.identity_of(value));
  Ref constant = walk.is_tensor(value) ? Ref() : constant_of(walk, value);
  // A NaN is found by its identity alone.
  bool is_exact = constant && is_guardable_constant(constant.get()) && !holds_nan(constant);
  if (!is_exact) graph_break(BreakReason::unhashable_key, "an argument of a cached function: " + describe(value));
  if (PyObject_Hash(constant) == -1) raise_set(walk);
  return constant;
}

// Null: the argument is a constant like the others.
Ref first_object(Walk& walk, const CallArgs& args) {
  auto* object = args.positional.empty() ? nullptr : as<ObjectValue>(args.positional[0]);
  bool may_be = object != nullptr && object->source != nullptr && !is_guardable_constant(object->object.get()) &&
                is_equal_to_itself_alone(object->object) && PyType_SUPPORTS_WEAKREFS(object->object.type());
  if (!may_be) return nullptr;
  walk.exact_type(args.positional[0]);
  return Ref::share(walk.identity_of(args.positional[0]));
}

// (positional, names and values of keywords)
Ref constant_call(Walk& walk, const CallArgs& args, bool has_first) {
  size_t skipped = has_first ? 1 : 0;
  Ref positional = check(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size() - skipped)));
  for (size_t i = skipped; i < args.positional.size(); ++i)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i - skipped),
                     constant_argument(walk, args.positional[i]).release());
  Ref keywords = check(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size() * 2)));
  Py_ssize_t at = 0;
  for (const auto& [name, value] : args.keywords) {
    PyTuple_SET_ITEM(keywords.get(), at++, Py_NewRef(name.get()));
    PyTuple_SET_ITEM(keywords.get(), at++, constant_argument(walk, value).release());
  }
  return check(PyTuple_Pack(2, positional.get(), keywords.get()));
}

// What the effects are given: the positional arguments, and a dict of the keywords.
ValuePtr arguments_value(const CallArgs& args) {
  auto keywords = make_value<DictValue>();
  for (const auto& [name, value] : args.keywords) keywords->set(name.get(), value);
  std::vector<ValuePtr> parts{make_value<SequenceValue>(false, args.positional), keywords};
  return make_value<SequenceValue>(false, std::move(parts));
}

}  // namespace

// What the region has added so far to one cache.
struct Walk::CacheAdditions {
  Ref results = check(PyDict_New());  // key: index in values, or None while the function runs
  std::vector<ValuePtr> values;
};

ValuePtr Walk::call_cached(const ValuePtr& callable, const CallArgs& args) {
  const Source* source = as<ObjectValue>(callable)->source;
  if (source == nullptr) graph_break(BreakReason::unguardable_object, "a cached function");
  PyObject* cached = identity_of(callable);
  Ref first = first_object(*this, args);
  Ref call = constant_call(*this, args, static_cast<bool>(first));
  Ref key = cached_call_key(cached, first, call);
  std::shared_ptr<CacheAdditions>& additions = cache_additions_[cached];
  if (!additions) additions = std::make_shared<CacheAdditions>();

  PyObject *kept = nullptr, *added = PyDict_GetItemWithError(additions->results, key);
  if (added == Py_None) graph_break(BreakReason::unknown_callable, "a cached function that runs for the same call");
  if (added != nullptr) {
    effects_.push_back({EffectKind::CacheHit, callable, arguments_value(args), nullptr});
    return additions->values[PyLong_AsSize_t(added)];
  }
  int found = lookup_cached_call(cached, first, call, &kept);
  if (found < 0) graph_break(BreakReason::unhashable_key, "an argument of a cached function");
  const Source* result = sources().cached_result(source, first, call);
  if (found > 0) {
    guards_.present(result);
    effects_.push_back({EffectKind::CacheHit, callable, arguments_value(args), nullptr});
    return at(result, Ref::share(kept));
  }
  return call_uncached(callable, args, *additions, key, result);
}

ValuePtr Walk::call_uncached(const ValuePtr& callable, const CallArgs& args, CacheAdditions& additions, const Ref& key,
                             const Source* result_source) {
  const Source* source = as<ObjectValue>(callable)->source;
  Py_ssize_t count = 0, bound = 0;
  cached_call_counts(as<ObjectValue>(callable)->object, count, bound);
  if (bound > 0) {
    auto running = static_cast<Py_ssize_t>(PyDict_GET_SIZE(additions.results.get()));
    if (count + running >= bound) graph_break(BreakReason::last_reference);
    guards_.length(sources().get(SourceKind::CachedResults, source, nullptr), count);
  }
  if (bound != 0) {
    guards_.absent(result_source);
    check_status(PyDict_SetItem(additions.results, key, Py_None));
  }
  auto log_miss = [&](ValuePtr value) {
    effects_.push_back({EffectKind::CacheMiss, callable, arguments_value(args), std::move(value)});
    cannot_undo();
  };
  ValuePtr result;
  try {
    result = call_now(at(sources().get(SourceKind::WrappedFunction, source, nullptr)), args);
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

}  // namespace md
