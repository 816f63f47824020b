// Calls of functions wrapped by functools.lru_cache and functools.cache.
//   1. Whether the cache holds the call is guarded. On a hit the result is read from the cache, and the look-up is an
//      effect: it counts, and makes the entry the newest. On a miss the function is inlined, and storing the result is
//      an effect.
//   2. A miss in a full cache drops an entry: the interpreter makes that call.
//   3. Sizes among the arguments stay symbolic: the guard, and the read of a hit, look up the call of the sizes that
//      the region then finds. Which calls of the region are one and the same is a relation between their sizes.
//      cached_results.h says what is known of a hit.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "guards/cached_calls.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "guards/number_code.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/cached_results.h"
#include "symbolic/calls/calls.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/state/shape_env.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

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

Ref part_of_size(Tracer& tracer, Dim size) {
  SymbolList symbols;
  symbols.add(size);
  NumberCode code;
  std::vector<uint32_t> operands;
  for (const SizePlace& place : tracer.shapes().places_of(symbols)) operands.push_back(code.add_place(place));
  code.add_size(size, symbols, std::move(operands));
  return number_part(std::move(code));
}

// Represents a call as cached_calls.h does.
class CallParts {
 public:
  CallParts(Tracer& tracer, bool compares_types) : tracer_(tracer), compares_types_(compares_types) {}

  Ref of_call(const CallArgs& args) {
    Ref positional = check(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
    for (size_t i = 0; i < args.positional.size(); ++i)
      PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), argument(args.positional[i]).release());
    Ref keywords = check(PyTuple_New(static_cast<Py_ssize_t>(args.keywords.size() * 2)));
    Py_ssize_t at = 0;
    for (const auto& [name, value] : args.keywords) {
      PyTuple_SET_ITEM(keywords.get(), at++, Py_NewRef(name.get()));
      PyTuple_SET_ITEM(keywords.get(), at++, argument(value).release());
    }
    return check(PyTuple_Pack(2, positional.get(), keywords.get()));
  }
  CachedCall take() { return std::move(call_); }

 private:
  Ref argument(const ValuePtr& value) {
    Ref part = of_value(value);
    if (compares_types_ && PyTuple_CheckExact(part.get()) && tracer_.values().exact_type(value) != &PyTuple_Type)
      graph_break(BreakReason::unhashable_key, "an argument of a cached function: " + describe(value));
    return part;
  }

  Ref of_value(const ValuePtr& value) {
    if (std::optional<Dim> size = open_size(tracer_, value)) {
      call_.is_open = true;
      return add_leaf(part_of_size(tracer_, *size), size);
    }
    if (Ref object = object_part(tracer_, value)) return add_leaf(object, std::nullopt);
    if (Ref tuple = has_symbolic_size(tracer_, value) ? of_tuple(value) : Ref()) return tuple;
    Ref constant = is_tensor(value) ? Ref() : constant_of(tracer_, value);
    // A NaN is found by identity only.
    bool is_exact = constant && is_guardable_constant(constant.get()) && !holds_nan(constant);
    if (Ref tuple = is_exact ? Ref() : of_tuple(value)) return tuple;
    if (!is_exact) graph_break(BreakReason::unhashable_key, "an argument of a cached function: " + describe(value));
    if (PyObject_Hash(constant) == -1) raise_current(tracer_);
    add_constant(constant);
    return constant;
  }

  // The parts of a tuple that is hashed and compared as one; null for other values.
  Ref of_tuple(const ValuePtr& value) {
    auto elements = elements_as_key(tracer_, value);
    if (!elements) return nullptr;
    Ref parts = check(PyTuple_New(static_cast<Py_ssize_t>(elements->size())));
    for (size_t i = 0; i < elements->size(); ++i)
      PyTuple_SET_ITEM(parts.get(), static_cast<Py_ssize_t>(i), of_value((*elements)[i]).release());
    return parts;
  }

  Ref add_leaf(Ref part, std::optional<Dim> size) {
    call_.leaves.push_back({part, size});
    return part;
  }

  void add_constant(BorrowedRef constant) {
    if (PyTuple_Check(constant.get())) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constant.get()); ++i)
        add_constant(PyTuple_GET_ITEM(constant.get(), i));
      return;
    }
    int overflow = 0;
    bool is_int = PyLong_Check(constant.get());
    long long number = is_int ? PyLong_AsLongLongAndOverflow(constant, &overflow) : 0;
    bool is_size = is_int && overflow == 0 && number < INT64_MAX / 4 && number > -(INT64_MAX / 4);
    add_leaf(Ref::share(constant), is_size ? std::optional(Dim(number)) : std::nullopt);
  }

  Tracer& tracer_;
  const bool compares_types_;
  CachedCall call_;
};

bool is_open(const CallLeaf& leaf) { return leaf.size && leaf.size->is_symbolic(); }

bool is_static(const CallLeaf& a, const CallLeaf& b) { return !is_open(a) && !is_open(b); }

// Whether both find the same entry whatever the sizes are.
bool same_leaves(const CachedCall& a, const CachedCall& b) {
  return std::ranges::equal(a.leaves, b.leaves, [](const CallLeaf& x, const CallLeaf& y) {
    return is_static(x, y) || (is_open(x) && is_open(y) && same(*x.size, *y.size));
  });
}

// Whether two leaves are equal; the region relies on it.
bool decide_equal(const CallLeaf& a, const CallLeaf& b) {
  if (is_static(a, b)) {
    int equal = PyObject_RichCompareBool(a.part, b.part, Py_EQ);
    check_status(equal);
    return equal != 0;
  }
  if (a.size && b.size) return known_equal(*a.size, *b.size);
  const CallLeaf &size = is_open(a) ? a : b, &other = is_open(a) ? b : a;
  return decide_equal({check(PyLong_FromLongLong(size.size->value())), std::nullopt}, other);
}

// Relies on two calls with equal keys having equal keys in each run.
void keep_equal(const CachedCall& a, const CachedCall& b) {
  for (size_t i = 0; i < a.leaves.size(); ++i)
    if (!is_static(a.leaves[i], b.leaves[i])) static_cast<void>(decide_equal(a.leaves[i], b.leaves[i]));
}

// Relies on two calls with different keys having different keys in each run. Calls of one form have as many leaves.
void keep_apart(const CachedCall& a, const CachedCall& b) {
  if ((!a.is_open && !b.is_open) || a.leaves.size() != b.leaves.size()) return;
  for (size_t i = 0; i < a.leaves.size(); ++i)
    if (is_static(a.leaves[i], b.leaves[i]) && !decide_equal(a.leaves[i], b.leaves[i])) return;
  for (size_t i = 0; i < a.leaves.size(); ++i) {
    const CallLeaf &x = a.leaves[i], &y = b.leaves[i];
    bool differ = !is_static(x, y) && !(x.size && y.size && x.size->hint() == y.size->hint());
    if (differ && !decide_equal(x, y)) return;
  }
}

// The arguments as the effects take them: the positional ones, and a dict of the keywords.
ValuePtr arguments_value(const CallArgs& args) {
  auto keywords = make_value<DictValue>();
  for (const auto& [name, value] : args.keywords) keywords->set(name.get(), value);
  std::vector<ValuePtr> parts{make_value<SequenceValue>(false, args.positional), keywords};
  return make_value<SequenceValue>(false, std::move(parts));
}

// Guards that the cache lacks the call, and has room for it.
void guard_miss(Tracer& tracer, const Source* cached, const Source* result, const CachedCall& call, Py_ssize_t bound,
                const CachedCalls& calls) {
  if (bound > 0)
    tracer.guards().shorter_than(tracer.sources().get(SourceKind::CachedResults, cached, nullptr), bound - calls.added);
  tracer.guards().absent(result);
  for (const CachedCall& other : calls.calls)
    if (!other.is_hit) keep_apart(other, call);
}

ValuePtr call_wrapped(Tracer& tracer, const ValuePtr& callable, const CallArgs& args) {
  const Source* source = as<ObjectValue>(callable)->source;
  return call_now(tracer, value_at(tracer, tracer.sources().get(SourceKind::WrappedFunction, source, nullptr)), args);
}

void note_call(CachedCalls& calls, const Ref& key, CachedCall call) {
  check_status(PyDict_SetItem(calls.by_key, key, check(PyLong_FromSize_t(calls.calls.size()))));
  calls.calls.push_back(std::move(call));
}

ValuePtr call_uncached(Tracer& tracer, const ValuePtr& callable, const CallArgs& args, CachedCalls& calls,
                       const Ref& key, const Source* result_source, CachedCall call) {
  const Source* source = as<ObjectValue>(callable)->source;
  Py_ssize_t count = 0, bound = 0;
  cached_call_counts(as<ObjectValue>(callable)->object, count, bound);
  if (bound > 0 && count + calls.added >= bound) graph_break(BreakReason::last_reference);
  size_t at = calls.calls.size();
  if (bound != 0) {
    guard_miss(tracer, source, result_source, call, bound, calls);
    note_call(calls, key, std::move(call));
    ++calls.added;
  }
  auto log_miss = [&](ValuePtr value) {
    tracer.effects().add({EffectKind::CacheMiss, callable, arguments_value(args), std::move(value)});
    tracer.cannot_undo();
  };
  ValuePtr result;
  try {
    result = call_wrapped(tracer, callable, args);
  } catch (const RaiseSignal& signal) {
    if (signal.exception) {
      if (bound != 0) {
        check_status(PyDict_DelItem(calls.by_key, key));
        --calls.added;
      }
      log_miss(nullptr);
    }
    throw;
  }
  log_miss(result);
  if (bound != 0) calls.calls[at].result = result;
  return result;
}

ValuePtr count_hit(Tracer& tracer, const ValuePtr& callable, const CallArgs& args, ValuePtr result) {
  tracer.effects().add({EffectKind::CacheHit, callable, arguments_value(args), nullptr});
  return result;
}

// The result of the call if the region has made it before; null if not.
ValuePtr found_in_region(const CachedCalls& calls, const Ref& key, const CachedCall& call) {
  PyObject* at = PyDict_GetItemWithError(calls.by_key, key);
  if (at == nullptr) return nullptr;
  const CachedCall& known = calls.calls[PyLong_AsSize_t(at)];
  if (known.is_hit) return same_leaves(known, call) ? known.result : nullptr;
  if (known.result == nullptr)
    graph_break(BreakReason::unknown_callable, "a cached function that runs for the same call");
  keep_equal(known, call);
  return known.result;
}

}  // namespace

ValuePtr call_cached(Tracer& tracer, const ValuePtr& callable, const CallArgs& args) {
  const Source* source = as<ObjectValue>(callable)->source;
  if (source == nullptr) graph_break(BreakReason::unguardable_object, "a cached function");
  PyObject* cached = tracer.values().identity_of(callable);
  CallParts parts(tracer, compares_argument_types(cached));
  Ref represented = parts.of_call(args);
  CachedCall call = parts.take();
  const LocalsView& view = tracer.entry().start().view;
  Ref key = cached_call_key(cached, represented, view);
  if (!key) graph_break(BreakReason::unhashable_key, "an argument of a cached function");
  CachedCalls& calls = tracer.effects().cached_calls(cached);
  if (ValuePtr known = found_in_region(calls, key, call)) return count_hit(tracer, callable, args, std::move(known));

  PyObject* kept = nullptr;
  int found = lookup_cached_call(cached, represented, view, &kept);
  if (found < 0) graph_break(BreakReason::unhashable_key, "an argument of a cached function");
  const Source* result = tracer.sources().cached_result(source, represented);
  if (found == 0) return call_uncached(tracer, callable, args, calls, key, result, std::move(call));
  tracer.guards().present(result);
  const Source* wrapped = tracer.sources().get(SourceKind::WrappedFunction, source, nullptr);
  call.result =
      call.is_open ? result_for_sizes(tracer, wrapped, args, result, kept) : value_at(tracer, result, Ref::share(kept));
  call.is_hit = true;
  ValuePtr value = call.result;
  if (call.is_open) note_call(calls, key, std::move(call));
  return count_hit(tracer, callable, args, std::move(value));
}

}  // namespace md
