// The user's frames while a region calls Python code: those that were inlined are made and linked for the time of the call.
// They have the right function, line and globals; their locals are not set.
#pragma once
#include "cpython/errors.h"
#include "eval_frame/live_frame.h"
#include "guards/locals_view.h"
#include "symbolic/call_outs.h"

namespace md {

class LinkedFrames : public CallOutFrames {
 public:
  // The root frame is entered; its position shows the call from then on. All must outlive this.
  LinkedFrames(LiveFrame& root, const CapturedRegion& region, const LocalsView& view)
      : root_(root), region_(region), view_(view) {}
  uint64_t walk() const override { return region_.walk; }
  void run(int site, const std::function<bool(size_t linked)>& call) override;

 private:
  bool run_from(size_t level, const std::function<bool(size_t linked)>& call);
  bool call_innermost(size_t linked, const std::function<bool(size_t linked)>& call);
  const CallOutSite* site_ = nullptr;  // that is being run
  SavedError error_;
  LiveFrame& root_;
  const CapturedRegion& region_;
  const LocalsView& view_;
};

}  // namespace md
