// The plan of a graph that is a Python callable, as backends return them.
#pragma once
#include <memory>
#include <string>

#include "cpython/ref.h"
#include "executor/plan.h"
#include "guards/shown_graph.h"

namespace md {

// The callable takes and returns tensors of the family in which the graph is shown. `backend` names it in errors. The
// plan may be released on any thread.
std::shared_ptr<const Plan> callable_plan(Ref callable, std::string backend, ShownGraph graph);

}  // namespace md
