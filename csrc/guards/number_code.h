// A computation on numbers, as a guard repeats it: constants, numbers read at places, and scalar ops on them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cpython/ref.h"
#include "guards/scalar_ops.h"
#include "guards/size_place.h"
#include "tensor/dim_code.h"

namespace md {

enum class NumberStepKind : uint8_t {
  Constant,
  Place,  // the number at a place of the guard, or a size of the tensor there
  Size,   // an expression over sizes, which are earlier steps
  Op,     // a scalar op on earlier steps
};

struct NumberStep {
  NumberStepKind kind = NumberStepKind::Constant;
  Ref constant = {};
  uint32_t place = 0;
  DimCode size = {};
  std::string size_text = {};
  ScalarOp op = ScalarOp::Add;
  std::vector<uint32_t> operands = {};
};

// The last step is the result.
class NumberCode {
 public:
  // Each returns the index of the new step.
  uint32_t add_constant(Ref constant);
  uint32_t add_place(const SizePlace& place);
  uint32_t add_size(Dim dim, const SymbolList& symbols, std::vector<uint32_t> operands);
  uint32_t add_op(ScalarOp op, std::vector<uint32_t> operands);

  size_t size() const { return steps_.size(); }
  const std::vector<SizePlace>& places() const { return places_; }
  // Null, without an exception, where Python raises or an object is no number. Runs no Python code: collections of
  // garbage wait.
  Ref evaluate(std::span<PyObject* const> objects) const;
  // As Python source, given the texts of the places.
  std::string text(std::span<const std::string> places) const;
  friend bool same(const NumberCode& a, const NumberCode& b);

 private:
  uint32_t add(NumberStep step);
  Ref evaluate(const NumberStep& step, std::span<const Ref> values, std::span<PyObject* const> objects) const;
  std::string text(const NumberStep& step, std::span<const std::string> places) const;
  std::vector<NumberStep> steps_;
  std::vector<SizePlace> places_;
};

}  // namespace md
