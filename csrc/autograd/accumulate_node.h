// The end of a backward: adds a gradient to a leaf's.
#pragma once
#include "autograd/grad_node.h"

namespace md {

class AccumulateNode : public GradNode {
 public:
  explicit AccumulateNode(const Tensor& leaf);
  std::string name() const override { return "torch::autograd::AccumulateGrad"; }
  bool is_leaf() const override { return true; }
  void show_gradients(std::vector<Tensor>& gradients) override;
  std::vector<Tensor> apply(std::vector<Tensor> gradients) override;
  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

}  // namespace md
