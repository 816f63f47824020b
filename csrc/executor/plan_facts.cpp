#include "executor/plan_facts.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace md {
namespace {

constexpr const char* kNotFusedTexts[] = {
    "",
#define MD_NOT_FUSED(name, text) text,
#include "executor/not_fused.def"
#undef MD_NOT_FUSED
};

// 1234567 bytes as "1.23 MB": three digits and a decimal prefix.
std::string with_prefix(double number, const char* unit) {
  static constexpr std::array kPrefixes = {"", "k", "M", "G", "T"};
  size_t at = 0;
  for (; number >= 999.5 && at + 1 < kPrefixes.size(); ++at) number /= 1000;
  char text[48];
  int decimals = at == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof(text), "%.*f %s%s", decimals, number, kPrefixes[at], unit);
  return text;
}

std::string microseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f us", ns / 1000);
  return text;
}

std::string heading(const char* log, const std::string& place, const std::string& sizes) {
  return str_cat(log, " of ", place, sizes.empty() ? "" : " for ", sizes);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

size_t node_count(const PlanFacts& facts) {
  size_t count = facts.places.size() + facts.in_place.size();
  for (const StepFacts& step : facts.steps) count += step.nodes.size();
  return count;
}

Work total_work(const PlanFacts& facts) {
  Work work;
  for (const StepFacts& step : facts.steps) work += step.work;
  return work;
}

}  // namespace

const char* not_fused_text(NotFused reason) { return kNotFusedTexts[static_cast<size_t>(reason)]; }

std::string StepLabel::why() const {
  std::string text = fallback;
  if (reason == NotFused::none) return text;
  if (!text.empty()) text += "; ";
  std::string rest = not_fused_text(reason);
  size_t gap = rest.find("{}");
  MD_ASSERT(gap != std::string::npos, "a reason names the earlier node");
  return text + rest.replace(gap, 2, producer);
}

std::string graph_place(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->location == nullptr || node->location->empty()) continue;
    const SourceLine& line = node->location->front();
    return str_cat(line.function, " (", file_and_line(line), ")");
  }
  return "a graph";
}

std::string print_plan_log(const PlanFacts& facts, const std::string& place, const std::string& sizes) {
  std::string text = str_cat(heading("PLAN", place, sizes), ": ", node_count(facts), " operations in ",
                             facts.steps.size(), " steps, ", facts.arena_nbytes, " bytes of scratch memory");
  for (size_t i = 0; i < facts.steps.size(); ++i) {
    const StepFacts& step = facts.steps[i];
    text += str_cat("\n  step ", i, ": ", step.text);
    if (step.nodes.size() > 1) text += str_cat("\n    holds ", joined(step.nodes));
    if (!step.why.empty()) text += str_cat("\n    ", step.nodes[0], ": ", step.why);
  }
  if (!facts.places.empty()) text += "\n  no step, views only: " + joined(facts.places);
  if (!facts.in_place.empty()) text += "\n  no step, computed in place: " + joined(facts.in_place);
  return text;
}

std::string print_kernels_log(const PlanFacts& facts, const std::string& place, const std::string& sizes) {
  Work work = total_work(facts);
  std::string text = str_cat(heading("KERNELS", place, sizes), ": ", with_prefix(work.bytes, "B"), " moved, ",
                             with_prefix(work.flops, "FLOP"));
  for (size_t i = 0; i < facts.steps.size(); ++i) {
    const StepFacts& step = facts.steps[i];
    text += str_cat("\n  step ", i, ": ", step.text, "\n    ", step.kernel, "; ", with_prefix(step.work.bytes, "B"),
                    " moved, ", with_prefix(step.work.flops, "FLOP"), ", ", microseconds(step.work.ns()), " estimated");
  }
  return text;
}

std::string print_perf_log(const PlanFacts& facts, const std::string& place, const std::string& sizes) {
  double runs = static_cast<double>(facts.runs);
  auto times = [&](const StepTimes& measured) {
    return str_cat("fastest ", microseconds(static_cast<double>(measured.fastest_ns)), ", mean ",
                   microseconds(static_cast<double>(measured.total_ns) / runs));
  };
  std::string text = str_cat(heading("PERF", place, sizes), " after ", facts.runs, facts.runs == 1 ? " run" : " runs",
                             ": ", times(facts.times));
  for (size_t i = 0; i < facts.steps.size(); ++i) {
    const StepFacts& step = facts.steps[i];
    text += str_cat("\n  step ", i, ": ", times(step.times));
    // Bytes per nanosecond are gigabytes per second.
    double ns = static_cast<double>(step.times.fastest_ns);
    if (ns > 0) text += str_cat(", ", with_prefix(step.work.bytes / ns * 1e9, "B/s"));
    if (ns > 0 && step.work.flops > 0) text += str_cat(", ", with_prefix(step.work.flops / ns * 1e9, "FLOP/s"));
    if (ns > 0 && step.least_ns > 0) text += str_cat(", ", std::lround(100 * step.least_ns / ns), " % of the bound");
    text += "; " + step.text;
  }
  return text;
}

}  // namespace md
