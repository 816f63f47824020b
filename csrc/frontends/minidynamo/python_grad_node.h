// Nodes whose backward is a Python function: autograd.Function.
#pragma once
#include <string>

#include "autograd/grad_node.h"
#include "cpython/ref.h"

namespace md {

class PythonGradNode : public GradNode {
 public:
  // run(context, gradients of results, node) -> a gradient or None for each edge; release(context) frees what it saved.
  PythonGradNode(std::string name, BorrowedRef context, BorrowedRef run, BorrowedRef release)
      : name_(std::move(name)), context_(Ref::share(context)), run_(Ref::share(run)), release_(Ref::share(release)) {}
  std::string name() const override { return name_; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients) override;
  void release_saved() override;
  BorrowedRef context() const { return context_; }

 private:
  std::string name_;
  Ref context_, run_, release_;
};

}  // namespace md
