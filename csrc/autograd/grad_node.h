// The history of tensors that require grad: nodes, from results to operands.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace md {

class GradNode;
class GradHistory;
using GradNodePtr = std::shared_ptr<GradNode>;

// One result of a node; without a node: something that requires no grad.
struct GradEdge {
  GradNodePtr node;
  int index = 0;
};

// Sees the gradient of one tensor; an undefined result leaves it as it is.
class GradientHook {
 public:
  virtual ~GradientHook() = default;
  virtual Tensor call(const Tensor& gradient) = 0;
};

// Sees the gradients of all results of a node before it runs, and those of its operands behind it. Undefined: none.
class GradNodeHook {
 public:
  virtual ~GradNodeHook() = default;
  virtual void before(std::vector<Tensor>& of_results) = 0;
  virtual void after(std::vector<Tensor>& of_operands, const std::vector<Tensor>& of_results) = 0;
};

// What a front end keeps with a node.
class NodeNotes {
 public:
  virtual ~NodeNotes() = default;
};

// Anomaly mode: sees each new node, and one that fails.
class NodeObserver {
 public:
  virtual ~NodeObserver() = default;
  virtual void made(GradNode& node) = 0;
  // Called while the error is handled; raises none of its own.
  virtual void failed(GradNode& node) = 0;
};
// Null while anomaly mode is off. Written under the GIL.
inline std::atomic<NodeObserver*> node_observer{nullptr};

// What a gradient of a result must be like.
struct GradOutput {
  DType dtype;
  DimVec sizes;
};

// Written under the GIL. Nodes of a long chain are freed without recursion (make_grad_node).
class GradNode : public std::enable_shared_from_this<GradNode> {
 public:
  GradNode();
  virtual ~GradNode() = default;
  GradNode(const GradNode&) = delete;
  GradNode& operator=(const GradNode&) = delete;

  // "MulBackward0".
  virtual std::string name() const = 0;
  // How messages name the op: "Mul".
  std::string op_name() const;
  // The gradients of the operands, one for each edge, undefined where there is none. gradients: of the results, some
  // undefined. Under this thread's grad mode the results have a history of their own.
  virtual std::vector<Tensor> apply(std::vector<Tensor> gradients) = 0;
  // Lets hooks of tensors see the gradients of the results, before anything else.
  virtual void show_gradients(std::vector<Tensor>& gradients);
  // Frees what was saved; applying the node again is an error if something was.
  virtual void release_saved() {}

  // Whether it accumulates the gradient of a leaf.
  virtual bool is_leaf() const { return false; }

  // Nodes made later run first.
  uint64_t sequence() const { return sequence_; }
  std::vector<GradEdge> edges;
  std::vector<GradOutput> outputs;
  std::vector<std::pair<int, std::shared_ptr<GradientHook>>> tensor_hooks;  // by result
  std::vector<std::shared_ptr<GradNodeHook>> node_hooks;
  // Tensors that keep their gradient, by result; they take themselves off the list when they die.
  std::vector<std::pair<int, GradHistory*>> retaining;
  std::unique_ptr<NodeNotes> notes;  // null until something is noted

 protected:
  // Runs last of all.
  struct Last {};
  explicit GradNode(Last) : sequence_(UINT64_MAX) {}

 private:
  uint64_t sequence_;
};

// Frees a node, and the nodes that only it held, one after another.
void free_grad_node(GradNode* node);
template <typename Made, typename... Args>
std::shared_ptr<Made> make_grad_node(Args&&... args) {
  return std::shared_ptr<Made>(new Made(std::forward<Args>(args)...), free_grad_node);
}

// Raises the error of a node whose saved tensors were freed.
[[noreturn]] void raise_freed();

}  // namespace md
