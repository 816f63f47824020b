// Holds the GIL for a scope, on any thread, whether it is held already or not. Not after finalisation.
#pragma once
#include <Python.h>

namespace md {

class GilScope {
 public:
  GilScope() : state_(PyGILState_Ensure()) {}
  ~GilScope() { PyGILState_Release(state_); }
  GilScope(const GilScope&) = delete;
  GilScope& operator=(const GilScope&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace md
