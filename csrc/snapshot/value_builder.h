// Evaluates recipes at an exit. Sources are all fetched before anything is built; nothing here runs the user's code.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/inline_array.h"
#include "guards/guard_memory.h"
#include "snapshot/snapshot.h"
#include "tensor/tensor.h"

namespace md {

class ValueBuilder {
 public:
  // Fetches what every Source recipe names; throws Error(Internal) if one is gone, with nothing changed.
  // `memory`: of the region's guards, that were checked just now; may be null.
  ValueBuilder(const Snapshot& snapshot, const LocalsView& view, const GuardMemory* memory = nullptr);

  // Whether the sources still give what was fetched.
  bool is_current() const;

  // Graph outputs; must be called before build when the snapshot has Output recipes. Takes the handles.
  void set_outputs(std::span<Tensor> outputs);

  // The object of a recipe (null for Null). Each recipe is built at most once.
  Ref build(RecipeId id);
  // The object of a recipe that another builder made.
  void share(RecipeId id, Ref object) { values_[id] = std::move(object); }
  // Fills the containers made so far. Call after the last build.
  void finish() {
    if (!to_fill_.empty() || !to_place_.empty()) finish_queued();
  }
  // Lets go of everything fetched and built; what dies may run Python code.
  void release();

 private:
  Ref make(const Recipe& recipe, RecipeId id);
  void finish_queued();
  void fill(RecipeId id);
  void fill_dict(PyObject* dict, const std::vector<RecipeId>& parts, size_t first);
  bool is_there(RecipeId id) const;
  Ref make_class(const Recipe& recipe, RecipeId id);
  bool is_given_to_type(RecipeId value);
  Ref call_on_iterators(PyTypeObject* type, std::span<const Ref> parts, size_t first, size_t last,
                        PyObject* name = nullptr);
  void fill_class(PyObject* type, const Recipe& recipe, RecipeId id);
  const Snapshot& snapshot_;
  LocalsView view_;
  std::span<Tensor> outputs_;
  InlineArray<Ref, 16> values_;  // by recipe, null until built
  std::vector<RecipeId> to_fill_;
  std::vector<RecipeId> to_place_;  // iterators that are still at their beginning
  int filling_ = 0;
  std::optional<bool> iterates_dicts_;  // an iterator over a dict is among the recipes; not set: not asked yet
  struct LateName {
    RecipeId type;
    size_t part;  // of its recipe
  };
  struct ClassWork {
    std::vector<RecipeId> in_making;  // of which the names are being built
    std::vector<LateName> late;       // held by a class that was made without them
  };
  std::unique_ptr<ClassWork> classes_;  // null: none was made
};

}  // namespace md
