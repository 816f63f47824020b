// Walks a graph backwards: rules run on recording tensors, each of which stands for a value of the graph that is walked
// or of the one that is built.
#pragma once
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace md {

struct Derivative;

struct HashValue {
  size_t operator()(const ValueRef& value) const {
    return std::hash<const Node*>()(value.node) * 31 + static_cast<size_t>(value.out);
  }
};

class GradientWalk : public Recorder {
 public:
  explicit GradientWalk(const Graph& forward) : forward_(forward) {}
  std::vector<Tensor> record(const OpRow& row, std::span<const Arg> args) override;

 protected:
  // Appends an op to the graph that is built.
  virtual Node* append(const OpRow& row, std::vector<Operand> operands) = 0;
  virtual Node* append_constant(const Tensor& value) = 0;
  // The value there of a value of the forward graph, whose elements a rule reads.
  virtual ValueRef in_graph(ValueRef value) = 0;
  // Whether what rules compute has a history, as eager code's with create_graph.
  virtual bool records_histories() const { return false; }
  // A value of the forward graph whose elements eager code saves for the rule of a node.
  virtual void note_saved(const Node&, ValueRef) {}

  // A value of the graph that is built.
  Tensor standing_for_built(ValueRef value, const TensorSpec& spec) { return standing_for(value, spec, false); }
  void arrive(const ValueRef& value, Tensor gradient);
  // Hands the gradients of a node's results on to its operands; false: none has arrived.
  bool differentiate(const Node& node);
  // The value of the graph that is built that a tensor stands for.
  ValueRef own_value(const Tensor& tensor);
  const std::unordered_map<ValueRef, Tensor, HashValue>& gradients() const { return gradients_; }

  const Graph& forward_;

 private:
  struct Stood {
    ValueRef value;
    bool is_forward;
  };
  Tensor standing_for(ValueRef value, TensorSpec spec, bool is_forward);
  Tensor forward_tensor(ValueRef value) { return standing_for(value, forward_.info(value).spec, true); }
  Arg forward_arg(const Operand& operand);
  bool requires_grad(const Operand& operand) const;
  void note_saved_by(const Node& node, const Derivative& derivative, std::span<const bool> wanted);
  void hand_on(const Operand& operand, Arg& slope);
  void hand_on(const ValueRef& value, Tensor gradient);
  Operand operand_of(const Arg& arg);

  std::vector<Stood> stood_;
  std::unordered_map<ValueRef, Tensor, HashValue> gradients_;
};

}  // namespace md
