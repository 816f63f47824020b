#include "eval_frame/backends.h"

#include <unordered_map>
#include <utility>

#include "base/host_hooks.h"
#include "base/log.h"
#include "cpython/text.h"
#include "eval_frame/code_cache.h"

namespace md {

namespace {

struct HeldBackend {
  BackendIdentity identity;
  int users = 0;
};
std::unordered_map<uint64_t, HeldBackend>& held_backends() {
  static auto* held = new std::unordered_map<uint64_t, HeldBackend>();
  return *held;
}

// Of the innermost call of a callable backend on this thread.
thread_local const ProductRules* asked_rules = nullptr;

class AskedRules {
 public:
  explicit AskedRules(const ProductRules& rules) : outer_(std::exchange(asked_rules, &rules)) {}
  ~AskedRules() { asked_rules = outer_; }
  AskedRules(const AskedRules&) = delete;
  AskedRules& operator=(const AskedRules&) = delete;

 private:
  const ProductRules* outer_;
};

bool has_options(const BackendIdentity& identity) {
  return identity.isolated || identity.guard_filter || identity.freezes || identity.precision != ReducedPrecision();
}

// What is left of it on this processor.
Precision available(Precision precision) {
  if (is_fast(precision)) return precision;
  log_warning_once(str_cat("this processor has no instructions for products of ", name_of(precision),
                           ": they are computed in float32"));
  return Precision::Float32;
}

}  // namespace

uint64_t backend_number(const BackendIdentity& identity) {
  if (!has_options(identity)) return backend_id(identity.backend);
  for (const auto& [number, held] : held_backends()) {
    const BackendIdentity& known = held.identity;
    bool same = known.backend.get() == identity.backend.get() &&
                known.guard_filter.get() == identity.guard_filter.get() && known.freezes == identity.freezes &&
                known.precision == identity.precision;
    if (same && !known.isolated && !identity.isolated) return number;
  }
  return new_backend_id();
}

void hold_backend(uint64_t number, BackendIdentity identity) {
  HeldBackend& held = held_backends()[number];
  held.identity = std::move(identity);
  ++held.users;
}

void let_go_of_backend(uint64_t number) {
  auto found = held_backends().find(number);
  if (found == held_backends().end() || --found->second.users > 0) return;
  BackendIdentity last = std::move(found->second.identity);
  held_backends().erase(found);
  // A later backend with this filter, or another isolated one, gets a new number.
  if (has_options(last)) CodeCache::drop_backend_soon(number);
}

BorrowedRef guard_filter_of(const Policy* policy) {
  auto found = held_backends().find(policy->backend);
  return found != held_backends().end() ? found->second.identity.guard_filter.get() : nullptr;
}

bool freezes_parameters(const Policy* policy) {
  auto found = held_backends().find(policy->backend);
  return found != held_backends().end() && found->second.identity.freezes;
}

ReducedPrecision precision_of(const Policy* policy) {
  auto found = held_backends().find(policy->backend);
  if (found == held_backends().end()) return {};
  const ReducedPrecision& wanted = found->second.identity.precision;
  return {.products = available(wanted.products), .weights = available(wanted.weights)};
}

bool ends_at_loops(const Policy* policy) {
  auto found = held_backends().find(policy->backend);
  if (policy->fullgraph || found == held_backends().end()) return false;
  PyObject* backend = found->second.identity.backend.get();
  static PyObject* const kStandsForOneDnn = PyUnicode_InternFromString("_stands_for_onednn");
  return PyUnicode_Check(backend) || PyObject_HasAttr(backend, kStandsForOneDnn) != 0;
}

bool runs_own_plan(const Policy* policy) {
  auto found = held_backends().find(policy->backend);
  return found != held_backends().end() && PyUnicode_Check(found->second.identity.backend.get());
}

std::shared_ptr<const Plan> plan_for(const Policy* policy, const ShownGraph& graph,
                                     const std::vector<Ref>& example_inputs, const std::vector<InputWrite>& writes,
                                     const ProductRules& rules) {
  auto found = held_backends().find(policy->backend);
  MD_ASSERT(found != held_backends().end(), "the backend of a policy is gone");
  Ref backend = found->second.identity.backend;  // the call may release the last user of the backend
  return plan_from_backend(backend.get(), graph, example_inputs, writes, rules);
}

std::shared_ptr<const Plan> plan_from_backend(BorrowedRef backend, const ShownGraph& graph,
                                              const std::vector<Ref>& example_inputs,
                                              const std::vector<InputWrite>& writes, const ProductRules& rules) {
  if (!PyUnicode_Check(backend.get())) {
    auto* make = host_hooks.plan_from_callable.load();
    MD_ASSERT(make != nullptr, "no function for plans of callables is installed");
    AskedRules asked(rules);
    return make(backend, graph, example_inputs);
  }
  if (PyUnicode_CompareWithASCIIString(backend, "onednn") == 0) return lower(graph.graph, writes, rules);
  if (PyUnicode_CompareWithASCIIString(backend, "eager") == 0) return eager_plan(graph.graph);
  raise(ErrorKind::Internal, "there is no backend '", text_of(backend), "' in the extension");
}

const ProductRules& rules_asked_for() {
  static const auto* none = new ProductRules;
  return asked_rules != nullptr ? *asked_rules : *none;
}

}  // namespace md
