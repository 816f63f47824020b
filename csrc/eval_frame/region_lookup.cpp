#include "eval_frame/region_lookup.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "base/config.h"
#include "base/log.h"
#include "cpython/errors.h"
#include "cpython/frame.h"
#include "cpython/imports.h"
#include "cpython/stack_room.h"
#include "cpython/text.h"
#include "eval_frame/backends.h"
#include "eval_frame/capture_lock.h"
#include "eval_frame/capture_record.h"
#include "eval_frame/capture_report.h"
#include "eval_frame/compile_times.h"
#include "eval_frame/counters.h"
#include "eval_frame/guard_filter.h"
#include "eval_frame/internal_work.h"
#include "eval_frame/left_code.h"
#include "eval_frame/linked_loop.h"
#include "eval_frame/recompiles.h"
#include "eval_frame/running_stack.h"
#include "graph/passes.h"
#include "guards/object_memory.h"
#include "snapshot/value_builder.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/trace/loops.h"
#include "tensor/gemm/packed_weights.h"
#include "tensor/kernels/random.h"

namespace md {

namespace {

bool breaks_are_errors(const RegionPlace& place, const CapturedRegion& region) {
  return region.break_policy->breaks_are_errors() || place.policy->fullgraph;
}

bool is_policy_error(const RegionPlace& place, const CapturedRegion& region) {
  if (!region.graph_break) return false;
  // A loop over a pre-existing iterator is not reported as a break, but needs more than one graph.
  if (region.graph_break->reason == BreakReason::opaque_iterator) return place.policy->fullgraph && place.index == 0;
  if (break_row(region.graph_break->reason).is_silent()) return false;
  return breaks_are_errors(place, region);
}

bool breaks_at_operator(const CapturedRegion& region) {
  return region.graph_break && region.graph_break->reason == BreakReason::caught_call_out;
}

void report_break(const RegionPlace& place, const CapturedRegion& region, CaptureReport& report) {
  const GraphBreak& found = *region.graph_break;
  bool raises = is_policy_error(place, region);
  if (!break_row(found.reason).is_silent() || raises) report.graph_break(found, raises);
  if (raises) raise_unsupported(found);
  if (break_row(found.reason).is_silent()) return;
  ++counters().graph_breaks;
  for (int record = 0; record <= region.repeated_records; ++record)
    log_graph_break(found, [&] { return running_stack(place.bytecode, region.snapshot.returns.size()); });
}

// Backends receive tensors of one family, over the same memory where it can show that.
Ref example(const TensorFamily& shown, Ref object) {
  const TensorFamily* family = object ? family_of(object) : nullptr;
  if (family == nullptr || family == &shown) return object;
  return object_of_input(shown, hold(*family, object));
}

// Only families whose objects have memory of their own.
std::vector<const TensorFamily*> families_of_outputs(const RegionEntry& entry) {
  const CapturedRegion& region = entry.region;
  std::vector<const TensorFamily*> families(entry.run_graph().outputs().size());
  bool any = false;
  for (const Recipe& recipe : region.snapshot.recipes) {
    if (recipe.kind != RecipeKind::Output || recipe.family->wrap != nullptr) continue;
    families[static_cast<size_t>(recipe.index)] = recipe.family;
    any = true;
  }
  // The library keeps what the backward reads.
  for (size_t i = region.graph->outputs().size(); entry.recorder != nullptr && i < families.size(); ++i)
    families[i] = entry.recorder;
  return any || entry.recorder != nullptr ? families : std::vector<const TensorFamily*>();
}

std::vector<int> writes_of_outputs(const CapturedRegion& region) {
  std::vector<int> writes(region.graph->outputs().size());
  for (const Recipe& recipe : region.snapshot.recipes)
    if (recipe.kind == RecipeKind::Output) writes[static_cast<size_t>(recipe.index)] = static_cast<int>(recipe.writes);
  return writes;
}

std::vector<std::pair<int, int>> take_counts_of_inputs(CapturedRegion& region) {
  std::vector<std::pair<int, int>> counts;
  for (const InputWrite& write : region.input_writes)
    for (Effect& effect : region.snapshot.effects)
      if (effect.kind == EffectKind::WriteTensor && region.snapshot.recipes[effect.value].index == write.output)
        counts.emplace_back(write.input, static_cast<int>(std::exchange(effect.count, 0)));
  return counts;
}

// Whether the library has tensors for all that its node keeps.
bool may_keep(const TensorFamily& library, const GradientPlan& plan) {
  const Graph& graph = *plan.forward();
  for (size_t i = plan.own_outputs(); plan.saves() && i < graph.outputs().size(); ++i) {
    const ValueInfo& info = graph.info(graph.outputs()[i]);
    if (info.is_scalar || !library.dtype_object(info.spec.dtype)) return false;
  }
  return true;
}

GradientPlan::Forward forward_of(const RegionPlace& place) {
  return runs_own_plan(place.policy) ? GradientPlan::Forward::Saves : GradientPlan::Forward::RunsAgain;
}

GradientPlan::Chosen choose_gradient_plan(const RegionPlace& place, const CapturedRegion& region,
                                          GradientPlan::Recorder recorder) {
  return GradientPlan::choose(region.graph, region.input_writes, forward_of(place), recorder,
                              {{}, &region.sizes.symbols});
}

// The library runs the frame, and records it: reported as a break at the first operation with a history.
void note_unrecorded(const RegionPlace& place, CapturedRegion& region, const std::string& why) {
  GraphBreak found{BreakReason::needs_gradient, why, {}, {}, {}};
  for (const auto& node : region.graph->nodes()) {
    bool has_history = std::ranges::any_of(node->outs, [](const ValueInfo& info) { return info.spec.requires_grad; });
    if (node->kind != NodeKind::Op || !has_history || node->location == nullptr) continue;
    found.user_stack = *node->location;
    break;
  }
  region.graph_break = std::move(found);
  region.break_policy = place.policy;
}

// Another library's tensors, which record what is done with them.
GradientWay choose_recorded(const RegionPlace& place, RegionEntry& entry) {
  CapturedRegion& region = entry.region;
  if (region.family->recorder == nullptr) return GradientWay::None;
  GradientPlan::Chosen chosen = choose_gradient_plan(place, region, GradientPlan::Recorder::Library);
  if (chosen.way == GradientWay::Plan && !may_keep(*region.family, *chosen.plan))
    chosen = {GradientWay::Python, nullptr, "the backward reads a value of a dtype that the library has not"};
  if (chosen.way == GradientWay::Python) note_unrecorded(place, region, chosen.why);
  if (chosen.way != GradientWay::Plan) return chosen.way;
  region.sizes.guard(entry.guards, chosen.plan->relied());
  entry.gradients = std::move(chosen.plan);
  entry.recorder = region.family;
  return GradientWay::Plan;
}

GradientWay choose_gradients(const RegionPlace& place, RegionEntry& entry) {
  const CapturedRegion& region = entry.region;
  if (region.family != &default_family() || region.has_foreign_tensors) return choose_recorded(place, entry);
  GradientPlan::Chosen chosen = choose_gradient_plan(place, region, GradientPlan::Recorder::Tape);
  if (chosen.plan != nullptr) region.sizes.guard(entry.guards, chosen.plan->relied());
  entry.gradients = std::move(chosen.plan);
  entry.output_views = entry.gradients != nullptr
                           ? output_views(*entry.gradients->forward(), entry.gradients->viewed_outputs())
                           : output_views(*region.graph, region.graph->outputs().size());
  return chosen.way;
}

// Whether the source leads through an object, a module or the variables around the function: to no argument of its own,
// nor what lies in the containers that it is given.
bool is_kept_elsewhere(const Source* source) {
  static constexpr SourceKind kOfArguments[] = {SourceKind::Local, SourceKind::CallerSlot, SourceKind::Item,
                                                SourceKind::DictItem, SourceKind::DictEntry};
  for (; source != nullptr; source = source->base())
    if (std::ranges::find(kOfArguments, source->kind()) == std::end(kOfArguments)) return true;
  return false;
}

// A parameter of another library.
bool is_library_parameter(const TensorFamily& family, BorrowedRef object) {
  uint64_t version;
  return family.parameter_version != nullptr && family.parameter_version(object, version);
}

// Ours: tensors of subtypes (parameters, buffers), and what the function reads from elsewhere. Of other libraries:
// parameters that the program has promised not to write.
bool is_weight(const RegionPlace& place, const RegionInput& input, BorrowedRef object) {
  const TensorFamily* family = object ? family_of(object) : nullptr;
  if (family == nullptr || input.source == nullptr) return false;
  if (family != &default_family()) return freezes_parameters(place.policy) && is_library_parameter(*family, object);
  Tensor tensor = hold(*family, object);
  if (!may_be_packed(*tensor->storage().get())) return false;
  return Py_TYPE(object.get()) != family->result_type(tensor->dtype(), tensor->rank()) ||
         is_kept_elsewhere(input.source);
}

void tell_of_unfrozen(const RegionPlace& place, BorrowedRef object) {
  const TensorFamily* family = object ? family_of(object) : nullptr;
  bool is_unfrozen = family != nullptr && is_library_parameter(*family, object) && !freezes_parameters(place.policy);
  if (is_unfrozen)
    log_warning_once(
        "weights in int8 are made once: for parameters of another library compile() needs options={\"freeze\": True} "
        "too, and computes their products in float32 without it");
}

void tell_of_gradients(const RegionPlace& place) {
  if (precision_of(place.policy) != ReducedPrecision())
    log_warning_once(
        "what records gradients is computed in float32, whatever options compile() was given: use no_grad()");
}

ProductRules rules_for(const RegionPlace& place, const CapturedRegion& region, const std::vector<Ref>& objects) {
  ProductRules rules = {.precision = precision_of(place.policy)};
  if (rules.precision == ReducedPrecision()) return rules;
  for (size_t i = 0; i < region.inputs.size(); ++i) {
    rules.weights.push_back(is_weight(place, region.inputs[i], objects[i].get()));
    if (rules.precision.weights != Precision::Float32) tell_of_unfrozen(place, objects[i].get());
  }
  return rules;
}

// Python computes in float32.
int64_t checks_of(const RegionPlace& place) {
  return precision_of(place.policy) == ReducedPrecision() ? config().check_captures : 0;
}

bool has_nodes(const Graph& graph, OpKind kind) {
  return std::ranges::any_of(graph.nodes(), [kind](const auto& node) { return is_op(*node, kind); });
}

void make_plan(const RegionPlace& place, RegionEntry& entry) {
  CapturedRegion& region = entry.region;
  if (region.graph->outputs().empty() && !has_effects(*region.graph)) return;
  std::vector<Ref> objects, examples;
  ValueBuilder builder(region.snapshot, place.view);
  for (const RegionInput& input : region.inputs) {
    objects.push_back(input.source != nullptr ? fetch(input.source, place.view) : builder.build(input.computed));
    examples.push_back(example(*region.family, objects.back()));
  }
  entry.draws = has_nodes(*region.graph, OpKind::Random);
  GradientWay way = choose_gradients(place, entry);
  if (way == GradientWay::Python) {
    region.exit = ExitKind::Bailout;
    return;
  }
  if (way != GradientWay::None) tell_of_gradients(place);
  if (way == GradientWay::OpByOp) {
    entry.plan = history_plan(region.graph);
  } else {
    bool saves = entry.gradients != nullptr && entry.gradients->saves();
    std::shared_ptr<const Graph> graph = saves ? entry.gradients->forward() : region.graph;
    ProductRules rules = way == GradientWay::None ? rules_for(place, region, objects) : ProductRules();
    entry.plan = plan_for(place.policy, {graph, region.family}, examples, region.input_writes, rules);
  }
  entry.calls_functions = has_nodes(entry.run_graph(), OpKind::HostCall);
  entry.families = families_of_outputs(entry);
  if (entry.gradients != nullptr) {
    entry.recorded_writes = writes_of_outputs(region);
    entry.counted_inputs = take_counts_of_inputs(region);
  }
  if (freezes_parameters(place.policy)) entry.frozen.resize(region.inputs.size());
  if (region.has_foreign_tensors) entry.reused.resize(region.inputs.size());
  entry.is_sized = region.graph->is_symbolic();
  entry.computes_inputs = std::ranges::any_of(region.inputs, [](const auto& input) { return input.source == nullptr; });
  entry.runs_plan_alone = entry.needs_plan_alone();
}

// Clears the current exception and returns its text.
std::string take_exception_text() {
  Ref error = take_raised();
  if (Ref text = Ref::steal(PyObject_Str(error))) return text_of(text);
  PyErr_Clear();
  return "an exception without text";
}

// The current exception is a CaptureError. Where breaks are errors, the program asked for one graph or an error.
bool is_suppressed(const RegionPlace& place) {
  if (!config().suppress_errors || place.policy->breaks_are_errors()) return false;
  ErrorAside error;
  return PyErr_GivenExceptionMatches(error.get(), imported("minidynamo._dynamo.exc", "Unsupported")) == 0;
}

void warn_of_suppressed(const RegionPlace& place) {
  ++counters().captures_suppressed;
  log_warning(str_cat(place_name(place), " is left to Python: ", take_exception_text()));
}

// If a backend failure is suppressed, the place runs uncaptured from then on.
void make_plan_or_bail_out(const RegionPlace& place, RegionEntry& entry, CaptureReport& report) {
  CapturedRegion& region = entry.region;
  try {
    make_plan(place, entry);
  } catch (const CaptureError&) {
    if (!is_suppressed(place)) throw;
    warn_of_suppressed(place);
    region.exit = ExitKind::Bailout;
  }
  bool is_unrecorded = region.exit == ExitKind::Bailout && region.graph_break &&
                       region.graph_break->reason == BreakReason::needs_gradient;
  if (is_unrecorded) report_break(place, region, report);
}

// Whether regions are kept even if they compute nothing.
bool keeps_empty_regions(const RegionPlace& place) {
  return place.policy->keeps_empty_regions || config().snapshot_stress != 0;
}

// The rest of the frame needs no graph: the interpreter runs it faster.
bool is_worthless(const RegionPlace& place, const CapturedRegion& region) {
  return region.exit == ExitKind::Return && region.graph->op_count() == 0 && place.index > 0 &&
         !keeps_empty_regions(place);
}

// After a few captures without any op, or for a trace given up and a cheap loop without any: one entry guarded by the
// argument types that bails out.
constexpr int kFruitlessCaptures = 2;
bool is_unprofitable(const RegionPlace& place, const CodeCache& cache, const CacheKey& key,
                     const CapturedRegion& region) {
  if (region.workless) return region.graph->op_count() == 0;
  if (region.exit != ExitKind::Return || region.graph->op_count() > 0 || keeps_empty_regions(place)) return false;
  int fruitless = 0;
  for (const CacheEntryPtr& entry : cache.entries(key)) {
    if (static_cast<const RegionEntry&>(*entry).region.graph->op_count() > 0) return false;
    ++fruitless;
  }
  return fruitless >= kFruitlessCaptures;
}

// A loop over an iterator of unknown length is taken for short, a `while` loop without a break for long.
bool is_long_loop(const RegionPlace& place, int header, const CapturedRegion& region) {
  const Bytecode& code = place.bytecode;
  if (code[header].op != Opcode::FOR_ITER)
    return !region.graph_break || break_row(region.graph_break->reason).is_silent();
  PyObject* iterator = place.view.get(code.slot_count() + code.depth_at(header) - 1).get();
  static PyTypeObject* const kSized[] = {&PyRangeIter_Type, &PyLongRangeIter_Type, &PyListIter_Type, &PyTupleIter_Type};
  return std::ranges::find(kSized, Py_TYPE(iterator)) != std::end(kSized) && is_long(iterator);
}

// The header of the innermost loop around the region, if the region goes back to it and ends where it or one before it
// begins: with those it is a whole iteration.
std::optional<int> header_closed_by(const RegionPlace& place, const CodeCache& cache, const CapturedRegion& region) {
  const Bytecode& code = place.bytecode;
  int end = region.snapshot.frames.front().index;
  if (std::optional<int> header = header_of_body(code, place.index, end)) return header;
  std::optional<Stretch> loop = innermost_loop(code, place.index);
  if (!loop || !loop->contains(end) || !region.goes_back) return {};
  auto follows = [&](int index) {
    return loop->contains(index) && (index == end + 1 || (has_target(code[end].op) && index == code[end].arg));
  };
  // What lies between the header and the region came from before the loop, unless a region begins there: it may be
  // worth more.
  bool begins_iteration = std::ranges::any_of(cache.all_entries(), [&](const CacheEntryPtr& each) {
    int at = static_cast<const RegionEntry&>(*each).instruction;
    return at >= loop->first && at < place.index;
  });
  bool is_closed = region.exit == ExitKind::Loop ? end == loop->first && begins_iteration : follows(place.index);
  is_closed = is_closed || std::ranges::any_of(cache.all_entries(), [&](const CacheEntryPtr& each) {
                return follows(static_cast<const RegionEntry&>(*each).instruction);
              });
  return is_closed ? std::optional(loop->first) : std::nullopt;
}

// Whether Python runs the loop's iterations in less than the regions cost that they are made of, this one among them.
bool is_cheap_iteration(const RegionPlace& place, const CodeCache& cache, const CapturedRegion& region, int header) {
  std::map<int, int64_t> saved{{place.index, saved_work(region)}};  // by place
  std::optional<Stretch> loop = innermost_loop(place.bytecode, header);
  for (const CacheEntryPtr& each : cache.all_entries()) {
    const auto& entry = static_cast<const RegionEntry&>(*each);
    if (!loop->contains(entry.instruction)) continue;
    int64_t& most = saved[entry.instruction];
    most = std::max(most, saved_work(entry.region));
  }
  int64_t sum = 0;
  for (const auto& [_, of_place] : saved) sum += of_place;
  return is_cheap(sum / static_cast<int64_t>(saved.size()));
}

// The header of the loop that the region is in, if Python runs that in less than regions cost and none around the loop
// is worth more. Breaks that come later in the frame must stay errors where they are.
std::optional<int> cheap_loop(const RegionPlace& place, const CodeCache& cache, const CapturedRegion& region) {
  if (keeps_empty_regions(place) || place.policy->breaks_are_errors() || !ends_at_loops(place.policy)) return {};
  bool goes_on = (region.exit == ExitKind::Loop || region.exit == ExitKind::Break) && region.leaves_plainly();
  if (!goes_on || !is_cheap(saved_work(region))) return {};
  const Bytecode& code = place.bytecode;
  std::optional<int> header = header_closed_by(place, cache, region);
  // What a library does with scalars costs it little, however short the loop is.
  if (!header || (!region.has_scalars && !is_long_loop(place, *header, region))) return {};
  if (!is_cheap_iteration(place, cache, region, *header)) return {};
  bool is_part = std::ranges::any_of(cache.all_entries(), [&](const CacheEntryPtr& each) {
    const auto& entry = static_cast<const RegionEntry&>(*each);
    return share_loop(code, *header, entry.instruction) && !is_cheap(saved_work(entry.region));
  });
  return is_part ? std::nullopt : header;
}

// Bailing out is sound under any guards; the types keep calls with other arguments apart.
CapturedRegion type_guarded_bailout(const RegionPlace& place, CapturedRegion region) {
  GuardSet guards;
  for (int slot = 0; slot < place.bytecode.slot_count() && slot < place.view.slot_count; ++slot) {
    BorrowedRef object = place.view.get(slot);
    if (object && GuardSet::can_hold(reinterpret_cast<PyObject*>(object.type())))
      guards.type_match(guards.sources().local(slot), object.type());
  }
  region.guards = std::move(guards);
  region.snapshot = Snapshot();  // its sources were owned by the guards
  region.inputs.clear();
  region.exit = ExitKind::Bailout;
  return region;
}

// From here on a cheap loop is a stretch that was traced in vain: WorkBehind decides, for both, whether the driver
// executes it because work follows, or the interpreter runs the rest of the frame.
void leave_loop(CapturedRegion& region, const Bytecode& bytecode, int header) {
  region.exit = ExitKind::Bailout;
  region.is_cheap_loop = true;
  region.workless = innermost_loop(bytecode, header);
  LoopRecording::add(left_to_python(bytecode, header, saved_work(region)));
}

// Whether nothing but scalars of a library is computed, which costs that less than a region.
bool has_only_scalars(const RegionPlace& place, const CapturedRegion& region) {
  if (!region.has_scalars || region.graph->op_count() == 0) return false;
  if (keeps_empty_regions(place) || place.policy->breaks_are_errors() || !ends_at_loops(place.policy)) return false;
  return region.leaves_plainly() && saves_nothing(saved_work(region));
}

void leave_scalars(CapturedRegion& region, const RegionPlace& place) {
  bool is_last = region.exit == ExitKind::Return || region.exit == ExitKind::Raise;
  int last = is_last ? place.bytecode.size() - 1 : region.snapshot.frames.front().index;
  region.workless = Stretch{place.index, std::max(place.index, last)};
  region.exit = ExitKind::Bailout;
}

// Returns whether nothing of the region is worth running.
bool leave_cheap_work(CapturedRegion& region, const RegionPlace& place, const CodeCache& cache) {
  if (std::optional<int> header = cheap_loop(place, cache, region)) {
    leave_loop(region, place.bytecode, *header);
    return true;
  }
  if (!has_only_scalars(place, region)) return false;
  leave_scalars(region, place);
  return true;
}

// Fakes, traced calls and backends may consume random numbers during capture: undone, since eager Python would not.
struct CaptureDraws {
  RandomTransaction drawn;
  ~CaptureDraws() { drawn.roll_back(); }
};

class Stopwatch {
 public:
  // Nanoseconds since the last lap, or the start.
  int64_t lap() {
    auto now = std::chrono::steady_clock::now();
    auto since = std::exchange(begin_, now);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now - since).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void set_violations(const std::string& text) {
  PyErr_SetString(imported("minidynamo._dynamo.exc", "ConstraintViolationError"), text.c_str());
}

void find_how_it_runs(const RegionPlace& place, RegionEntry& entry) {
  entry.links = links_to_itself(entry);
  entry.saved = profit_of(entry.region, entry.plan != nullptr);
  if (!keeps_empty_regions(place) && !place.policy->breaks_are_errors()) entry.numbers = stretch_of_numbers(entry);
}

RegionEntryPtr new_entry(const RegionPlace& place, const CodeCache& cache, CapturedRegion region) {
  auto entry = std::make_shared<RegionEntry>(std::move(region));
  entry->instruction = place.index;
  entry->code_id = cache.frame_id();
  entry->breaks_are_errors = breaks_are_errors(place, entry->region);
  entry->checks_left = checks_of(place);
  return entry;
}

RegionEntryPtr capture(const RegionPlace& place, CodeCache& cache, const CacheKey& key) {
  Stopwatch stopwatch;
  CaptureDraws draws;
  ++counters().captures_begun;
  load_families();
  CaptureReport report(place, {cache.frame_id(), cache.next_entry_id()}, cache.count(key));
  const std::set<std::string>* dynamic_sources =
      place.policy->dynamic != DynamicShapes::Never && config().automatic_dynamic_shapes
          ? cache.varying_numbers(key, place.view, place.bytecode)
          : nullptr;
  TraceStart start{place.bytecode, place.index, place.view, place.policy, place.callers, dynamic_sources};
  CapturedRegion region = capture_region(start, ends_at_loops(place.policy));
  // An error in a suspended caller must be raised in its frame, and a handler around its operator must see that error:
  // captures this region again so that it ends where it returns.
  if (!region.snapshot.returns.empty() && (is_policy_error(place, region) || breaks_at_operator(region))) {
    start.view.slot_count -= slot_count(*place.callers);
    start.callers = nullptr;
    region = capture_region(start, ends_at_loops(place.policy));
  }
  if (!region.violations.empty() && !config().allow_ignore_mark_dynamic) {
    set_violations(region.violations);
    if (!is_suppressed(place)) throw CaptureError();
    warn_of_suppressed(place);
    region = type_guarded_bailout(place, std::move(region));
    region.graph_break.reset();
  }
  if (region.graph_break) report_break(place, region, report);
  ++counters().regions_captured;
  if (region.workless) ++counters().workless_traces;
  if (region.graph->op_count() == 0) LeftCode::note_wasted(region.instructions);
  if (region.skips_frame) region = type_guarded_bailout(place, std::move(region));
  if (is_worthless(place, region)) region.exit = ExitKind::Bailout;
  bool is_cheap_work = leave_cheap_work(region, place, cache);
  bool is_left_by_types = is_unprofitable(place, cache, key, region);
  if (is_left_by_types) region = type_guarded_bailout(place, std::move(region));
  if (region.graph->op_count() > 0 && !is_cheap_work) {
    ++counters().graphs_captured;
    counters().ops_captured += region.graph->op_count();
  }
  RegionEntryPtr entry = new_entry(place, cache, std::move(region));
  entry->is_left_by_types = is_left_by_types;
  if (entry->region.workless && may_go_on(place.bytecode, *entry->region.workless)) entry->behind.set_may_exist();
  entry->trace_ns = stopwatch.lap();
  report.traced();
  if (entry->region.exit != ExitKind::Bailout) make_plan_or_bail_out(place, *entry, report);
  entry->plan_ns = stopwatch.lap();
  find_how_it_runs(place, *entry);
  filter_guards(place, *entry);
  entry->recompile_reasons = failing_guards(cache, key, place);
  cache.insert(key, entry, place.view);
  compile_times().add({entry->trace_ns, entry->plan_ns});
  report.captured(*entry);
  auto* code = reinterpret_cast<PyObject*>(place.bytecode.code());
  CaptureRecording::add({Ref::share(code), &place.bytecode, entry});
  counters().capture_ns += entry->trace_ns + entry->plan_ns + stopwatch.lap();
  return entry;
}

RegionEntryPtr unless_monitored(RegionEntryPtr entry, Bailout& why) {
  if (entry == nullptr || !enters_monitored(entry->region)) return entry;
  why = Bailout::traced;
  return nullptr;
}

// Called in a catch block: a bug is reported as one warning per code object, and the frame bails
// out. Rethrows Python exceptions.
RegionEntryPtr report_if_bug(const RegionPlace& place) {
  try {
    throw;
  } catch (const Error& error) {
    if (!config().suppress_internal_errors) throw;
    log_warning(
        str_cat("minidynamo could not capture ", place_name(place), " and leaves it to Python: ", error.what()));
    return nullptr;
  }
}

[[noreturn]] void raise_recompile_detected(const RegionPlace& place, CodeCache& cache, const CacheKey& key) {
  PyCodeObject* code = place.bytecode.code();
  std::string failures = failure_lines(cache, key, place);
  std::string text = str_cat(
      "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: '", text_of(code->co_filename),
      "', function name: '", text_of(code->co_name), "', line number: ", place.bytecode.line_at(place.index),
      failures.empty() ? ": it was not captured yet" : "\n    triggered by the following guard failure(s):", failures);
  PyErr_SetString(PyExc_RuntimeError, text.c_str());
  throw CaptureError();
}

// Returns false if the place runs eagerly this time. Raises if the stance requires it.
bool stance_allows_capture(const RegionPlace& place, CodeCache& cache, const CacheKey& key) {
  switch (stance()) {
    case Stance::Default:
    case Stance::ForceEager:
      return true;
    case Stance::EagerOnRecompile:
      return false;
    case Stance::EagerThenCompile:
      // A frame started eagerly stays eager; the cache knows whether it was called before.
      return place.index > 0 || cache.was_seen(key);
    case Stance::FailOnRecompile:
      raise_recompile_detected(place, cache, key);
  }
  return true;
}

// Null if the limit is reached.
RegionEntryPtr capture_within_limits(const RegionPlace& place, CodeCache& cache, const CacheKey& key) {
  ReachedLimit reached = reached_limit(cache, key, *place.policy);
  if (reached.flag != nullptr) {
    ++counters().limits_reached;
    if (!place.policy->keeps_empty_regions) report_limit(cache, key, place, reached);
    return nullptr;
  }
  if (cache.count(key) > 0) {
    ++counters().recompiles;
    report_recompile(cache, key, place);
  }
  return capture(place, cache, key);
}

}  // namespace

bool may_go_on(const Bytecode& bytecode, const Stretch& stretch) {
  auto goes_on = [&](int index) { return !stretch.contains(index) && !bytecode.only_returns(index); };
  for (int index = 0; index < bytecode.size(); ++index) {
    if (!stretch.contains(index)) continue;
    const Instruction& i = bytecode[index];
    if (has_target(i.op) && goes_on(i.arg)) return true;
    if (!ends_flow(i.op) && index + 1 < bytecode.size() && goes_on(index + 1)) return true;
  }
  return false;
}

std::optional<Stretch> innermost_loop(const Bytecode& bytecode, int index) {
  std::optional<Stretch> found;
  for (int jump = index; jump < bytecode.size(); ++jump) {
    const Instruction& i = bytecode[jump];
    bool goes_around = has_target(i.op) && i.arg <= index;
    if (goes_around && (!found || i.arg > found->first)) found = Stretch{i.arg, i.arg};
    if (goes_around && found->first == i.arg) found->cover(jump, bytecode.cold_start());
  }
  return found;
}

bool enters_monitored(const CapturedRegion& region) {
  if (region.entered.empty()) return false;
  int tools = pv_monitoring_tools(PyThreadState_Get());
  return tools != 0 && std::ranges::any_of(region.entered, [&](const Bytecode* bytecode) {
           return pv_code_monitored(bytecode->code(), tools) != 0;
         });
}

RegionEntryPtr find_or_capture(const RegionPlace& place, Bailout& why, FetchedObjects& fetched) {
  why = Bailout::worthless;
  if (place.index > 0 && !keeps_empty_regions(place) && place.bytecode.only_returns(place.index)) return {};
  CodeCache& cache = CodeCache::of(place.bytecode.code());
  CacheKey key{place.index, place.depth, place.policy, place.callers};
  if (CacheEntryPtr found = cache.lookup(key, place.view, &fetched))
    return unless_monitored(std::static_pointer_cast<RegionEntry>(std::move(found)), why);
  why = Bailout::no_stack;
  if (pv_stack_left() < kCaptureStack) return {};
  why = Bailout::recompile_limit;
  if (stance() != Stance::Default && !stance_allows_capture(place, cache, key)) return {};
  CaptureLock turn(cache);
  why = Bailout::captured_elsewhere;
  if (!turn.is_ours()) return {};
  if (CacheEntryPtr found = turn.waited() ? cache.lookup(key, place.view, &fetched) : nullptr)
    return unless_monitored(std::static_pointer_cast<RegionEntry>(std::move(found)), why);
  why = Bailout::recompile_limit;
  InternalWork internal_work;
  try {
    return unless_monitored(capture_within_limits(place, cache, key), why);
  } catch (const CaptureError&) {
    if (!is_suppressed(place)) throw;
    why = Bailout::internal_error;
    if (cache.first_suppression(key))
      warn_of_suppressed(place);
    else
      PyErr_Clear();
    return {};
  } catch (...) {
    if (!was_want_of_memory()) {
      why = Bailout::internal_error;
      return report_if_bug(place);
    }
    why = Bailout::no_memory;
    return {};
  }
}

}  // namespace md
