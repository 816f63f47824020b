#include "executor/plan.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>
#include <unordered_set>

#include "base/interrupts.h"
#include "executor/lowering.h"
#include "executor/native_plan.h"
#include "tensor/memory_overlap.h"

namespace md {
namespace {

int64_t lead_nbytes(const Layout& layout, const Buffer& buffer) {
  if (buffer.lead == 0) return 0;
  return buffer.lead * static_cast<int64_t>(item_size(layout.places[static_cast<size_t>(buffer.root)].spec.dtype));
}

}  // namespace

NativePlan::NativePlan(Layout layout, std::vector<std::unique_ptr<Step>> steps, std::vector<int> outputs,
                       int call_count, std::shared_ptr<const PlanDescription> description,
                       std::unique_ptr<SizeChanges> changes)
    : layout_(std::move(layout)),
      steps_(std::move(steps)),
      description_(std::move(description)),
      changes_(std::move(changes)),
      output_values_(std::move(outputs)),
      call_count_(call_count) {
  estimates_.resize(steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    take_estimate(i);
    needs_gil_ = needs_gil_ || steps_[i]->needs_gil();
  }
  add_estimates();
  find_outputs();
  for (const Buffer& buffer : layout_.buffers) {
    if (buffer.home == BufferHome::Made) made_.push_back(buffer.root);
  }
}

NativePlan::~NativePlan() { delete spare_.load(); }

void NativePlan::take_estimate(size_t step) {
  StepEstimate& known = estimates_[step];
  StepEstimate now = {steps_[step]->work().ns(), steps_[step]->nbytes()};
  steps_nbytes_ += now.nbytes - known.nbytes;
  known = now;
}

void NativePlan::add_estimates() {
  estimated_ns_ = 0;
  for (const StepEstimate& each : estimates_) estimated_ns_ += each.ns;
}

void NativePlan::find_outputs() {
  outputs_.clear();
  output_buffers_.clear();
  std::unordered_map<int, size_t> seen;
  for (size_t i = 0; i < output_values_.size(); ++i)
    outputs_.push_back({output_values_[i], seen.emplace(output_values_[i], i).first->second, false});
  std::unordered_set<int> taken;
  for (size_t i = outputs_.size(); i-- > 0;) {
    int buffer = layout_.places[static_cast<size_t>(outputs_[i].value)].buffer;
    bool is_own = layout_.buffers[static_cast<size_t>(buffer)].home == BufferHome::Output;
    outputs_[i].takes_its_buffer = outputs_[i].first == i && is_own && taken.insert(buffer).second;
  }
  for (size_t i = 0; i < layout_.buffers.size(); ++i) {
    if (layout_.buffers[i].home != BufferHome::Output) continue;
    output_buffers_.push_back({static_cast<int>(i), output_over(static_cast<int>(i))});
  }
}

int NativePlan::output_over(int index) const {
  const Buffer& buffer = layout_.buffers[static_cast<size_t>(index)];
  auto root = std::ranges::find(outputs_, buffer.root, &Output::value);
  if (root != outputs_.end()) return static_cast<int>(root - outputs_.begin());
  auto is_over = [&](const Output& output) {
    const Place& place = layout_.places[static_cast<size_t>(output.value)];
    return place.buffer == index && place.offset == 0 && buffer.lead == 0 && is_dense(place.spec) &&
           span_nbytes(place.spec) == buffer.nbytes;
  };
  auto whole = std::ranges::find_if(outputs_, is_over);
  return whole == outputs_.end() ? -1 : static_cast<int>(whole - outputs_.begin());
}

bool NativePlan::take_step_sizes(size_t i, SizeChange change, bool& may_move) {
  if (change == SizeChange::None) return true;
  StepMemory& memory = changes_->memory()[i];
  shares_before_ = memory.may_share;
  Step& step = *steps_[i];
  bool taken = change == SizeChange::Offsets ? step.take_offsets(layout_, memory) : step.take_sizes(layout_, memory);
  may_move = may_move || shares_before_ != memory.may_share;
  if (taken) take_estimate(i);
  return taken;
}

// The steps whose inputs have changed take their sizes, or all of them.
bool NativePlan::take_sizes_of_steps(bool all, bool& may_move) {
  if (all) {
    for (size_t i = 0; i < steps_.size(); ++i)
      if (!take_step_sizes(i, SizeChange::Sizes, may_move)) return false;
    return true;
  }
  return std::ranges::all_of(changes_->changed_steps(), [&](int step) {
    return take_step_sizes(static_cast<size_t>(step), changes_->change_of(step), may_move);
  });
}

bool NativePlan::take_sizes() {
  MD_ASSERT(changes_ != nullptr, "the sizes of this plan do not change");
  bool all = !std::exchange(has_sizes_, false);
  changes_->put_sizes(layout_, all);
  bool may_move = all || changes_->has_resized();
  if (!take_sizes_of_steps(all, may_move)) return false;
  if (may_move) {
    changes_->part_buffers(layout_);
    place_buffers(layout_, changes_->memory());
    find_outputs();
  }
  add_estimates();
  pool_.clear();
  if (RunState* spare = spare_.load()) prepare_again(*spare, may_move);
  has_sizes_ = true;
  return true;
}

std::shared_ptr<SizedPlan> NativePlan::copy() const {
  std::vector<std::unique_ptr<Step>> steps;
  for (const auto& step : steps_) {
    steps.push_back(step->copy());
    if (steps.back() == nullptr) return nullptr;
  }
  auto copy = std::make_shared<NativePlan>(layout_, std::move(steps), output_values_, call_count_, description_,
                                           std::make_unique<SizeChanges>(*changes_));
  copy->has_sizes_ = has_sizes_;
  return copy;
}

bool NativePlan::stands_in() const { return description_->stands_in; }

std::unique_ptr<RunState> NativePlan::make_state() const {
  auto state = std::make_unique<RunState>();
  state->layout = &layout_;
  state->base.resize(layout_.buffers.size());
  state->owned.resize(layout_.buffers.size());
  for (std::vector<Tensor>* tensors : {&state->made, &state->results})
    tensors->resize(made_.empty() ? 0 : layout_.places.size());
  state->calls.resize(static_cast<size_t>(call_count_));
  prepare(*state);
  return state;
}

void NativePlan::prepare(RunState& state) const {
  constexpr size_t kMostSpare = 64 * 1024;
  auto arena_nbytes = static_cast<size_t>(layout_.arena_nbytes);
  size_t kept = state.arena ? state.arena->nbytes() : 0;
  // One of larger sizes serves again, but is not counted.
  if (kept < arena_nbytes || kept > 2 * arena_nbytes + kMostSpare)
    state.arena = arena_nbytes > 0 ? Storage::allocate(arena_nbytes) : StoragePtr();
  for (size_t i = 0; i < layout_.buffers.size(); ++i) {
    const Buffer& buffer = layout_.buffers[i];
    // Without an arena no step touches such a buffer: its values stay inside fused loops.
    if (buffer.home == BufferHome::Arena && state.arena) {
      state.base[i] = static_cast<std::byte*>(state.arena->data()) + buffer.arena_offset + lead_nbytes(layout_, buffer);
    } else if (buffer.home == BufferHome::Constant) {
      state.base[i] = layout_.constants[static_cast<size_t>(buffer.index)].data<std::byte>();
    }
  }
  for (const auto& step : steps_) step->prepare(state);
}

void NativePlan::prepare_again(RunState& state, bool has_moved) const {
  if (has_moved) return prepare(state);
  for (int step : changes_->changed_steps())
    if (changes_->change_of(step) != SizeChange::None) steps_[static_cast<size_t>(step)]->prepare(state);
}

std::unique_ptr<RunState> NativePlan::check_out() const {
  if (RunState* spare = spare_.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<RunState>(spare);
  {
    std::lock_guard<std::mutex> lock(pool_mutex_);
    if (!pool_.empty()) {
      std::unique_ptr<RunState> state = std::move(pool_.back());
      pool_.pop_back();
      return state;
    }
  }
  return make_state();
}

void NativePlan::give_back(std::unique_ptr<RunState> state) const {
  RunState* expected = nullptr;
  if (spare_.compare_exchange_strong(expected, state.get(), std::memory_order_release)) {
    static_cast<void>(state.release());  // spare_ owns it
    return;
  }
  std::lock_guard<std::mutex> lock(pool_mutex_);
  pool_.push_back(std::move(state));
}

void NativePlan::bind(RunState& state, std::span<const GraphInput> inputs, RunHost* host) const {
  state.inputs = inputs;
  for (size_t i = 0; i < description_->inputs.size(); ++i) {
    if (description_->inputs[i].buffer >= 0)
      state.base[static_cast<size_t>(description_->inputs[i].buffer)] = inputs[i].tensor.data<std::byte>();
  }
  for (auto [buffer, output] : output_buffers_) {
    size_t i = static_cast<size_t>(buffer);
    bool is_given = host != nullptr && output >= 0 && bind_given(state, buffer, output, *host);
    if (!is_given) state.owned[i] = Storage::allocate(static_cast<size_t>(layout_.buffers[i].nbytes));
    state.base[i] = static_cast<std::byte*>(state.owned[i]->data()) + lead_nbytes(layout_, layout_.buffers[i]);
  }
}

// Whether the caller makes the tensor in which the buffer lies.
bool NativePlan::bind_given(RunState& state, int buffer, int output, RunHost& host) const {
  size_t i = static_cast<size_t>(buffer);
  auto at = static_cast<size_t>(output);
  Tensor given = host.allocate(at, layout_.places[static_cast<size_t>(outputs_[at].value)].spec);
  if (!given.defined() || given->storage()->nbytes() < static_cast<size_t>(layout_.buffers[i].nbytes)) return false;
  state.owned[i] = given->storage();
  state.given.resize(layout_.buffers.size());
  state.given[i] = std::move(given);
  return true;
}

void NativePlan::make_outputs(RunState& state, std::span<Tensor> outputs) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (output.first < i) {
      outputs[i] = outputs[output.first];
    } else if (!state.results.empty() && state.results[static_cast<size_t>(output.value)].defined()) {
      outputs[i] = std::move(state.results[static_cast<size_t>(output.value)]);
    } else {
      outputs[i] = output.takes_its_buffer ? state.take(output.value) : state.handle(output.value);
    }
  }
}

// A state whose run fails is dropped together with its memory: outputs are written only at the end.
template <typename RunSteps>
void NativePlan::run_with(std::span<const GraphInput> inputs, std::span<Tensor> outputs, RunHost* host,
                          RunSteps run_steps) const {
  MD_ASSERT(inputs.size() == description_->inputs.size() && outputs.size() == outputs_.size(),
            "a plan is called as its graph says");
  std::unique_ptr<RunState> state = check_out();
  bind(*state, inputs, host);
  run_steps(*state);
  make_outputs(*state, outputs);
  state->inputs = {};
  if (host != nullptr) std::ranges::fill(state->given, Tensor());
  for (int value : made_)
    state->made[static_cast<size_t>(value)] = state->results[static_cast<size_t>(value)] = Tensor();
  give_back(std::move(state));
}

// Interrupts are served until the caller can see what the run writes.
template <typename RunStep>
void NativePlan::run_steps(RunHost* host, RunStep run_step) const {
  size_t first_write = description_->first_write;
  for (size_t i = 0; i < first_write; ++i) {
    serve_interrupts();
    run_step(i);
  }
  if (!writes_inputs()) return;
  serve_interrupts();
  if (host != nullptr) host->commit();
  for (size_t i = first_write; i < steps_.size(); ++i) run_step(i);
}

void NativePlan::run(std::span<const GraphInput> inputs, std::span<Tensor> outputs) const {
  run_with(inputs, outputs, nullptr,
           [this](RunState& state) { run_steps(nullptr, [&](size_t i) { steps_[i]->run(state); }); });
}

void NativePlan::run_into(std::span<const GraphInput> inputs, std::span<Tensor> outputs, RunHost& host) const {
  run_with(inputs, outputs, &host,
           [&](RunState& state) { run_steps(&host, [&](size_t i) { steps_[i]->run(state); }); });
}

void NativePlan::run_timed(std::span<const GraphInput> inputs, std::span<Tensor> outputs, RunHost* host,
                           std::span<int64_t> ns) const {
  MD_ASSERT(ns.size() == steps_.size() + 1, "there is a time for each step and one for all");
  using Clock = std::chrono::steady_clock;
  auto between = [](Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
  };
  Clock::time_point start = Clock::now();
  run_with(inputs, outputs, host, [&](RunState& state) {
    Clock::time_point begin = Clock::now();
    run_steps(host, [&](size_t i) {
      steps_[i]->run(state);
      Clock::time_point end = Clock::now();
      ns[i] = between(std::exchange(begin, end), end);
    });
  });
  ns.back() = between(start, Clock::now());
}

PlanFacts NativePlan::facts() const {
  PlanFacts facts;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = *steps_[i];
    facts.steps.push_back({step.describe(), step.kernel(), description_->labels[i].nodes, description_->labels[i].why(),
                           step.work(), /*times=*/{}, /*least_ns=*/0});
  }
  facts.places = description_->aliases;
  facts.in_place = description_->in_place;
  facts.arena_nbytes = layout_.arena_nbytes;
  return facts;
}

// A step with its name and operands takes about a kilobyte.
size_t NativePlan::nbytes() const {
  size_t steps = 1024 * steps_.size();
  return static_cast<size_t>(layout_.arena_nbytes) + steps + steps_nbytes_ +
         layout_.places.size() * (sizeof(Place) + sizeof(Tensor)) + layout_.buffers.size() * sizeof(Buffer);
}

std::string NativePlan::print() const {
  std::string text = str_cat("plan: ", steps_.size(), " steps, arena of ", layout_.arena_nbytes, " bytes, ",
                             static_cast<int64_t>(estimated_ns_), " ns estimated\n");
  for (size_t i = 0; i < steps_.size(); ++i) {
    text += str_cat("  ", i, ": ", steps_[i]->describe());
    if (std::string why = description_->labels[i].why(); !why.empty()) text += "  # " + why;
    text += "\n";
  }
  return text;
}

}  // namespace md
