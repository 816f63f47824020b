#include "symbolic/calls/cached_results.h"

#include <algorithm>

#include "guards/cached_calls.h"
#include "guards/constants.h"
#include "guards/guard_set.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/sizes/symbolic_sizes.h"
#include "symbolic/state/shape_env.h"
#include "symbolic/trace/endings.h"

namespace md {

namespace {

// How much a function has done that a hit would not do.
struct Traces {
  size_t nodes, effects, outputs, host_calls, cells;
  bool operator==(const Traces&) const = default;
};

Traces traces_of(Tracer& tracer) {
  return {tracer.graph().nodes().size(), tracer.effects().log().size(), tracer.outputs().queued().size(),
          tracer.outputs().host_calls().size(), tracer.effects().stored_cells().size()};
}

// Whether no object that the region has made can be reached by the function, which could change it without a trace.
bool reaches_nothing_new(Tracer& tracer) {
  auto is_of_cache = [](const PendingEffect& effect) {
    return effect.kind == EffectKind::CacheHit || effect.kind == EffectKind::CacheMiss;
  };
  return tracer.effects().stored_cells().empty() && std::ranges::all_of(tracer.effects().log(), is_of_cache);
}

// Whether finding the size takes another look-up of a call of sizes: a chain of those would take ever longer.
bool is_read_from_cache(Tracer& tracer, Dim size) {
  SymbolList symbols;
  symbols.add(size);
  return std::ranges::any_of(tracer.shapes().places_of(symbols), [](const SizePlace& place) {
    const Source* source = place.source;
    while (source != nullptr && source->kind() != SourceKind::CachedResult) source = source->base();
    return source != nullptr && holds_number_part(source->key().get());
  });
}

// Guards that a cached object is what the function has made, part by part; a part's value is then what was made.
class Match {
 public:
  explicit Match(Tracer& tracer) : tracer_(tracer) {}

  bool of(const ValuePtr& made, BorrowedRef kept, const Source* at) {
    if (++parts_ > kMostParts || is_tensor(made) || type_of(made) != kept.type()) return false;
    if (std::optional<Dim> size = open_size(tracer_, made)) return of_size(made, *size, kept, at);
    if (kept.type() == &PyTuple_Type || kept.type() == &PyList_Type) return of_sequence(made, kept, at);
    if (kept.type() == &PyDict_Type) return of_dict(made, kept, at);
    if (!is_guardable_constant(kept)) return false;
    Ref constant = constant_of(tracer_, made);
    if (!constant || holds_nan(constant) || !identical_constants(constant, kept)) return false;
    tracer_.guards().equals_match(at, kept);
    return true;
  }

 private:
  static constexpr int kMostParts = 256;  // each is guarded

  bool of_size(const ValuePtr& made, Dim size, BorrowedRef kept, const Source* at) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(kept, &overflow);
    if (overflow != 0 || number != size.hint()) return false;
    tracer_.guards().type_match(at, &PyLong_Type);
    bool same = known_equal(tracer_.shapes().symbol({at, SizePlace::kNumber}, number), size);
    if (same) tracer_.values().set(at, made);
    return same;
  }

  bool of_sequence(const ValuePtr& made, BorrowedRef kept, const Source* at) {
    auto elements = elements_of(tracer_, made);
    Py_ssize_t length = PySequence_Fast_GET_SIZE(kept.get());
    if (!elements || static_cast<Py_ssize_t>(elements->size()) != length) return false;
    tracer_.guards().type_match(at, kept.type());
    tracer_.guards().length(at, length);
    for (Py_ssize_t i = 0; i < length; ++i)
      if (!of((*elements)[static_cast<size_t>(i)], PySequence_Fast_GET_ITEM(kept.get(), i),
              tracer_.sources().get(SourceKind::Item, at, nullptr, i)))
        return false;
    return true;
  }

  bool of_dict(const ValuePtr& made, BorrowedRef kept, const Source* at) {
    auto entries = entries_of(tracer_, made);
    if (!entries || static_cast<Py_ssize_t>(entries->size()) != PyDict_GET_SIZE(kept.get())) return false;
    tracer_.guards().type_match(at, &PyDict_Type);
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    Ref keys = check(PyTuple_New(PyDict_GET_SIZE(kept.get())));
    for (Py_ssize_t i = 0; PyDict_Next(kept, &position, &key, &value) != 0; ++i) {
      const DictValue::Entry& entry = (*entries)[static_cast<size_t>(i)];
      bool is_same = is_guardable_constant(key) && identical_constants(entry.key, key);
      if (!is_same || !of(entry.value, value, tracer_.sources().get(SourceKind::DictItem, at, key))) return false;
      PyTuple_SET_ITEM(keys.get(), i, Py_NewRef(key));
    }
    tracer_.guards().dict_keys(at, keys);
    return true;
  }

  Tracer& tracer_;
  int parts_ = 0;
};

// What the function returns; null if it raises or breaks.
ValuePtr traced_result(Tracer& tracer, const Source* wrapped, const CallArgs& args) {
  try {
    return call_now(tracer, value_at(tracer, wrapped), args);
  } catch (const RaiseSignal&) {
    return nullptr;
  } catch (const BreakSignal&) {
    return nullptr;
  } catch (const RestartSignal&) {
    return nullptr;
  }
}

}  // namespace

std::optional<Dim> open_size(Tracer& tracer, const ValuePtr& value) {
  std::optional<Dim> size = is_dynamic(value) ? dim_of(tracer, value) : std::nullopt;
  bool varies = size && size->is_symbolic() && !tracer.shapes().is_unbacked(*size) && !is_for_python(tracer, *size);
  return varies && !is_read_from_cache(tracer, *size) ? size : std::nullopt;
}

ValuePtr result_for_sizes(Tracer& tracer, const Source* wrapped, const CallArgs& args, const Source* source,
                          BorrowedRef kept) {
  if (tracer.is_declined_operator()) return value_at(tracer, source, Ref::share(kept));
  OperatorSite site{tracer.frames().innermost().bytecode, tracer.frames().innermost().index};
  if (!reaches_nothing_new(tracer)) throw DeclinedSignal{site};
  Traces before = traces_of(tracer);
  ValuePtr made = traced_result(tracer, wrapped, args);
  if (!made || traces_of(tracer) != before || !Match(tracer).of(made, kept, source)) throw DeclinedSignal{site};
  return value_at(tracer, source, Ref::share(kept));
}

}  // namespace md
