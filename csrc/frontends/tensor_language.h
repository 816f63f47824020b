// The words of a family's programs: what its attributes and callables mean.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "graph/graph.h"
#include "guards/tensor_family.h"

namespace md {

struct ConversionMethod;
struct TensorFact;
struct TensorCallable;

struct TensorAttribute {
  enum class Kind : uint8_t {
    Shape,     // the sizes
    Fact,      // follows from dtype, sizes and strides
    View,      // an op without further arguments
    Constant,  // always `value`
    StandIn,   // what a Python function over our tensors returns
    Part,      // a new object of the library's that stands for the tensor
    Gradient,  // the gradient of a leaf
    GradNode,  // the node of its history
    Leaf,      // whether it has none
  };
  Kind kind;
  const TensorFact* fact = nullptr;
  const OpRow* row = nullptr;
  PyObject* value = nullptr;                 // immortal
  const TensorCallable* stand_in = nullptr;  // never destroyed
  bool sets_data = false;                    // View: what is stored becomes the tensor's memory
  PyTypeObject* part = nullptr;              // immortal, as the function that makes one of a tensor, which is `value`
};

using TensorAttributes = std::unordered_map<std::string_view, TensorAttribute>;
// The shape, the facts that are no methods, and the views.
TensorAttributes common_attributes();
const TensorAttribute* find_attribute(const TensorAttributes& rows, std::string_view name);

enum class TensorCallableKind : uint8_t {
#define MD_TENSOR_CALLABLE(name, doc) name,
#include "frontends/tensor_callables.def"
#undef MD_TENSOR_CALLABLE
};

// Why a callable is not captured.
enum class TensorRefusal : uint8_t {
#define MD_TENSOR_REFUSAL(name, reason, doc) name,
#include "frontends/tensor_refusals.def"
#undef MD_TENSOR_REFUSAL
};

// In which memory format a callable's results of rank 4 and 5 are new, where the op that computes them takes another.
enum class ResultLayout : uint8_t {
#define MD_RESULT_LAYOUT(name, doc) name,
#include "frontends/result_layouts.def"
#undef MD_RESULT_LAYOUT
};

struct TensorCallable {
  TensorCallableKind kind;
  const TensorFamily* family = nullptr;
  std::string_view name = {};        // in breaks; lives as long as the process
  const OpRow* row = nullptr;        // Op, InPlaceOp
  CallForm form = CallForm::Method;  // Op
  const TensorFact* fact = nullptr;  // Fact
  // StandIn: a Python function; Constant: the object; Asked, HostCall, Op: the callable
  PyObject* function = nullptr;
  // Op: a Python function over the library's callables, of the callable and of arguments that the row does not take; or
  // null.
  PyObject* elaborate = nullptr;
  // HostCall: the exact type of the object with a state whose method it is; null: a function
  PyTypeObject* self_type = nullptr;
  // StandIn: the callable, if regions call it as it is where the stand-in breaks
  PyObject* as_it_is = nullptr;
  Ref (*answer)() = nullptr;                     // State: a constant
  const ConversionMethod* conversion = nullptr;  // Conversion
  // Breaks; Element, Elements, Fact: where the call is not captured.
  TensorRefusal refusal = TensorRefusal::Method;
  ResultLayout layout = ResultLayout::Computed;
  bool is_of_part = false;       // called with the tensor in the place of what an attribute made of it
  bool takes_complex = true;     // StandIn: of complex numbers it computes what the library's function does
  bool takes_strangers = false;  // a tensor of another library that comes first counts as one of its own
  bool writes_self = false;      // StandIn: writes its first argument
  bool counts_writes = true;     // StandIn: false for writes that the library does not count
  bool returns_arrays = false;   // results of rank 0 as well, where the library has scalars for others
  int blocks = 0;                // AutocastBlock: 1 if it enters one, -1 if it leaves one
  // Dtypes, by bit, for which the library raises and the row does not: of the first tensor, and of an argument `dtype`.
  uint32_t refused = 0, refused_results = 0;
};

// The callables of one family, by identity. Owns them, and is never destroyed.
class TensorCallables {
 public:
  // The first entry of a callable stays.
  void add(BorrowedRef callable, const TensorCallable& meaning);
  const TensorCallable* find(PyObject* callable) const;
  // Sets as_it_is of the entry.
  void call_as_it_is(BorrowedRef callable);

 private:
  std::unordered_map<PyObject*, TensorCallable> by_callable_;
};

}  // namespace md
