// The plan of a graph that is a Python callable, as backends return them.
#pragma once
#include <memory>
#include <string>

#include "cpython/ref.h"
#include "executor/plan.h"

namespace md {

// `backend` names it in errors. The plan may be released on any thread.
std::shared_ptr<const Plan> callable_plan(Ref callable, std::string backend, std::shared_ptr<const Graph> graph);

}  // namespace md
