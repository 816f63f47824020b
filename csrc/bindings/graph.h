// Python wrappers of Graph and Plan, for code that does not use pybind11.
#pragma once
#include <memory>

#include "cpython/ref.h"
#include "executor/plan.h"
#include "guards/shown_graph.h"

namespace md {

// A new minidynamo._C.Graph.
Ref graph_to_python(const ShownGraph& graph);

// The plan in a minidynamo._C.Plan made from this very graph; null for any other object.
std::shared_ptr<const Plan> plan_of_python(BorrowedRef object, const Graph& graph);

}  // namespace md
