// The user's frames during a host call: inlined frames are created and linked for the duration of the call,
// with the right function, line, globals and locals. Containers created by the region are replaced by copies,
// so the operator modifies the copy.
#pragma once
#include "cpython/errors.h"
#include "eval_frame/live_frame.h"
#include "guards/locals_view.h"
#include "snapshot/value_builder.h"
#include "symbolic/state/region.h"
#include "symbolic/tensors/host_calls.h"

namespace md {

struct LocalValue {
  int slot;
  Ref value;
};

// Locals of the frames of a site, outermost first.
using FrameLocals = std::vector<std::vector<LocalValue>>;

// The functions of a site's frames, null where no frame can be created; the first is that of the region's own
// frame, which is entered already.
std::vector<Ref> functions_of(const HostCallSite& site, const LocalsView& view);
FrameLocals build_locals(const HostCallSite& site, ValueBuilder& builder);

// Runs `call` with the frames of the site linked. `call` returns false with an exception set, which is set afterwards
// too; if the site has a snapshot, its frames are not in the traceback yet.
class LinkedCall {
 public:
  using Call = std::function<bool(size_t linked)>;
  LinkedCall(LiveFrame& root, const HostCallSite& site, const std::vector<Ref>& functions, const FrameLocals& locals)
      : root_(root), site_(site), functions_(functions), locals_(locals) {}
  void run(const Call& call);

 private:
  bool run_from(size_t level, const Call& call);
  bool link(size_t level, const Call& call);
  LiveFrame& root_;
  const HostCallSite& site_;
  const std::vector<Ref>& functions_;
  const FrameLocals& locals_;
  size_t deepest_ = 0;  // number of frames linked while the call runs
  Ref error_;
};

class LinkedFrames : public HostCallFrames {
 public:
  // The root frame must be entered; its position shows the call from then on. All arguments must outlive this.
  LinkedFrames(LiveFrame& root, const CapturedRegion& region, const LocalsView& view)
      : root_(root), region_(region), view_(view) {}
  uint64_t trace() const override { return region_.trace; }
  void run(int site, std::span<Tensor> locals, const std::function<bool(size_t linked)>& call) override;
  Ref self(int site) const override;

 private:
  LiveFrame& root_;
  const CapturedRegion& region_;
  const LocalsView& view_;
};

}  // namespace md
