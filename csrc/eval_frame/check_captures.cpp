#include "eval_frame/check_captures.h"

#include <algorithm>

#include "cpython/errors.h"
#include "cpython/imports.h"
#include "cpython/text.h"
#include "eval_frame/tensor_comparison.h"
#include "graph/graph.h"
#include "guards/tensor_family.h"
#include "symbolic/tensors/library_calls.h"
#include "tensor/ops/kernels.h"

namespace md {

namespace {

// The largest rounding tolerance of any float dtype in the graph: Python numbers may be computed from any.
double number_tolerance(const Graph& graph) {
  double tolerance = 0;
  for (const auto& node : graph.nodes())
    for (const ValueInfo& out : node->outs) tolerance = std::max(tolerance, tolerance_of(out.spec.dtype));
  return tolerance;
}

std::string shown(BorrowedRef object) {
  if (!object) return "(nothing)";
  Ref text = Ref::steal(PyObject_Repr(object));
  if (!text) PyErr_Clear();
  return str_cat(object.type()->tp_name, " ", text ? text_of(text) : "without a text");
}

bool makes_finalized(const Snapshot& snapshot, ValueBuilder& builder) {
  return std::ranges::any_of(snapshot.recipes, [&](const Recipe& recipe) {
    if (recipe.kind != RecipeKind::Instance) return false;
    if (snapshot.recipes[recipe.parts[0]].kind != RecipeKind::Source) return false;
    Ref type = builder.build(recipe.parts[0]);
    auto* made = reinterpret_cast<PyTypeObject*>(type.get());
    return made->tp_finalize != nullptr || made->tp_del != nullptr;
  });
}

// A function or other descriptor and its self as a bound method; null for anything else.
Ref bound(const Ref& callable, const Ref& self) {
  descrgetfunc get = callable.type()->tp_descr_get;
  if (get == nullptr) return nullptr;
  Ref method = Ref::steal(get(callable, self, reinterpret_cast<PyObject*>(self.type())));
  if (!method) PyErr_Clear();
  return method;
}

// The callable on the stack may be a bound method next to NULL, or its two parts: makes both sides alike.
void bind_alike(std::vector<Ref>& a, std::vector<Ref>& b) {
  constexpr size_t kNull = kNullAfterCallable ? 1 : 0, kCallable = 1 - kNull;
  for (size_t at = 0; at + 1 < a.size(); ++at) {
    for (auto [whole, parts] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      bool differ = !(*whole)[at + kNull] && (*whole)[at + kCallable] && (*parts)[at] && (*parts)[at + 1];
      Ref method = differ ? bound((*parts)[at], (*parts)[at + 1]) : Ref();
      if (!method) continue;
      (*parts)[at + kNull].reset();
      (*parts)[at + kCallable] = std::move(method);
    }
  }
}

// By node: whether elements of its results may be uninitialised memory.
std::vector<bool> undefined_nodes(const Graph& graph) {
  std::vector<bool> undefined(graph.nodes().size());
  for (const auto& node : graph.nodes()) {
    bool found = node->kind == NodeKind::Op && node->op->kernel == empty_kernel;
    for (const Operand& operand : node->operands)
      for_each_value(
          operand, [&](const ValueRef& value) { found = found || undefined[static_cast<size_t>(value.node->index)]; });
    undefined[static_cast<size_t>(node->index)] = found;
  }
  return undefined;
}

// By node: the largest rounding tolerance of the ops that contribute to it.
std::vector<double> node_tolerances(const Graph& graph) {
  std::vector<double> tolerances(graph.nodes().size());
  for (const auto& node : graph.nodes()) {
    if (node->kind != NodeKind::Op) continue;
    double loosest = 0;
    for (const ValueInfo& out : node->outs) loosest = std::max(loosest, tolerance_of(out.spec.dtype));
    for (const Operand& operand : node->operands)
      for_each_value(operand, [&](const ValueRef& value) {
        loosest = std::max(loosest, tolerances[static_cast<size_t>(value.node->index)]);
      });
    tolerances[static_cast<size_t>(node->index)] = loosest;
  }
  return tolerances;
}

// Whether Python creates each inner frame in which the region ends by an ordinary call, with the stack below
// the operands as in the snapshot.
bool may_follow(const Snapshot& snapshot) {
  for (size_t level = 1; level < snapshot.frames.size(); ++level) {
    const FrameState &caller = snapshot.frames[level - 1], &inner = snapshot.frames[level];
    Opcode op = (*caller.bytecode)[caller.index].op;
    if (pv_makes_generator(inner.bytecode->code()) != 0 || op == Opcode::BEFORE_WITH || op == Opcode::SEND)
      return false;
    if (inner.continuation == ContinuationKind::Hold || inner.continuation == ContinuationKind::None) return false;
  }
  return true;
}

}  // namespace

const Policy* plain_policy(const Policy* policy) {
  Policy plain = *policy;
  plain.disable = true;
  return intern(plain);
}

CheckCounts& check_counts() {
  static CheckCounts counts;
  return counts;
}

void count_uncompared(Uncompared reason) { ++check_counts().uncompared[static_cast<size_t>(reason)]; }

std::optional<Uncompared> CaptureCheck::refusal(RegionRun& run) {
  const CapturedRegion& region = run.region();
  if (!region.host_calls.empty()) return Uncompared::host_call;
  if (region.answers_as_capture) return Uncompared::is_compiling;
  if (std::ranges::any_of(region.outputs, &OutputSite::runs_python)) return Uncompared::output_in_python;
  auto replaces = [](const Effect& effect) { return effect.kind == EffectKind::DataSet; };
  if (std::ranges::any_of(region.snapshot.effects, replaces)) return Uncompared::replaced_memory;
  if (makes_finalized(region.snapshot, run.builder())) return Uncompared::finalizer;
  auto is_unknown = [](const auto& frame) { return frame.executed < 0; };
  if (std::ranges::any_of(region.snapshot.returns, is_unknown) ||
      std::ranges::any_of(region.snapshot.frames, is_unknown))
    return Uncompared::unknown_exit;
  return may_follow(region.snapshot) ? std::nullopt : std::optional(Uncompared::inner_frame);
}

CaptureCheck::CaptureCheck(RegionEntryPtr entry, const Policy* policy)
    : entry_(std::move(entry)), policy_(policy), comparison_(number_tolerance(*entry_->region.graph)) {}

std::unique_ptr<CaptureCheck> CaptureCheck::start(RegionRun& run, std::span<LiveFrame* const> frames) {
  std::unique_ptr<CaptureCheck> check(new CaptureCheck(run.entry(), nullptr));
  check->keep_starts(frames);
  check->predicted_.keep_known(run.entry()->guards, run.view(), check->comparison_);
  RandomTransaction drawn;
  LibraryDraws drawn_by_library;
  AmbientPolicy none(nullptr);
  if (!run.run_plan(frames.front())) return nullptr;
  check->held_ = run.hold_back();
  check->drawn_ = random_state();
  drawn.roll_back();
  drawn_by_library.roll_back();
  check->judge_outputs();
  check->predicted_.predict(check->held_.effects, check->comparison_);
  const CapturedRegion& region = check->region();
  check->left_ = region.snapshot.returns.empty() ? region.snapshot.frames.front().executed
                                                 : region.snapshot.returns.front().executed;
  check->left_ -= frames.front()->index() - run.entry()->instruction;  // the prologue
  return check;
}

void CaptureCheck::keep_starts(std::span<LiveFrame* const> frames) {
  for (LiveFrame* frame : frames) {
    Start& start = starts_.emplace_back();
    for (int slot = 0; slot < frame->bytecode().slot_count(); ++slot)
      start.slots.push_back(Ref::share(frame->get(slot)));
    for (int distance = frame->depth(); distance > 0; --distance)
      start.stack.push_back(Ref::share(frame->peek(distance)));
  }
}

void CaptureCheck::judge_outputs() {
  const Graph& graph = *region().graph;
  std::vector<bool> undefined = undefined_nodes(graph);
  std::vector<double> tolerances = node_tolerances(graph);
  for (const auto& [index, tensor] : held_.outputs) {
    const Node* node = graph.outputs()[static_cast<size_t>(index)].node;
    if (undefined[static_cast<size_t>(node->index)]) comparison_.ignore_elements(tensor);
    comparison_.loosen(tensor, tolerances[static_cast<size_t>(node->index)]);
  }
  held_.outputs.clear();
}

int CaptureCheck::stop() const {
  const Snapshot& snapshot = region().snapshot;
  return returns_here() ? snapshot.returns[returned_].index : snapshot.frames[level_].index;
}

void CaptureCheck::go_to_caller(const Policy* policy) {
  const Snapshot& snapshot = region().snapshot;
  ++returned_;
  left_ = returns_here() ? snapshot.returns[returned_].executed : snapshot.frames.front().executed;
  policy_ = plain_policy(policy);
}

BorrowedRef CaptureCheck::inner_function(const LiveFrame& caller) const {
  BorrowedRef captured = inner_image().function;
  if (comparison_.is_known(captured)) return comparison_.python_of(captured);
  // Created by the region: it is among the operands.
  PyObject* code = PyFunction_GET_CODE(captured.get());
  for (int distance = 1; distance <= caller.depth(); ++distance) {
    PyObject* operand = caller.peek(distance);
    if (operand != nullptr && PyMethod_Check(operand)) operand = PyMethod_GET_FUNCTION(operand);
    if (operand != nullptr && PyFunction_Check(operand) && PyFunction_GET_CODE(operand) == code) return operand;
  }
  return nullptr;
}

int CaptureCheck::depth_at_stop(const LiveFrame& frame) const {
  const FrameImage& image = held_.images[level_];
  if (!ends_inside()) return frame.depth();
  return static_cast<int>(image.state->keep_stack ? starts_[returned_].stack.size() : image.stack.size());
}

void CaptureCheck::go_inside(const LiveFrame& inner) {
  ++level_;
  left_ = region().snapshot.frames[level_].executed - inner.index();
}

Ref CaptureCheck::python_value(BorrowedRef captured) const {
  if (!captured || comparison_.is_known(captured) || !PyTuple_CheckExact(captured.get()))
    return captured ? Ref::share(comparison_.python_of(captured)) : Ref();
  Ref tuple = check(PyTuple_New(PyTuple_GET_SIZE(captured.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(captured.get()); ++i)
    PyTuple_SET_ITEM(tuple.get(), i, python_value(PyTuple_GET_ITEM(captured.get(), i)).release());
  return tuple;
}

void CaptureCheck::compare_slots(size_t level, const Standing& standing) {
  const LiveFrame& frame = *standing.frame;
  const Bytecode& bytecode = frame.bytecode();
  std::vector<Ref> expected(static_cast<size_t>(bytecode.slot_count()));
  if (level == 0 && returned_ < starts_.size()) expected = starts_[returned_].slots;
  for (const auto& [slot, value] : held_.images[level].slots) expected[static_cast<size_t>(slot)] = value;
  for (int slot = 0; slot < bytecode.slot_count(); ++slot) {
    const Ref& captured = expected[static_cast<size_t>(slot)];
    BorrowedRef python = frame.get(slot);
    // A dead intermediate is left unset.
    bool is_dead = !captured && python && family_of(python) != nullptr && !bytecode.is_live(frame.index(), slot);
    if (!is_dead) comparison_.compare(str_cat("local '", text_of(bytecode.slot_name(slot)), "'"), captured, python);
  }
}

void CaptureCheck::compare_stack(size_t level, const Standing& standing) {
  const LiveFrame& frame = *standing.frame;
  const FrameImage& image = held_.images[level];
  bool keeps = image.state->keep_stack;
  if (standing.depth > frame.depth()) return comparison_.differ("the stack", "more values than in Python");
  size_t expected = keeps ? starts_[returned_].stack.size() : image.stack.size();
  if (static_cast<int>(expected) != standing.depth)
    return comparison_.differ("the stack", str_cat(expected, " values, in Python ", standing.depth));
  std::vector<Ref> ours, theirs;
  for (size_t at = 0; at < expected; ++at) {
    ours.push_back(keeps ? starts_[returned_].stack[at] : image.stack[at]);
    theirs.push_back(Ref::share(frame.peek(frame.depth() - static_cast<int>(at))));
  }
  bind_alike(ours, theirs);
  for (size_t at = 0; at < expected; ++at) comparison_.compare(str_cat("stack[", at, "]"), ours[at], theirs[at]);
}

void CaptureCheck::compare_frame(size_t level, const Standing& standing) {
  compare_slots(level, standing);
  compare_stack(level, standing);
}

bool CaptureCheck::compare(std::span<const Standing> frames) {
  Opcode last = frames.back().frame->instruction().op;
  if (region().exit == ExitKind::Raise && last == Opcode::RAISE_VARARGS) comparison_.ignore_exception_links();
  if (region().exit == ExitKind::Return) {
    LiveFrame& frame = *frames.front().frame;
    const Instruction& at = frame.instruction();
    bool is_constant = at.op == Opcode::RETURN_CONST;
    comparison_.compare("the result", held_.result, is_constant ? frame.bytecode().constant(at.arg) : frame.peek(1));
  } else {
    for (size_t level = 0; level < frames.size(); ++level) compare_frame(level, frames[level]);
  }
  predicted_.compare(comparison_);
  if (!(random_state() == drawn_)) comparison_.differ("random numbers", "another number of them than in Python");
  if (!comparison_.difference()) ++check_counts().compared;
  return !comparison_.difference();
}

void CaptureCheck::raise_mismatch(const LiveFrame& frame) {
  const ValueDifference& found = *comparison_.difference();
  raise(frame, str_cat(found.place, ": ", found.text), found.captured, found.python);
}

void CaptureCheck::raise_not_reached(const LiveFrame& frame, const std::string& what, Ref cause) {
  raise(frame, str_cat("Python ", what, " and does not come to the region's exit"), nullptr, cause);
  if (!cause) return;
  Ref error = take_raised();
  PyException_SetContext(error, cause.release());
  set_raised(std::move(error));
}

void CaptureCheck::raise(const LiveFrame& frame, const std::string& text, BorrowedRef captured, BorrowedRef python) {
  ++check_counts().mismatches;
  const Bytecode& code = frame.bytecode();
  const Bytecode& start = returned_ == 0 ? code : *region().snapshot.frames.front().bytecode;
  std::string graph = print(*region().graph);
  std::string message =
      str_cat("The capture does not match uncompiled Python: ", text, "\n  region at instruction ", entry_->instruction,
              " of ", text_of(start.code()->co_name), ", exit ", exit_name(region().exit), " at ",
              text_of(code.code()->co_name), " (", text_of(code.code()->co_filename), ":", code.line_at(frame.index()),
              ")\n  captured: ", shown(captured), "\n  Python:   ", shown(python), "\n", graph);
  Ref type = imported("minidynamo._dynamo.exc", "CaptureMismatch");
  Ref error = check(PyObject_CallFunction(type, "sOOs", message.c_str(), captured ? captured.get() : Py_None,
                                          python ? python.get() : Py_None, graph.c_str()));
  PyErr_SetObject(type, error);
}

}  // namespace md
