// Applies the side effects of a region.
#pragma once
#include "snapshot/snapshot.h"

namespace md {

class LiveFrame;
class OutputReplay;
class ValueBuilder;

// An effect that has not been applied, with its operands.
struct HeldEffect {
  const Effect* effect;
  Ref target, value, key;
};

// Where a region is left. Only deferred I/O needs it.
struct EffectSite {
  ValueBuilder& builder;
  OutputReplay* outputs;  // null: the region has no deferred I/O
  LiveFrame* frame;       // null: the region has no frame
  bool stopped = false;   // at deferred I/O
};

// `site` may be null for an effect other than Output.
void apply(const HeldEffect& held, EffectSite* site);

}  // namespace md
