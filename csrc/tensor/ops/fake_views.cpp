#include "tensor/ops/fake_views.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace md {
namespace {

thread_local FakeViews* current_views = nullptr;

const Tensor* viewed(const OpCall& call) {
  const Tensor* tensor = call.args.empty() ? nullptr : std::get_if<Tensor>(&call.args[0]);
  return call.row.kind == OpKind::View && tensor != nullptr && tensor->defined() ? tensor : nullptr;
}

}  // namespace

Tensor apply_views(const std::vector<ViewCall>& views, Tensor tensor) {
  for (const ViewCall& view : views) {
    std::vector<Arg> args = view.args;
    args[0] = tensor;
    tensor = run_op(*view.row, args).at(static_cast<size_t>(view.out));
  }
  return tensor;
}

FakeViewsScope::FakeViewsScope(FakeViews* views) : outer_(std::exchange(current_views, views)) {}
FakeViewsScope::~FakeViewsScope() { current_views = outer_; }
FakeViews* FakeViews::current() { return current_views; }

void FakeViews::made(const OpCall& call, const std::vector<OutSpec>& specs, const std::vector<Tensor>& outs) {
  const Tensor* of = viewed(call);
  if (of == nullptr) return;
  for (size_t i = 0; i < outs.size(); ++i) {
    if (specs[i].copies) continue;
    ViewCall view{&call.row, {call.args.begin(), call.args.end()}, static_cast<int>(i)};
    view.args[0] = Tensor();
    views_.insert_or_assign(outs[i].impl(), View{outs[i], *of, std::move(view)});
  }
}

const FakeViews::View* FakeViews::find(const Tensor& fake) const {
  auto found = views_.find(fake.impl());
  return found == views_.end() ? nullptr : &found->second;
}

Tensor FakeViews::root(const Tensor& fake) const {
  Tensor tensor = fake;
  while (const View* view = find(tensor)) tensor = view->of;
  return tensor;
}

std::vector<ViewCall> FakeViews::views(const Tensor& fake) const {
  std::vector<ViewCall> calls;
  Tensor tensor = fake;
  while (const View* view = find(tensor)) {
    if (!view->call.row->is_argument(view->of.spec(), tensor.spec())) calls.push_back(view->call);
    tensor = view->of;
  }
  std::reverse(calls.begin(), calls.end());
  return calls;
}

bool FakeViews::is_written(const Tensor& fake) const {
  return std::any_of(written_.begin(), written_.end(), [&](const Tensor& each) { return is_same(each, fake); });
}

}  // namespace md
