// Row of the op table. Static rows come from ops.def; custom ops and allow_in_graph create rows at run time.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/ops/schema.h"

namespace md {

struct OpRow;

enum class OpKind : uint8_t {
  PointwiseUnary,   // one tensor in, same sizes out
  PointwiseBinary,  // broadcast
  PointwiseTernary,
  Compare,  // broadcast, bool out
  Reduction,
  Matmul,
  Decomposition,  // of matrices, and Fourier transforms
  Softmax,
  View,      // the result aliases argument 0 as the shape rule says; the kernel copies if the rule sets OutSpec::copies
  Creation,  // no tensor operands
  Cast,
  Gather,    // cat, stack, index: copies with loops of their own
  Write,     // argument 0 with some elements replaced; the kernel may receive argument 0 itself as the result
  Random,    // advances the random generator
  HostCall,  // an opaque function, registered by bindings
};

// How the front end determines dtypes before the op runs. Graphs have final dtypes; casts are nodes.
enum class Promotion : uint8_t {
  None,          // operands unchanged
  Arithmetic,    // common dtype of tensors and Python numbers
  NoBool,        // Arithmetic; a bool operand is an error (sub)
  BoolToInt,     // bool becomes int64, as with an integer operand (square)
  TrueDivide,    // Arithmetic, integers become the default float
  FloatUnary,    // integers become the default float
  Compare,       // Arithmetic for the operands, bool result
  Same,          // all tensor operands must have the same dtype (matmul)
  SameOrFactor,  // Same, but a last operand of rank 0 promotes as in Arithmetic (lerp)
};

// One result of a shape rule. For a view: strides, and the offset from argument 0's first element, in elements of the
// result.
struct OutSpec {
  TensorSpec spec;
  Dim view_offset = 0;
  bool copies = false;  // a View row whose result cannot alias here (reshape, contiguous, to): the kernel fills it
};

// args are complete, in schema order, defaults filled in; tensors among them may be fake.
struct OpCall {
  const OpRow& row;
  std::span<const Arg> args;
};

// Throws Error with the op's name and the shapes. Works on Dim, so one rule serves concrete and symbolic sizes.
using ShapeRule = void (*)(const OpCall& call, std::vector<OutSpec>& outs);
// outs are allocated as the shape rule says; inputs are real, with the dtypes chosen by the front end.
using Kernel = void (*)(const OpCall& call, std::span<Tensor> outs);

// An opaque step: custom ops, allow_in_graph calls.
struct HostCall {
  // Makes the results, which are undefined before.
  void (*run)(void* context, const OpCall& call, std::span<Tensor> outs) = nullptr;
  void (*release)(void* context) = nullptr;
  void* context = nullptr;
  bool needs_gil = true;
  // It has no effects but its results, so that a run which meets it may be given up and made again.
  bool repeatable = false;
  // It draws random numbers: made again, its results are others. The state that they come from is restored where a run
  // is given up.
  bool draws = false;
};

// Variants, i.e. where Python sees the op: function minidynamo.f, method Tensor.f, operator slot,
// minidynamo.nn.functional.f, method Tensor.f_ that writes the result to argument 0.
enum OpVariant : uint8_t { kUnseen = 0, kFunction = 1, kMethod = 2, kOperator = 4, kFunctional = 8, kInPlace = 16 };

// Traits. kEagerOnly: its result depends on data or storage, so no graph contains it. kChecksElements: its kernel fails
// for some elements of its tensors (index out of range; integers if it is pointwise). kChecksNumber: for some values of
// its number. kNeedsTensor: at least one of the operands that may be numbers is a tensor. kIsArgument: a result with as
// many dims that is not a copy is argument 0 itself. kCutsGradient: the result never requires grad. kChoosesByNumber:
// the value of its number decides how it is computed, so that a 0-dim tensor in its place may round otherwise.
// kUncounted: a view whose writes are not counted as those of the tensor that it views. kReadOnly: neither the view nor
// views of it are written. kOverlaps: a view that may have an element at several places. kTakesComplex: its tensors may
// be complex. Under autocast (frontends/autocast.h), kLowPrecision: it computes in autocast's dtype; kFullPrecision: in
// float32; kWidestPrecision: in the widest dtype among its operands.
enum OpTrait : uint16_t {
  kPlain = 0,
  kEagerOnly = 1,
  kChecksElements = 2,
  kChecksNumber = 4,
  kNeedsTensor = 8,
  kIsArgument = 16,
  kCutsGradient = 32,
  kChoosesByNumber = 64,
  kUncounted = 128,
  kTakesComplex = 256,
  kLowPrecision = 512,
  kFullPrecision = 1024,
  kWidestPrecision = 2048,
  kReadOnly = 4096,
  kOverlaps = 8192,
};

// The role of an op for passes and fusion, which never look at its name.
enum class OpRole : uint8_t {
  None,
  Sum,  // over dims, argument 1; also the next ones
  Mean,
  Largest,
  Smallest,
  Variance,
  Deviation,
  Index,        // self, indices, dims
  IndexSelect,  // self, dim, index
  Embedding,    // index, table
  IndexAdd,     // self, dim, index, source, alpha
  Matmul,       // self, other
  Linear,       // input, weight, bias
  Addmm,        // self, mat1, mat2, beta, alpha
  Convolution,
  Softmax,      // self, dim, dtype
  Permutation,  // a view with the dims in another order
  Select,       // a view: self, dim, index
  Conversion,   // a copy if the dtype differs
  Clone,        // a copy: self, memory_format
  Copy,         // the elements of argument 1 as argument 0 lies, in its dtype
};

struct OpTraits {
  uint16_t bits = 0;  // OpTrait
  OpRole role = OpRole::None;
  constexpr OpTraits(OpTrait trait) : bits(trait) {}
  constexpr OpTraits(int bits) : bits(static_cast<uint16_t>(bits)) {}
  constexpr OpTraits(OpRole role) : role(role) {}
  constexpr OpTraits(int bits, OpRole role) : bits(static_cast<uint16_t>(bits)), role(role) {}
};
constexpr OpTraits operator|(int traits, OpRole role) { return {traits, role}; }

struct OpRow {
  std::string name;  // "add"
  Schema schema;
  OpKind kind;
  Promotion promotion;
  uint8_t variants;  // OpVariant bits
  OpTraits traits = kPlain;
  ShapeRule shape_rule;
  Kernel kernel;       // null for host calls and for views that always alias
  int pointwise = -1;  // row of tensor/simd/pointwise.def, -1 if none
  std::string doc;
  // How gradients flow through it, in the language of autograd/derivative.h; empty for rows made at run time.
  std::string derivative;
  HostCall host_call = {};
  bool has(OpTrait trait) const { return (traits.bits & trait) != 0; }
  OpRole role() const { return traits.role; }
  // In place each element is computed from what operands have at its own place.
  bool works_by_element() const { return pointwise >= 0 || role() == OpRole::Copy; }
  bool follows_autocast() const { return (traits.bits & (kLowPrecision | kFullPrecision | kWidestPrecision)) != 0; }
  bool is_pure() const { return kind != OpKind::Random && kind != OpKind::HostCall; }
  bool draws() const { return kind == OpKind::Random || (kind == OpKind::HostCall && host_call.draws); }
  // Whether minidynamo.f(..., generator=g) draws from g.
  bool takes_generator() const { return kind == OpKind::Random && !schema.returns.empty(); }
  // Whether minidynamo.f(..., out=t) writes the result to t.
  bool takes_out() const { return (variants & kFunction) && kind != OpKind::View && !returns_list(); }
  bool returns_list() const { return !schema.returns.empty() && schema.returns[0] == ParamType::TensorList; }
  // Whether a result of this many dims and this dtype, not a copy, is argument 0 itself.
  bool is_argument(const TensorSpec& given, const TensorSpec& result) const {
    return has(kIsArgument) && given.rank() == result.rank() && given.dtype == result.dtype;
  }
};

// All rows, static ones first. Pointers stay valid for the life of the process.
std::span<const OpRow* const> op_rows();
const OpRow* find_op(std::string_view name);  // nullptr if there is none
// The rows of one Python name, in the order in which they are tried: "max", "max.dim". The
// name without a dot has them all.
std::string_view python_name(const OpRow& row);  // "max" of "max.dim"
std::vector<const OpRow*> op_overloads(std::string_view python_name);
const OpRow* add_op_row(OpRow row);  // run-time rows; an older row of the same name is shadowed, not freed

// Applies the shape rule, once no tensor or dtype among the arguments is complex that the row does not take:
// Error(NotImplemented).
void infer_results(const OpCall& call, std::vector<OutSpec>& outs);

// Runs shape rule and kernel on real tensors, only the shape rule if any tensor is fake, the recorder if any is
// recording. args: complete as in OpCall, dtypes final.
std::vector<Tensor> run_op(const OpRow& row, std::span<const Arg> args);

// Appends the defaults of omitted trailing parameters.
void fill_defaults(const OpRow& row, std::vector<Arg>& args);

// Receives ops on recording tensors.
class Recorder {
 public:
  virtual ~Recorder() = default;
  virtual std::vector<Tensor> record(const OpRow& row, std::span<const Arg> args) = 0;
};

}  // namespace md
