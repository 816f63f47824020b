#include "eval_frame/running_stack.h"

#include "cpython/text.h"

#include <algorithm>

namespace md {

std::vector<SourceLine> running_stack(const Bytecode& without, size_t callers) {
  std::vector<SourceLine> lines;
  Ref frame = Ref::steal(reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  bool innermost = true;
  while (frame) {
    auto* real = reinterpret_cast<PyFrameObject*>(frame.get());
    Ref code = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(real)));
    auto* known = reinterpret_cast<PyCodeObject*>(code.get());
    if (!(innermost && known == without.code()))
      lines.push_back({text_of(known->co_filename), PyFrame_GetLineNumber(real), text_of(known->co_name)});
    innermost = false;
    frame = Ref::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(real)));
  }
  PyErr_Clear();
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(callers, lines.size())));
  return {lines.rbegin(), lines.rend()};
}

}  // namespace md
