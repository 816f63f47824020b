#include "autograd/grad_node.h"

#include <atomic>

#include "autograd/grad_history.h"
#include "base/error.h"

namespace md {
namespace {

std::atomic<uint64_t> made_nodes{0};

}  // namespace

GradNode::GradNode() : sequence_(made_nodes.fetch_add(1, std::memory_order_relaxed)) {
  if (NodeObserver* observer = node_observer.load(std::memory_order_relaxed)) observer->made(*this);
}

void GradNode::show_gradients(std::vector<Tensor>& gradients) {
  for (const auto& [output, hook] : std::vector(tensor_hooks)) {
    Tensor& gradient = gradients[static_cast<size_t>(output)];
    if (!gradient.defined()) continue;
    if (Tensor replaced = hook->call(gradient); replaced.defined()) gradient = std::move(replaced);
  }
  for (const auto& [output, tensor] : retaining) {
    const Tensor& gradient = gradients[static_cast<size_t>(output)];
    if (gradient.defined()) tensor->keep(gradient);
  }
}

void free_grad_node(GradNode* node) {
  // Nodes that die while another one is freed wait here.
  thread_local std::vector<GradNode*>* waiting = nullptr;
  if (waiting != nullptr) {
    waiting->push_back(node);
    return;
  }
  std::vector<GradNode*> list = {node};
  waiting = &list;
  while (!list.empty()) {
    GradNode* next = list.back();
    list.pop_back();
    delete next;
  }
  waiting = nullptr;
}

void raise_freed() {
  raise(
      ErrorKind::Runtime,
      "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
      "been "
      "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
      "retain_graph=True if you need to backward through the graph a second time or if you need to access saved "
      "tensors "
      "after calling backward.");
}

}  // namespace md
