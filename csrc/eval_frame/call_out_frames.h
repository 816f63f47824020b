// The user's frames while a region calls Python code: those that were inlined are made and linked for the time of the call.
// They have the right function, line, globals and locals. What the operator does to a container that the region made, it does to a copy.
#pragma once
#include "cpython/errors.h"
#include "eval_frame/live_frame.h"
#include "guards/locals_view.h"
#include "symbolic/call_outs.h"

namespace md {

struct LocalValue {
  int slot;
  Ref value;
};

class LinkedFrames : public CallOutFrames {
 public:
  // The root frame is entered; its position shows the call from then on. All must outlive this.
  LinkedFrames(LiveFrame& root, const CapturedRegion& region, const LocalsView& view)
      : root_(root), region_(region), view_(view) {}
  uint64_t walk() const override { return region_.walk; }
  void run(int site, std::span<Tensor> locals, const std::function<bool(size_t linked)>& call) override;

 private:
  bool run_from(size_t level, const std::function<bool(size_t linked)>& call);
  bool link(size_t level, const std::function<bool(size_t linked)>& call);
  void build_locals(std::span<Tensor> tensors);
  const CallOutSite* site_ = nullptr;            // that is being run
  std::vector<std::vector<LocalValue>> locals_;  // of its frames
  size_t deepest_ = 0;                           // frames that are linked while the operator runs
  SavedError error_;
  LiveFrame& root_;
  const CapturedRegion& region_;
  const LocalsView& view_;
};

}  // namespace md
