// Makes a plan from a captured graph with a Python backend.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "cpython/ref.h"
#include "executor/plan.h"
#include "graph/graph.h"
#include "guards/shown_graph.h"

namespace md {

// With a callable(gm, example_inputs) -> callable. example_inputs: a tensor or number per input of the graph, which
// must be concrete. Throws PythonError with minidynamo._dynamo.exc.BackendCompilerFailed set if it raises or returns
// something not callable. Requires the GIL.
std::shared_ptr<const Plan> plan_from_callable(BorrowedRef backend, const ShownGraph& graph,
                                               const std::vector<Ref>& example_inputs);

// Converts Python objects to the inputs of a graph, in order. Throws Error(Type) or Error(Value) naming the input that
// does not match what the graph was captured for; strides are compared only if exact_layout.
std::vector<GraphInput> graph_inputs(const Graph& graph, std::span<PyObject* const> values, bool exact_layout);

// Runs a plan on checked inputs, and returns objects of the family in which the graph is shown; a long run releases the
// GIL if the plan permits it. Requires the GIL.
std::vector<Ref> run_plan(const Plan& plan, const ShownGraph& graph, std::span<const GraphInput> inputs);

}  // namespace md
