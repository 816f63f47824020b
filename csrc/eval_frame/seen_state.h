// What a region relies on and code that runs in its midst may change.
#pragma once
#include <vector>

#include "eval_frame/call_out_frames.h"
#include "eval_frame/region_entry.h"
#include "snapshot/value_builder.h"
#include "tensor/tensor.h"

namespace md {

class SeenState {
 public:
  // Before the effect `next` of the region's snapshot, those before it applied; `shown` are the locals that the code can see.
  SeenState(const RegionEntry& entry, const LocalsView& view, ValueBuilder& builder, const Effect* next,
            const FrameLocals& shown);
  // Whether everything is the same object with the same contents, and the guards hold as they did. False also where that is not known.
  bool holds() const;

 private:
  struct Contents {
    EffectKind kind;  // that wrote there
    Ref target, key;
    Ref now;
  };
  struct Version {
    Tensor tensor;
    uint64_t version;
  };
  void add_source(const Source* source);
  void add_tensors(BorrowedRef object);
  bool guards_hold() const;
  const RegionEntry& entry_;
  std::vector<Ref> slots_;  // of the view
  std::vector<PyObject*> raw_slots_;
  Ref function_;
  LocalsView view_;
  bool held_before_;
  std::vector<std::pair<const Source*, Ref>> sources_;
  std::vector<Contents> contents_;
  std::vector<Version> versions_;
};

}  // namespace md
