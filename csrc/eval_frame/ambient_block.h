// A scope in which the functions called on this thread are captured, without a compiled function around them.
#pragma once
#include <memory>

#include "eval_frame/capture_scope.h"
#include "eval_frame/compiled_call.h"
#include "eval_frame/frame_entry.h"
#include "eval_frame/hook.h"

namespace md {

// Must be destroyed on the thread that created it, in reverse order of creation.
class AmbientBlock {
 public:
  explicit AmbientBlock(const CompileOptions& options)
      : handler_(&ambient_frames()), policy_(policy_for_call(options, inherited_policy())) {}

 private:
  HookInstallation installation_;
  AmbientHandler handler_;
  AmbientPolicy policy_;
};

}  // namespace md
