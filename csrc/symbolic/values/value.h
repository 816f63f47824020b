// What the trace knows of an object.
//  1. A tensor is symbolic: a value of the graph. Every other object that exists is itself (ObjectValue), with the Source that it came
//     from; what the trace relies on is guarded at the moment that it is looked at, by the weakest guard that makes it valid.
//  2. What the trace itself makes (containers, cells, functions, instances, iterators) is a virtual object: identity is the Value's.
//  3. Values are counted without atomics: a trace belongs to one thread, under the GIL.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "guards/source.h"
#include "guards/tensor_type.h"
#include "snapshot/scalar_ops.h"
#include "snapshot/policy_function.h"
#include "symbolic/values/key_index.h"

namespace md {

enum class ValueKind : uint8_t {
  Null,            // NULL on the stack, an unset local
  Object,          // an object that exists
  Tensor,          // a value of the graph
  Sequence,        // a tuple or list made by the trace
  Dict,            // a dict made by the trace
  Set,             // a set made by the trace, of constants
  Slice,           // a slice made by the trace
  Cell,            // a cell made by the trace, or one that exists
  Function,        // a function made by the trace
  BoundMethod,     // a function and its self
  PolicyFunction,  // a function decorated by the trace: error_on_graph_break(...), disable
  Instance,        // an object of a plain Python class or an exception, made by the trace
  RaisedPart,      // what belongs to an exception that the trace raised and only Python has
  Iterator,        // an iterator made by the trace
  Super,           // a super() made by the trace
  Constructed,     // an object of a C class that never changes, made by calling the class
  Number,          // a number taken out of a tensor (tensor_numbers.h)
  Computed,        // a number or text worked out from numbers that differ from run to run
  DictView,        // keys, values or items of a dict that the trace knows
  Identity,        // id() of an object: which number it is, only the exit knows
  InstanceDict,    // the __dict__ of an object of a plain class
};

class Value;

// A counted pointer to a Value.
template <typename T>
class Handle {
 public:
  Handle() = default;
  Handle(std::nullptr_t) {}
  explicit Handle(T* value) : value_(value) { retain(); }
  Handle(const Handle& other) : value_(other.value_) { retain(); }
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  template <typename U>
  Handle(const Handle<U>& other) : value_(other.get()) {
    retain();
  }
  Handle& operator=(Handle other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Handle() {
    if (value_ != nullptr && --value_->count_ == 0) delete value_;
  }
  T* get() const { return value_; }
  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }
  explicit operator bool() const { return value_ != nullptr; }
  friend bool operator==(const Handle& a, const Handle& b) { return a.value_ == b.value_; }

 private:
  void retain() {
    if (value_ != nullptr) ++value_->count_;
  }
  T* value_ = nullptr;
};

using ValuePtr = Handle<Value>;

class Value {
 public:
  explicit Value(ValueKind kind) : kind(kind) {}
  virtual ~Value() = default;
  Value(const Value&) = delete;
  const ValueKind kind;

 private:
  template <typename T>
  friend class Handle;
  uint32_t count_ = 0;
};

template <typename T, typename... Args>
Handle<T> make_value(Args&&... args) {
  return Handle<T>(new T(std::forward<Args>(args)...));
}
template <typename T>
T* as(const ValuePtr& value) {
  return value && value->kind == T::kKind ? static_cast<T*>(value.get()) : nullptr;
}

struct NullValue : Value {
  static constexpr ValueKind kKind = ValueKind::Null;
  NullValue() : Value(kKind) {}
};

// What the trace has written into an object from outside and not yet done to it; reads see it. Shared by the Values of one object.
struct PendingWrites {
  int64_t first_step = 0;          // of the trace, that wrote
  ValuePtr contents;               // all that the object holds now (SequenceValue, DictValue); null: not looked at
  std::vector<ValuePtr> appended;  // list: while contents is null
  std::vector<std::pair<Ref, ValuePtr>> stores;  // dict keys or attribute names, in order; null: deleted
  const ValuePtr* find(BorrowedRef key) const;   // the last store; null: none

 private:
  mutable KeyIndex index_;
};

struct ObjectValue : Value {
  static constexpr ValueKind kKind = ValueKind::Object;
  ObjectValue(Ref object, const Source* source) : Value(kKind), object(std::move(object)), source(source) {}
  Ref object;
  const Source* source;  // null: a constant, the same at every run (an atom, or reached through guarded objects only)
  bool value_guarded = false;
  bool type_guarded = false;
  bool length_guarded = false;
  bool traced_class = false;     // the model of a class that the trace made (traced_class.h)
  bool opaque_iterator = false;  // entered the region through a slot: its FOR_ITER belongs to the driver
  bool is_dynamic = false;       // a number or range that had other values at this place: not guarded by value
  std::shared_ptr<PendingWrites> writes;
};

// One view of a tensor: the op, its operands (0 is the place of what is viewed), and which result.
struct ViewStep {
  const OpRow* row;
  std::vector<Operand> operands;
  int out;
};

// What a tensor and its views share: written, it becomes a new value of the graph.
struct TensorBase {
  ValueRef original;  // before any write: fixes the layout
  ValueRef current;
  int version = 0;                 // writes so far
  const Source* source = nullptr;  // an input's
  Tensor object;                   // an input's tensor at capture
};

struct TensorValue : Value {
  static constexpr ValueKind kKind = ValueKind::Tensor;
  TensorValue(ValueRef ref, TensorSpec spec) : Value(kKind), ref(ref), spec(std::move(spec)) {}
  ValueRef ref;  // node is null until an input is first used by an op; behind its base when version is
  std::shared_ptr<TensorBase> base;  // null until a view is taken or a write happens
  std::vector<ViewStep> views;       // from base to this
  int version = 0;                   // of the base, when ref was derived
  TensorSpec spec;
  Ref object;                      // inputs: the tensor object at capture
  const Source* source = nullptr;  // inputs
  std::vector<int> stride_over;    // inputs with symbolic sizes: make_symbolic()
  bool guarded = false;            // inputs: TENSOR_MATCH added
};

struct SequenceValue : Value {
  static constexpr ValueKind kKind = ValueKind::Sequence;
  SequenceValue(bool is_list, std::vector<ValuePtr> items) : Value(kKind), is_list(is_list), items(std::move(items)) {}
  bool is_list;
  std::vector<ValuePtr> items;
  ValuePtr type;        // its class: a subclass of tuple or list, named results, or deque; null: tuple or list itself
  ValuePtr maxlen;      // of a deque: a number or None
  int64_t changes = 0;  // of a deque, which must not change while it is gone over
};

// Insertion-ordered; keys are constants, compared by type, value and hash as dict does for exact built-ins.
struct DictValue : Value {
  static constexpr ValueKind kKind = ValueKind::Dict;
  DictValue() : Value(kKind) {}
  struct Entry {
    Ref key;
    ValuePtr value;
  };
  std::vector<Entry> entries;
  int64_t erased = 0;               // entries taken out so far; whatever moves entries counts here
  bool displayed = false;           // made by {...}: no copy of a table from which something was taken out
  ValuePtr type;                    // a subclass of dict; null: dict itself
  ValuePtr factory;                 // of a defaultdict
  Value* owner = nullptr;           // the FunctionValue, which the trace keeps, whose __dict__ this is
  int find(BorrowedRef key) const;  // -1: missing
  void set(BorrowedRef key, ValuePtr value);
  bool erase(BorrowedRef key);

 private:
  mutable KeyIndex index_;
  int find_indexed(BorrowedRef key) const;
};

// A real set does what the program does, so that the order is Python's own. No other reference to it exists.
struct SetValue : Value {
  static constexpr ValueKind kKind = ValueKind::Set;
  SetValue() : SetValue(check(PySet_New(nullptr))) {}
  explicit SetValue(Ref set) : Value(kKind), set(std::move(set)) {}
  Ref set;                    // of keys (Tracer::key_of)
  int64_t creation_step = 0;  // of the trace
  int64_t changes = 0;        // an iterator looks through the set again after one
  bool contains(BorrowedRef item) const;
  void add(BorrowedRef item) { check_status(PySet_Add(to_change(), item)); }
  PyObject* to_change() {
    ++changes;
    return set;
  }
};

struct SliceValue : Value {
  static constexpr ValueKind kKind = ValueKind::Slice;
  SliceValue(ValuePtr start, ValuePtr stop, ValuePtr step)
      : Value(kKind), start(std::move(start)), stop(std::move(stop)), step(std::move(step)) {}
  ValuePtr start, stop, step;
};

struct CellValue : Value {
  static constexpr ValueKind kKind = ValueKind::Cell;
  CellValue() : Value(kKind) {}
  ValuePtr contents;               // null: empty; a cell that exists is read when first needed
  Ref object;                      // a cell that exists
  const Source* source = nullptr;  // of that cell
  bool loaded = true;              // contents are known
  bool stored = false;             // a cell that exists was written: an effect at the exit
  bool holds_names = false;        // of the class that it is said to contain: type puts them there
};

// What a function shows of itself, by name. Null: what its code and its globals say.
using ShownNames = std::vector<std::pair<Ref, ValuePtr>>;

struct FunctionValue : Value {
  static constexpr ValueKind kKind = ValueKind::Function;
  FunctionValue() : Value(kKind) {}
  Ref code;
  ValuePtr globals_from;  // the function value whose globals it shares; null: the region's own function
  ValuePtr defaults, kw_defaults, annotations;  // null where absent
  std::vector<ValuePtr> closure;                // CellValue
  std::vector<std::pair<Ref, ValuePtr>> names;  // __name__, __doc__ ... that were set
  Handle<DictValue> dict;                       // its __dict__; null: nothing was set or asked
  ValuePtr* find(BorrowedRef name);
};

struct BoundMethodValue : Value {
  static constexpr ValueKind kKind = ValueKind::BoundMethod;
  BoundMethodValue(ValuePtr function, ValuePtr self)
      : Value(kKind), function(std::move(function)), self(std::move(self)) {}
  ValuePtr function, self;
};

struct PolicyFunctionValue : Value {
  static constexpr ValueKind kKind = ValueKind::PolicyFunction;
  PolicyFunctionValue(ValuePtr function, PolicyChange change, ValuePtr reason)
      : Value(kKind), function(std::move(function)), change(change), reason(std::move(reason)) {}
  ValuePtr function;
  PolicyChange change;
  ValuePtr reason;            // a constant str or None
  ShownNames copied;          // of the function, when it was made (copied_names.h)
  int64_t creation_step = 0;  // of the trace
};

// What makes an instance an exception.
struct ExceptionState {
  std::vector<ValuePtr> args;
  int64_t raised_step = 0;  // of the trace, which ends before it where Python has to raise; 0: not raised
  ValuePtr context, cause;  // __context__ and __cause__; null: None
  bool suppresses_context = false;
  int64_t made_step = 0;  // of the trace
  ValuePtr split_from;    // of a group that except* took out of another: that one
};

struct InstanceValue : Value {
  static constexpr ValueKind kKind = ValueKind::Instance;
  InstanceValue(ValuePtr type) : Value(kKind), type(std::move(type)) {}
  ValuePtr type;                                     // ObjectValue of the class
  std::vector<std::pair<Ref, ValuePtr>> attributes;  // own attributes, in order of setting
  std::unique_ptr<ExceptionState> exception;         // null: no exception
  ValuePtr* find(BorrowedRef name);
};

// Its traceback, or what was handled before it.
struct RaisedPartValue : Value {
  static constexpr ValueKind kKind = ValueKind::RaisedPart;
  RaisedPartValue(ValuePtr exception, bool is_traceback)
      : Value(kKind), exception(std::move(exception)), is_traceback(is_traceback) {}
  ValuePtr exception;
  bool is_traceback;
};

struct SymbolicFrame;

enum class IteratorKind : uint8_t {
  Sequence,
  Reversed,
  Range,
  Enumerate,
  Zip,
  Dict,
  Set,
  Map,
  Filter,
  Generator,
  User
};

struct IteratorValue : Value {
  static constexpr ValueKind kKind = ValueKind::Iterator;
  IteratorValue(IteratorKind iterator_kind, std::vector<ValuePtr> bases)
      : Value(kKind), iterator_kind(iterator_kind), bases(std::move(bases)) {}
  IteratorKind iterator_kind;
  std::vector<ValuePtr>
      bases;  // the sequence, dict or view; the inner iterators of enumerate and zip; function, then iterators; the
              // set, then the tuple of its elements; the user's object
  int64_t index = 0;  // elements taken; Enumerate: the next count
  // Range: what is left. Reversed: start is where it began. Dict: stop is how many entries it had, start how many had been taken out.
  int64_t start = 0, stop = 0, step = 1;
  int64_t changes_seen = 0;                                      // of the set, when it was looked through last
  std::shared_ptr<const std::vector<DictValue::Entry>> entries;  // of a dict from outside that is not written to
  bool exhausted = false;
  bool strict = false;  // Zip
  // Generator: its frame, which is on the trace's stack while it runs.
  std::shared_ptr<SymbolicFrame> frame;
  int64_t creation_step = 0;
  bool running = false;
  ValuePtr yielded, returned;
  PyTypeObject* type = nullptr;  // the generator type, or what it stands for
};

struct SuperValue : Value {
  static constexpr ValueKind kKind = ValueKind::Super;
  SuperValue(ValuePtr type, ValuePtr self) : Value(kKind), type(std::move(type)), self(std::move(self)) {}
  ValuePtr type, self;
};

struct ConstructedValue : Value {
  static constexpr ValueKind kKind = ValueKind::Constructed;
  ConstructedValue(ValuePtr type, std::vector<ValuePtr> positional, std::vector<std::pair<Ref, ValuePtr>> keywords)
      : Value(kKind), type(std::move(type)), positional(std::move(positional)), keywords(std::move(keywords)) {}
  ValuePtr type;
  std::vector<ValuePtr> positional;
  std::vector<std::pair<Ref, ValuePtr>> keywords;
  ValuePtr maker;             // what is called to make it; null: the class
  Ref model;                  // an equal object, of a class whose methods are pure; null: none
  ShownNames copied;          // of the function that it wraps, when it was made (copied_names.h)
  int64_t creation_step = 0;  // of the trace
};

struct NumberValue : Value {
  static constexpr ValueKind kKind = ValueKind::Number;
  NumberValue(PyTypeObject* type, ValueRef ref) : Value(kKind), type(type), ref(ref) {}
  PyTypeObject* type;  // int, float or bool
  ValueRef ref;        // of no dims; int64, float64 or bool
  Dim size;            // its symbol, once a size depends on it
};

struct ComputedValue : Value {
  static constexpr ValueKind kKind = ValueKind::Computed;
  ComputedValue(ScalarOp scalar_op, std::vector<ValuePtr> parts, Ref current)
      : Value(kKind), scalar_op(scalar_op), parts(std::move(parts)), current(std::move(current)) {}
  ScalarOp scalar_op;
  std::vector<ValuePtr> parts;  // varying numbers, other computed values, constants
  Ref current;                  // what it is at capture; its type is the same at every run
  std::optional<Dim> dim;       // a whole number that sizes tell, and all that there is to it where it has no parts
  bool known = false;           // the operands were guarded by value: it is `current` at every run
};

struct DictViewValue : Value {
  static constexpr ValueKind kKind = ValueKind::DictView;
  DictViewValue(ValuePtr dict, int what) : Value(kKind), dict(std::move(dict)), what(what) {}
  ValuePtr dict;
  int what;  // 0 keys, 1 values, 2 items
};

struct IdentityValue : Value {
  static constexpr ValueKind kKind = ValueKind::Identity;
  IdentityValue(ValuePtr of, Ref key) : Value(kKind), of(std::move(of)), key(std::move(key)) {}
  ValuePtr of;
  Ref key;  // stands for the number in dicts and sets of the trace
};

// Holds nothing itself: what is read and written are the attributes of the owner.
struct InstanceDictValue : Value {
  static constexpr ValueKind kKind = ValueKind::InstanceDict;
  explicit InstanceDictValue(ValuePtr owner) : Value(kKind), owner(std::move(owner)) {}
  ValuePtr owner;  // an InstanceValue, or an ObjectValue with a source
};

// "int", "Tensor", "a list made here": for break contexts.
std::string describe(const ValuePtr& value);
// The Python type of the value; null for Null.
PyTypeObject* type_of(const ValuePtr& value);
inline bool is_tensor(const ValuePtr& value) { return value->kind == ValueKind::Tensor; }
// Where a value came from; null for what the trace made and for constants.
const Source* source_of(const ValuePtr& value);
// A number that differs from run to run: constant_of ends the region there, or guards it by value at a function's entry.
bool is_dynamic(const ValuePtr& value);
bool is_deque(const ValuePtr& value);
// An object whose type is no built-in one, so that its methods may be the user's.
bool has_user_type(const ValuePtr& value);
// Python code can change the class.
inline bool may_change(const PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) == 0;
}

}  // namespace md
