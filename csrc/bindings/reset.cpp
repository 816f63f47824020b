#include "bindings/bindings.h"
#include "eval_frame/bailout.h"
#include "eval_frame/code_cache.h"
#include "eval_frame/compile_times.h"
#include "eval_frame/counters.h"
#include "executor/sized_plans.h"
#include "symbolic/breaks/graph_break.h"
#include "tensor/dim_table.h"
#include "tensor/gemm/onednn.h"
#include "tensor/simd/room.h"
#include "tensor/storage.h"

#if defined(__linux__)
#include <malloc.h>
#endif

namespace md {

namespace {

// Memory that grew with the number of distinct sizes.
void give_memory_back() {
  drop_primitives();
  empty_cache();
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace

// Everything that minidynamo._dynamo.reset() clears.
void bind_reset(pybind11::module_& module) {
  module.def("dim_tables", &dim_table_count);
  module.def("sized_plans_bytes", &sized_plans_bytes, "Of all plans for single sizes.");
  module.def("cached_primitives_bytes", &cached_primitives_bytes, "Of the primitives that oneDNN made, as counted.");
  module.def(
      "room_counts",
      [] {
        RoomCounts counts = room_counts();
        pybind11::dict dict;
        dict["made"] = counts.made;
        dict["appends"] = counts.appends;
        dict["copied_out"] = counts.copied_out;
        dict["spare_bytes"] = counts.spare_bytes;
        return dict;
      },
      "Memory with room into which cat appends: how often it was made, appended to and copied out of, and what is "
      "spare.");
  module.def("reset", [] {
    forget_logged_breaks();
    forget_break_counts();
    compile_times().clear();
    CodeCache::reset_all();
    counters() = Counters();
    bailout_counts() = {};
    give_memory_back();
  });
}

}  // namespace md
