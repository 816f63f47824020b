#include "executor/write_placement.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tensor/memory_overlap.h"

namespace md {
namespace {

bool is_alone(const Group& group) { return group.kind == GroupKind::Single && group.nodes.size() == 1; }

template <typename F>
void for_each_node(const Group& group, F&& f) {
  for (const Node* node : group.nodes) f(*node);
  for (const Node* node : group.gathers) f(*node);
  for (const Node* node : group.turned) f(*node);
  if (group.sums != nullptr) f(*group.sums);
}

}  // namespace

WritePlacement::WritePlacement(const Graph& graph, BufferAssignment& places, std::vector<Group>& groups,
                               std::vector<WriteChain> chains, const std::vector<bool>& escapes,
                               const SizedGraph* sized)
    : graph_(graph),
      places_(places),
      groups_(groups),
      chains_(std::move(chains)),
      escapes_(escapes),
      sized_(sized),
      users_(graph.all_users()),
      values_of_(places.layout().buffers.size()),
      holder_(places.layout().buffers.size()),
      old_reads_(places.layout().buffers.size()),
      chain_index_(graph.nodes().size(), -1),
      is_output_(graph.nodes().size(), false),
      in_base_(graph.nodes().size(), false),
      accesses_(places.layout().buffers.size()),
      rules_{.sized = sized, .sees_flags = graph.watches_float_flags()},
      commit_(groups, places, rules_) {
  std::iota(holder_.begin(), holder_.end(), 0);
  for (const auto& node : graph.nodes()) {
    for (size_t out = 0; out < node->outs.size(); ++out) {
      int value = static_cast<int>(node_of_.size());
      node_of_.push_back(node.get());
      own_buffer_.push_back(place(value).buffer);
      if (sized != nullptr) at_.push_back(sized->offset_in_base({node.get(), static_cast<int>(out)}));
      if (own_buffer_.back() >= 0) values_of_[static_cast<size_t>(own_buffer_.back())].push_back(value);
    }
  }
  for (const ValueRef& output : graph.outputs()) is_output_[static_cast<size_t>(output.node->index)] = true;
  for (size_t i = 0; i < chains_.size(); ++i) add_chain(i);
  number_steps();
  let_wait();
}

void WritePlacement::take_over_bases() {
  for (const auto& node : graph_.nodes())
    if (written_operand(*node, places_) != nullptr) take_over_base(*node);
  find_accesses();
}

void WritePlacement::add_chain(size_t index) {
  WriteChain& chain = chains_[index];
  for (const Node* node : chain.updates) chain_index_[static_cast<size_t>(node->index)] = static_cast<int>(index);
  if (chain.produced != nullptr) chain_index_[static_cast<size_t>(chain.produced->index)] = static_cast<int>(index);
  chain.may_be_in_place = chain.may_be_in_place && !is_passed_on(chain);
  places_.layout().buffers[static_cast<size_t>(place(number(*chain.input_node)).buffer)].is_written = true;
}

void WritePlacement::number_steps() {
  step_of_.assign(graph_.nodes().size(), -1);
  for (size_t step = 0; step < groups_.size(); ++step)
    for_each_node(groups_[step],
                  [&](const Node& node) { step_of_[static_cast<size_t>(node.index)] = static_cast<int>(step); });
}

const WriteChain* WritePlacement::chain_of(const Node& node) const {
  int index = chain_index_[static_cast<size_t>(node.index)];
  return index < 0 ? nullptr : &chains_[static_cast<size_t>(index)];
}

WritePlacement::SizedPlace WritePlacement::place_of(int value) const {
  const Place& at = place(value);
  if (sized_ == nullptr) return {at, at.offset};
  size_t index = static_cast<size_t>(value);
  return {at, at_[index], keeps_layout(*node_of_[index], sized_)};
}

WritePlacement::SizedPlace WritePlacement::window_of(const Node& update) const {
  SizedPlace window = place_of(number(update));
  if (!writes_view(*update.op)) return window;
  StridedView written = written_view(update);
  window.offset += written.offset.value();
  if (sized_ == nullptr) {
    window.at = window.offset;
  } else {
    StridedView captured = written_view(sized_->symbolic(update));
    window.at = window.at + captured.offset;
    window.is_fixed = has_fixed_layout(layout_of(captured));
  }
  window.spec.sizes = std::move(written.sizes);
  window.spec.strides = std::move(written.strides);
  return window;
}

// ---- when an input may be written

// Whether a call that the program sees is given the memory.
bool WritePlacement::is_passed_on(const Node& node) const {
  const std::vector<int>& values = values_of_[static_cast<size_t>(own_buffer_[static_cast<size_t>(number(node))])];
  return std::ranges::any_of(values, [&](int value) {
    return std::ranges::any_of(users_[static_cast<size_t>(node_of_[static_cast<size_t>(value)]->index)],
                               [](const Node* user) { return user->op->kind == OpKind::HostCall; });
  });
}

bool WritePlacement::is_passed_on(const WriteChain& chain) const {
  auto is_given = [&](const Node* node) { return is_passed_on(*node); };
  return std::ranges::any_of(chain.updates, is_given) || (chain.produced != nullptr && is_given(chain.produced));
}

// Whether elements of both may be the same, for some sizes.
bool WritePlacement::meet(const SizedPlace& a, const SizedPlace& b) {
  return !a.is_fixed || !b.is_fixed || may_meet(a.spec, b.spec, a.at - b.at);
}

// For all sizes.
bool WritePlacement::is_same_place(const SizedPlace& a, const SizedPlace& b) {
  return a.buffer == b.buffer && a.is_fixed && b.is_fixed && same(a.at, b.at) && a.spec.dtype == b.spec.dtype &&
         same_layout(a.spec, b.spec);
}

// Whether the program reads elements of the window up to a node: also those that an earlier write has left.
bool WritePlacement::is_read_before(const WriteChain& chain, int position, const SizedPlace& window) const {
  auto is_read = [&](const Node* node) {
    const std::vector<int>& values = values_of_[static_cast<size_t>(own_buffer_[static_cast<size_t>(number(*node))])];
    for (int value : values) {
      for (const Node* user : users_[static_cast<size_t>(node_of_[static_cast<size_t>(value)]->index)]) {
        bool found = false;
        for_each_read(*user, places_, [&](int read, size_t operand) {
          bool is_base = operand == 0 && is_op(*user, OpKind::Write) && !combines(*user);
          found = found || (read == value && !is_base && meet(place_of(value), window));
        });
        if (found && user->index <= position) return true;
      }
    }
    return false;
  };
  return std::ranges::any_of(chain.holders, is_read) || std::ranges::any_of(chain.updates, is_read) ||
         (chain.produced != nullptr && is_read(chain.produced));
}

// If the plan fails later, Python runs the program from its start: it must not see the write before it makes it.
bool WritePlacement::may_write_input(const WriteChain& chain, const Node& node, int step,
                                     const SizedPlace& window) const {
  if (!chain.may_be_in_place) return false;
  int failure = commit_.first_failure(step);
  if (failure == kNever) return true;
  // Flags are read once, before the first write.
  if (commit_.may_be_flagged(step)) return false;
  if (chain.input_node->has_dropped_reads) return false;
  int position = &node == chain.produced && !chain.updates.empty() ? chain.updates[0]->index : node.index;
  return failure > position && !is_read_before(chain, position, window);
}

// The whole input is written later, and nothing fails before: what it holds until then is not observed.
bool WritePlacement::may_write_before_whole(int input, const Node& update, int step) const {
  bool is_replaced = std::ranges::any_of(
      chains_, [&](const WriteChain& chain) { return chain.input == input && chain.produced != nullptr; });
  return is_replaced && commit_.first_failure(step) == kNever && !escapes_[static_cast<size_t>(update.index)] &&
         !is_output_[static_cast<size_t>(update.index)] && !is_passed_on(update);
}

bool WritePlacement::may_write(int input, const Node& update, int step, const SizedPlace& window) const {
  const WriteChain* chain = chain_of(update);
  if (chain != nullptr && chain->input == input) return may_write_input(*chain, update, step, window);
  return may_write_before_whole(input, update, step);
}

bool WritePlacement::has_other_readers(const WriteChain& chain) const {
  for (const Node* node : chain.updates) {
    for (int value : values_of_[static_cast<size_t>(own_buffer_[static_cast<size_t>(number(*node))])]) {
      for (const Node* user : users_[static_cast<size_t>(node_of_[static_cast<size_t>(value)]->index)]) {
        bool is_next = chain_of(*user) == &chain && value == number(*node);
        bool found = false;
        for_each_read(*user, places_,
                      [&](int read, size_t operand) { found = found || (read == value && (operand > 0 || !is_next)); });
        if (found) return true;
      }
    }
  }
  return false;
}

void WritePlacement::let_wait() {
  std::vector<bool> waits(groups_.size(), false);
  for (const WriteChain& chain : chains_) {
    if (chain.produced != nullptr || !chain.may_be_in_place) continue;
    bool is_free = std::ranges::all_of(
        chain.updates, [&](const Node* update) { return is_alone(groups_[static_cast<size_t>(step_of(*update))]); });
    bool must_wait = std::ranges::any_of(chain.updates, [&](const Node* update) {
      return !may_write_input(chain, *update, step_of(*update), window_of(*update));
    });
    if (!is_free || !must_wait || has_other_readers(chain)) continue;
    for (const Node* update : chain.updates) waits[static_cast<size_t>(step_of(*update))] = true;
  }
  if (std::ranges::find(waits, true) == waits.end()) return;
  std::vector<Group> ordered;
  for (bool last : {false, true}) {
    for (size_t i = 0; i < groups_.size(); ++i)
      if (waits[i] == last) ordered.push_back(std::move(groups_[i]));
  }
  groups_ = std::move(ordered);
  number_steps();
  commit_ = CommitPoint(groups_, places_, rules_);
}

// ---- writes into their bases

void WritePlacement::add_reads(int buffer, std::vector<Read>& reads) const {
  for (int value : values_of_[static_cast<size_t>(buffer)]) {
    for (const Node* user : users_[static_cast<size_t>(node_of_[static_cast<size_t>(value)]->index)]) {
      for_each_read(*user, places_, [&](int read, size_t) {
        if (read == value) reads.push_back({step_of(*user), value, user});
      });
    }
  }
}

// Other operands that lie in the base: only the window itself may be copied to the window.
bool WritePlacement::reads_beside(const Node& update, const Place& base, const SizedPlace& window) const {
  bool found = false;
  for_each_read(update, places_, [&](int value, size_t operand) {
    if (operand == 0 || place(value).buffer != base.buffer) return;
    bool is_itself = writes_view(*update.op) && is_same_place(place_of(value), window);
    found = found || (!is_itself && meet(place_of(value), window));
  });
  return found;
}

// What an input holds at the end is kept until then.
bool WritePlacement::is_last_of_chain(const ValueRef& value) const {
  int own = own_buffer_[static_cast<size_t>(places_.number(value))];
  return std::ranges::any_of(chains_, [&](const WriteChain& chain) {
    const Node* last = chain.updates.empty() ? chain.produced : chain.updates.back();
    return last != nullptr && own_buffer_[static_cast<size_t>(number(*last))] == own;
  });
}

bool WritePlacement::may_take_over(const Node& update, const ValueRef& self, std::vector<Read>& reads) const {
  const Place& base = places_.place(self);
  SizedPlace window = window_of(update);
  window.buffer = base.buffer;
  window.offset += base.offset;
  window.at = window.at + place_of(places_.number(self)).at;
  const Buffer& home = buffer(base.buffer);
  int step = step_of(update);
  switch (home.home) {
    case BufferHome::Constant:
    case BufferHome::Made:
      return false;
    case BufferHome::Input:
      if (!may_write(home.index, update, step, window)) return false;
      break;
    case BufferHome::Arena:
    case BufferHome::Output:
      if (escapes_[static_cast<size_t>(self.node->index)] || is_last_of_chain(self)) return false;
      break;
  }
  // Another write has taken over what this one writes to: equal tensors of the program are one value of the graph.
  if (holder_[static_cast<size_t>(base.buffer)] != own_buffer_[static_cast<size_t>(places_.number(self))]) return false;
  bool is_plain = step >= 0 && is_alone(groups_[static_cast<size_t>(step)]) && elements_are_apart(base.spec);
  if (!is_plain || reads_beside(update, base, window)) return false;
  reads = old_reads_[static_cast<size_t>(base.buffer)];
  add_reads(own_buffer_[static_cast<size_t>(places_.number(self))], reads);
  return std::ranges::none_of(reads, [&](const Read& read) {
    return read.node != &update && read.step >= step && meet(place_of(read.value), window);
  });
}

void WritePlacement::take_over_base(const Node& update) {
  const ValueRef& self = *written_operand(update, places_);
  std::vector<Read> reads;
  if (!keeps_layout(*self.node, sized_) || !keeps_layout(update, sized_)) return;
  if (!may_take_over(update, self, reads)) return;
  Layout& layout = places_.layout();
  const Place base = places_.place(self);
  const Buffer& old = buffer(place(number(update)).buffer);
  Buffer& taken = layout.buffers[static_cast<size_t>(base.buffer)];
  if (old.home == BufferHome::Output && taken.home == BufferHome::Arena) {
    taken.home = BufferHome::Output;
    taken.root = old.root;
  }
  for (int value : values_of_[static_cast<size_t>(own_buffer_[static_cast<size_t>(number(update))])]) {
    layout.places[static_cast<size_t>(value)].buffer = base.buffer;
    layout.places[static_cast<size_t>(value)].offset += base.offset;
  }
  in_base_[static_cast<size_t>(update.index)] = true;
  holder_[static_cast<size_t>(base.buffer)] = own_buffer_[static_cast<size_t>(number(update))];
  std::erase_if(reads, [&](const Read& read) { return read.step <= step_of(update); });
  old_reads_[static_cast<size_t>(base.buffer)] = std::move(reads);
}

// ---- results into windows

void WritePlacement::find_accesses() {
  std::vector<bool> is_base(accesses_.size(), false);
  for (const WriteChain& chain : chains_) is_base[static_cast<size_t>(place(number(*chain.input_node)).buffer)] = true;
  for (const auto& node : graph_.nodes())
    if (is_in_base(*node)) is_base[static_cast<size_t>(place(number(*node)).buffer)] = true;
  for (size_t step = 0; step < groups_.size(); ++step) {
    auto add = [&](const Node& node, const SizedPlace& at, size_t operand) {
      if (at.buffer >= 0 && is_base[static_cast<size_t>(at.buffer)])
        accesses_[static_cast<size_t>(at.buffer)].push_back({static_cast<int>(step), &node, at, operand});
    };
    for_each_node(groups_[step], [&](const Node& node) {
      for_each_read(node, places_, [&](int value, size_t operand) {
        if (operand > 0 || !is_in_base(node)) add(node, place_of(value), operand);
      });
      if (is_in_base(node)) return add(node, window_of(node), 0);
      for (size_t out = 0; out < node.outs.size(); ++out) add(node, place_of(number(node) + static_cast<int>(out)), 0);
    });
  }
}

bool WritePlacement::is_touched_between(const SizedPlace& window, int after, int before, const Node* but) const {
  const std::vector<Access>& all = accesses_[static_cast<size_t>(window.buffer)];
  auto at = std::ranges::upper_bound(all, after, {}, &Access::step);
  for (; at != all.end() && at->step < before; ++at)
    if (at->node != but && meet(at->place, window)) return true;
  return false;
}

// By another node of the group's step, or by the node's own kernel other than element by element.
bool WritePlacement::is_touched_within(const Group& group, const Node& result, const SizedPlace& window) const {
  int step = step_of(result);
  const std::vector<Access>& all = accesses_[static_cast<size_t>(window.buffer)];
  bool by_element = is_alone(group) && result.op->works_by_element();
  bool is_write = is_alone(group) && is_op(result, OpKind::Write);
  for (auto at = std::ranges::lower_bound(all, step, {}, &Access::step); at != all.end() && at->step == step; ++at) {
    bool is_own = at->node == &result && (by_element || (is_write && at->operand == 0));
    bool is_same = is_own && is_same_place(at->place, window);
    if (!is_same && meet(at->place, window)) return true;
  }
  return false;
}

std::optional<WritePlacement::Target> WritePlacement::target_of(const Node& node) const {
  size_t index = static_cast<size_t>(node.index);
  if (node.outs.size() != 1 || is_output_[index] || escapes_[index]) return std::nullopt;
  int value = number(node), last_read = -1;
  const Node* writer = nullptr;
  for (const Node* each : users_[index]) {
    const auto* written = each->operands.size() > 1 ? std::get_if<ValueRef>(&each->operands[1]) : nullptr;
    int reads = 0;
    for_each_read(*each, places_, [&](int read, size_t) { reads += read == value ? 1 : 0; });
    bool writes =
        (writes_view(*each->op) || is_op(*each, OpRole::Copy)) && written != nullptr && written->node == &node;
    if (writes && (writer != nullptr || reads != 1)) return std::nullopt;
    if (writes) writer = each;
    // Loops read with any strides; where one cannot be built, a roll is a kernel.
    auto is_in_loop = [](const Group& group, const Node* node) {
      return is_loop(group) && std::ranges::find(group.turned, node) == group.turned.end();
    };
    bool is_plain = writes || (step_of(*each) >= 0 && is_in_loop(groups_[static_cast<size_t>(step_of(*each))], each));
    if (!is_plain) return std::nullopt;
    if (!writes) last_read = std::max(last_read, step_of(*each));
  }
  if (writer == nullptr) return std::nullopt;
  const Node& user = *writer;
  if (writes_view(*user.op))
    return is_in_base(user) ? std::optional(Target{window_of(user), &user, last_read}) : std::nullopt;
  const TensorSpec& spec = user.outs[0].spec;
  if (!is_op(user, OpRole::Copy) || spec.dtype != node.outs[0].spec.dtype || !same(spec.sizes, node.outs[0].spec.sizes))
    return std::nullopt;
  if (is_in_base(user)) return Target{window_of(user), &user, last_read};
  std::optional<Target> next = target_of(user);
  if (next) next->last_read = std::max(next->last_read, last_read);
  return next;
}

// Whether the group's step can write the node's result with this layout.
bool WritePlacement::fits_step(const Group& group, const Node& node, const TensorSpec& window) const {
  if (!elements_are_apart(window)) return false;
  if (is_loop(group)) return true;
  bool is_its_own = same_layout(node.outs[0].spec, window);
  switch (group.kind) {
    case GroupKind::Single:
      return is_its_own || writes_any_layout(*node.op);
    case GroupKind::Pointwise:
    case GroupKind::Anchor:
    case GroupKind::Attention:
      return is_its_own;
    case GroupKind::ChosenRows:
      break;
  }
  return false;
}

void WritePlacement::move(int value, const SizedPlace& to, const Node* update) {
  Place& from = places_.layout().places[static_cast<size_t>(value)];
  moved_.push_back({{value, update}, place_of(value)});
  if (sized_ != nullptr) at_[static_cast<size_t>(value)] = to.at;
  bool requires_grad = from.spec.requires_grad;
  from = static_cast<const Place&>(to);
  from.spec.requires_grad = requires_grad;
}

bool WritePlacement::place_in_window(const Group& group, const Node& node) {
  int value = number(node);
  bool is_own = values_of_[static_cast<size_t>(own_buffer_[static_cast<size_t>(value)])].size() == 1 &&
                buffer(place(value).buffer).home == BufferHome::Arena;
  std::optional<Target> target = is_own ? target_of(node) : std::nullopt;
  if (!target) return false;
  const SizedPlace& window = target->window;
  int step = step_of(node);
  bool is_free =
      window.is_fixed && fits_step(group, node, window.spec) &&
      !is_touched_between(window, step, std::max(step_of(*target->update), target->last_read + 1), target->update) &&
      (is_loop(group) || !is_touched_within(group, node, window)) &&
      std::ranges::none_of(moved_, [&](const Move& other) {
        SizedPlace at = place_of(other.moved.value);
        return at.buffer == window.buffer && meet(at, window);
      });
  const Buffer& home = buffer(window.buffer);
  bool is_seen = home.home == BufferHome::Input;
  if (!is_free || (is_seen && !may_write(home.index, *target->update, step, window))) return false;
  move(value, window, target->update);
  return true;
}

bool WritePlacement::place_in_input(const Group& group, const Node& node) {
  const WriteChain* chain = chain_of(node);
  if (sized_ != nullptr || chain == nullptr || chain->produced != &node || is_in_base(node)) return false;
  const SizedPlace input = place_of(number(*chain->input_node));
  int step = step_of(node), own = place(number(node)).buffer;
  bool is_free = buffer(own).home == BufferHome::Arena && fits_step(group, node, input.spec) && moved_.empty() &&
                 !is_touched_between(input, step, kNever, nullptr) &&
                 (is_loop(group) || !is_touched_within(group, node, input)) &&
                 may_write_input(*chain, node, step, input);
  if (!is_free || !std::ranges::all_of(chain->updates, [&](const Node* update) {
        return may_write_input(*chain, *update, step_of(*update), window_of(*update));
      }))
    return false;
  for (size_t value = 0; value < node_of_.size(); ++value) {
    SizedPlace to = place_of(static_cast<int>(value));
    if (to.buffer != own) continue;
    to.buffer = input.buffer;
    move(static_cast<int>(value), to, nullptr);
  }
  joined_ = std::pair(own, input.buffer);
  std::vector<Access>& all = accesses_[static_cast<size_t>(input.buffer)];
  accesses_before_ = all;
  for (const Access& access : accesses_[static_cast<size_t>(own)]) {
    all.push_back(access);
    all.back().place.buffer = input.buffer;
  }
  std::ranges::stable_sort(all, {}, &Access::step);
  return true;
}

bool WritePlacement::place_results(const Group& group) {
  for (const Move& each : moved_) kept_.push_back(each.moved);
  moved_.clear();
  joined_.reset();
  for (const Node* node : group.nodes) {
    if (node->outs.size() != 1 || is_in_base(*node)) continue;
    if (!place_in_input(group, *node)) place_in_window(group, *node);
  }
  return !moved_.empty();
}

void WritePlacement::take_back() {
  for (const Move& each : moved_) {
    size_t value = static_cast<size_t>(each.moved.value);
    places_.layout().places[value] = static_cast<const Place&>(each.from);
    if (sized_ != nullptr) at_[value] = each.from.at;
  }
  if (joined_) accesses_[static_cast<size_t>(joined_->second)] = std::move(accesses_before_);
  moved_.clear();
  joined_.reset();
}

std::vector<WritePlacement::Moved> WritePlacement::moved_results() const {
  std::vector<Moved> all = kept_;
  for (const Move& each : moved_) all.push_back(each.moved);
  return all;
}

// ---- what is left

bool WritePlacement::all_are_in_base() const {
  return std::ranges::all_of(graph_.nodes(), [&](const auto& node) {
    return written_operand(*node, places_) == nullptr || is_in_base(*node);
  });
}

bool WritePlacement::is_done(const Node& node) const {
  if (node.kind != NodeKind::Op || (!is_op(node, OpRole::Copy) && !(writes_view(*node.op) && is_in_base(node))))
    return false;
  const auto* source = std::get_if<ValueRef>(&node.operands[1]);
  if (source == nullptr || source->node->kind == NodeKind::ScalarInput) return false;
  return is_same_place(place_of(places_.number(*source)), window_of(node));
}

bool WritePlacement::is_overwritten(const Node& created) const {
  if (created.kind != NodeKind::Op || created.op->kind != OpKind::Creation || created.outs.size() != 1) return false;
  const SizedPlace whole = place_of(number(created));
  if (whole.buffer < 0 || !whole.is_fixed) return false;
  std::vector<SizedPlace> windows;
  int64_t left = whole.spec.numel().value();
  int first_read = kNever;
  for (const Access& access : accesses_[static_cast<size_t>(whole.buffer)]) {
    if (access.node == &created) continue;
    if (!is_in_base(*access.node) || !writes_view(*access.node->op) || access.operand > 0) {
      first_read = std::min(first_read, access.step);
      continue;
    }
    bool is_new = access.step < first_read && access.place.is_fixed &&
                  std::ranges::none_of(windows, [&](const SizedPlace& other) { return meet(other, access.place); });
    if (!is_new) return false;
    left -= access.place.spec.numel().value();
    windows.push_back(access.place);
  }
  return left == 0;
}

bool WritePlacement::is_passed_over(const Node& copy) const {
  if (sized_ == nullptr || !is_op(copy, OpRole::Copy)) return false;
  if (place(number(copy)).buffer != own_buffer_[static_cast<size_t>(number(copy))]) return false;  // made in its window
  const auto* source = std::get_if<ValueRef>(&copy.operands[1]);
  const std::vector<Node*>& users = users_[static_cast<size_t>(copy.index)];
  bool is_for_one = users.size() == 1 && writes_view(*users[0]->op) && is_in_base(*users[0]) &&
                    std::get<ValueRef>(users[0]->operands[1]).node == &copy &&
                    !escapes_[static_cast<size_t>(copy.index)];
  if (source == nullptr || source->node->kind == NodeKind::ScalarInput || !is_for_one) return false;
  const TensorSpec &from = places_.place(*source).spec, &to = copy.outs[0].spec;
  bool is_equal = from.dtype == to.dtype && same(from.sizes, to.sizes) && keeps_layout(*source->node, sized_) &&
                  keeps_layout(copy, sized_);
  // Nothing writes the elements in between.
  return is_equal && places_.place(*source).buffer != place(number(*users[0])).buffer &&
         step_of(*users[0]) == step_of(copy) + 1;
}

ValueRef WritePlacement::source_of(const Node& update) const {
  ValueRef source = std::get<ValueRef>(update.operands[1]);
  return is_passed_over(*source.node) ? std::get<ValueRef>(source.node->operands[1]) : source;
}

bool WritePlacement::writes_input(const Group& group) const {
  bool found = false;
  for_each_node(group, [&](const Node& node) {
    if (is_done(node)) return;
    for (size_t out = 0; out < node.outs.size(); ++out) {
      int at = place(number(node) + static_cast<int>(out)).buffer;
      found = found || (at >= 0 && buffer(at).home == BufferHome::Input);
    }
  });
  return found;
}

std::vector<WritePlacement::WriteBack> WritePlacement::write_backs() const {
  std::vector<WriteBack> all;
  for (const WriteChain& chain : chains_) {
    const Node& last = chain.updates.empty() ? *chain.produced : *chain.updates.back();
    const SizedPlace input = place_of(number(*chain.input_node));
    if (place(number(last)).buffer == input.buffer) continue;
    WriteBack back = {.value = number(last), .input_value = number(*chain.input_node), .windows = {}};
    bool by_windows = sized_ == nullptr && chain.produced == nullptr &&
                      std::ranges::all_of(chain.updates, [](const Node* update) { return writes_view(*update->op); });
    for (const Node* update : chain.updates) {
      if (!by_windows) break;
      SizedPlace window = window_of(*update);
      window.offset -= place(number(*update)).offset;
      window.at = window.at - place_of(number(*update)).at;
      window.buffer = input.buffer;
      auto is_equal = [&](const SizedPlace& known) { return is_same_place(known, window); };
      if (std::ranges::none_of(back.windows, is_equal)) back.windows.push_back(std::move(window));
    }
    if (!by_windows) back.windows.push_back(input);
    all.push_back(std::move(back));
  }
  return all;
}

}  // namespace md
