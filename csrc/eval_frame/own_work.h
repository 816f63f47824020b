// Work of this library's own that may run Python: walks that import, backends, log handlers. Frames reached from it are nobody's
// to capture.
#pragma once

namespace md {

class OwnWork {
 public:
  OwnWork() { ++depth_; }
  ~OwnWork() { --depth_; }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;
  static bool in_progress() { return depth_ > 0; }  // in this thread

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace md
