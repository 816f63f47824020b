// Compares the objects that a region returns with those of eager Python: the same types, contents and identities. Two
// object graphs are traversed in parallel; each object of one side corresponds to one of the other. An object that
// existed before the region corresponds to itself. Numbers and strings, and tuples of nothing else, have no identity.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cpython/ref.h"
#include "tensor/tensor.h"

namespace md {

struct ValueDifference {
  std::string place;  // local 'x'[0].weight
  std::string text;
  Ref captured, python;
};

class ValueComparison {
 public:
  // `tolerance` of Python floats, relative.
  explicit ValueComparison(double tolerance) : tolerance_(tolerance) {}

  // Declares a pair that existed before the comparison.
  void know(BorrowedRef captured, BorrowedRef python);
  void know(BorrowedRef object) { know(object, object); }
  void know_storage(const StoragePtr& storage);
  // The exception links set by `raise` may be set on one side only.
  void ignore_exception_links() { ignores_links_ = true; }
  // The elements of a captured tensor are uninitialised memory.
  void ignore_elements(BorrowedRef tensor);
  // Its elements are computed from floats rounded to this tolerance.
  void loosen(BorrowedRef tensor, double tolerance);
  bool is_known(BorrowedRef captured) const { return python_of_.contains(captured.get()); }
  // The counterpart of a captured object; the object itself if it has none.
  PyObject* python_of(BorrowedRef captured) const;

  // Null: unset. After the first difference nothing more is compared.
  void compare(const std::string& place, BorrowedRef captured, BorrowedRef python);
  // Compares two dicts by their entries, ignoring their identity.
  void compare_entries(const std::string& place, BorrowedRef captured, BorrowedRef python);
  // Lists as returned by items_of_dict().
  void compare_items(const std::string& place, BorrowedRef ours, BorrowedRef theirs);
  void differ(const std::string& place, std::string text, BorrowedRef captured = nullptr, BorrowedRef python = nullptr);
  const std::optional<ValueDifference>& difference() const { return difference_; }

 private:
  struct Pair {
    std::string place;
    Ref captured, python;
  };
  void run();
  void compare_pair(const Pair& pair);
  void push(std::string place, BorrowedRef captured, BorrowedRef python);
  void push_attribute(const Pair& pair, const char* name);
  bool same_types(const Pair& pair);
  bool pair_up(const Pair& pair);
  bool compare_atoms(const Pair& pair);
  void look_inside(const Pair& pair);
  bool look_inside_container(const Pair& pair);
  bool look_inside_callable(const Pair& pair);
  void look_inside_instance(const Pair& pair);
  void look_inside_class(const Pair& pair);
  void look_inside_exception(const Pair& pair);
  void look_inside_function(const Pair& pair);
  void look_inside_tensor(const Pair& pair);
  void look_inside_set(const Pair& pair);
  void look_inside_reduced(const Pair& pair);
  void push_slots(const Pair& pair);
  void push_items(const Pair& pair, BorrowedRef captured, BorrowedRef python);

  double tolerance_;
  std::unordered_map<PyObject*, PyObject*> python_of_, captured_of_;
  std::unordered_map<const void*, const void*> memory_, captured_memory_;
  std::unordered_set<PyObject*> undefined_;
  std::unordered_map<PyObject*, double> tolerances_;  // of captured tensors
  std::vector<Ref> kept_;                             // keeps objects alive: the maps are keyed by address
  std::vector<Pair> pairs_;
  std::optional<ValueDifference> difference_;
  bool is_running_ = false;
  bool ignores_links_ = false;
};

}  // namespace md
