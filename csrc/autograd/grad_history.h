// What autograd knows of a tensor: the node that made it, its gradient and hooks, and what it is a view of.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "autograd/grad_node.h"
#include "tensor/tensor.h"

namespace md {

struct OpRow;

// Called behind an accumulation into the gradient of a leaf.
class AccumulatedHook {
 public:
  virtual ~AccumulatedHook() = default;
  virtual void call() = 0;
};

// How a view was made, which decides whether it may be written in place under a history.
enum class ViewOrigin : uint8_t { None, Plain, NoGrad, OneOfSeveral, OfFunction };

class GradHistory : public TensorCompanion {
 public:
  ~GradHistory() override;
  GradEdge edge;                                     // of a computed tensor; no node: a leaf, or nothing requires grad
  std::weak_ptr<GradNode> accumulator;               // of a leaf
  Tensor gradient;                                   // may be undefined
  std::vector<std::shared_ptr<GradientHook>> hooks;  // of a leaf; a computed tensor's are at its node
  // Where hooks of a computed tensor are: a write in place gives it another node.
  std::vector<std::weak_ptr<GradNode>> hooked_nodes;
  std::vector<std::shared_ptr<AccumulatedHook>> accumulated_hooks;
  bool retains_gradient = false;

  // Views. A base knows its views that live; a view holds its base.
  Tensor base;
  ViewOrigin origin = ViewOrigin::None;
  // Of a view that a captured region made, whose edge is the region's: the op, and which of its results it is.
  const OpRow* made_by = nullptr;
  int made_output = 0;
  bool is_stale = false;  // the base has another history since: `edge` is made anew when it is asked for
  std::unordered_map<GradHistory*, TensorImpl*> views;

  // Takes itself off its base's list of views.
  void leave_base();
  void retain(int output);
  void stop_retaining();
  // Adds to the gradient that is retained.
  void keep(const Tensor& added);
};

// Null: nothing is known of it.
GradHistory* history_of(const Tensor& tensor);
GradHistory& own_history(const Tensor& tensor);

// Where the gradient of a tensor that requires grad goes to. Of a leaf: a node that accumulates it.
GradEdge edge_of(const Tensor& tensor);
// The node that computed it; null for a leaf.
GradNodePtr node_of(const Tensor& tensor);
bool is_leaf(const Tensor& tensor);
// Makes a tensor the result of a node: sets requires_grad.
void set_edge(const Tensor& tensor, GradEdge edge);
// Makes it a tensor that requires no grad and knows nothing of what made it.
void forget_history(const Tensor& tensor);
// A tensor over the same elements whose gradient goes to the edge.
Tensor alias_with_edge(const Tensor& tensor, GradEdge edge);

// A view of a base, as an op made it: written in place, each has the other's history.
void note_view(const Tensor& view, const Tensor& of, ViewOrigin origin);
// Raises Error(Runtime) if writing into the tensor would change a history that may not change.
void check_write_of_history(const Tensor& target);
// The tensor has just been written in place; `written` is its new value's history.
void rebase(const Tensor& target, GradEdge written);

// The gradient of a leaf, or one that was retained; undefined: None.
Tensor gradient_of(const Tensor& tensor);
void set_gradient(const Tensor& tensor, Tensor gradient);

// Adds a hook; returns where it was put, for removal.
void add_hook(const Tensor& tensor, std::shared_ptr<GradientHook> hook);
void remove_hook(const Tensor& tensor, const GradientHook* hook);

}  // namespace md
