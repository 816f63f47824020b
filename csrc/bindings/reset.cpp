#include "bindings/bindings.h"
#include "eval_frame/code_cache.h"
#include "eval_frame/counters.h"
#include "symbolic/graph_break.h"

namespace md {

// Everything that minidynamo._dynamo.reset() forgets.
void bind_reset(pybind11::module_& module) {
  module.def("reset", [] {
    forget_logged_breaks();
    CodeCache::reset_all();
    counters() = Counters();
  });
}

}  // namespace md
