// The backends of compiled functions: what a number in Policy::backend stands for, and the plan that it makes of a graph. GIL held.
#pragma once
#include <memory>
#include <vector>

#include "cpython/ref.h"
#include "executor/plan.h"
#include "graph/graph.h"
#include "snapshot/policy.h"

namespace md {

// A backend, and what else tells apart what is captured for it.
struct BackendIdentity {
  Ref backend;            // the str "onednn" or "eager", or a callable(gm, example_inputs) -> callable
  Ref guard_filter;       // null: none
  bool isolated = false;  // shares its captures with no other compiled function
};

// The number of such a one: that of a compiled function that lives and has the same, or a new one.
uint64_t backend_number(const BackendIdentity& identity);
// A compiled function with this number lives from here on, until it lets go of it.
void hold_backend(uint64_t number, BackendIdentity identity);
void let_go_of_backend(uint64_t number);

BorrowedRef guard_filter_of(const Policy* policy);  // null: none

// The plan of the graph by the policy's backend; example_inputs are Python objects in graph input order.
std::shared_ptr<const Plan> plan_for(const Policy* policy, const std::shared_ptr<Graph>& graph,
                                     const std::vector<Ref>& example_inputs);
// The same for a backend. A str needs no Python; a callable's plan is made by the host.
// PythonError is minidynamo._dynamo.exc.BackendCompilerFailed when a callable raises or returns what cannot be called.
std::shared_ptr<const Plan> plan_from_backend(BorrowedRef backend, const std::shared_ptr<const Graph>& graph,
                                              const std::vector<Ref>& example_inputs);

}  // namespace md
