// Tracks which fakes are views of which, and which are written: aliasing of tensors without memory.
#pragma once
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tensor/ops/op_row.h"

namespace md {

// One view: the op, its arguments (argument 0 is a placeholder for the base), and the result index.
struct ViewCall {
  const OpRow* row;
  std::vector<Arg> args;
  int out;
};
// Applies a chain of views to a tensor, real or recording.
Tensor apply_views(const std::vector<ViewCall>& views, Tensor tensor);

class FakeViews {
 public:
  // The tracker of this thread; null if there is none.
  static FakeViews* current();

  void made(const OpCall& call, const std::vector<OutSpec>& specs, const std::vector<Tensor>& outs);
  void written(const Tensor& fake) { written_.push_back(root(fake)); }

  // The base that the fake is ultimately a view of; the fake itself if it is none.
  Tensor root(const Tensor& fake) const;
  // The chain of views from the root.
  std::vector<ViewCall> views(const Tensor& fake) const;
  bool is_written(const Tensor& fake) const;

 private:
  struct View {
    Tensor fake, of;  // owned, so that the address identifies the fake
    ViewCall call;
  };
  const View* find(const Tensor& fake) const;

  std::unordered_map<const TensorImpl*, View> views_;
  std::vector<Tensor> written_;
};

// Receives this thread's operations on fakes during its lifetime.
class FakeViewsScope {
 public:
  explicit FakeViewsScope(FakeViews* views);
  ~FakeViewsScope();
  FakeViewsScope(const FakeViewsScope&) = delete;

 private:
  FakeViews* outer_;
};

}  // namespace md
