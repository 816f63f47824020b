// What this machine does at best: the bound of a step's time in reports. Nothing else may depend on it.
#pragma once
#include <vector>

#include "executor/plan_facts.h"

namespace md {

class Ceilings {
 public:
  // With the number of threads that is set; measured at the first call for it, which takes about a tenth of a second.
  static const Ceilings& measured();

  // The time for copying as many bytes, at the rate of the cache that holds them, or for the products of that dtype,
  // whichever is longer. int8: bytes in the dot products of processors that have them.
  double least_ns(const Work& work) const;
  double bytes_per_ns(double working_set) const;
  double flops_per_ns(DType dtype) const;

 private:
  struct CopyRate {
    double working_set;  // bytes read and written
    double bytes_per_ns;
  };
  struct ProductRate {
    DType dtype;
    double flops_per_ns;
  };

  explicit Ceilings(int threads);

  std::vector<CopyRate> copies_;  // ascending
  std::vector<ProductRate> products_;
};

}  // namespace md
