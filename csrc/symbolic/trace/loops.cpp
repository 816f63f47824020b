#include "symbolic/trace/loops.h"

#include <algorithm>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/config.h"
#include "cpython/text.h"
#include "guards/guard_set.h"
#include "guards/source.h"
#include "guards/tensor_family.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/calls/calls.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/state/region.h"
#include "symbolic/trace/endings.h"
#include "symbolic/trace/loop_costs.h"
#include "symbolic/trace/tracer.h"
#include "symbolic/trace/work_watch.h"
#include "symbolic/values/call_args.h"

namespace md {

namespace {

thread_local LoopScope* current_scope = nullptr;

// Beyond this a loop is long, however cheap its body is; products of two such numbers fit.
constexpr int64_t kMany = int64_t{1} << 30;

bool is_back_edge(const Instruction& instruction, int index) {
  return has_target(instruction.op) && instruction.arg <= index && instruction.arg2 == 0;
}

int64_t remaining_in_range(const IteratorValue& range) {
  bool up = range.step > 0;
  if (up ? range.start >= range.stop : range.start <= range.stop) return 0;
  uint64_t distance = up ? static_cast<uint64_t>(range.stop) - static_cast<uint64_t>(range.start)
                         : static_cast<uint64_t>(range.start) - static_cast<uint64_t>(range.stop);
  uint64_t step = up ? static_cast<uint64_t>(range.step) : 0 - static_cast<uint64_t>(range.step);
  return static_cast<int64_t>(std::min<uint64_t>((distance - 1) / step + 1, kMany));
}

// The number of elements to come; nullopt for an iterator that cannot be left and continued, or whose length is not
// known.
std::optional<int64_t> remaining(Tracer& tracer, const IteratorValue& iterator) {
  if (iterator.exhausted) return 0;
  switch (iterator.iterator_kind) {
    case IteratorKind::Range:
      return remaining_in_range(iterator);
    case IteratorKind::Sequence: {
      if (iterator.bases[0]->kind == ValueKind::Tensor) return iterator.stop - iterator.index;
      PyTypeObject* type = type_of(iterator.bases[0]);
      if (type != &PyList_Type && type != &PyTuple_Type) return std::nullopt;
      std::optional<int64_t> length = length_of(tracer, iterator.bases[0]);
      return length ? std::optional(std::max<int64_t>(*length - iterator.index, 0)) : std::nullopt;
    }
    case IteratorKind::Enumerate:
    case IteratorKind::Zip: {
      std::optional<int64_t> least;
      for (const ValuePtr& base : iterator.bases) {
        auto* inner = as<IteratorValue>(base);
        std::optional<int64_t> count = inner != nullptr ? remaining(tracer, *inner) : std::nullopt;
        if (!count) return std::nullopt;
        least = std::min(least.value_or(*count), *count);
      }
      return least;
    }
    case IteratorKind::Reversed:
    case IteratorKind::Dict:
    case IteratorKind::Set:
    case IteratorKind::Map:
    case IteratorKind::Filter:
    case IteratorKind::Generator:
    case IteratorKind::User:
      break;
  }
  return std::nullopt;
}

// Whether a body can take any value of this kind at run time: numbers, tensors that are no parameters, tuples of them.
bool is_run_time(BorrowedRef object) {
  if (PyLong_CheckExact(object.get()) || PyFloat_CheckExact(object.get())) return true;
  if (!PyTuple_CheckExact(object.get())) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object.get()); ++i)
    if (!is_run_time(PyTuple_GET_ITEM(object.get(), i))) return false;
  return true;
}

bool is_run_time(const ValuePtr& value) {
  if (auto* tensor = as<TensorValue>(value))
    return !tensor->object ||
           tensor->object.type() == tensor->family->result_type(tensor->spec.dtype, tensor->spec.rank());
  if (auto* object = as<ObjectValue>(value)) return is_run_time(object->object);
  if (auto* sequence = as<SequenceValue>(value))
    return !sequence->is_list && !sequence->type &&
           std::ranges::all_of(sequence->items, [](const ValuePtr& item) { return is_run_time(item); });
  return value->kind == ValueKind::Number || value->kind == ValueKind::Computed;
}

// Whether one capture of the body holds for both.
bool are_alike(const ValuePtr& a, const ValuePtr& b) {
  auto *first = as<TensorValue>(a), *second = as<TensorValue>(b);
  if (first != nullptr && second != nullptr)
    return first->spec.str() == second->spec.str() && first->spec.requires_grad == second->spec.requires_grad;
  auto *these = as<SequenceValue>(a), *those = as<SequenceValue>(b);
  if (these != nullptr && those != nullptr)
    return these->items.size() == those->items.size() &&
           std::ranges::equal(these->items, those->items, [](auto& one, auto& other) { return are_alike(one, other); });
  return type_of(a) == type_of(b);
}

bool takes_from_range(const IteratorValue& iterator) {
  return iterator.iterator_kind == IteratorKind::Range || std::ranges::any_of(iterator.bases, [](const ValuePtr& base) {
           auto* inner = as<IteratorValue>(base);
           return inner != nullptr && takes_from_range(*inner);
         });
}

// The item may hold itself.
bool is_part_of(const ValuePtr& value, const ValuePtr& item) {
  if (value == item || as<SequenceValue>(item) == nullptr) return value == item;
  std::vector<ValuePtr> left{item};
  std::unordered_set<const Value*> seen;
  while (!left.empty()) {
    ValuePtr part = std::move(left.back());
    left.pop_back();
    if (part == value) return true;
    auto* sequence = as<SequenceValue>(part);
    if (sequence != nullptr && seen.insert(sequence).second)
      left.insert(left.end(), sequence->items.begin(), sequence->items.end());
  }
  return false;
}

int64_t hint_of(const TensorSpec& spec) {
  int64_t count = 1;
  for (Dim size : spec.sizes) count *= size.hint();
  return count;
}

// What is made of numbers alone is a scalar too if it has one element: a part of an array that is built of numbers.
bool is_of_scalars(const Node& node) {
  bool of_numbers = true, of_scalars = true;
  for (const Operand& operand : node.operands)
    for_each_value(operand, [&](const ValueRef& value) {
      const ValueInfo& info = value.node->outs[static_cast<size_t>(value.out)];
      of_numbers = of_numbers && info.is_scalar;
      of_scalars = of_scalars && (info.is_scalar || info.spec.rank() == 0);
    });
  return of_scalars && std::ranges::all_of(node.outs, [&](const ValueInfo& out) {
           return out.spec.rank() == 0 || (of_numbers && hint_of(out.spec) == 1);
         });
}

int64_t saved_by(std::span<const std::unique_ptr<Node>> nodes, bool has_scalars, bool is_whole) {
  int64_t saved = 0;
  bool reads_number = false;
  for (const auto& node : nodes) {
    if (node->kind != NodeKind::Op) continue;
    reads_number = reads_number || node->size.is_symbolic();
    if (node->op->kind == OpKind::View) {
      // Behind a break Python makes views of its own again.
      if (is_whole) saved += loop_cost::view;
      continue;
    }
    if (is_op(*node, OpKind::HostCall)) {
      // Python makes the calls of a library's own functions as fast. The cost of others is unknown.
      if (has_scalars) continue;
      return kMany;
    }
    for (const ValueInfo& out : node->outs) {
      int64_t elements = hint_of(out.spec);
      if (is_op(*node, OpKind::Write)) {
        // Else made in place: a number that the region reads may send the run back to its start.
        if (!reads_number && !any_symbolic(out.spec.sizes.span())) continue;
        int64_t bytes = elements * static_cast<int64_t>(item_size(out.spec.dtype));
        saved -= loop_cost::operation * bytes / loop_cost::copied_bytes;
      } else if (has_scalars && is_of_scalars(*node)) {
        saved += loop_cost::scalar;
      } else {
        saved += loop_cost::operation + loop_cost::operation * elements / loop_cost::elements;
      }
    }
  }
  return saved;
}

// Whether the nodes from this one on compute scalars of a library alone, which saves it nothing.
bool adds_only_scalars(Tracer& tracer, size_t first) {
  std::span<const std::unique_ptr<Node>> nodes = tracer.graph().nodes();
  return tracer.builder().has_scalars() && first < nodes.size() &&
         saves_nothing(saved_by(nodes.subspan(first), true, true));
}

// Whether the loop's operations are so few that Python runs it as fast, in a trace that may be left.
bool is_mostly_python(Tracer& tracer, int64_t instructions, int64_t cost, int64_t first_node) {
  if (cost <= loop_cost::mixed || !tracer.builder().has_scalars() || !vain_limit(tracer)) return false;
  std::span<const std::unique_ptr<Node>> nodes = tracer.graph().nodes();
  int64_t saved = saved_by(nodes.subspan(static_cast<size_t>(first_node)), true, true);
  return saved * loop_cost::instructions_saved < instructions;
}

}  // namespace

int64_t saved_work(const CapturedRegion& region) {
  return saved_by(region.graph->nodes(), region.has_scalars, region.exit == ExitKind::Loop);
}

// Libraries without scalars have operations that cost far more than these units.
int64_t profit_of(const CapturedRegion& region, bool has_plan) {
  if (!has_plan) return -loop_cost::entry;
  return (region.has_scalars ? saved_work(region) : kMany) - loop_cost::entry;
}

bool is_long(BorrowedRef iterable) {
  Py_ssize_t length = PyRange_Check(iterable.get()) ? PyObject_Size(iterable) : PyObject_LengthHint(iterable, 0);
  if (length < 0) PyErr_Clear();  // longer than ssize_t
  return length < 0 || length > loop_cost::short_loop;
}

bool is_cheap(int64_t saved) { return saved < loop_cost::entry; }
bool saves_nothing(int64_t saved) { return saved < loop_cost::operation; }

LoopDecision left_to_python(const Bytecode& bytecode, int header, int64_t saved) {
  PyCodeObject* code = bytecode.code();
  return {{text_of(code->co_filename), bytecode.line_at(header), text_of(code->co_name)},
          LoopFate::Python,
          str_cat("an iteration saves Python ", saved / loop_cost::operation, " operations; entering a region costs ",
                  loop_cost::entry / loop_cost::operation)};
}

bool share_loop(const Bytecode& bytecode, int header, int index) {
  auto is_inside = [&](int head, int which) {
    if (which < head) return false;
    for (int at = which; at < bytecode.size(); ++at)
      if (is_back_edge(bytecode[at], at) && bytecode[at].arg == head) return true;
    return false;
  };
  if (is_inside(header, index)) return false;
  for (int head = 0; head < header; ++head)
    if (bytecode.is_loop_head(head) && is_inside(head, header) && is_inside(head, index)) return true;
  return false;
}

std::optional<int> header_of_body(const Bytecode& bytecode, int start, int end) {
  if (start == end + 1 && bytecode.is_loop_head(end)) return end;
  if (is_back_edge(bytecode[end], end) && bytecode[end].arg == start) return start;
  return std::nullopt;
}

int64_t LoopScope::Work::cost() const {
  return std::min(instructions * loop_cost::instruction + nodes * loop_cost::node + guards * loop_cost::guard, kMany);
}

LoopScope::Work LoopScope::Work::operator-(const Work& other) const {
  return {instructions - other.instructions, nodes - other.nodes, guards - other.guards};
}

LoopScope::LoopScope(const TraceStart& start, bool may_end) : start_(start), may_end_(may_end), outer_(current_scope) {
  current_scope = this;
  const Bytecode& code = start.bytecode;
  int before = start.index - 1;
  if (before < 0) return;
  for (int at = start.index; at < code.size(); ++at)
    starts_in_loop_ = starts_in_loop_ || (is_back_edge(code[at], at) && code[at].arg <= start.index);
  bool begins_body = code.is_loop_head(before) || code.is_loop_head(start.index);
  bool follows_loop = false;
  for (int at = 0; at < start.index; ++at)
    follows_loop = follows_loop || (code[at].op == Opcode::FOR_ITER && code[at].arg == start.index);
  if (!begins_body && !follows_loop) return;
  if (code[before].op == Opcode::FOR_ITER) item_slot_ = code.slot_count() + code.depth_at(start.index) - 1;
  written_.resize(static_cast<size_t>(code.slot_count()));
  for (int at = 0; at < code.size(); ++at) {
    if (!is_back_edge(code[at], at) || at < start.index || code[at].arg > start.index) continue;
    for (int inside = code[at].arg; inside <= at; ++inside)
      if (has_trait(code[inside].op, kWritesSlot)) written_[static_cast<size_t>(code[inside].arg)] = true;
  }
}

LoopScope::~LoopScope() { current_scope = outer_; }

LoopScope& LoopScope::current() {
  MD_ASSERT(current_scope != nullptr, "no capture is being made");
  return *current_scope;
}

void LoopScope::begin_trace() {
  visits_.clear();
  back_.reset();
  range_step_ = 0;
}

bool LoopScope::varies(const Source* source, BorrowedRef object) const {
  if (PyRange_Check(object.get()))
    return may_end_ && source->kind() == SourceKind::Local && source->index() >= start_.bytecode.slot_count() &&
           (starts_in_loop_ || is_long(object));
  if (written_.empty()) return false;
  while (source->kind() == SourceKind::Item && source->base() != nullptr) {
    source = source->base();
    if (source->kind() == SourceKind::Local) return source->index() == item_slot_;
  }
  if (source->kind() != SourceKind::Local) return false;
  return source->index() == item_slot_ ||
         (source->index() < static_cast<Py_ssize_t>(written_.size()) && written_[static_cast<size_t>(source->index())]);
}

LoopScope::Work LoopScope::work_of(Tracer& tracer) {
  return {tracer.step_number(), static_cast<int64_t>(tracer.graph().nodes().size()),
          static_cast<int64_t>(tracer.guards().size())};
}

LoopScope::Visit* LoopScope::find(const Place& place) {
  auto found = std::ranges::find(visits_, place, &Visit::place);
  return found != visits_.end() ? &*found : nullptr;
}

// Whether the region is a whole iteration of the loop that it has come to the header of.
bool LoopScope::is_body_of(Tracer& tracer, const Place& place) const {
  return tracer.frames().depth() == 1 && place.bytecode == &start_.bytecode && !tracer.entry().has_returned() &&
         (start_.index == place.header + 1 || start_.index == place.header);
}

void LoopScope::before_step(Tracer& tracer, const Instruction& instruction, bool ends_well) {
  const SymbolicFrame& frame = tracer.frames().innermost();
  Place here{frame.bytecode, frame.entry_step, frame.index};
  bool came_back = std::exchange(back_, std::nullopt) == here;
  if (is_back_edge(instruction, frame.index)) back_ = Place{frame.bytecode, frame.entry_step, instruction.arg};
  if (!frame.bytecode->is_loop_head(frame.index)) return;
  Visit* visit = came_back ? find(here) : nullptr;
  if (visit != nullptr) return go_round(tracer, *visit);
  if (came_back && may_end_ && ends_well && is_body_of(tracer, here)) {
    end_step_ = tracer.step_number();
    graph_break(BreakReason::call_out);
  }
  begin(tracer, here, ends_well);
}

void LoopScope::begin(Tracer& tracer, const Place& place, bool ends_well) {
  // Frames entered later than this one have ended.
  std::erase_if(visits_,
                [&](const Visit& each) { return each.place.entry_step > place.entry_step || each.place == place; });
  Visit visit;
  visit.place = place;
  visit.step = tracer.step_number();
  visit.range_step = range_step_;
  visit.start = visit.last = work_of(tracer);
  bool is_wanted = std::ranges::none_of(
      tracer.frames(), [](const auto& frame) { return frame->generator != nullptr || frame->policy->fullgraph; });
  auto suspended = [](const Handle<IteratorValue>& generator) { return needs_closing(*generator); };
  visit.may_end = may_end_ && ends_well && is_wanted && std::ranges::none_of(tracer.pending().generators(), suspended);
  if ((*place.bytecode)[place.header].op == Opcode::FOR_ITER) {
    auto* iterator = as<IteratorValue>(tracer.frames().peek());
    visit.total = iterator != nullptr ? remaining(tracer, *iterator) : std::nullopt;
    visit.may_end = visit.may_end && visit.total.has_value();
  }
  visits_.push_back(std::move(visit));
}

void LoopScope::note_item(Tracer& tracer, const ValuePtr& item) {
  const SymbolicFrame& frame = tracer.frames().innermost();
  Visit* visit = find({frame.bytecode, frame.entry_step, frame.index});
  if (visit == nullptr) return;
  if (!is_run_time(item) || (visit->item && !are_alike(visit->item, item))) visit->is_specialised = true;
  visit->item = item;
}

void LoopScope::note_range(Tracer& tracer, const CallArgs& args) {
  bool is_constant = std::ranges::all_of(args.positional, [](const ValuePtr& bound) {
    auto* object = as<ObjectValue>(bound);
    return object != nullptr && (object->source == nullptr || object->value_guarded);
  });
  if (is_constant) return;
  range_step_ = tracer.step_number();
  if (long_ranges_.contains(range_step_)) graph_break(BreakReason::opaque_number);
}

void LoopScope::note_choice(const ValuePtr& value) {
  for (Visit& visit : visits_)
    if (visit.item && is_part_of(value, visit.item)) visit.is_chosen = true;
}

void LoopScope::go_round(Tracer& tracer, Visit& visit) {
  ++visit.iterations;
  Work now = work_of(tracer), whole = now - visit.start, last = now - visit.last;
  bool is_vain = last.nodes > 0 && adds_only_scalars(tracer, static_cast<size_t>(visit.last.nodes));
  visit.last = now;
  int64_t to_come = visit.total ? std::max<int64_t>(*visit.total - visit.iterations, 0) : 1;
  int64_t cost = whole.cost() + last.cost() * to_come;
  // What only computes constants costs nothing when the region runs: the budget is that of the trace.
  bool is_free = last.nodes == 0 && last.guards == 0;
  int64_t limit = config().walk_limit, in_vain = vain_limit(tracer).value_or(limit);
  int64_t most = std::min(is_free ? in_vain : loop_cost::unrolled, limit);
  // A trace without any work is WorkWatch's, which leaves all of it, and not this loop alone, to Python.
  bool is_decided_there = may_be_given_up(tracer) && in_vain <= limit;
  Decided decided{visit.place, {},   LoopFate::Unrolled,     Reason::Work, visit.iterations + to_come, last.cost(),
                  cost,        most, visit.total.has_value()};
  bool is_chosen = visit.is_chosen && decided.iterations <= loop_cost::choices;
  // Elements that are unlike the first are seen from the second on.
  bool is_early = visit.item && visit.item->kind != ValueKind::Object && visit.iterations < 2;
  if (!visit.may_end) {
    decided.reason = Reason::Elsewhere;
    if (is_mostly_python(tracer, whole.instructions, whole.cost(), visit.start.nodes))
      graph_break(BreakReason::no_work, str_cat("in ", whole.instructions, " instructions of a loop"));
  } else if (visit.is_specialised || is_chosen) {
    decided.reason = Reason::Specialised;
  } else if (is_vain && !is_early) {
    decided.fate = LoopFate::Body;
    decided.reason = Reason::Scalars;
  } else if (cost > most && !is_early && !is_decided_there) {
    decided.fate = LoopFate::Body;
  }
  record(tracer, visit.place, decided);
  if (decided.fate == LoopFate::Unrolled) return;
  end_step_ = visit.step;
  if (visit.total && visit.range_step > 0 && takes_from_range(*as<IteratorValue>(tracer.frames().peek())))
    long_ranges_.insert(visit.range_step);
  throw RestartSignal{visit.step, {BreakReason::call_out, "a loop", "", {}, ""}, tracer.frames().innermost().policy};
}

void LoopScope::record(Tracer& tracer, const Place& place, Decided decided) {
  auto found = std::ranges::find_if(decided_, [&](const Decided& each) {
    return each.place.bytecode == place.bytecode && each.place.header == place.header;
  });
  if (found != decided_.end()) {
    decided.line = std::move(found->line);
    *found = std::move(decided);
    return;
  }
  decided.line = tracer.frames().user_stack().back();
  decided_.push_back(std::move(decided));
}

std::string LoopScope::why(const Decided& decided) {
  std::string count = str_cat(decided.iterations, decided.is_known ? " iterations" : " iterations or more");
  switch (decided.reason) {
    case Reason::Work:
      return str_cat(count, " of cost ", decided.cost_of_each, ", ", decided.cost, " in all; at most ", decided.most,
                     " are unrolled");
    case Reason::Specialised:
      return str_cat(count, "; the body is specialised on its variable");
    case Reason::Elsewhere:
      return str_cat(count, "; the region cannot end at the loop, or one graph is requested");
    case Reason::Scalars:
      return str_cat(count, "; each computes only scalars");
    case Reason::InVain:
      return str_cat(count, "; no operation was found");
  }
  return count;
}

void LoopScope::report(bool in_vain) {
  for (Decided& each : decided_) {
    if (in_vain) each.fate = LoopFate::Python;
    if (in_vain) each.reason = Reason::InVain;
    LoopRecording::add({each.line, each.fate, why(each)});
  }
}

}  // namespace md
