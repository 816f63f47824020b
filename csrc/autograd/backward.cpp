#include "autograd/backward.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "autograd/grad_history.h"
#include "autograd/rule_numbers.h"
#include "autograd/rule_op.h"
#include "base/error.h"
#include "base/interrupts.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

thread_local GradNode* applied_by_thread = nullptr;
class Backward;
thread_local const Backward* run_by_thread = nullptr;
std::atomic<uint64_t> made_backwards{0};

class AppliedScope {
 public:
  explicit AppliedScope(GradNode& node) : before_(std::exchange(applied_by_thread, &node)) {}
  ~AppliedScope() { applied_by_thread = before_; }
  AppliedScope(const AppliedScope&) = delete;
  AppliedScope& operator=(const AppliedScope&) = delete;

 private:
  GradNode* before_;
};

struct LaterFirst {
  bool operator()(const GradNode* a, const GradNode* b) const { return a->sequence() < b->sequence(); }
};

// Two gradients that arrive at one result.
Tensor joined(Tensor a, const Tensor& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  if (!tensor_modes().grad_enabled && a.is_sole() && add_in_place(a, b)) return a;
  return rule_ops::add(a, b);
}

class Backward {
 public:
  Backward(std::span<const GradEdge> inputs, const BackwardOptions& options)
      : inputs_(inputs),
        options_(options),
        found_(inputs.size()),
        number_(made_backwards.fetch_add(1, std::memory_order_relaxed) + 1),
        outer_(std::exchange(run_by_thread, this)) {}
  ~Backward() { run_by_thread = outer_; }
  Backward(const Backward&) = delete;
  Backward& operator=(const Backward&) = delete;

  uint64_t number() const { return number_; }
  bool has_inputs() const { return !inputs_.empty(); }
  bool will_run(const GradNode& node) const {
    return inputs_.empty() ? known_.contains(&node) : ways_.contains(&node) || is_input(&node);
  }

  std::vector<Tensor> run(std::span<const GradEdge> roots, std::vector<Tensor> gradients) {
    GradModeScope scope(options_.creates_graph);
    count_uses(roots);
    if (!inputs_.empty()) find_ways();
    for (size_t i = 0; i < roots.size(); ++i) arrive(roots[i], gradients[i]);
    gradients.clear();
    for (const GradEdge& root : roots)
      if (uses_[root.node.get()] == 0 && queued_.insert(root.node.get()).second) ready_.push(root.node.get());
    while (!ready_.empty()) {
      GradNode* node = ready_.top();
      ready_.pop();
      serve_interrupts();
      run_node(*node);
    }
    return std::move(found_);
  }

 private:
  bool is_on_the_way(const GradNode* node) const { return inputs_.empty() || ways_.contains(node); }

  // How many edges lead to each node.
  void count_uses(std::span<const GradEdge> roots) {
    std::vector<GradNode*> open;
    std::unordered_set<const GradNode*>& seen = known_;
    for (const GradEdge& root : roots)
      if (seen.insert(root.node.get()).second) open.push_back(root.node.get());
    while (!open.empty()) {
      GradNode* node = open.back();
      open.pop_back();
      order_.push_back(node);
      for (const GradEdge& edge : node->edges) {
        if (!edge.node) continue;
        ++uses_[edge.node.get()];
        if (seen.insert(edge.node.get()).second) open.push_back(edge.node.get());
      }
    }
  }

  // The nodes from which an input is reached.
  void find_ways() {
    std::unordered_map<GradNode*, std::vector<GradNode*>> users;
    for (GradNode* node : order_)
      for (const GradEdge& edge : node->edges)
        if (edge.node) users[edge.node.get()].push_back(node);
    std::vector<GradNode*> open;
    for (const GradEdge& input : inputs_)
      for (GradNode* user : users[input.node.get()]) open.push_back(user);
    while (!open.empty()) {
      GradNode* node = open.back();
      open.pop_back();
      if (!ways_.insert(node).second) continue;
      for (GradNode* user : users[node]) open.push_back(user);
    }
  }
  bool is_input(const GradNode* node) const {
    for (const GradEdge& input : inputs_)
      if (input.node.get() == node) return true;
    return false;
  }

  void arrive(const GradEdge& edge, const Tensor& gradient) {
    std::vector<Tensor>& buffer = buffers_[edge.node.get()];
    buffer.resize(std::max(buffer.size(), edge.node->outputs.size()));
    Tensor& place = buffer[static_cast<size_t>(edge.index)];
    Tensor before = std::exchange(place, Tensor());
    place = joined(std::move(before), gradient);
  }

  void run_node(GradNode& node) {
    std::vector<Tensor> gradients = std::move(buffers_[&node]);
    buffers_.erase(&node);
    gradients.resize(node.outputs.size());
    // As torch: hooks replace the gradient of an input only where the backward ends.
    if (is_on_the_way(&node)) find_inputs(node, gradients);
    node.show_gradients(gradients);
    if (!is_on_the_way(&node)) find_inputs(node, gradients);
    std::vector<Tensor> results(node.edges.size());
    if (is_on_the_way(&node)) results = applied(node, std::move(gradients));
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const GradEdge& edge = node.edges[i];
      if (!edge.node) continue;
      if (results[i].defined() && is_wanted(edge)) arrive(edge, results[i]);
      if (--uses_[edge.node.get()] == 0) ready_.push(edge.node.get());
    }
  }
  void find_inputs(const GradNode& node, std::span<const Tensor> gradients) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].node.get() == &node) found_[i] = gradients[static_cast<size_t>(inputs_[i].index)];
  }
  bool is_wanted(const GradEdge& edge) const { return is_on_the_way(edge.node.get()) || is_input(edge.node.get()); }

  std::vector<Tensor> applied(GradNode& node, std::vector<Tensor> gradients) {
    AppliedScope scope(node);
    try {
      return results_of(node, std::move(gradients));
    } catch (...) {
      if (NodeObserver* observer = node_observer.load(std::memory_order_relaxed)) observer->failed(node);
      throw;
    }
  }

  std::vector<Tensor> results_of(GradNode& node, std::vector<Tensor> gradients) {
    bool is_any = false;
    for (const Tensor& gradient : gradients) is_any = is_any || gradient.defined();
    if (!is_any) return std::vector<Tensor>(node.edges.size());
    for (const auto& hook : std::vector(node.node_hooks)) hook->before(gradients);
    std::vector<Tensor> of_results = node.node_hooks.empty() ? std::vector<Tensor>() : gradients;
    std::vector<Tensor> results = node.apply(std::move(gradients));
    if (options_.checks_nan) check_nan(node, results);
    for (const auto& hook : std::vector(node.node_hooks)) hook->after(results, of_results);
    if (!options_.keeps_graph) node.release_saved();
    results.resize(node.edges.size());
    return results;
  }

  static void check_nan(const GradNode& node, std::span<const Tensor> results) {
    static const RuleOp isnan("isnan"), any("any");
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].defined() || results[i]->kind() != TensorKind::Real) continue;
      if (*any(isnan(results[i])).data<bool>())
        raise(ErrorKind::Runtime, "Function '", node.name(), "' returned nan values in its ", i, "th output.");
    }
  }

  std::span<const GradEdge> inputs_;
  const BackwardOptions& options_;
  std::vector<Tensor> found_;
  uint64_t number_;
  const Backward* outer_;  // of this thread
  std::unordered_set<const GradNode*> known_;
  std::vector<GradNode*> order_;
  std::unordered_map<GradNode*, int64_t> uses_;
  std::unordered_set<const GradNode*> ways_;
  std::unordered_set<GradNode*> queued_;
  std::unordered_map<GradNode*, std::vector<Tensor>> buffers_;
  std::priority_queue<GradNode*, std::vector<GradNode*>, LaterFirst> ready_;
};

}  // namespace

bool reaches_others(std::span<const GradEdge> roots, std::span<const GradEdge> leaves) {
  std::unordered_set<const GradNode*> seen;
  std::vector<const GradNode*> open;
  auto visit = [&](const GradEdge& edge) {
    if (edge.node && seen.insert(edge.node.get()).second) open.push_back(edge.node.get());
  };
  // Those that are known are never open.
  for (const GradEdge& leaf : leaves) seen.insert(leaf.node.get());
  for (const GradEdge& root : roots) visit(root);
  while (!open.empty()) {
    const GradNode* node = open.back();
    open.pop_back();
    if (node->is_leaf()) return true;
    for (const GradEdge& edge : node->edges) visit(edge);
  }
  return false;
}

uint64_t backward_number() { return run_by_thread == nullptr ? 0 : run_by_thread->number(); }
bool backward_has_inputs() { return run_by_thread != nullptr && run_by_thread->has_inputs(); }
bool will_run(const GradNode& node) { return run_by_thread != nullptr && run_by_thread->will_run(node); }

GradNode* applied_node() { return applied_by_thread; }

std::vector<Tensor> run_backward(std::span<const GradEdge> roots, std::vector<Tensor> gradients,
                                 std::span<const GradEdge> inputs, const BackwardOptions& options) {
  return Backward(inputs, options).run(roots, std::move(gradients));
}

}  // namespace md
