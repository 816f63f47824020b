// Backends of compiled functions: maps Policy::backend to a backend, and makes its plans of graphs. Requires the GIL.
#pragma once
#include <memory>
#include <vector>

#include "cpython/ref.h"
#include "executor/plan.h"
#include "graph/graph.h"
#include "graph/input_write.h"
#include "guards/shown_graph.h"
#include "snapshot/policy.h"

namespace md {

// A backend, and everything else that separates the captures made for it from others.
struct BackendIdentity {
  Ref backend;            // the str "onednn" or "eager", or a callable(gm, example_inputs) -> callable
  Ref guard_filter;       // null if there is none
  bool isolated = false;  // shares no captures with other compiled functions
  bool freezes = false;   // the program has promised not to write its parameters
  ReducedPrecision precision = {};
};

// Returns the number of a live compiled function with an equal identity, or a new number.
uint64_t backend_number(const BackendIdentity& identity);
// Registers a live compiled function with this number, until let_go_of_backend().
void hold_backend(uint64_t number, BackendIdentity identity);
void let_go_of_backend(uint64_t number);

// Whether long loops stay loops: not for a callable that wants the graph of the whole function.
bool ends_at_loops(const Policy* policy);
BorrowedRef guard_filter_of(const Policy* policy);  // null if there is none
bool freezes_parameters(const Policy* policy);
// As far as the processor has instructions for it; where it has none, that is logged once.
ReducedPrecision precision_of(const Policy* policy);

// Whether the extension makes its plans, not a callable.
bool runs_own_plan(const Policy* policy);

// Makes the plan of the graph with the policy's backend; example_inputs are Python objects in graph input order,
// tensors of the family in which the graph is shown.
std::shared_ptr<const Plan> plan_for(const Policy* policy, const ShownGraph& graph,
                                     const std::vector<Ref>& example_inputs, const std::vector<InputWrite>& writes,
                                     const ProductRules& rules);
// The same for a given backend. A str needs no Python; the plan of a callable is made by the host. Throws PythonError
// with minidynamo._dynamo.exc.BackendCompilerFailed set if a callable raises or returns something not callable.
std::shared_ptr<const Plan> plan_from_backend(BorrowedRef backend, const ShownGraph& graph,
                                              const std::vector<Ref>& example_inputs,
                                              const std::vector<InputWrite>& writes = {},
                                              const ProductRules& rules = {});

// The rules for a plan of the extension that a callable makes of the graph that it is given; none elsewhere.
const ProductRules& rules_asked_for();

}  // namespace md
