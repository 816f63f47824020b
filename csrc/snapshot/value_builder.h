// Evaluates recipes at an exit. Sources are all fetched before anything is built; nothing here runs the user's code.
#pragma once
#include <span>
#include <vector>

#include "guards/locals_view.h"
#include "snapshot/snapshot.h"
#include "tensor/tensor.h"

namespace md {

class ValueBuilder {
 public:
  // Fetches what every Source recipe names; throws Error(Internal) if one is gone, with nothing changed.
  ValueBuilder(const Snapshot& snapshot, const LocalsView& view);

  // Graph outputs; must be called before build when the snapshot has Output recipes. Takes the handles.
  void set_outputs(std::span<Tensor> outputs);

  // The object of a recipe (null for Null). Each recipe is built at most once.
  Ref build(RecipeId id);
  // Fills the containers made so far. Call after the last build.
  void finish();

 private:
  Ref make(const Recipe& recipe, RecipeId id);
  void fill(RecipeId id);
  const Snapshot& snapshot_;
  std::span<Tensor> outputs_;
  std::vector<Ref> values_;
  std::vector<char> built_;
  std::vector<RecipeId> to_fill_;
};

}  // namespace md
