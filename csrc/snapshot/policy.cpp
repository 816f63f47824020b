#include "snapshot/policy.h"

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "base/host_hooks.h"

namespace md {
namespace {

struct PolicyHash {
  size_t operator()(const Policy& policy) const {
    uint64_t bits = policy.backend;
    for (uint64_t part :
         {policy.config_fingerprint, static_cast<uint64_t>(policy.recompile_limit),
          static_cast<uint64_t>(policy.dynamic),
          static_cast<uint64_t>(policy.fullgraph | policy.error_on_graph_break << 1 | policy.disable << 2 |
                                policy.nested_graph_breaks << 3 | policy.keeps_empty_regions << 4)}) {
      bits = (bits ^ part) * 0x9E3779B97F4A7C15u;
      bits ^= bits >> 32;
    }
    return bits;
  }
};

Stance current_stance = Stance::Default;
thread_local InheritedPolicy inherited;
thread_local BorrowedRef function_to_skip;

// Weak references to the numbered backends, by address. The callback of a dying backend removes its entry, so that a
// new object at the same address gets a new number. Objects without weak reference support are kept alive instead.
struct NumberedBackend {
  uint64_t id;
  Ref keeper;
};

std::unordered_map<PyObject*, NumberedBackend>& numbered_backends() {
  static auto* backends = new std::unordered_map<PyObject*, NumberedBackend>();
  return *backends;
}

PyObject* forget_backend(PyObject*, PyObject* weak_reference) {
  auto& backends = numbered_backends();
  for (auto entry = backends.begin(); entry != backends.end(); ++entry) {
    if (entry->second.keeper.get() != weak_reference) continue;
    Ref keeper = std::move(entry->second.keeper);
    uint64_t id = entry->second.id;
    backends.erase(entry);
    if (auto* drop = host_hooks.drop_backend.load()) drop(id);
    break;
  }
  Py_RETURN_NONE;
}

PyMethodDef forget_backend_method = {"forget_backend", &forget_backend, METH_O, nullptr};

Ref keeper_of(BorrowedRef backend) {
  static PyObject* callback = check(PyCFunction_New(&forget_backend_method, nullptr)).release();
  if (PyObject* weak = PyWeakref_NewRef(backend, callback)) return Ref::steal(weak);
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw PythonError();
  PyErr_Clear();
  return Ref::share(backend);
}

}  // namespace

const Policy* intern(const Policy& policy) {
  static auto* policies = new std::unordered_set<Policy, PolicyHash>();
  return &*policies->insert(policy).first;
}

const Policy* with_error_on_graph_break(const Policy* policy, bool value) {
  if (policy->error_on_graph_break == value) return policy;
  Policy changed = *policy;
  changed.error_on_graph_break = value;
  return intern(changed);
}

uint64_t new_backend_id() {
  static uint64_t last_id = 0;
  return ++last_id;
}

uint64_t backend_id(BorrowedRef backend) {
  auto& backends = numbered_backends();
  auto found = backends.find(backend.get());
  if (found != backends.end()) return found->second.id;
  NumberedBackend numbered = {new_backend_id(), keeper_of(backend)};
  uint64_t id = numbered.id;
  backends.emplace(backend.get(), std::move(numbered));
  return id;
}

Stance stance() { return current_stance; }

Stance exchange_stance(Stance stance) { return std::exchange(current_stance, stance); }

const InheritedPolicy& inherited_policy() { return inherited; }

const Policy* ambient_policy() { return inherited.ambient; }

const Policy*& ambient_policy_place() { return inherited.ambient; }

bool error_on_graph_break() { return inherited.error_on_graph_break(); }

bool exchange_error_on_graph_break(bool value) {
  InheritedPolicy& here = inherited;
  bool previous = here.error_on_graph_break();
  if (here.ambient != nullptr) {
    here.ambient = with_error_on_graph_break(here.ambient, value);
  } else {
    here.error_outside = value;
  }
  return previous;
}

BorrowedRef skipped_function() { return function_to_skip; }

BorrowedRef exchange_skipped_function(BorrowedRef function) { return std::exchange(function_to_skip, function); }

}  // namespace md
