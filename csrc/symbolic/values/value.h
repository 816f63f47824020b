// The trace's knowledge of an object.
//   1. A tensor is symbolic: a value of the graph. Every other pre-existing object represents itself (ObjectValue),
//      with its Source; whatever the trace reads is guarded at that moment, by the weakest sufficient guard.
//   2. An object created in the trace (container, cell, function, instance, iterator) is virtual: its identity is that
//      of the Value.
//   3. Values are counted without atomics: a trace belongs to one thread, under the GIL.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "guards/scalar_ops.h"
#include "guards/source.h"
#include "guards/tensor_family.h"
#include "snapshot/policy_function.h"
#include "symbolic/values/key_index.h"

namespace md {

enum class ValueKind : uint8_t {
#define MD_VALUE(name, doc) name,
#include "symbolic/values/value_kinds.def"
#undef MD_VALUE
};

class Value;

// Reference-counted pointer to a Value.
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
  uint32_t count() const { return value_->count_; }  // of the handles to the value
  friend bool operator==(const Handle& a, const Handle& b) { return a.value_ == b.value_; }

 private:
  void retain() {
    if (value_ != nullptr) ++value_->count_;
  }
  T* value_ = nullptr;
};

using ValuePtr = Handle<Value>;

// Destructors of larger kinds are in value.cpp, so that not every file compiles them.
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
// A temporary may be the last reference: keep it in a variable as long as the pointer.
template <typename T>
T* as(ValuePtr&& value) = delete;

struct NullValue : Value {
  static constexpr ValueKind kKind = ValueKind::Null;
  NullValue() : Value(kKind) {}
};

// The pending writes to a pre-existing object, which are done at the exit; reads see them. Shared by the Values of one
// object.
struct PendingWrites {
  int64_t first_step = 0;          // the trace step of the first write
  ValuePtr contents;               // the complete current contents (SequenceValue, DictValue); null if not read yet
  std::vector<ValuePtr> appended;  // of a list, while contents is null
  std::vector<std::pair<Ref, ValuePtr>> stores;            // dict keys or attribute names, in order; null: deleted
  const ValuePtr* find(BorrowedRef key) const;             // the last store; null if there is none
  std::vector<std::pair<Ref, ValuePtr>> attributes;        // likewise, of an object of a subclass of dict or list
  const ValuePtr* find_attribute(BorrowedRef name) const;  // in `attributes`, or in `stores` of another object
  bool has_items = false;                                  // `stores` are not attributes

 private:
  mutable KeyIndex index_;
};

struct ObjectValue : Value {
  static constexpr ValueKind kKind = ValueKind::Object;
  ObjectValue(Ref object, const Source* source) : Value(kKind), object(std::move(object)), source(source) {}
  ~ObjectValue() override;
  Ref object;
  const Source* source;  // null: a constant, the same at every run (an atom, or reached through guarded objects only)
  bool value_guarded = false;
  bool type_guarded = false;
  bool length_guarded = false;
  bool traced_class = false;     // the model of a traced class (traced_class.h)
  bool opaque_iterator = false;  // entered the region through a slot: the driver executes its FOR_ITER
  bool is_dynamic = false;       // a number or range whose value differed at an earlier capture: not guarded by value
  std::shared_ptr<PendingWrites> writes;
};

// One step of a view chain: the op, its operands (0 marks the viewed tensor), and the index of the result.
struct ViewStep {
  const OpRow* row;
  std::vector<Operand> operands;
  int out;
  std::shared_ptr<int> own_writes;  // of kUncounted: those that it counts itself, with its own views
};

struct TensorValue;

// Shared by a tensor and its views: a write makes it a new value of the graph.
struct TensorBase {
  ValueRef original;  // before any write: fixes the layout
  ValueRef current;
  int version = 0;                    // number of writes
  int uncounted = 0;                  // those of them, since the last logged one, that its tensor does not count
  const Source* source = nullptr;     // set for an input
  Tensor object;                      // an input's tensor at capture
  std::vector<TensorValue*> members;  // the tensors that are left of those that share it
};

struct TensorValue : Value {
  static constexpr ValueKind kKind = ValueKind::Tensor;
  TensorValue(ValueRef ref, TensorSpec spec, const TensorFamily& family)
      : Value(kKind), ref(ref), spec(std::move(spec)), family(&family) {}
  ~TensorValue() override;
  ValueRef ref;  // node is null until an input is first used by an op; stale if `version` is behind that of the base
  void share(std::shared_ptr<TensorBase> shared);  // as one of its members
  void leave_base();
  std::shared_ptr<TensorBase> base;  // null until the first view or write
  std::vector<ViewStep> views;       // from base to this
  bool has_view(OpTrait trait) const {
    return std::ranges::any_of(views, [trait](const ViewStep& step) { return step.row->has(trait); });
  }
  bool is_made_apart = false;  // a view that was made without a history
  int64_t view_step = 0;       // the trace step that made it, if it is a view
  int64_t several_step = 0;    // the trace step that made it, or what it is a view of, as one of several views; 0: none
  int version = 0;             // of the base, when ref was derived
  TensorSpec spec;
  const TensorFamily* family;
  Ref object;                      // inputs: the tensor object at capture
  const Source* source = nullptr;  // inputs
  std::vector<int> stride_over;    // inputs with symbolic sizes: make_symbolic()
  bool guarded = false;            // inputs: TENSOR_MATCH was added
  ValuePtr gradient;               // inputs: what the region has stored as `grad`; null: nothing
  size_t gradient_effect = 0;      // its position in the log of effects
  bool gradient_read = false;      // inputs: `grad` was read or stored
  bool is_replaced = false;        // its data was replaced in the region, or it is a view of such a tensor
  // Of a tensor of one library over the memory of another's: the one that it was made of, the function that makes it,
  // which views of it do not have, and the trace step.
  ValuePtr converted_from, converter;
  int64_t converted_step = 0;
};

// The own attributes of an object, in order of setting.
using OwnAttributes = std::vector<std::pair<Ref, ValuePtr>>;

struct SequenceValue : Value {
  static constexpr ValueKind kKind = ValueKind::Sequence;
  SequenceValue(bool is_list, std::vector<ValuePtr> items) : Value(kKind), is_list(is_list), items(std::move(items)) {}
  ~SequenceValue() override;
  bool is_list;
  std::vector<ValuePtr> items;
  ValuePtr type;    // its class: a subclass of tuple or list, a struct sequence, or deque; null: tuple or list itself
  ValuePtr maxlen;  // of a deque: a number or None
  OwnAttributes attributes;  // of an object of a subclass of list
  int64_t changes = 0;       // of a deque, which must not change while it is iterated over
};

// Insertion-ordered; keys are constants, compared by type, value and hash as dict does for exact built-ins.
struct DictValue : Value {
  static constexpr ValueKind kKind = ValueKind::Dict;
  DictValue() : Value(kKind) {}
  ~DictValue() override;
  struct Entry {
    Ref key;
    ValuePtr value;
  };
  std::vector<Entry> entries;
  int64_t erased = 0;               // number of entries removed; incremented whenever entries move
  bool displayed = false;           // created by {...}: not a copy of a table with removed entries
  ValuePtr type;                    // a subclass of dict; null: dict itself
  ValuePtr factory;                 // of a defaultdict
  OwnAttributes attributes;         // of an object of a subclass
  Value* owner = nullptr;           // the FunctionValue, kept alive by the trace, whose __dict__ this is
  int find(BorrowedRef key) const;  // -1: missing
  void set(BorrowedRef key, ValuePtr value);
  bool erase(BorrowedRef key);

 private:
  mutable KeyIndex index_;
  int find_indexed(BorrowedRef key) const;
};

// Wraps a real set or frozenset with the same history as the program's, so the order is Python's own. No other
// reference to it exists.
struct SetValue : Value {
  static constexpr ValueKind kKind = ValueKind::Set;
  SetValue() : SetValue(check(PySet_New(nullptr))) {}
  explicit SetValue(Ref set) : Value(kKind), set(std::move(set)) {}
  Ref set;                    // of keys (key_of())
  int64_t creation_step = 0;  // the trace step that created it
  int64_t changes = 0;        // an iterator rescans the set after a change
  bool is_frozen() const { return PyFrozenSet_CheckExact(set.get()) != 0; }
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
  ValuePtr contents;               // null: empty; a pre-existing cell is read on first use
  Ref object;                      // a pre-existing cell
  const Source* source = nullptr;  // of that cell
  bool loaded = true;              // contents are known
  bool stored = false;             // a pre-existing cell was written: an effect at the exit
  bool holds_names = false;  // the __classdict__ cell of a traced class, which type fills with the class's own names
};

// The introspectable attributes of a function, by name. Null: as its code and globals say.
using ShownNames = std::vector<std::pair<Ref, ValuePtr>>;

struct FunctionValue : Value {
  static constexpr ValueKind kKind = ValueKind::Function;
  FunctionValue() : Value(kKind) {}
  ~FunctionValue() override;
  Ref code;
  ValuePtr globals_from;  // the function value whose globals it shares; null: the region's own function
  ValuePtr defaults, kw_defaults, annotations;  // null if absent
  std::vector<ValuePtr> closure;                // CellValue
  std::vector<std::pair<Ref, ValuePtr>> names;  // __name__, __doc__ ... that were set
  Handle<DictValue> dict;                       // its __dict__; null: nothing was set or read
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
  ShownNames copied;          // of the function, at creation (copied_names.h)
  int64_t creation_step = 0;  // the trace step that created it
};

// The part of an instance that makes it an exception.
struct ExceptionState {
  std::vector<ValuePtr> args;
  // the trace step that raised it; the trace ends before it if the interpreter has to raise. 0: not raised
  int64_t raised_step = 0;
  ValuePtr context, cause;  // __context__ and __cause__; null: None
  bool suppresses_context = false;
  int64_t made_step = 0;  // the trace step that created it
  ValuePtr split_from;    // of a group split off by except*: the original group
};

struct InstanceValue : Value {
  static constexpr ValueKind kKind = ValueKind::Instance;
  InstanceValue(ValuePtr type) : Value(kKind), type(std::move(type)) {}
  ~InstanceValue() override;
  ValuePtr type;  // ObjectValue of the class
  OwnAttributes attributes;
  std::unique_ptr<ExceptionState> exception;  // null if it is not an exception
  // The trace step that created an object of which only the type is known, and which no region can hand on; 0: others.
  int64_t opaque_since = 0;
  ValuePtr* find(BorrowedRef name);
};

// The traceback of a raised exception, or the exception that was being handled before it.
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
  ~IteratorValue() override;
  IteratorKind iterator_kind;
  // The sequence, dict or view; the inner iterators of enumerate and zip; the function, then the iterators (map,
  // filter); the set, then the tuple of its elements; the user's object; the generator function and its arguments.
  std::vector<ValuePtr> bases;
  int64_t index = 0;  // elements taken; Enumerate: the next count
  // Range: the remaining range. Reversed: start is the initial index. Dict: stop is the initial number of entries,
  // start the initial number of erased ones.
  int64_t start = 0, stop = 0, step = 1;
  int64_t changes_seen = 0;                                      // of the set, at the last scan
  std::shared_ptr<const std::vector<DictValue::Entry>> entries;  // of a pre-existing dict without pending writes
  bool exhausted = false;
  bool strict = false;  // Zip
  // Generator: its frame, which is also in the FrameStack while it runs.
  std::shared_ptr<SymbolicFrame> frame;
  Ref keywords;  // the names of its last arguments
  int64_t creation_step = 0;
  bool running = false;
  ValuePtr yielded, returned;
  PyTypeObject* type = nullptr;  // the generator type, or the type that a polyfill's generator replaces
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
  ~ConstructedValue() override;
  ValuePtr type;
  std::vector<ValuePtr> positional;
  std::vector<std::pair<Ref, ValuePtr>> keywords;
  ValuePtr maker;             // the callable that creates it; null: the class
  Ref model;                  // an equal real object, for a class whose methods are pure; null if there is none
  ShownNames copied;          // of the wrapped function, at creation (copied_names.h)
  int64_t creation_step = 0;  // the trace step that created it
  int64_t iterated_step = 0;  // the one that iterated over it, which changed it; 0: none
};

struct NumberValue : Value {
  static constexpr ValueKind kKind = ValueKind::Number;
  NumberValue(PyTypeObject* type, ValueRef ref) : Value(kKind), type(type), ref(ref) {}
  PyTypeObject* type;  // int, float or bool
  ValueRef ref;        // a 0-dim value; int64, float64 or bool
  Dim size;            // its symbol, once a size depends on it
};

struct ComputedValue : Value {
  static constexpr ValueKind kKind = ValueKind::Computed;
  ComputedValue(ScalarOp scalar_op, std::vector<ValuePtr> parts, Ref current)
      : Value(kKind), scalar_op(scalar_op), parts(std::move(parts)), current(std::move(current)) {}
  ScalarOp scalar_op;
  std::vector<ValuePtr> parts;  // dynamic numbers, other computed values, constants
  Ref current;                  // its value at capture; the type is the same at every run
  std::optional<Dim> dim;       // an integer computed from sizes; the only definition if there are no parts
  bool known = false;           // the operands were guarded by value: always equal to `current`
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
  Ref key;  // represents the number in traced dicts and sets
};

// Has no storage: reads and writes go to the attributes of the owner.
struct InstanceDictValue : Value {
  static constexpr ValueKind kKind = ValueKind::InstanceDict;
  explicit InstanceDictValue(ValuePtr owner) : Value(kKind), owner(std::move(owner)) {}
  ValuePtr owner;  // has own_attributes_of(), or is an ObjectValue with a source
};

// A short description of the value for break contexts: "int", "Tensor" ...
std::string describe(const ValuePtr& value);
// The Python type of the value; null for Null.
PyTypeObject* type_of(const ValuePtr& value);
inline bool is_tensor(const ValuePtr& value) { return value->kind == ValueKind::Tensor; }
// The family whose operators apply to two operands, at least one of them a tensor.
const TensorFamily& answering_family(const ValuePtr& left, const ValuePtr& right);
// The source of a pre-existing object; null for objects created in the trace and for constants.
const Source* source_of(const ValuePtr& value);
// Returns true for a dynamic number: constant_of ends the region there, or guards it by value at a function's entry.
bool is_dynamic(const ValuePtr& value);
bool is_deque(const ValuePtr& value);
// Returns true for an object whose type is not built in, so its methods may be the user's.
bool has_user_type(const ValuePtr& value);
// Whether a dict created in the trace may have attributes of its own: of a class in Python, or an OrderedDict.
bool takes_attributes(const DictValue& dict);
// The attributes and slots of an object that was created in the trace; null: an object that has none, or another one.
OwnAttributes* own_attributes_of(const ValuePtr& value);
ValuePtr* find_attribute(OwnAttributes& attributes, BorrowedRef name);
// Calls `use` with the value as the struct of its kind. An overload that `use` lacks for one of them does not compile.
template <typename Use>
decltype(auto) visit_kind(Value& value, Use&& use) {
  switch (value.kind) {
#define MD_VALUE(name, doc) \
  case ValueKind::name:     \
    return use(static_cast<name##Value&>(value));
#include "symbolic/values/value_kinds.def"
#undef MD_VALUE
  }
  throw Error(ErrorKind::Internal, "a value of no kind");
}
// The class that a value is; the value must be one.
inline PyTypeObject* class_in(const ValuePtr& type) {
  return reinterpret_cast<PyTypeObject*>(as<ObjectValue>(type)->object.get());
}
// Returns true if Python code can modify the class.
inline bool may_change(const PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) == 0;
}

}  // namespace md
