#include "eval_frame/capture_record.h"

#include <utility>

namespace md {

static thread_local CaptureRecording* innermost_recording = nullptr;

CaptureRecording::CaptureRecording() : outer_(std::exchange(innermost_recording, this)) {}

CaptureRecording::~CaptureRecording() { innermost_recording = outer_; }

void record_capture(const Bytecode& bytecode, const RegionEntryPtr& entry) {
  for (CaptureRecording* recording = innermost_recording; recording != nullptr; recording = recording->outer_)
    recording->records_.push_back({Ref::share(reinterpret_cast<PyObject*>(bytecode.code())), &bytecode, entry});
}

}  // namespace md
