// Who asks what is captured while a call runs: explain().
#pragma once
#include <vector>

#include "bytecode/bytecode.h"
#include "cpython/ref.h"
#include "eval_frame/region_entry.h"

namespace md {

struct CaptureRecord {
  Ref code;  // keeps the bytecode
  const Bytecode* bytecode;
  RegionEntryPtr entry;
};

// Keeps the regions that this thread captures while it exists.
class CaptureRecording {
 public:
  CaptureRecording();
  ~CaptureRecording();
  CaptureRecording(const CaptureRecording&) = delete;
  CaptureRecording& operator=(const CaptureRecording&) = delete;
  const std::vector<CaptureRecord>& records() const { return records_; }

 private:
  friend void record_capture(const Bytecode& bytecode, const RegionEntryPtr& entry);
  CaptureRecording* outer_;
  std::vector<CaptureRecord> records_;
};

void record_capture(const Bytecode& bytecode, const RegionEntryPtr& entry);

}  // namespace md
