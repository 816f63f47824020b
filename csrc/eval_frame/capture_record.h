// Records of captures made during a call, for explain().
#pragma once
#include "base/recording.h"
#include "bytecode/bytecode.h"
#include "cpython/ref.h"
#include "eval_frame/region_entry.h"

namespace md {

struct CaptureRecord {
  Ref code;  // keeps the bytecode alive
  const Bytecode* bytecode;
  RegionEntryPtr entry;
};

using CaptureRecording = Recording<CaptureRecord>;

}  // namespace md
