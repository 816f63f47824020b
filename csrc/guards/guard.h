// One fact as the walk stated it, and the tables that say what each kind of guard does.
#pragma once
#include <memory>
#include <vector>

#include "guards/guard_set.h"
#include "guards/held_object.h"
#include "guards/size_place.h"
#include "guards/tensor_type.h"
#include "tensor/dim_code.h"
#include "tensor/tensor_modes.h"

namespace md {

struct TensorExpectation {
  const Tensor& (*unwrap)(PyObject*) = nullptr;
  DType dtype = DType::float32;
  bool requires_grad = false;
  int rank = 0;
  std::vector<int64_t> dims;  // sizes, then strides; kAnyDim where it is symbolic
  // By dim, of a tensor with symbolic sizes: the dim over whose elements its stride goes; -1: the stride is the number.
  std::vector<int> stride_over;
  // Where its objects keep the dict of attributes that a program sets, if that there is none is part of the guard; else 0.
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
  TensorModes modes;
  DType default_dtype = DType::float32;
};

struct Guard {
  GuardKind kind = GuardKind::TYPE_MATCH;
  const Source* source = nullptr;        // null: GLOBAL_STATE, RECURSION_LIMIT
  const Source* other = nullptr;         // ALIAS, NOT_ALIAS
  HeldObject object;                     // type, constant, object, code or key; of TENSOR_MATCH the type
  SameConstant same_constant = nullptr;  // EQUALS_MATCH
  Py_ssize_t length = 0;
  std::vector<HeldObject> keys;  // DICT_KEYS
  TensorExpectation tensor;
  std::unique_ptr<SizeExpectation> size;  // SHAPE
  StateExpectation state;

  PyTypeObject* type() const { return reinterpret_cast<PyTypeObject*>(object.get().get()); }
};

// The same kind, sources and operand.
bool same_guard(const Guard& a, const Guard& b);
// Where `stronger` holds, `weaker` holds too. False for equal kinds.
bool implies(const Guard& stronger, const Guard& weaker);

// A key of a guarded dict is the expected one: a constant by value, anything else by identity.
bool is_expected_key(PyObject* key, const HeldObject& expected);

// Whether objects of a class are sequences or mappings for patterns: registering the class with an abstract base class changes that.
inline Py_ssize_t pattern_flags(const PyTypeObject* type) {
  return static_cast<Py_ssize_t>(type->tp_flags & (Py_TPFLAGS_SEQUENCE | Py_TPFLAGS_MAPPING));
}

// Grows with every class that is registered with an abstract base class.
Py_ssize_t current_abc_token();

// The condition as Python would write it: `L['n'] == 3`.
std::string condition(const Guard& guard, const Bytecode& bytecode);
// Why the guard failed on these objects (null where a source found nothing).
std::string failure(const Guard& guard, PyObject* object, const Bytecode& bytecode);
// The same for all objects on which it fails in the same way.
std::string failure_without_values(const Guard& guard, PyObject* object, const Bytecode& bytecode);

}  // namespace md
