// From a captured graph to a plan, by a backend in Python.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "cpython/ref.h"
#include "executor/plan.h"
#include "graph/graph.h"

namespace md {

// By a callable(gm, example_inputs) -> callable. example_inputs: a tensor or number for each input of the graph, which must be
// concrete. PythonError is minidynamo._dynamo.exc.BackendCompilerFailed when it raises or returns what cannot be called. GIL held.
std::shared_ptr<const Plan> plan_from_callable(BorrowedRef backend, const std::shared_ptr<const Graph>& graph,
                                               const std::vector<Ref>& example_inputs);

// Python objects for the inputs of a graph, in order. Throws Error(Type) or Error(Value) naming the input that does not fit
// what the graph was captured for; strides count only if exact_layout.
std::vector<GraphInput> graph_inputs(const Graph& graph, std::span<PyObject* const> values, bool exact_layout);

// Runs a plan on checked inputs; a long run without the GIL where the plan allows it. GIL held.
std::vector<Tensor> run_plan(const Plan& plan, const Graph& graph, std::span<const GraphInput> inputs);

}  // namespace md
