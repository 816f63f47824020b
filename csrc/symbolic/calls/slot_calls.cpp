#include "symbolic/calls/slot_calls.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "symbolic/calls/calls.h"
#include "symbolic/calls/polyfills.h"
#include "symbolic/exceptions/exceptions.h"
#include "symbolic/facts/value_facts.h"
#include "symbolic/trace/tracer.h"
#include "symbolic/values/number_types.h"

namespace md {

namespace {

enum class SlotForm : uint8_t { Whole, Comparison, Arithmetic, Reflected };

constexpr std::pair<std::string_view, SlotForm> kForms[] = {{"whole", SlotForm::Whole},
                                                            {"comparison", SlotForm::Comparison},
                                                            {"arithmetic", SlotForm::Arithmetic},
                                                            {"reflected", SlotForm::Reflected}};

struct Slot {
  Ref function;  // takes the operands in the order of the operator
  SlotForm form;
};

// By interned name.
std::unordered_map<PyObject*, Slot>& slots() {
  static auto* table = new std::unordered_map<PyObject*, Slot>();  // never freed
  return *table;
}

const Slot* find_slot(BorrowedRef descriptor) {
  // Some types define the method beside the slot (list.__getitem__).
  if (!Py_IS_TYPE(descriptor.get(), &PyWrapperDescr_Type) && !Py_IS_TYPE(descriptor.get(), &PyMethodDescr_Type))
    return nullptr;
  auto found = slots().find(PyDescr_NAME(descriptor.get()));
  return found == slots().end() ? nullptr : &found->second;
}

// A number takes numbers of no higher rank; 0: not a number.
int number_rank(PyTypeObject* type) {
  if (type == &PyLong_Type || type == &PyBool_Type) return 1;
  return type == &PyFloat_Type ? 2 : type == &PyComplex_Type ? 3 : 0;
}

bool is_set(PyTypeObject* type) { return type == &PySet_Type || type == &PyFrozenSet_Type; }

bool is_equality(BorrowedRef name) {
  return PyUnicode_CompareWithASCIIString(name, "__eq__") == 0 || PyUnicode_CompareWithASCIIString(name, "__ne__") == 0;
}

// Returns true if the slot returns NotImplemented for any object of the other type: a number takes numbers alone, and a
// container compares itself to its own kind alone. Dicts have no order.
bool declines(BorrowedRef name, SlotForm form, PyTypeObject* own, PyTypeObject* other) {
  if (number_rank(own) != 0) return !derives_from_number(other);
  if (form != SlotForm::Comparison) return false;
  if (own == &PyDict_Type && !is_equality(name)) return true;
  return (own == &PyList_Type || own == &PyTuple_Type || own == &PyDict_Type) && PyType_IsSubtype(other, own) == 0;
}

bool compares(BorrowedRef name, PyTypeObject* own, PyTypeObject* other) {
  if (own == &PyDict_Type) return is_equality(name) && own == other;
  return (is_set(own) && is_set(other)) || ((own == &PyList_Type || own == &PyTuple_Type) && own == other);
}

bool combines(BorrowedRef name, PyTypeObject* own, PyTypeObject* other) {
  if (own == &PyList_Type && PyUnicode_CompareWithASCIIString(name, "__iadd__") == 0) return true;
  if (own == &PyList_Type || own == &PyTuple_Type) return other == own || other == &PyLong_Type;
  if (own == &PyUnicode_Type || own == &PyBytes_Type)
    return other == own || other == &PyLong_Type || PyUnicode_CompareWithASCIIString(name, "__mod__") == 0;
  return (own == &PyDict_Type && other == own) || (is_set(own) && is_set(other));
}

// Returns true if the slot of `self` does not return NotImplemented for the other operand, so that the operator returns
// its result.
bool answers(Tracer& tracer, BorrowedRef name, SlotForm form, const ValuePtr& self, const ValuePtr& other) {
  if (is_tensor(other)) return is_tensor(self);
  PyTypeObject *own = tracer.values().exact_type(self), *type = tracer.values().exact_type(other);
  int rank = number_rank(type);
  if (is_tensor(self)) return rank == 1 || rank == 2;
  if (rank != 0 && number_rank(own) >= rank) return true;
  return form == SlotForm::Comparison ? compares(name, own, type) : combines(name, own, type);
}

// Returns true if the class of the object has this very slot wrapper, so that an operator calls it.
bool is_slot_of(Tracer& tracer, const ValuePtr& self, BorrowedRef descriptor) {
  PyTypeObject* type = tracer.values().exact_type(self);
  PyObject* name = PyDescr_NAME(descriptor.get());
  if (_PyType_Lookup(type, name) != descriptor.get()) return false;
  return type == PyDescr_TYPE(descriptor.get()) ||
         inherits(tracer, self, PyDescr_TYPE(descriptor.get()), {PyUnicode_AsUTF8(name)});
}

// The result for constants, which may be NotImplemented.
ValuePtr call_on_constants(Tracer& tracer, BorrowedRef descriptor, const CallArgs& args) {
  if (is_tensor(args.positional[0]) || is_tensor(args.positional[1])) return nullptr;
  Ref self = constant_of(tracer, args.positional[0]), other = self ? constant_of(tracer, args.positional[1]) : Ref();
  if (!other) return nullptr;
  Ref result = Ref::steal(PyObject_CallFunctionObjArgs(descriptor, self.get(), other.get(), nullptr));
  if (!result) raise_current(tracer);
  bool is_known = PyBool_Check(result.get()) || result.get() == Py_NotImplemented;
  return is_known ? tracer.values().constant(result) : nullptr;
}

}  // namespace

void register_slot(BorrowedRef name, std::string_view form, BorrowedRef function) {
  PyObject* interned = Py_NewRef(name.get());
  PyUnicode_InternInPlace(&interned);
  const auto* row = std::ranges::find(kForms, form, &std::pair<std::string_view, SlotForm>::first);
  if (row == std::end(kForms)) throw std::invalid_argument("unknown form of a slot: " + std::string(form));
  slots()[interned] = {Ref::share(function), row->second};
}

bool is_known_slot(BorrowedRef descriptor) { return find_slot(descriptor) != nullptr; }

ValuePtr call_slot(Tracer& tracer, const ValuePtr& callable, const CallArgs& args) {
  BorrowedRef descriptor = as<ObjectValue>(callable)->object;
  const Slot* slot = find_slot(descriptor);
  if (slot == nullptr || args.positional.empty()) return nullptr;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(slot->function.get()));
  bool takes_any = (code->co_flags & CO_VARARGS) != 0;
  if (!takes_any && (!args.keywords.empty() || static_cast<int>(args.positional.size()) != code->co_argcount))
    return nullptr;
  const ValuePtr& self = args.positional[0];
  if (self->kind == ValueKind::Null || !is_slot_of(tracer, self, descriptor)) return nullptr;
  BorrowedRef name = PyDescr_NAME(descriptor.get());
  // The slot requires a tensor of integers.
  if (is_tensor(self) && PyUnicode_CompareWithASCIIString(name, "__index__") == 0) return nullptr;
  tracer.values().identity_of(callable);
  if (slot->form != SlotForm::Whole && !answers(tracer, name, slot->form, self, args.positional[1])) {
    bool is_known = declines(name, slot->form, type_of(self), tracer.values().exact_type(args.positional[1]));
    return is_known ? tracer.values().constant(Py_NotImplemented) : call_on_constants(tracer, descriptor, args);
  }
  CallArgs operands = args;
  if (slot->form == SlotForm::Reflected) std::swap(operands.positional[0], operands.positional[1]);
  return call_now(tracer, stand_in(slot->function), operands);
}

}  // namespace md
