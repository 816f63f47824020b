#include "guards/source.h"

#include "guards/wrapper_callables.h"

#include <structmember.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "bytecode/bytecode.h"
#include "cpython/cached_function.h"
#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "cpython/text.h"
#include "cpython/weak_reference.h"
#include "guards/cached_calls.h"
#include "guards/constants.h"
#include "guards/fetch_step.h"
#include "guards/object_fields.h"
#include "guards/tensor_family.h"
#include "guards/weak_keys.h"

namespace md {
namespace {

constexpr Fetched kAbsent = {Presence::Absent, nullptr};
constexpr Fetched kUnknown = {Presence::Unknown, nullptr};

Fetched found_or_absent(PyObject* object) { return object != nullptr ? Fetched{Presence::Found, object} : kAbsent; }
Fetched found_or_unknown(PyObject* object) { return object != nullptr ? Fetched{Presence::Found, object} : kUnknown; }

Fetched lookup_result(int status, PyObject* value) {
  if (status > 0) return {Presence::Found, value};
  return status == 0 ? kAbsent : kUnknown;
}

Fetched in_names(PyObject* dict, PyObject* name) {
  if (dict == nullptr || !PyDict_CheckExact(dict)) return kUnknown;
  PyObject* value = nullptr;
  int status = pv_dict_lookup(dict, name, &value);
  return lookup_result(status, value);
}

Fetched in_tuple(PyObject* tuple, Py_ssize_t index) {
  if (tuple == nullptr || !PyTuple_Check(tuple)) return kUnknown;
  return index < PyTuple_GET_SIZE(tuple) ? Fetched{Presence::Found, PyTuple_GET_ITEM(tuple, index)} : kAbsent;
}

bool is_exactly(PyObject* object, PyTypeObject* type) { return object != nullptr && Py_TYPE(object) == type; }

PyFunctionObject* as_function(PyObject* object) {
  return is_exactly(object, &PyFunction_Type) ? reinterpret_cast<PyFunctionObject*>(object) : nullptr;
}

// Global and Builtin use the frame's function unless they have a base.
PyFunctionObject* function_of(const Source& source, PyObject* base, const LocalsView& view) {
  return as_function(source.base() != nullptr ? base : view.function);
}

std::vector<PyObject*>& stand_ins() {
  static auto* all = new std::vector<PyObject*>;
  return *all;
}
BorrowedRef stand_in_at(Py_ssize_t index) { return stand_ins()[static_cast<size_t>(index)]; }

// ---- fetch, one per row ----

Fetched fetch_Local(const Source& source, PyObject*, const LocalsView& view) {
  if (source.index() >= view.slot_count) return kUnknown;
  return found_or_absent(view.slots[source.index()]);
}

Fetched fetch_CallerSlot(const Source& source, PyObject* base, const LocalsView& view) {
  return fetch_Local(source, base, view);
}

Fetched fetch_Function(const Source&, PyObject*, const LocalsView& view) { return found_or_unknown(view.function); }

Fetched fetch_Global(const Source& source, PyObject* base, const LocalsView& view) {
  PyFunctionObject* function = function_of(source, base, view);
  return function != nullptr ? in_names(function->func_globals, source.key()) : kUnknown;
}

Fetched fetch_Builtin(const Source& source, PyObject* base, const LocalsView& view) {
  PyFunctionObject* function = function_of(source, base, view);
  return function != nullptr ? in_names(function->func_builtins, source.key()) : kUnknown;
}

Fetched fetch_GlobalsDict(const Source&, PyObject* base, const LocalsView&) {
  PyFunctionObject* function = as_function(base);
  return function != nullptr ? found_or_unknown(function->func_globals) : kUnknown;
}

Fetched fetch_CellContents(const Source&, PyObject* base, const LocalsView&) {
  return is_exactly(base, &PyCell_Type) ? found_or_absent(PyCell_GET(base)) : kUnknown;
}

Fetched fetch_Closure(const Source& source, PyObject* base, const LocalsView&) {
  PyFunctionObject* function = as_function(base);
  return function != nullptr ? in_tuple(function->func_closure, source.index()) : kUnknown;
}

Fetched fetch_Defaults(const Source& source, PyObject* base, const LocalsView&) {
  PyFunctionObject* function = as_function(base);
  if (function == nullptr) return kUnknown;
  PyObject* defaults = function->func_defaults;
  if (defaults == nullptr) return kAbsent;
  Py_ssize_t index = source.index() < 0 ? PyTuple_GET_SIZE(defaults) + source.index() : source.index();
  return index >= 0 ? in_tuple(defaults, index) : kAbsent;
}

Fetched fetch_KwDefault(const Source& source, PyObject* base, const LocalsView&) {
  PyFunctionObject* function = as_function(base);
  if (function == nullptr) return kUnknown;
  return function->func_kwdefaults != nullptr ? in_names(function->func_kwdefaults, source.key()) : kAbsent;
}

Fetched fetch_MethodFunction(const Source&, PyObject* base, const LocalsView&) {
  return is_exactly(base, &PyMethod_Type) ? found_or_unknown(PyMethod_GET_FUNCTION(base)) : kUnknown;
}

Fetched fetch_MethodSelf(const Source&, PyObject* base, const LocalsView&) {
  if (is_exactly(base, &PyCFunction_Type)) return found_or_unknown(PyCFunction_GET_SELF(base));
  return is_exactly(base, &PyMethod_Type) ? found_or_unknown(PyMethod_GET_SELF(base)) : kUnknown;
}

Fetched fetch_InstanceAttr(const Source& source, PyObject* base, const LocalsView&) {
  if (base == nullptr) return kUnknown;
  PyObject* value = nullptr;
  int status = pv_instance_lookup(base, source.key(), &value);
  return lookup_result(status, value);
}

Fetched fetch_InstanceDict(const Source&, PyObject* base, const LocalsView&) {
  return base != nullptr ? found_or_absent(pv_instance_dict(base)) : kUnknown;
}

// The dict of the running thread, which holds it.
Fetched dict_of_thread(PyObject* local) {
  Ref dict = Ref::steal(PyObject_GetAttrString(local, "__dict__"));
  if (!dict) PyErr_Clear();
  return found_or_unknown(dict);
}

Fetched fetch_AttributesDict(const Source&, PyObject* base, const LocalsView&) {
  if (base != nullptr && Py_TYPE(base) == thread_local_type()) return dict_of_thread(base);
  if (base == nullptr || !pv_has_instance_storage(base)) return kUnknown;
  if (PyObject* dict = pv_instance_dict(base)) return {Presence::Found, dict};
  Ref made = Ref::steal(PyObject_GenericGetDict(base, nullptr));
  if (!made) PyErr_Clear();
  return made ? found_or_absent(pv_instance_dict(base)) : kUnknown;
}

Fetched fetch_ModuleAttr(const Source& source, PyObject* base, const LocalsView&) {
  if (base == nullptr || !PyModule_Check(base)) return kUnknown;
  return in_names(PyModule_GetDict(base), source.key());
}

Fetched fetch_Type(const Source&, PyObject* base, const LocalsView&) {
  return base != nullptr ? Fetched{Presence::Found, reinterpret_cast<PyObject*>(Py_TYPE(base))} : kUnknown;
}

Fetched fetch_TypeAttr(const Source& source, PyObject* base, const LocalsView&) {
  if (base == nullptr || !PyType_Check(base)) return kUnknown;
  auto* type = reinterpret_cast<PyTypeObject*>(base);
  // Fails if a key with a user-defined __eq__ could be compared; afterwards Python's lookup
  // assigns a version to the type.
  PyObject* value = nullptr;
  if (pv_mro_lookup(type, 0, source.key(), &value) < 0) return kUnknown;
  return found_or_absent(_PyType_Lookup(type, source.key()));
}

Fetched fetch_MroEntry(const Source& source, PyObject* base, const LocalsView&) {
  if (base == nullptr || !PyType_Check(base)) return kUnknown;
  return in_tuple(reinterpret_cast<PyTypeObject*>(base)->tp_mro, source.index());
}

Fetched fetch_SuperAttr(const Source& source, PyObject* base, const LocalsView&) {
  if (base == nullptr || !PyType_Check(base)) return kUnknown;
  PyObject* value = nullptr;
  int status = pv_mro_lookup(reinterpret_cast<PyTypeObject*>(base), source.index(), source.key(), &value);
  return lookup_result(status, value);
}

Fetched fetch_SlotAttr(const Source& source, PyObject* base, const LocalsView&) {
  PyObject* owner = source.subject();
  if (base == nullptr || owner == nullptr) return kUnknown;
  if (!PyObject_TypeCheck(base, reinterpret_cast<PyTypeObject*>(owner))) return kUnknown;
  return found_or_absent(object_member(base, source.index()));
}

Fetched fetch_Item(const Source& source, PyObject* base, const LocalsView&) {
  if (base != nullptr && PyTuple_Check(base)) return in_tuple(base, source.index());
  if (is_exactly(base, deque_type())) {
    if (source.index() >= Py_SIZE(base)) return kAbsent;
    Ref item = Ref::steal(PySequence_GetItem(base, source.index()));  // the deque also owns it
    PyErr_Clear();
    return found_or_unknown(item.get());
  }
  if (base == nullptr || !PyList_Check(base)) return kUnknown;
  return source.index() < PyList_GET_SIZE(base) ? found_or_unknown(PyList_GET_ITEM(base, source.index())) : kAbsent;
}

Fetched fetch_DictItem(const Source& source, PyObject* base, const LocalsView&) {
  if (base == nullptr || !PyDict_Check(base)) return kUnknown;
  PyObject* value = nullptr;
  int status = lookup_constant(base, source.key(), &value);
  return lookup_result(status, value);
}

// An OrderedDict keeps an order of its own.
Fetched in_dict_order(const Source& source, PyObject* base, bool is_key) {
  if (base == nullptr || !PyDict_Check(base) || PyODict_Check(base)) return kUnknown;
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t i = 0; i <= source.index(); ++i)
    if (!PyDict_Next(base, &position, &key, &value)) return kAbsent;
  return {Presence::Found, is_key ? key : value};
}

Fetched fetch_DictEntry(const Source& source, PyObject* base, const LocalsView&) {
  return in_dict_order(source, base, false);
}

Fetched fetch_DictKey(const Source& source, PyObject* base, const LocalsView&) {
  return in_dict_order(source, base, true);
}

Fetched fetch_SetItem(const Source& source, PyObject* base, const LocalsView&) {
  if (base == nullptr || !PyAnySet_CheckExact(base)) return kUnknown;
  Py_ssize_t position = 0;
  PyObject* item = nullptr;
  for (Py_ssize_t i = 0; i <= source.index(); ++i)
    if (pv_next_in_set(base, &position, &item) == 0) return kAbsent;
  return {Presence::Found, item};
}

Fetched fetch_LoadedModule(const Source& source, PyObject*, const LocalsView&) {
  return in_names(PyImport_GetModuleDict(), source.key());
}

Fetched fetch_Field(const Source& source, PyObject* base, const LocalsView&) {
  return base != nullptr ? found_or_unknown(read_object_field(base, static_cast<int>(source.index()))) : kUnknown;
}

Fetched fetch_CachedResults(const Source&, PyObject* base, const LocalsView&) {
  PvCachedFunction cached;
  return pv_cached_function(base, &cached) != 0 ? Fetched{Presence::Found, cached.results} : kUnknown;
}

Fetched fetch_CachedResult(const Source& source, PyObject* base, const LocalsView& view) {
  PyObject* value = nullptr;
  int status = lookup_cached_call(base, source.key(), view, &value);
  return lookup_result(status, value);
}

Fetched fetch_ContextValue(const Source& source, PyObject* base, const LocalsView&) {
  if (!is_exactly(base, &PyContextVar_Type)) return kUnknown;
  static PyObject* const unset = check(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type))).release();
  PyObject* found = nullptr;
  if (PyContextVar_Get(base, source.index() == 1 ? nullptr : unset, &found) < 0) {
    PyErr_Clear();
    return kUnknown;
  }
  Ref value = Ref::steal(found);  // the context, or the variable, also owns it
  return value && value.get() != unset ? Fetched{Presence::Found, value.get()} : kAbsent;
}

Fetched fetch_HandledException(const Source&, PyObject*, const LocalsView&) {
  Ref handled = Ref::steal(PyErr_GetHandledException());  // the thread also owns it
  return handled && handled.get() != Py_None ? Fetched{Presence::Found, handled.get()} : kAbsent;
}

Fetched fetch_Referent(const Source&, PyObject* base, const LocalsView&) {
  if (base == nullptr || !PyWeakref_CheckRef(base)) return kUnknown;
  return {Presence::Found, referent_of(base)};
}

Fetched fetch_Gradient(const Source&, PyObject* base, const LocalsView&) {
  const TensorFamily* family = base != nullptr ? find_family(Py_TYPE(base)) : nullptr;
  return family != nullptr && family->gradients != nullptr ? found_or_unknown(family->gradients->get(base)) : kUnknown;
}

Fetched fetch_WeakItem(const Source& source, PyObject* base, const LocalsView&) {
  if (!is_exactly(base, &PyDict_Type) || !source.subject()) return kUnknown;
  PyObject* value = nullptr;
  int status = lookup_weak_key(base, source.subject_reference(), &value);
  return lookup_result(status, value);
}

Fetched fetch_PropertyGetter(const Source&, PyObject* base, const LocalsView&) {
  static const Py_ssize_t offset = object_member_offset(&PyProperty_Type, "fget");
  // The guard on a subclass, which may read otherwise, is that on the exact type.
  bool is_property = base != nullptr && PyObject_TypeCheck(base, &PyProperty_Type);
  return is_property && offset >= 0 ? found_or_absent(object_member(base, offset)) : kUnknown;
}

Fetched fetch_PropertySetter(const Source&, PyObject* base, const LocalsView&) {
  static const Py_ssize_t offset = object_member_offset(&PyProperty_Type, "fset");
  return is_exactly(base, &PyProperty_Type) && offset >= 0 ? found_or_absent(object_member(base, offset)) : kUnknown;
}

Fetched fetch_ShownMapping(const Source&, PyObject* base, const LocalsView&) {
  return is_exactly(base, &PyDictProxy_Type) ? found_or_unknown(pv_shown_mapping(base)) : kUnknown;
}

Fetched fetch_StandIn(const Source& source, PyObject*, const LocalsView&) {
  return {Presence::Found, stand_in_at(source.index())};
}

Fetched fetch_WrappedFunction(const Source&, PyObject* base, const LocalsView&) {
  if (const WrapperType* wrapper = find_wrapper_type(Py_TYPE(base))) return found_or_absent(wrapper->inner(base));
  if (BorrowedRef replacement = find_replacement(base)) return found_or_absent(replacement);
  static const Py_ssize_t in_static = object_member_offset(&PyStaticMethod_Type, "__func__");
  static const Py_ssize_t in_class = object_member_offset(&PyClassMethod_Type, "__func__");
  if (PvCachedFunction cached; pv_cached_function(base, &cached) != 0) return {Presence::Found, cached.function};
  Py_ssize_t offset = is_exactly(base, &PyStaticMethod_Type)  ? in_static
                      : is_exactly(base, &PyClassMethod_Type) ? in_class
                                                              : -1;
  return offset >= 0 ? found_or_absent(object_member(base, offset)) : kUnknown;
}

// ---- names, one per row; `base` is the base's name, "" if none ----

std::string quoted(const Source& source) { return "[" + repr_constant(source.key()) + "]"; }
std::string attribute(const Source& source, const std::string& base) { return base + "." + text_of(source.key()); }
std::string element(const Source& source, const std::string& base) { return name_of_element(base, source.index()); }

std::string name_Local(const Source& source, const std::string&, const Bytecode& bytecode) {
  Py_ssize_t slot = source.index();
  if (slot >= bytecode.slot_count()) return str_cat("S[", slot - bytecode.slot_count(), "]");
  return "L[" + repr_constant(bytecode.slot_name(static_cast<int>(slot))) + "]";
}
std::string name_CallerSlot(const Source& source, const std::string&, const Bytecode&) { return text_of(source.key()); }
std::string name_Function(const Source&, const std::string&, const Bytecode&) { return "F"; }
std::string name_Global(const Source& source, const std::string& base, const Bytecode&) {
  return (base.empty() ? "G" : base + ".__globals__") + quoted(source);
}
std::string name_Builtin(const Source& source, const std::string& base, const Bytecode&) {
  return (base.empty() ? "B" : base + ".__builtins__") + quoted(source);
}
std::string name_GlobalsDict(const Source&, const std::string& base, const Bytecode&) { return base + ".__globals__"; }
std::string name_CellContents(const Source&, const std::string& base, const Bytecode&) {
  return base + ".cell_contents";
}
std::string name_Closure(const Source& source, const std::string& base, const Bytecode&) {
  return element(source, base + ".__closure__");
}
std::string name_Defaults(const Source& source, const std::string& base, const Bytecode&) {
  return element(source, base + ".__defaults__");
}
std::string name_KwDefault(const Source& source, const std::string& base, const Bytecode&) {
  return base + ".__kwdefaults__" + quoted(source);
}
std::string name_MethodFunction(const Source&, const std::string& base, const Bytecode&) { return base + ".__func__"; }
std::string name_MethodSelf(const Source&, const std::string& base, const Bytecode&) { return base + ".__self__"; }
std::string name_InstanceAttr(const Source& source, const std::string& base, const Bytecode&) {
  return attribute(source, base);
}
std::string name_InstanceDict(const Source&, const std::string& base, const Bytecode&) { return base + ".__dict__"; }
std::string name_AttributesDict(const Source&, const std::string& base, const Bytecode&) { return base + ".__dict__"; }
std::string name_ModuleAttr(const Source& source, const std::string& base, const Bytecode&) {
  return attribute(source, base);
}
std::string name_Type(const Source&, const std::string& base, const Bytecode&) { return "type(" + base + ")"; }
std::string name_TypeAttr(const Source& source, const std::string& base, const Bytecode&) {
  return attribute(source, base);
}
std::string name_MroEntry(const Source& source, const std::string& base, const Bytecode&) {
  return element(source, base + ".__mro__");
}
std::string name_SuperAttr(const Source& source, const std::string& base, const Bytecode&) {
  return attribute(source, element(source, base + ".__mro__"));
}
std::string name_SlotAttr(const Source& source, const std::string& base, const Bytecode&) {
  return attribute(source, base);
}
std::string name_Item(const Source& source, const std::string& base, const Bytecode&) { return element(source, base); }
std::string name_DictItem(const Source& source, const std::string& base, const Bytecode&) {
  return base + quoted(source);
}
std::string name_DictEntry(const Source& source, const std::string& base, const Bytecode&) {
  return str_cat("list(", base, ".values())[", source.index(), "]");
}
std::string name_DictKey(const Source& source, const std::string& base, const Bytecode&) {
  return str_cat("list(", base, ")[", source.index(), "]");
}
std::string name_SetItem(const Source& source, const std::string& base, const Bytecode&) {
  return str_cat("list(", base, ")[", source.index(), "]");
}
std::string name_LoadedModule(const Source& source, const std::string&, const Bytecode&) {
  return "sys.modules" + quoted(source);
}
std::string name_Field(const Source& source, const std::string& base, const Bytecode&) {
  return attribute(source, base);
}
std::string name_CachedResults(const Source&, const std::string& base, const Bytecode&) { return base + ".__cache__"; }
// The arguments of a cached call; an object is named by its type.
std::string call_text(BorrowedRef part, const Bytecode& bytecode) {
  if (is_number_part(part.get())) return number_part_text(part.get(), bytecode);
  if (PyWeakref_CheckRefExact(part.get())) return str_cat("<", Py_TYPE(referent_of(part))->tp_name, ">");
  if (!PyTuple_CheckExact(part.get()) || is_guardable_constant(part)) return repr_constant(part);
  std::string items;
  Py_ssize_t size = PyTuple_GET_SIZE(part.get());
  for (Py_ssize_t i = 0; i < size; ++i)
    items += str_cat(i > 0 ? ", " : "", call_text(PyTuple_GET_ITEM(part.get(), i), bytecode));
  return str_cat("(", items, size == 1 ? ",)" : ")");
}
std::string name_CachedResult(const Source& source, const std::string& base, const Bytecode& bytecode) {
  return str_cat(base, ".__cache__[", call_text(source.key(), bytecode), "]");
}
std::string name_ContextValue(const Source& source, const std::string& base, const Bytecode&) {
  return base + (source.index() == 1 ? ".get()" : ".get(...)");
}
std::string name_HandledException(const Source&, const std::string&, const Bytecode&) { return "sys.exception()"; }
std::string name_Referent(const Source&, const std::string& base, const Bytecode&) { return base + "()"; }
std::string name_Gradient(const Source&, const std::string& base, const Bytecode&) { return base + ".grad"; }
std::string name_WeakItem(const Source& source, const std::string& base, const Bytecode&) {
  PyObject* subject = source.subject();
  return str_cat(base, "[ref(", subject != nullptr ? Py_TYPE(subject)->tp_name : "?", ")]");
}
std::string name_PropertyGetter(const Source&, const std::string& base, const Bytecode&) { return base + ".fget"; }
std::string name_PropertySetter(const Source&, const std::string& base, const Bytecode&) { return base + ".fset"; }
std::string name_ShownMapping(const Source&, const std::string& base, const Bytecode&) { return base + ".__mapping__"; }
std::string name_StandIn(const Source& source, const std::string&, const Bytecode&) {
  return str_cat("stand_in(",
                 text_of(reinterpret_cast<PyFunctionObject*>(stand_in_at(source.index()).get())->func_name), ")");
}
std::string name_WrappedFunction(const Source&, const std::string& base, const Bytecode&) { return base + ".__func__"; }

struct SourceRow {
  const char* name;
  LookupDict lookup;
  SourceHolder holder;
  Fetched (*fetch)(const Source& source, PyObject* base, const LocalsView& view);
  std::string (*text)(const Source& source, const std::string& base, const Bytecode& bytecode);
};

constexpr SourceRow kSourceRows[] = {
#define MD_SOURCE(name, lookup, holder, dependency, doc) \
  {#name, LookupDict::lookup, SourceHolder::holder, fetch_##name, name_##name},
#include "guards/sources.def"
#undef MD_SOURCE
};

const SourceRow& row_of(const Source& source) { return kSourceRows[static_cast<int>(source.kind())]; }

size_t mix(size_t hash, size_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15u; }

size_t key_hash(PyObject* key) {
  if (key == nullptr) return 0;
  Py_hash_t hash = PyObject_Hash(key);
  if (hash == -1) PyErr_Clear();
  return static_cast<size_t>(hash);
}

bool same_key(BorrowedRef a, BorrowedRef b) {
  if (!a || !b) return a.get() == b.get();
  return identical_constants(a, b);
}

// A member that holds an object: unset means no attribute (T_OBJECT_EX), or None (T_OBJECT, in built-in types only).
const PyMemberDef* object_member(BorrowedRef descriptor) {
  if (!descriptor || descriptor.type() != &PyMemberDescr_Type) return nullptr;
  const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor.get())->d_member;
  return member->type == T_OBJECT_EX || member->type == T_OBJECT ? member : nullptr;
}

}  // namespace

const char* source_kind_name(SourceKind kind) { return kSourceRows[static_cast<int>(kind)].name; }

LookupDict Source::lookup() const { return row_of(*this).lookup; }

SourceHolder Source::holder() const { return row_of(*this).holder; }

bool is_object_slot(BorrowedRef member_descriptor) {
  const PyMemberDef* member = object_member(member_descriptor);
  return member != nullptr && member->type == T_OBJECT_EX;
}

Py_ssize_t slot_offset(BorrowedRef member_descriptor) {
  const PyMemberDef* slot = object_member(member_descriptor);
  return slot != nullptr ? slot->offset : -1;
}

BorrowedRef Source::subject() const {
  if (!subject_) return nullptr;
  PyObject* owner = referent_of(subject_);
  return owner != Py_None ? owner : nullptr;
}

const Source* SourcePool::get(SourceKind kind, const Source* base, BorrowedRef key, Py_ssize_t index) {
  MD_ASSERT(index >= 0 || kind == SourceKind::Defaults, "a source index counts from the start");
  if (kind == SourceKind::WeakItem) return weak_item(base, key);
  Ref subject;
  if (kind == SourceKind::SlotAttr) {
    const PyMemberDef* slot = object_member(key);
    MD_ASSERT(slot != nullptr, "a SlotAttr stands on a member descriptor that holds an object");
    auto* descriptor = reinterpret_cast<PyDescrObject*>(key.get());
    subject = check(PyWeakref_NewRef(reinterpret_cast<PyObject*>(descriptor->d_type), nullptr));
    key = descriptor->d_name;
    index = slot->offset;
  }
  Ref exact = key ? exact_constant(key) : Ref();
  MD_ASSERT(!exact || is_guardable_constant(exact), "the key of a source is a constant");
  return intern(kind, base, exact, index, subject);
}

const Source* SourcePool::cached_result(const Source* base, BorrowedRef call) {
  return intern(SourceKind::CachedResult, base, call, 0, nullptr);
}

const Source* SourcePool::weak_item(const Source* base, BorrowedRef referent) {
  return intern(SourceKind::WeakItem, base, nullptr, 0, check(PyWeakref_NewRef(referent, nullptr)));
}

const Source* SourcePool::on_base(const Source* source, const Source* base) {
  return source->base() == base ? source
                                : intern(source->kind(), base, source->key(), source->index(), source->subject_);
}

const Source* SourcePool::intern(SourceKind kind, const Source* base, BorrowedRef key, Py_ssize_t index,
                                 BorrowedRef subject) {
  size_t hash = mix(mix(mix(static_cast<size_t>(kind), base != nullptr ? base->id() + 1 : 0), key_hash(key)), index);
  auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Source& other = sources_[it->second];
    // An object has at most one weak reference without a callback.
    if (other.kind_ == kind && other.base_ == base && other.index_ == index && same_key(other.key_, key) &&
        other.subject_.get() == subject.get()) {
      return &other;
    }
  }
  Source& source = sources_.emplace_back();
  source.kind_ = kind;
  source.base_ = base;
  source.key_ = Ref::share(key);
  source.subject_ = Ref::share(subject);
  source.index_ = index;
  source.id_ = size() - 1;
  source.depth_ = base != nullptr ? base->depth() + 1 : 0;
  source.place_hash_ =
      mix(mix(mix(static_cast<size_t>(kind), base != nullptr ? base->place_hash() : 0), key_hash(key)), index);
  by_hash_.emplace(hash, source.id_);
  return &source;
}

Py_ssize_t index_of_stand_in(BorrowedRef function) {
  auto found = std::ranges::find(stand_ins(), function.get());
  if (found == stand_ins().end()) found = stand_ins().insert(found, Py_NewRef(function.get()));
  return found - stand_ins().begin();
}

bool is_in_stand_in(const Source* source) {
  while (source != nullptr && source->base() != nullptr) source = source->base();
  return source != nullptr && source->kind() == SourceKind::StandIn;
}

bool same_place(const Source* a, const Source* b) {
  for (; a != b; a = a->base(), b = b->base()) {
    if (a == nullptr || b == nullptr || a->place_hash() != b->place_hash() || a->kind() != b->kind() ||
        a->index() != b->index() || !same_key(a->key(), b->key()) || a->subject().get() != b->subject().get())
      return false;
  }
  return true;
}

Fetched fetch_step(const Source& source, PyObject* base, const LocalsView& view) {
  return row_of(source).fetch(source, base, view);
}

Fetched fetch_path(const Source& source, const LocalsView& view) {
  if (source.base() == nullptr) return fetch_step(source, nullptr, view);
  // In another frame, or with other arguments, the base may not exist.
  PyObject* base = fetch_path(*source.base(), view).object;
  return base != nullptr ? fetch_step(source, base, view) : kUnknown;
}

Ref fetch(const Source* source, const LocalsView& view) { return Ref::share(fetch_path(*source, view).object); }

std::string name_of_element(const std::string& sequence, Py_ssize_t index) {
  return str_cat(sequence, "[", index, "]");
}

std::string name(const Source* source, const Bytecode& bytecode) {
  std::string base = source->base() != nullptr ? name(source->base(), bytecode) : std::string();
  return row_of(*source).text(*source, base, bytecode);
}

}  // namespace md
