// State the region read that deferred I/O may have changed; revalidated before continuing.
#pragma once
#include <vector>

#include "eval_frame/host_call_frames.h"
#include "eval_frame/region_entry.h"
#include "snapshot/value_builder.h"
#include "tensor/tensor.h"

namespace md {

class RegionRevalidation {
 public:
  // State before the effect `next` of the region's snapshot, with the earlier ones applied; `shown` are
  // the locals visible to the code.
  RegionRevalidation(const RegionEntry& entry, const LocalsView& view, ValueBuilder& builder, const Effect* next,
                     const FrameLocals& shown);
  // Whether all objects and contents are unchanged and the guards still hold. Also false if unknown.
  bool holds() const;

 private:
  struct Contents {
    EffectTarget what;
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
