// The contents of every slot when a region is left. Created by the tracer, immutable; restore() is in eval_frame/.
// 1. A recipe rematerialises one value; recipes refer to each other by number, also forward
// (cycles through mutable containers).
// 2. One value is one recipe, which preserves identity: two slots with the same recipe get the same object.
// 3. frames[0] is the frame that runs the region, or a suspended caller (caller_chain.h); the others were
// inlined into it, outermost first.
#pragma once
#include <cstdint>
#include <vector>

#include "bytecode/bytecode.h"
#include "graph/graph.h"
#include "guards/scalar_ops.h"
#include "guards/size_place.h"
#include "guards/source.h"
#include "guards/tensor_family.h"
#include "snapshot/policy.h"
#include "tensor/dim_code.h"

namespace md {

enum class RecipeKind : uint8_t {
#define MD_RECIPE(name, ...) name,
#include "snapshot/recipes.def"
#undef MD_RECIPE
};
enum class ContinuationKind : uint8_t {
#define MD_CONTINUATION(name, doc) name,
#include "snapshot/continuations.def"
#undef MD_CONTINUATION
};
enum class EffectKind : uint8_t {
#define MD_EFFECT(name, ...) name,
#include "snapshot/effects.def"
#undef MD_EFFECT
};

const char* recipe_kind_name(RecipeKind kind);
const char* continuation_kind_name(ContinuationKind kind);
// What an effect writes; Nothing: no object that Python code sees. Elements: of a deque or set.
enum class EffectTarget : uint8_t { Nothing, Cell, List, Elements, Dict, Attribute, Tensor };
struct EffectRow {
  const char* name;
  EffectTarget written;
  const char* doc;
};
const EffectRow& effect_row(EffectKind kind);

using RecipeId = int32_t;
inline constexpr RecipeId kNoRecipe = -1;

struct Recipe {
  RecipeKind kind = RecipeKind::Null;
  int32_t index = 0;                     // Output, iterators; Computed: the ScalarOp
  int32_t writes = 0;                    // Output: number of in-place writes to its storage by eager code
  const Source* source = nullptr;        // Source
  const TensorFamily* family = nullptr;  // Output
  ViewTraits view;                       // Output
  bool is_freed = false;                 // Output: the region has gone back through its history
  Ref object;                            // Constant: an atom, or a code object nested in the captured code
  std::vector<RecipeId> parts;
};

struct SlotValue {
  int32_t slot;
  RecipeId value;
};

struct FrameState {
  const Bytecode* bytecode = nullptr;
  RecipeId function = kNoRecipe;  // inner frames: the function object to enter
  int32_t index = 0;              // the instruction being executed (callers), or at which the region ends (innermost)
  int64_t executed = -1;          // instructions of the frame executed in the region before that one; -1: unknown
  // Outermost frame: only changed slots; inner frames: every set slot. A frame that returns: changed slots, visible
  // through its frame object (a traceback, sys._getframe), where only unset slots, constants and objects that the frame
  // has owned since the region's start are restored.
  std::vector<SlotValue> slots;
  // A frame that returns: they are set without a frame object too, since the interpreter drops in the order of slots
  // what the frame owns, and an object is now in another slot, or was on the stack.
  bool owns_moved = false;
  std::vector<RecipeId> stack;  // whole value stack, bottom first
  bool keep_stack = false;      // outermost frame: the stack is unchanged since the region's start
  ContinuationKind continuation = ContinuationKind::None;
  RecipeId continuation_value = kNoRecipe;
  const Policy* policy = nullptr;  // in force in this frame from here on
};

struct Effect {
  EffectKind kind;
  RecipeId target = kNoRecipe;
  RecipeId value = kNoRecipe;
  bool flag = false;
  RecipeId key = kNoRecipe;              // of a dict, or the attribute's name
  int64_t start = 0, stop = 0;           // of a list
  int count = 0;                         // WriteTensor: the increment of the target's storage version
  const TensorFamily* family = nullptr;  // of a mode
  Location location = {};                // position in the user's code; null if not requested
};

// A number computed from sizes and ints at the region's start.
struct SizeNumber {
  DimCode code;
  std::vector<SizePlace> places;  // of the code's symbols
};

struct Snapshot {
  std::vector<Recipe> recipes;
  std::vector<SizeNumber> sizes;
  std::vector<FrameState> frames;
  std::vector<Effect> effects;
  std::vector<RecipeId> computed;  // evaluated before any code runs, since Python may raise there
  RecipeId result = kNoRecipe;     // the return value of a region that reached the end
  // Where frames left through the region returned to their callers, innermost first;
  // frames[0] is then a suspended caller.
  struct ReturnedFrame {
    int index;
    int64_t executed;              // as in FrameState
    std::vector<SlotValue> slots;  // as for a frame that returns
    bool owns_moved;               // likewise
  };
  std::vector<ReturnedFrame> returns;
};

// A listing for logs and golden tests.
std::string print(const Snapshot& snapshot);

}  // namespace md
