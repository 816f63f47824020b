// Evaluates recipes at an exit. All sources are fetched before anything is built; runs no user code.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/inline_array.h"
#include "guards/fetched_objects.h"
#include "snapshot/snapshot.h"
#include "tensor/tensor.h"

namespace md {

class ValueBuilder {
 public:
  // Fetches all Source recipes; throws Error(Internal) if one is gone, with nothing changed. `fetched`: by the
  // region's guards, checked just now; may be null.
  ValueBuilder(const Snapshot& snapshot, const LocalsView& view, const FetchedObjects* fetched = nullptr);

  // Whether the sources still yield the objects that were fetched.
  bool is_current() const;

  // Graph outputs; must be called before build() if the snapshot has Output recipes. Moves the handles.
  void set_outputs(std::span<Tensor> outputs);

  // The object of a recipe (null for Null). Each recipe is built at most once.
  Ref build(RecipeId id);
  // Reuses the object that another builder created for a recipe.
  void share(RecipeId id, Ref object) { values_[id] = std::move(object); }
  // Fills the containers created so far. Call after the last build().
  void finish() {
    if (!to_fill_.empty() || !to_place_.empty()) finish_queued();
  }
  // Releases everything fetched and built; objects that die may run Python code.
  void release();

  // ---- for the functions of recipes.def ----

  const Snapshot& snapshot() const { return snapshot_; }
  const LocalsView& view() const { return view_; }
  Tensor& output(int32_t index) { return outputs_[static_cast<size_t>(index)]; }
  // The objects of the recipe's parts, without the last `left` ones.
  std::vector<Ref> build_parts(const Recipe& recipe, size_t left = 0);
  // Null: not built yet.
  const Ref& built(RecipeId id) const { return values_[id]; }
  // Whether it is available without building anything.
  bool is_there(RecipeId id) const;
  // The value, about to be returned empty, is to be filled by finish().
  void fill_later(RecipeId id);
  // The iterator, about to be returned, is to be advanced when the sequences are complete.
  void place_later(RecipeId id, int position);
  // Whether any recipe is an iterator over a dict.
  bool iterates_dicts();

  struct LateName {
    RecipeId type;
    size_t part;  // index in its recipe
  };
  struct ClassWork {
    std::vector<RecipeId> in_making;  // whose names are being built
    std::vector<LateName> late;       // values of classes that were created without them
  };
  ClassWork& class_work();

 private:
  void finish_queued();
  const Snapshot& snapshot_;
  LocalsView view_;
  std::span<Tensor> outputs_;
  InlineArray<Ref, 16> values_;  // by recipe, null until built
  std::vector<RecipeId> to_fill_;
  std::vector<std::pair<RecipeId, int>> to_place_;  // iterators not yet advanced to their position
  int filling_ = 0;
  std::optional<bool> iterates_dicts_;  // nullopt: not determined yet
  std::unique_ptr<ClassWork> classes_;  // null: no class was created
};

}  // namespace md
