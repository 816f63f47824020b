// The bytes of pre-existing tensors of a region: saved while its plan runs, restored, and compared
// with what Python leaves in them.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace md {

class MemoryImage {
 public:
  // Call before the plan. Each storage is saved once.
  void keep(const Tensor& tensor);
  // Call after the plan: records the current contents as expected and restores the saved ones.
  void put_back();
  // The region's exit would copy the elements of `value` into `target`, counted as `count` writes.
  void expect_write(const Tensor& target, const Tensor& value, int count);
  // Where memory differs from the expectation, "" if nowhere; `captured` and `python` are set to the differing tensors.
  std::string difference(Tensor& captured, Tensor& python) const;
  const std::vector<StoragePtr>& storages() const { return kept_; }

 private:
  struct Kept {
    StoragePtr before, expected;  // copies
    uint64_t version;             // at the start, later the expected one
    std::vector<Tensor> written;
  };
  Kept* find(const Storage* storage);
  // Two objects of another library may lie in one memory, of which each has a storage of its own.
  bool is_part_of_written(const Storage& storage) const;
  std::vector<StoragePtr> kept_;
  std::vector<Kept> images_;  // of these
};

}  // namespace md
