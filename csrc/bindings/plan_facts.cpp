#include "bindings/plan_facts.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace md {
namespace {

void set_times(py::dict& facts, const StepTimes& times, int64_t runs) {
  facts["fastest_ns"] = runs == 0 ? py::object(py::none()) : py::int_(times.fastest_ns);
  facts["mean_ns"] =
      runs == 0 ? py::object(py::none()) : py::float_(static_cast<double>(times.total_ns) / static_cast<double>(runs));
}

}  // namespace

py::dict plan_facts(const Plan& plan) {
  PlanFacts known = plan.facts();
  py::list steps;
  for (const StepFacts& step : known.steps) {
    py::dict facts;
    facts["text"] = step.text;
    facts["kernel"] = step.kernel;
    facts["nodes"] = step.nodes;
    facts["why"] = step.why;
    facts["bytes"] = step.work.bytes;
    facts["flops"] = step.work.flops;
    set_times(facts, step.times, known.runs);
    facts["least_ns"] = known.runs == 0 ? py::object(py::none()) : py::float_(step.least_ns);
    steps.append(facts);
  }
  py::dict facts;
  facts["steps"] = steps;
  facts["places"] = known.places;
  facts["in_place"] = known.in_place;
  facts["arena_nbytes"] = known.arena_nbytes;
  facts["runs"] = known.runs;
  set_times(facts, known.times, known.runs);
  return facts;
}

}  // namespace md
