// Deferred I/O of a region, performed while its effects are applied. The values of its frames are fetched when the
// region starts, before anything is written.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "cpython/errors.h"
#include "eval_frame/frame_image.h"
#include "eval_frame/host_call_frames.h"
#include "eval_frame/region_entry.h"

namespace md {

class OutputReplay {
 public:
  OutputReplay(const RegionEntry& entry, const LocalsView& view);
  // Throws PythonError if a number cannot be computed.
  void compute_numbers();
  // All outputs of the graph.
  void set_outputs(std::span<Tensor> outputs);

  // Makes the call. Returns false if the region is left there. `frame` is the region's; null: only C code may run.
  bool run(const Effect& effect, ValueBuilder& builder, LiveFrame* frame);

  // Valid after run() returned false.
  bool raised() const { return raised_; }
  void keep_error();  // the current exception
  // With the frames in its traceback that are not in the images.
  Ref take_error(LiveFrame& frame);
  int instruction() const { return site().frames.front().index; }  // of the region's own frame
  bool has_images() const { return site().failure.has_value(); }
  // The state after the call.
  FrameImages take_images();
  // Releases the values of all places; objects that die may run Python code.
  void release();

 private:
  struct Place {
    const OutputSite* output;
    std::vector<Ref> functions;
    std::unique_ptr<ValueBuilder> after, locals;  // null: no frames are shown
  };
  const HostCallSite& site() const { return places_[stopped_].output->site; }
  FrameLocals locals_of(Place& place, ValueBuilder& builder);
  // Returns false if it raised.
  bool call_in_frames(Place& place, const FrameLocals& locals, const std::function<Ref()>& call, LiveFrame& frame);
  const RegionEntry& entry_;
  LocalsView view_;
  std::vector<Place> places_;
  ValueBuilder* builder_ = nullptr;  // of the region's own snapshot
  size_t stopped_ = 0;
  bool raised_ = false;
  Ref error_;
};

}  // namespace md
