// Which fakes are views of which, and which are written to: what operations on tensors without memory say of memory.
#pragma once
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tensor/ops/op_row.h"

namespace md {

// One view: the op, its arguments (0 is the place of what is viewed), and which result.
struct ViewCall {
  const OpRow* row;
  std::vector<Arg> args;
  int out;
};
// Views of views of a tensor, real or recording.
Tensor apply_views(const std::vector<ViewCall>& views, Tensor tensor);

class FakeViews {
 public:
  // What this thread tells of its fakes; null: nobody asks.
  static FakeViews* current();

  void made(const OpCall& call, const std::vector<OutSpec>& specs, const std::vector<Tensor>& outs);
  void written(const Tensor& fake) { written_.push_back(root(fake)); }

  // What the fake is a view of in the end; itself where it is none.
  Tensor root(const Tensor& fake) const;
  // From the root on.
  std::vector<ViewCall> views(const Tensor& fake) const;
  bool is_written(const Tensor& fake) const;

 private:
  struct View {
    Tensor fake, of;  // kept, so that the address names the fake
    ViewCall call;
  };
  const View* find(const Tensor& fake) const;

  std::unordered_map<const TensorImpl*, View> views_;
  std::vector<Tensor> written_;
};

// It is told what this thread does with fakes, while the scope lasts.
class FakeViewsScope {
 public:
  explicit FakeViewsScope(FakeViews* views);
  ~FakeViewsScope();
  FakeViewsScope(const FakeViewsScope&) = delete;

 private:
  FakeViews* outer_;
};

}  // namespace md
