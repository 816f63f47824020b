// One guarded fact as stated by the tracer, and the tables of what each kind of guard does.
#pragma once
#include <memory>
#include <vector>

#include "guards/guard_kind.h"
#include "guards/guard_set.h"
#include "guards/guarded_ref.h"
#include "guards/number_code.h"
#include "guards/size_place.h"
#include "guards/tensor_family.h"
#include "tensor/dim_code.h"

namespace md {

struct TensorExpectation {
  const TensorFamily* family = nullptr;
  DType dtype = DType::float32;
  bool requires_grad = false;
  int rank = 0;
  uint64_t witness = 0;
  std::vector<int64_t> dims;  // sizes, then strides; kAnyDim where symbolic
  // For a tensor with symbolic sizes, per dim: the inner dim whose extent determines its
  // stride; -1: the stride is constant. Plus rank: the stride has the other sign than that of the inner dim.
  std::vector<int> stride_over;
  // If the guard includes that the object has no instance dict: the offset of the dict pointer; else 0.
  Py_ssize_t no_dict_at = 0;
  bool has_dict(PyObject* object) const {
    return no_dict_at != 0 && *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + no_dict_at) != nullptr;
  }
  static constexpr int64_t kAnyDim = INT64_MIN;
};

struct SizeExpectation {
  DimRelation relation = DimRelation::Equal;
  DimCode left, right;
  std::vector<SizePlace> places;     // of the code's symbols, in order; at most kMostSizes
  std::vector<uint32_t> registers;   // of their sources
  std::vector<std::string> symbols;  // their names
  std::string left_text, right_text;
};
inline constexpr size_t kMostSizes = 32;  // in one relation

struct StateExpectation {
  const TensorFamily* family = nullptr;
  StateWords words{};
};

struct Guard {
  GuardKind kind = GuardKind::TYPE_MATCH;
  const Source* source = nullptr;  // null: GLOBAL_STATE, RECURSION_LIMIT
  const Source* other = nullptr;   // ALIAS, NOT_ALIAS
  GuardedRef object;  // type, constant, object, code or key; for TENSOR_MATCH the type, for NUMBER the result
  SameConstant same_constant = nullptr;  // EQUALS_MATCH, NUMBER
  Py_ssize_t length = 0;
  std::vector<GuardedRef> keys;  // DICT_KEYS
  TensorExpectation tensor;
  std::unique_ptr<SizeExpectation> size;  // SHAPE; of NUMBER and APART only the places and registers
  std::unique_ptr<NumberCode> number;     // NUMBER
  StateExpectation state;

  PyTypeObject* type() const { return reinterpret_cast<PyTypeObject*>(object.get().get()); }
};

// Whether kind, sources and operand are the same.
bool same_guard(const Guard& a, const Guard& b);
// Whether `stronger` implies `weaker`. False for equal kinds.
bool implies(const Guard& stronger, const Guard& weaker);

// Whether a key of a guarded dict is the expected one: constants compare by value, other objects by identity.
bool is_expected_key(PyObject* key, const GuardedRef& expected);

// The type flags that say whether instances match sequence or mapping patterns; registering the
// class with an ABC changes them.
inline Py_ssize_t pattern_flags(const PyTypeObject* type) {
  return static_cast<Py_ssize_t>(type->tp_flags & (Py_TPFLAGS_SEQUENCE | Py_TPFLAGS_MAPPING));
}

// Incremented by every registration with an abstract base class.
Py_ssize_t current_abc_token();

// The condition as Python source: `L['n'] == 3`.
std::string condition(const Guard& guard, const Bytecode& bytecode);
// Why the guard failed on these objects (null if a source found nothing).
std::string failure(const Guard& guard, PyObject* object, const Bytecode& bytecode);
// The same without values: one text for all objects that fail in the same way.
std::string failure_without_values(const Guard& guard, PyObject* object, const Bytecode& bytecode);

}  // namespace md
