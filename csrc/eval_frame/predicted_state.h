// The expected contents of the objects known to a region: copies, to which the region's effects are applied, compared
// afterwards with what Python's own run has left in the originals.
#pragma once
#include <deque>
#include <unordered_map>
#include <variant>
#include <vector>

#include "eval_frame/dict_shadow.h"
#include "eval_frame/memory_image.h"
#include "eval_frame/region_exit.h"
#include "eval_frame/value_comparison.h"
#include "guards/tensor_family.h"

namespace md {

class PredictedState {
 public:
  // Copies everything that the guards' sources name, before the plan runs.
  void keep_known(const GuardSet& guards, const LocalsView& view, ValueComparison& comparison);
  // After the plan, whose writes are undone: applies the effects, which no one else may apply.
  void predict(const std::vector<HeldEffect>& effects, ValueComparison& comparison);
  void compare(ValueComparison& comparison) const;

 private:
  struct Attribute {
    Ref object, name, value;  // null: deleted
  };
  struct Copy {
    Ref object;
    std::variant<Ref, DictShadow> contents;
  };
  // Families may share theirs.
  struct FamilyModes {
    GradModes (*read)();
    GradModes modes;
  };
  void keep(BorrowedRef object);
  Copy* copy_of(BorrowedRef object);
  bool is_new(const HeldEffect& held, ValueComparison& comparison) const;
  void predict_effect(const HeldEffect& held, ValueComparison& comparison);
  void predict_nothing(const HeldEffect& held, ValueComparison& comparison);
  void predict_contents(const HeldEffect& held, ValueComparison& comparison);
  void predict_item(const HeldEffect& held, ValueComparison& comparison);
  void predict_no_item(const HeldEffect& held, ValueComparison& comparison);
  void predict_no_items(const HeldEffect& held, ValueComparison& comparison);
  void predict_attribute(const HeldEffect& held, ValueComparison& comparison);
  void predict_tensor(const HeldEffect& held, ValueComparison& comparison);
  GradModes& modes_of(const TensorFamily* family);
  void predict_grad_mode(const HeldEffect& held, ValueComparison& comparison);
  void predict_inference_mode(const HeldEffect& held, ValueComparison& comparison);
  void predict_autocast_mode(const HeldEffect& held, ValueComparison& comparison);
  void predict_autocast_blocks(const HeldEffect& held, ValueComparison& comparison);
  DictShadow* changed_entries(const HeldEffect& held, BorrowedRef value, ValueComparison& comparison);
  void compare_copy(const Copy& copy, ValueComparison& comparison) const;
  void compare_attribute(const Attribute& attribute, ValueComparison& comparison) const;

  MemoryImage memory_;
  std::deque<Copy> copies_;  // containers, in order of discovery; a deque, so references stay valid
  std::unordered_map<PyObject*, Copy*> by_object_;
  std::vector<Attribute> attributes_;
  std::vector<Attribute> names_;    // in module namespaces, which are not copied
  std::vector<FamilyModes> modes_;  // of all families
};

}  // namespace md
