// The bytes of tensors that are there before a region: kept while its plan runs, put back, and compared with what Python leaves in them.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace md {

class MemoryImage {
 public:
  // Before the plan. One storage is kept once.
  void keep(const Tensor& tensor);
  // After it: what is in memory now is what it is expected to be, and what was kept is there again.
  void put_back();
  // The region's exit would copy the elements of `value` into `target`, which counts as `count` writes.
  void expect_write(const Tensor& target, const Tensor& value, int count);
  // Where memory is another than expected, "" if nowhere; `captured` and `python` become the tensors that differ.
  std::string difference(Tensor& captured, Tensor& python) const;
  const std::vector<StoragePtr>& storages() const { return kept_; }

 private:
  struct Kept {
    StoragePtr before, expected;  // copies
    uint64_t version;             // as it was, later what it is expected to be
    std::vector<Tensor> written;
  };
  Kept* find(const Storage* storage);
  std::vector<StoragePtr> kept_;
  std::vector<Kept> images_;  // of these
};

}  // namespace md
