// Statistics of the engine since the start or the last reset; read under the GIL.
#pragma once
#include <cstdint>

namespace md {

// MD_COUNTER(name, doc)
#define MD_COUNTERS(MD_COUNTER)                                                                               \
  MD_COUNTER(captures_begun, "traces begun, including those that ended in an exception")                      \
  MD_COUNTER(regions_captured, "traces that ended in a region")                                               \
  MD_COUNTER(graphs_captured, "regions whose graph has an op")                                                \
  MD_COUNTER(ops_captured, "ops in those graphs")                                                             \
  MD_COUNTER(regions_run, "regions entered, captured or found")                                               \
  MD_COUNTER(plans_run, "of those, the ones that have a plan")                                                \
  MD_COUNTER(linked_runs, "of those, the iterations of loops that needed no look-up")                         \
  MD_COUNTER(graph_breaks, "regions captured that end in a break which is not silent")                        \
  MD_COUNTER(recompiles, "regions captured because the guards of the others failed")                          \
  MD_COUNTER(limits_reached, "look-ups refused by the recompile limit")                                       \
  MD_COUNTER(snapshots_restored, "frames written from a snapshot")                                            \
  MD_COUNTER(frames_materialised, "frames made for functions that were inlined")                              \
  MD_COUNTER(frames_driven, "frames that the driver ran, materialised ones too")                              \
  MD_COUNTER(translated_instructions, "instructions that regions run by the driver covered")                  \
  MD_COUNTER(concrete_instructions, "instructions that the driver executed")                                  \
  MD_COUNTER(final_instructions, "returns, yields and reraises that the interpreter executed for the driver") \
  MD_COUNTER(hand_overs, "frames that bailed out to the interpreter")                                         \
  MD_COUNTER(plan_failures, "plans that failed and were run again by Python")                                 \
  MD_COUNTER(captures_suppressed, "captures that failed and were left to Python, with a warning")             \
  MD_COUNTER(cache_places_visited, "places of caches read to find, add or sweep one")                         \
  MD_COUNTER(capture_ns, "nanoseconds spent tracing, lowering and compiling")                                 \
  MD_COUNTER(workless_traces, "traces given up because they added nothing to a graph")                        \
  MD_COUNTER(stretches_driven, "stretches without work that the driver executed, as work may follow")         \
  MD_COUNTER(loops_lent, "of the loops in them, those that the interpreter ran and returned from")            \
  MD_COUNTER(hook_absences, "times that the hook was taken out for code whose callees have no work")          \
  MD_COUNTER(work_gained, "what regions have saved in driven functions, less what they cost: loop_costs.def") \
  MD_COUNTER(work_lost, "what regions and instructions between them have cost there that saved less")

struct Counters {
#define MD_COUNTER(name, doc) int64_t name = 0;
  MD_COUNTERS(MD_COUNTER)
#undef MD_COUNTER
};
Counters& counters();

struct CounterRow {
  const char* name;
  const char* doc;
  int64_t Counters::* field;
};
inline constexpr CounterRow kCounterRows[] = {
#define MD_COUNTER(name, doc) {#name, doc, &Counters::name},
    MD_COUNTERS(MD_COUNTER)
#undef MD_COUNTER
};

}  // namespace md
