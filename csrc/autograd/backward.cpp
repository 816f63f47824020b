#include "autograd/backward.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "autograd/grad_history.h"
#include "autograd/rule_numbers.h"
#include "autograd/rule_op.h"
#include "base/error.h"
#include "base/interrupts.h"
#include "tensor/ops/write_op.h"
#include "tensor/tensor_modes.h"

namespace md {
namespace {

class GradModeScope {
 public:
  explicit GradModeScope(bool enabled) : before_(tensor_modes().grad_enabled) { tensor_modes().grad_enabled = enabled; }
  ~GradModeScope() { tensor_modes().grad_enabled = before_; }
  GradModeScope(const GradModeScope&) = delete;
  GradModeScope& operator=(const GradModeScope&) = delete;

 private:
  bool before_;
};

struct LaterFirst {
  bool operator()(const GradNode* a, const GradNode* b) const { return a->sequence() < b->sequence(); }
};

// Two gradients that arrive at one result.
Tensor joined(Tensor a, const Tensor& b) {
  if (!a.defined()) return b;
  if (!b.defined()) return a;
  bool in_place = !tensor_modes().grad_enabled && a.is_sole() && b->kind() == TensorKind::Real &&
                  a->dtype() == b->dtype() && same(a.spec().sizes, b.spec().sizes);
  if (!in_place) return rule_ops::add(a, b);
  static const OpRow* const row = find_op("add");
  Arg args[] = {a, b, Scalar(int64_t{1})};
  write_op(*row, args, a);
  return a;
}

class Backward {
 public:
  Backward(std::span<const GradEdge> inputs, const BackwardOptions& options)
      : inputs_(inputs), options_(options), found_(inputs.size()) {}

  std::vector<Tensor> run(std::span<const GradEdge> roots, std::vector<Tensor> gradients) {
    GradModeScope scope(options_.creates_graph);
    count_uses(roots);
    if (!inputs_.empty()) find_ways();
    for (size_t i = 0; i < roots.size(); ++i) arrive(roots[i], std::move(gradients[i]));
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
    std::unordered_set<GradNode*> seen;
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

  void arrive(const GradEdge& edge, Tensor gradient) {
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
    node.show_gradients(gradients);
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].node.get() == &node) found_[i] = gradients[static_cast<size_t>(inputs_[i].index)];
    std::vector<Tensor> results(node.edges.size());
    if (is_on_the_way(&node)) results = applied(node, std::move(gradients));
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const GradEdge& edge = node.edges[i];
      if (!edge.node) continue;
      if (results[i].defined() && is_wanted(edge)) arrive(edge, std::move(results[i]));
      if (--uses_[edge.node.get()] == 0) ready_.push(edge.node.get());
    }
  }
  bool is_wanted(const GradEdge& edge) const { return is_on_the_way(edge.node.get()) || is_input(edge.node.get()); }

  std::vector<Tensor> applied(GradNode& node, std::vector<Tensor> gradients) {
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
  std::vector<GradNode*> order_;
  std::unordered_map<GradNode*, int64_t> uses_;
  std::unordered_set<const GradNode*> ways_;
  std::unordered_set<GradNode*> queued_;
  std::unordered_map<GradNode*, std::vector<Tensor>> buffers_;
  std::priority_queue<GradNode*, std::vector<GradNode*>, LaterFirst> ready_;
};

}  // namespace

std::vector<Tensor> run_backward(std::span<const GradEdge> roots, std::vector<Tensor> gradients,
                                 std::span<const GradEdge> inputs, const BackwardOptions& options) {
  return Backward(inputs, options).run(roots, std::move(gradients));
}

}  // namespace md
