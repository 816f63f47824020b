// Where a trace starts: one instruction of one code object.
#pragma once
#include <set>
#include <string>

#include "guards/locals_view.h"
#include "snapshot/caller_chain.h"

namespace md {

struct TraceStart {
  const Bytecode& bytecode;
  int index;
  // at index 0 the arguments, cells not created yet; elsewhere the slots and stacks of the frame and its callers
  LocalsView view;
  const Policy* policy;
  CallerChainPtr callers;  // null if there are none
  // Names of sources whose number differed at an earlier capture here, so it is not specialised in this one. Null:
  // none.
  const std::set<std::string>* dynamic_sources = nullptr;
};

}  // namespace md
