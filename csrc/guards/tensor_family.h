// The interface of a tensor library to capture: one static row per family of types. Guards, inputs, effects and results
// ask the row of the object that they have; no room above frontends/ names a library. Rows, their rules and their
// objects are in frontends/, one folder each.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpython/ref.h"
#include "tensor/ops/op_row.h"
#include "tensor/tensor.h"
#include "tensor/tensor_modes.h"

namespace md {

enum class ValueForm : uint8_t;
struct BinaryOperator;
struct GraphFace;
struct IndexPlan;
struct PromotionOperand;
struct TensorAttribute;
struct TensorCallable;

// The strides of an object, in elements. Libraries that count bytes have them as a power of two of those.
class Strides {
 public:
  Strides(const int64_t* words = nullptr, int shift = 0) : words_(words), shift_(shift) {}
  int64_t operator[](int i) const { return words_[i] >> shift_; }
  // Of tensors of the engine's own.
  const int64_t* in_elements() const { return words_; }

 private:
  const int64_t* words_;
  int shift_;
};

// What a tensor object is now. Borrowed from the object: valid while it lives and is not resized.
struct TensorView {
  DType dtype = DType::float32;
  bool requires_grad = false;
  int rank = 0;
  const int64_t* sizes = nullptr;
  Strides strides = {};
  void* data = nullptr;           // of the first element; null if the tensor shares memory until it is read
  uint64_t witness = 0;           // a word of the library's own that guards compare unread
  const char* refusal = nullptr;  // why read() returned false
  TensorSpec spec() const;
};

// Thread-local modes and defaults of a library that decide what its operations mean.
using StateWords = std::array<uint64_t, 4>;

// The modes among them that programs switch inside functions.
struct GradModes {
  bool grad = true, inference = false;
  AutocastState autocast = {};  // of our own tensors
  int autocast_blocks = 0;      // of another library, that the thread is in
  bool records_gradient() const { return grad && !inference; }
  bool operator==(const GradModes&) const = default;
};

// Switches a library's modes for as long, where they are others: its grad mode, or all of them.
class ModeSwitch {
 public:
  using Read = GradModes (*)();
  using Write = void (*)(const GradModes& modes);
  ModeSwitch(Read modes, Write set_modes, const GradModes& during)
      : set_modes_(set_modes), before_(modes()), is_switched_(before_ != during) {
    if (is_switched_) set_modes_(during);
  }
  ModeSwitch(Read modes, Write set_modes, bool grad) : ModeSwitch(modes, set_modes, with_grad(modes(), grad)) {}
  ~ModeSwitch() {
    if (is_switched_) set_modes_(before_);
  }
  ModeSwitch(const ModeSwitch&) = delete;
  ModeSwitch& operator=(const ModeSwitch&) = delete;

 private:
  static GradModes with_grad(GradModes modes, bool grad) {
    modes.grad = grad;
    return modes;
  }

  Write set_modes_;
  GradModes before_;
  bool is_switched_;
};

// Converts a list, a nested tuple or an array in a key to a tensor; may be null: such keys are NotImplemented. It may
// return a fake of int64 indices, which the plan then contains.
using TensorFromKey = std::function<Tensor(BorrowedRef)>;

struct NeutralKeyword {
  const char* name;
  PyObject* value;
};

// What a view of an object has not of the object.
struct ViewTraits {
  // Where it forgets the object, as detach() does: not at all, in its last step, or before other steps.
  enum class Detached : uint8_t { No, Last, First };
  Detached detached = Detached::No;
  bool uncounted = false;       // it has a count of writes of its own, as torch's `data`
  bool read_only = false;       // whatever the object is
  bool one_of_several = false;  // made by what makes several views: under a history it is not written
  bool is_apart() const { return detached != Detached::No || read_only; }  // never the object itself
};

// The gradients that a library keeps with its tensors.
struct GradientAccess {
  // Borrowed, without running code: what the attribute `grad` of a leaf is, None or a tensor. Null: it is no leaf, or
  // hooks see its gradients.
  PyObject* (*get)(PyObject* object);
  void (*set)(PyObject* object, PyObject* gradient);
  // Whether something in the state of this thread watches how gradients are computed.
  bool (*are_watched)();
  // The result with the history of an operation on the leaves that has been gone back through: a new object. Null: the
  // engine's own.
  Ref (*with_freed_history)(BorrowedRef result, std::span<const Ref> leaves);
};

struct TensorFamily {
  const char* name;  // in texts
  int rank;          // of two families in one operation, the higher one answers

  // ---- objects

  // Reads the object without allocating. False: it is not captured, for the reason in `view`. Call read_view().
  bool (*read)(PyObject* object, TensorView& view);
  bool (*is_writable)(PyObject* object);
  // For a family whose objects contain a Tensor: that tensor; read() is then null. Null: hold() makes a tensor over the
  // memory that read() describes.
  const Tensor& (*contained)(PyObject* object);
  // A new object of a result. Null: results are objects of empty() and alias().
  Ref (*wrap)(Tensor tensor);
  // A new object with uninitialised memory of the library's own; `view.data` is ignored.
  Ref (*empty)(const TensorView& view);
  // The library's own view of an object.
  Ref (*alias)(PyObject* owner, const TensorView& view, ViewTraits traits);
  // The object's memory has been written, `count` times: version counters. May be null.
  void (*written)(PyObject* object, int count);
  // How many writes it has counted of an object's memory. May be null: it has no counters.
  int64_t (*writes)(PyObject* object);
  // False: no parameter, as models have them. Else how many writes the library has counted. May be null: it has none.
  bool (*parameter_version)(PyObject* object, uint64_t& version);
  // The exact type of a new tensor: a library may have scalars for rank 0.
  PyTypeObject* (*result_type)(DType dtype, int rank);
  // The family of results of this rank that are no views; null: this one. Families of one library have one name, and
  // mix.
  const TensorFamily* (*family_of_result)(int rank);
  // Whether each change of an object's dtype, sizes, strides and flags increments tensor_changes(). False: its objects
  // are read again at every check.
  bool counts_changes;

  // ---- state: the guard GLOBAL_STATE compares the words

  StateWords (*state)();
  // "grad_mode=True default_dtype=float32"
  std::string (*state_text)(const StateWords& words);
  // "grad_mode": the parts that differ.
  std::string (*state_difference)(const StateWords& expected, const StateWords& now);
  // Why nothing is captured in the state of this thread, null if it is; may itself be null.
  const char* (*unusual_state)();
  // The dtype of tensors made of numbers, which then counts in the place of ours; null: ours.
  DType (*default_dtype)() = nullptr;
  GradModes (*modes)();
  void (*set_modes)(const GradModes& modes);
  const GradientAccess* gradients;  // null: they are not captured
  // How many threads the library uses; null: as many as we do.
  int (*thread_count)();
  // Of a library that records operations on tensors that require grad: recorder(backward, saved, results, *inputs)
  // makes new objects the results of one operation on the inputs, for which backward(saved, gradients) computes the
  // gradients of the inputs, from tuples. Null: it records none.
  BorrowedRef (*recorder)();
  // Of that state: the floating-point exceptions that the program sees, as bits of MXCSR. A run that meets one is
  // Python's. May be null: none.
  uint32_t (*watched_flags)(const StateWords& words);
  // Whether an operation that writes to a tensor reads all of its operands first, where they overlap the tensor in
  // part. False: what it computes then, or that it raises, is the library's.
  bool reads_before_it_writes;
  // Whether it is an error to write a tensor where it overlaps an operand in part.
  bool refuses_overlap;
  // Whether an element is stored into one of another dtype, in place; may be null: as the engine has it.
  bool (*may_store)(DType from, DType to);
  // Whether a Python number is stored into an element as the engine does it; null: any number. May itself be null:
  // always.
  bool (*may_store_number)(DType dtype, const Scalar* number);

  // ---- the language of its programs

  const TensorAttribute* (*attribute)(std::string_view name);  // null: looked up as on any other object
  const TensorCallable* (*find)(PyObject* callable);           // null: nothing is known of it
  // Whether regions call it as it is, by its type or a mark of the library's; may be null.
  bool (*is_opaque)(PyObject* callable);
  const OpRow* (*binary_operator)(const BinaryOperator& op);  // null: not captured
  const OpRow* (*compare_operator)(int py_op);                // Py_LT .. Py_GE
  const OpRow* (*unary_operator)(char op);                    // '-', '~', '+'
  IndexPlan (*index)(const TensorSpec& spec, BorrowedRef key, const TensorFromKey& as_tensor);
  bool has_byte_masks = false;  // an index of dtype uint8 is a mask
  // Whether x[mask] = f(x[mask]) is captured as a write of the whole tensor. False: x[mask] is a graph break.
  bool updates_at_masks = false;
  // int(), float() and bounds of slices take a tensor of one element whatever its rank. False: of rank 0 alone.
  bool converts_any_rank;
  // Whether iter() of a tensor finds each element by its index when it is asked for it, as it then is. False: all at
  // once.
  bool iterates_by_index;
  std::vector<std::optional<DType>> (*promote)(const OpRow& row, std::span<const PromotionOperand> operands);
  // The strides of a new result whose elements follow from those of operands, broadcast; null: as the engine's rules
  // say.
  DimVec (*result_strides)(const DimVec& sizes, std::span<const TensorSpec* const> operands);
  // Whether its functions take Python numbers for tensors; promote() then says which dtype each has.
  bool takes_numbers;
  // The library's function that makes a tensor of a list or tuple, which its operators and assignments take for one:
  // called with the sequence, and with the dtype to which it is stored. Null: they take none.
  BorrowedRef (*sequence_converter)();
  // The library's objects for a dtype (null if it has none) and for sizes, and the type of the latter.
  BorrowedRef (*dtype_object)(DType dtype);
  Ref (*size_object)(std::span<const int64_t> sizes);
  PyTypeObject* (*size_type)();
  // The function __hash__ of its tensors, which returns their ids, or None if they are hashed otherwise or not at all;
  // null: they inherit that of object.
  BorrowedRef (*hash_function)();
  // The form of an argument that is not a tensor of a trace, and its value for a parameter; throws as the library does.
  ValueForm (*form)(BorrowedRef value);
  Arg (*argument)(const OpRow& row, const Param& param, BorrowedRef value);
  // Keywords beyond those of our rows that change nothing with this value, or with None: layout=torch.strided.
  std::span<const NeutralKeyword> (*neutral_keywords)();
  // The object of the default family in the place of the library's (dtypes, devices, memory formats, return types), and
  // the reverse; other objects are returned unchanged. Both null: they are the same.
  Ref (*to_own)(BorrowedRef object);
  Ref (*from_own)(BorrowedRef object);

  // Of a function whose tensors are the library's and which regions call as it is: trace(function, *args, **kwargs),
  // called as symbolic/tensors/traced_calls.h says, appends the call. Null: there are none.
  BorrowedRef (*opaque_tracer)();

  // Calls a function of the library in such a way that what would warn raises; null: an exception is set. Null: it
  // never warns.
  Ref (*call_raising)(BorrowedRef function, PyObject* const* arguments, size_t positional, BorrowedRef keyword_names);
  // An object over memory that `owner` keeps, which nothing writes. Null: it has none, or `wrap` makes all objects.
  Ref (*over_memory)(PyObject* owner, const TensorView& view);

  // ---- graphs of its programs, as backends and logs see them

  const GraphFace* face;  // null: as those of the default family
  // An object that has the facts of a tensor and no data. May throw PythonError.
  Ref (*fake)(const TensorSpec& spec);
};

inline bool are_kin(const TensorFamily& one, const TensorFamily& other) {
  return &one == &other || std::string_view(one.name) == other.name;
}
inline const TensorFamily* family_of_result(const TensorFamily* family, int rank) {
  return family->family_of_result != nullptr ? family->family_of_result(rank) : family;
}
// Whether its objects are those that the library has for rank 0 in the place of tensors, as NumPy's scalars.
inline bool holds_scalars(const TensorFamily& family) { return family_of_result(&family, 1) != &family; }
// The floating-point exceptions that the library's programs see now, as bits of MXCSR.
inline uint32_t flags_watched_by(const TensorFamily& family) {
  return family.watched_flags == nullptr ? 0 : family.watched_flags(family.state());
}
inline Ref own_object(const TensorFamily& family, BorrowedRef object) {
  return family.to_own != nullptr ? family.to_own(object) : Ref::share(object);
}
inline Ref object_in(const TensorFamily& family, BorrowedRef own) {
  return family.from_own != nullptr ? family.from_own(own) : Ref::share(own);
}

// Exact types only; a type belongs to one family. Called at import or when a capture first meets the library, under the
// GIL; the row and the type live as long as the process.
void register_tensor_type(PyTypeObject* type, const TensorFamily& family);
// `loader` is called with the name of a module when it is in sys.modules, once, to make its types a family.
void add_family_loader(BorrowedRef module_name, BorrowedRef loader);
// Calls the loaders whose modules are there by now, unless they are still being imported. Throws PythonError.
void load_families();
// Null: not a tensor. One look into a hash table.
const TensorFamily* find_family(PyTypeObject* type);
inline const TensorFamily* family_of(BorrowedRef object) { return find_family(object.type()); }
// Each family once, in order of registration.
std::span<const TensorFamily* const> tensor_families();
// The family whose objects for sizes have this type; null: it is not such a type, or tuple.
const TensorFamily* family_of_sizes(PyTypeObject* type);
// The family of results that no operand determines, and of the graphs that backends receive.
const TensorFamily& default_family();

// An owner of the memory of an object of the family, whose storage counts as shared with other code unless the object
// contains the tensor; undefined if it is not captured.
Tensor hold_memory(const TensorFamily& family, BorrowedRef object);
inline Tensor hold(const TensorFamily& family, BorrowedRef object) {
  return family.contained != nullptr ? Tensor(family.contained(object)) : hold_memory(family, object);
}
// What a tensor is; only for real ones.
inline TensorView view_of(const TensorImpl& impl) {
  TensorView view;
  view.dtype = impl.dtype();
  view.requires_grad = impl.spec().requires_grad;
  view.rank = impl.rank();
  view.sizes = impl.sizes();
  view.strides = impl.strides();
  view.data = impl.memory();
  return view;
}
inline Reach reach_of(const TensorView& view) { return reach_of(view.rank, view.sizes, view.strides); }
// How many elements the memory of a view has, from its lowest to its highest.
inline int64_t extent_of(const TensorView& view) { return reach_of(view).count(); }
// The same sizes and strides.
inline bool same_layout(const TensorView& one, const TensorView& other) {
  if (one.rank != other.rank || !std::equal(one.sizes, one.sizes + one.rank, other.sizes)) return false;
  for (int i = 0; i < one.rank; ++i)
    if (one.strides[i] != other.strides[i]) return false;
  return true;
}
// The same in all but where the memory is.
inline bool is_alike(const TensorView& one, const TensorView& other) {
  return one.dtype == other.dtype && one.requires_grad == other.requires_grad && same_layout(one, other);
}
// False: the object is not captured, for the reason in `view`.
bool read_view(const TensorFamily& family, PyObject* object, TensorView& view);
// Whether the object is a tensor whose first element is at a multiple of that number of bytes.
bool lies_at_multiple(BorrowedRef object, int64_t bytes);
// The same for any object; undefined if it is not a tensor.
Tensor tensor_of_object(BorrowedRef object);
// The family for which the callable is opaque; null: none.
const TensorFamily* family_of_opaque(PyObject* callable);
// The row of a callable of any family; null if none knows it.
const TensorCallable* find_tensor_callable(PyObject* callable);

}  // namespace md
