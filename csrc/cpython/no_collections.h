// Scope without garbage collections, which would run finalizers in Python.
#pragma once
#include <Python.h>

namespace md {

class NoCollections {
 public:
  NoCollections() : were_enabled_(PyGC_Disable() != 0) {}
  ~NoCollections() {
    if (were_enabled_) PyGC_Enable();
  }
  NoCollections(const NoCollections&) = delete;
  NoCollections& operator=(const NoCollections&) = delete;

 private:
  const bool were_enabled_;
};

}  // namespace md
