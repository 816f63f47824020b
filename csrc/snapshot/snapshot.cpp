#include "snapshot/snapshot.h"

#include <sstream>

#include "cpython/text.h"

namespace md {

namespace {

constexpr const char* kRecipeNames[] = {
#define MD_RECIPE(name, ...) #name,
#include "snapshot/recipes.def"
#undef MD_RECIPE
};
constexpr const char* kContinuationNames[] = {
#define MD_CONTINUATION(name, doc) #name,
#include "snapshot/continuations.def"
#undef MD_CONTINUATION
};
constexpr EffectRow kEffectRows[] = {
#define MD_EFFECT(name, written, predict, doc) {#name, EffectTarget::written, doc},
#include "snapshot/effects.def"
#undef MD_EFFECT
};

std::string repr_text(BorrowedRef object) {
  Ref text = Ref::steal(PyObject_Repr(object));
  if (!text) PyErr_Clear();
  return text_of(text);
}

void print_recipe(std::ostream& out, const Snapshot& snapshot, RecipeId id, const Bytecode& bytecode) {
  const Recipe& recipe = snapshot.recipes[id];
  out << "  %" << id << " = " << recipe_kind_name(recipe.kind);
  if (recipe.kind == RecipeKind::Computed)
    out << " " << scalar_op_name(static_cast<ScalarOp>(recipe.index));
  else if (recipe.kind == RecipeKind::Output || recipe.index != 0)
    out << " #" << recipe.index;
  if (recipe.is_freed) out << " freed";
  if (recipe.source != nullptr) out << " " << name(recipe.source, bytecode);
  if (recipe.object && recipe.kind != RecipeKind::Set) out << " " << repr_text(recipe.object);
  for (RecipeId part : recipe.parts) out << " %" << part;
  out << "\n";
}

}  // namespace

const EffectRow& effect_row(EffectKind kind) { return kEffectRows[static_cast<int>(kind)]; }

const char* recipe_kind_name(RecipeKind kind) { return kRecipeNames[static_cast<int>(kind)]; }
const char* continuation_kind_name(ContinuationKind kind) { return kContinuationNames[static_cast<int>(kind)]; }

std::string print(const Snapshot& snapshot) {
  std::ostringstream out;
  const Bytecode& root = *snapshot.frames.front().bytecode;
  for (RecipeId id = 0; id < static_cast<RecipeId>(snapshot.recipes.size()); ++id)
    print_recipe(out, snapshot, id, root);
  for (const auto& frame : snapshot.returns) out << "returned at " << frame.index << "\n";
  for (const FrameState& frame : snapshot.frames) {
    out << "frame at " << frame.index << " " << opcode_name((*frame.bytecode)[frame.index].op) << " line "
        << frame.bytecode->line_at(frame.index) << " " << continuation_kind_name(frame.continuation) << "\n";
    for (const SlotValue& slot : frame.slots) out << "  slot " << slot.slot << " = %" << slot.value << "\n";
    if (frame.keep_stack) out << "  stack kept\n";
    for (RecipeId value : frame.stack) out << "  stack %" << value << "\n";
  }
  for (const Effect& effect : snapshot.effects)
    out << "effect " << effect_row(effect.kind).name << " %" << effect.target << " = %" << effect.value << " "
        << effect.flag << " %" << effect.key << " " << effect.start << ":" << effect.stop << "\n";
  if (snapshot.result != kNoRecipe) out << "result %" << snapshot.result << "\n";
  return out.str();
}

}  // namespace md
