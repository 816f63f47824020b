#include "bindings/bindings.h"
#include "eval_frame/bailout.h"
#include "eval_frame/code_cache.h"
#include "eval_frame/compile_times.h"
#include "eval_frame/counters.h"
#include "symbolic/breaks/graph_break.h"
#include "tensor/dim_table.h"

namespace md {

// Everything that minidynamo._dynamo.reset() clears.
void bind_reset(pybind11::module_& module) {
  module.def("dim_tables", &dim_table_count);
  module.def("reset", [] {
    forget_logged_breaks();
    forget_break_counts();
    compile_times().clear();
    CodeCache::reset_all();
    counters() = Counters();
    bailout_counts() = {};
  });
}

}  // namespace md
