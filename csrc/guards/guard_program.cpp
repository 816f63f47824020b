#include "guards/guard_program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cpython/dict_version.h"
#include "cpython/library_types.h"
#include "cpython/object_layout.h"
#include "cpython/set_table.h"
#include "guards/constants.h"
#include "guards/fetch_step.h"
#include "guards/guard_row.h"
#include "guards/text_stream.h"
#include "tensor/memory_overlap.h"

namespace md {
namespace {

bool fits_symbolic(const TensorExpectation& expected, const int64_t* sizes, const Strides& strides) {
  constexpr int64_t kAny = TensorExpectation::kAnyDim;
  const int64_t* dims = expected.dims.data();
  for (int i = 0; i < expected.rank; ++i) {
    if (dims[i] != kAny && sizes[i] != dims[i]) return false;
    int over = expected.stride_over[static_cast<size_t>(i)];
    int inner = over < expected.rank ? over : over - expected.rank;
    // As in the strides of a new tensor, an extent of zero counts as one.
    int64_t stride = over < 0 ? dims[expected.rank + i] : strides[inner] * (sizes[inner] == 0 ? 1 : sizes[inner]);
    if (strides[i] != (over == inner ? stride : -stride)) return false;
  }
  return true;
}

// Inlined, so that the view of a contained tensor stays in registers.
[[gnu::always_inline]] inline bool fits(const TensorExpectation& expected, const TensorView& view) {
  if (view.dtype != expected.dtype || view.rank != expected.rank || view.requires_grad != expected.requires_grad ||
      view.witness != expected.witness) {
    return false;
  }
  const int64_t* dims = expected.dims.data();
  for (int i = 0; i < expected.rank; ++i) {
    if (view.sizes[i] != dims[i] || view.strides[i] != dims[expected.rank + i])
      return !expected.stride_over.empty() && fits_symbolic(expected, view.sizes, view.strides);
  }
  return true;
}

bool check_TENSOR_MATCH(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  const Guard& guard = *in.operand;
  PyObject* object = registers[in.target];
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != *guard.object.cell()) return false;
  const TensorExpectation& expected = guard.tensor;
  if (expected.has_dict(object)) return false;
  if (auto* contained = expected.family->contained) {
    const TensorImpl& impl = *contained(object).impl();
    return impl.kind() == TensorKind::Real && fits(expected, view_of(impl));
  }
  TensorView view;
  return expected.family->read(object, view) && fits(expected, view);
}

bool check_TYPE_MATCH(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  return reinterpret_cast<PyObject*>(Py_TYPE(registers[in.target])) == *in.cell;
}

bool check_EQUALS_MATCH(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  PyObject* object = registers[in.target];
  const Guard& guard = *in.operand;
  PyObject* constant = *guard.object.cell();
  return object == constant || (Py_TYPE(object) == Py_TYPE(constant) && guard.same_constant(object, constant));
}

bool check_ID_MATCH(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  // A dead weakly held object is represented by None; None itself is guarded by EQUALS_MATCH.
  PyObject* object = registers[in.target];
  return object == *in.cell && object != Py_None;
}

bool check_CODE_MATCH(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  PyObject* object = registers[in.target];
  return Py_TYPE(object) == &PyFunction_Type && PyFunction_GET_CODE(object) == *in.cell;
}

bool check_SLOT_MATCH(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  return slot_offset(registers[in.target]) == in.number;
}

bool check_LENGTH(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  PyObject* object = registers[in.target];
  PyTypeObject* type = Py_TYPE(object);
  if (PyList_Check(object) || PyTuple_Check(object) || type == deque_type()) return Py_SIZE(object) == in.number;
  if (PyDict_Check(object)) return PyDict_GET_SIZE(object) == in.number;
  return (type == &PySet_Type || type == &PyFrozenSet_Type) && PySet_GET_SIZE(object) == in.number;
}

// An OrderedDict keeps an order separate from its dict's.
bool has_ordered_keys(PyObject* dict, const std::vector<GuardedRef>& keys) {
  Ref iterator = Ref::steal(PyODict_Type.tp_iter(dict));
  bool same = static_cast<bool>(iterator);
  for (const GuardedRef& expected : keys) {
    Ref key = same ? Ref::steal(PyIter_Next(iterator)) : Ref();
    same = key && is_expected_key(key, expected);
  }
  PyErr_Clear();
  return same;
}

bool check_DICT_KEYS(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  const Guard& guard = *in.operand;
  PyObject* dict = registers[in.target];
  if (!PyDict_Check(dict) || PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(guard.keys.size())) {
    return false;
  }
  if (PyODict_Check(dict)) return has_ordered_keys(dict, guard.keys);
  uint64_t version = pv_dict_version(dict);
  if (version != 0 && version == in.memo.version) return true;
  Py_ssize_t position = 0;
  PyObject* key = nullptr;
  for (const GuardedRef& expected : guard.keys) {
    if (!PyDict_Next(dict, &position, &key, nullptr) || !is_expected_key(key, expected)) return false;
  }
  in.memo.version = version;
  return true;
}

bool check_SET_ITEMS(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  const Guard& guard = *in.operand;
  PyObject* set = registers[in.target];
  if (!PyAnySet_CheckExact(set) || PySet_GET_SIZE(set) != static_cast<Py_ssize_t>(guard.keys.size())) return false;
  Py_ssize_t position = 0;
  PyObject* item = nullptr;
  for (const GuardedRef& expected : guard.keys)
    if (pv_next_in_set(set, &position, &item) == 0 || !is_expected_key(item, expected)) return false;
  return true;
}

bool check_SET_TABLE(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  PyObject* set = registers[in.target];
  return PyAnySet_CheckExact(set) && pv_set_fingerprint(set) == static_cast<uint64_t>(in.number);
}

bool check_MATCH_FLAGS(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  PyObject* object = registers[in.target];
  return PyType_Check(object) && pattern_flags(reinterpret_cast<PyTypeObject*>(object)) == in.number;
}

bool check_ABC_TOKEN(const GuardInstruction& in, PyObject* const*, const LocalsView&) {
  return current_abc_token() == in.number;
}

bool check_RECURSION_LIMIT(const GuardInstruction& in, PyObject* const*, const LocalsView&) {
  return Py_GetRecursionLimit() == in.number;
}

int look_for_key(const GuardInstruction& in, PyObject* const* registers) {
  PyObject* dict = registers[in.target];
  PyObject* value = nullptr;
  return PyDict_Check(dict) ? lookup_constant(dict, *in.cell, &value) : -1;
}

bool check_DICT_CONTAINS(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  return look_for_key(in, registers) == 1;
}

bool check_DICT_MISSING(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  return look_for_key(in, registers) == 0;
}

// The preceding fetch is the check.
bool check_PRESENT(const GuardInstruction&, PyObject* const*, const LocalsView&) { return true; }

// Version of the dict that a lookup goes to; 0 if it has none, or if the base is of another type.
uint64_t lookup_version(LookupDict where, PyObject* base, const LocalsView& view) {
  auto function = [&]() -> PyFunctionObject* {
    PyObject* object = base != nullptr ? base : view.function;
    bool is_function = object != nullptr && Py_TYPE(object) == &PyFunction_Type;
    return is_function ? reinterpret_cast<PyFunctionObject*>(object) : nullptr;
  };
  switch (where) {
    case LookupDict::Base:
      return pv_dict_version(base);
    case LookupDict::Attributes:
      return base != nullptr ? pv_attributes_version(base) : 0;
    case LookupDict::Globals:
      return function() != nullptr ? pv_dict_version(function()->func_globals) : 0;
    case LookupDict::Builtins:
      return function() != nullptr ? pv_dict_version(function()->func_builtins) : 0;
    case LookupDict::Module:
      return base != nullptr && PyModule_Check(base) ? pv_dict_version(PyModule_GetDict(base)) : 0;
    case LookupDict::Type: {
      if (base == nullptr || !PyType_Check(base)) return 0;
      auto* type = reinterpret_cast<PyTypeObject*>(base);
      return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag : 0;
    }
    case LookupDict::None:
      break;
  }
  return 0;
}

bool has_classes_in_mro(PyTypeObject* type, const std::vector<GuardedRef>& classes) {
  PyObject* mro = type->tp_mro;
  if (mro == nullptr || PyTuple_GET_SIZE(mro) != static_cast<Py_ssize_t>(classes.size())) return false;
  for (size_t i = 0; i < classes.size(); ++i)
    if (PyTuple_GET_ITEM(mro, static_cast<Py_ssize_t>(i)) != classes[i].get().get()) return false;
  return true;
}

bool check_MRO(const GuardInstruction& in, PyObject* const* registers, const LocalsView& view) {
  PyObject* object = registers[in.target];
  uint64_t version = lookup_version(LookupDict::Type, object, view);
  if (version != 0 && version == in.memo.version) return true;
  if (!PyType_Check(object) || !has_classes_in_mro(reinterpret_cast<PyTypeObject*>(object), in.operand->keys))
    return false;
  // A lookup assigns a version to a type that has none.
  static PyObject* const kAny = PyUnicode_InternFromString("__mro__");
  if (version == 0) _PyType_Lookup(reinterpret_cast<PyTypeObject*>(object), kAny);
  in.memo.version = lookup_version(LookupDict::Type, object, view);
  return true;
}

// As fetch_step, but skips the lookup if the dict's version is the one recorded with the previous result.
Fetched look_up(const GuardInstruction& in, PyObject* base, const LocalsView& view) {
  if (in.lookup == LookupDict::None) return fetch_step(*in.source, base, view);
  uint64_t version = lookup_version(in.lookup, base, view);
  if (version != 0 && version == in.memo.version)
    return {in.memo.object != nullptr ? Presence::Found : Presence::Absent, in.memo.object};
  Fetched fetched = fetch_step(*in.source, base, view);
  // A lookup assigns a version to a type that has none.
  bool is_known = fetched.presence != Presence::Unknown;
  in.memo = {is_known ? lookup_version(in.lookup, base, view) : 0, fetched.object};
  return fetched;
}

// The only check that fetches: `other` is the register of the source's base.
bool check_ABSENT(const GuardInstruction& in, PyObject* const* registers, const LocalsView& view) {
  PyObject* base = in.other != kNoRegister ? registers[in.other] : nullptr;
  return look_up(in, base, view).presence == Presence::Absent;
}

bool check_ALIAS(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  return registers[in.target] == registers[in.other];
}

bool check_NOT_ALIAS(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  return registers[in.target] != registers[in.other];
}

bool check_SHAPE(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  const SizeExpectation& expected = *in.operand->size;
  std::array<int64_t, kMostSizes> values;
  size_t count = expected.places.size();
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> value = read_size(expected.places[i], registers[expected.registers[i]]);
    if (!value) return false;
    values[i] = *value;
  }
  std::span<const int64_t> known(values.data(), count);
  std::optional<int64_t> left = expected.left.evaluate(known), right = expected.right.evaluate(known);
  return left && right && holds(expected.relation, *left, *right);
}

bool check_NUMBER(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  const Guard& guard = *in.operand;
  std::array<PyObject*, kMostSizes> objects;
  size_t count = guard.size->registers.size();
  for (size_t i = 0; i < count; ++i) objects[i] = registers[guard.size->registers[i]];
  Ref result = guard.number->evaluate({objects.data(), count});
  PyObject* expected = *guard.object.cell();
  return result && Py_TYPE(result.get()) == Py_TYPE(expected) && guard.same_constant(result.get(), expected);
}

// A TENSOR_MATCH of both came before, by the order of the table and of depths.
bool check_NO_OVERLAP(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  Tensor a = tensor_of_object(registers[in.target]), b = tensor_of_object(registers[in.other]);
  return a.defined() && b.defined() && !ranges_meet(a, b);
}

// As NO_OVERLAP of all pairs with a written tensor.
bool check_APART(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  std::vector<Tensor> tensors;
  tensors.reserve(in.operand->size->registers.size());
  for (uint32_t which : in.operand->size->registers) {
    tensors.push_back(tensor_of_object(registers[which]));
    if (!tensors.back().defined()) return false;
  }
  return !any_ranges_meet(tensors, static_cast<size_t>(in.operand->length));
}

bool check_WRITABLE(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  const TensorFamily* family = family_of(registers[in.target]);
  return family != nullptr && family->is_writable(registers[in.target]);
}

bool check_ALIGNED(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  return lies_at_multiple(registers[in.target], in.number);
}

bool check_TEXT_STREAM(const GuardInstruction& in, PyObject* const* registers, const LocalsView&) {
  return is_plain_text_stream(registers[in.target]);
}

bool check_GLOBAL_STATE(const GuardInstruction& in, PyObject* const*, const LocalsView&) {
  const StateExpectation& expected = in.operand->state;
  return expected.family->state() == expected.words;
}

void set_operand(GuardInstruction& in, const Guard& guard) {
  switch (guard_row(guard.kind).operand) {
    case GuardOperand::Guard:
      in.operand = &guard;
      return;
    case GuardOperand::Held:
      in.cell = guard.object.cell();
      return;
    case GuardOperand::Number:
      in.number = guard.length;
      return;
    case GuardOperand::Source:
      in.source = guard.source;
      return;
  }
}

}  // namespace

Py_ssize_t current_abc_token() {
  static PyObject* const get = imported("_abc", "get_cache_token").release();
  return PyLong_AsSsize_t(check(PyObject_CallNoArgs(get)));
}

bool is_expected_key(PyObject* key, const GuardedRef& expected) {
  BorrowedRef object = expected.get();
  if (!object) return false;
  return key == object.get() || (is_guardable_constant(object) && identical_constants(key, object));
}

bool reads_places(const GuardInstruction& in) {
  return in.op < GuardOp::Fetch && guard_row(static_cast<GuardKind>(in.op)).subject == GuardSubject::Sizes;
}

class GuardProgram::Emitter {
 public:
  Emitter(GuardProgram& program, const std::vector<Guard*>& guards) : program_(program) {
    int source_count = 0;
    for (const Guard* guard : guards) {
      if (guard->size != nullptr) {
        for (const SizePlace& place : guard->size->places)
          source_count = std::max(source_count, place.source->id() + 1);
      }
      for (const Source* source : {guard->source, guard->other}) {
        if (source != nullptr) source_count = std::max(source_count, source->id() + 1);
      }
    }
    program_.registers_.assign(source_count, kNoRegister);
  }

  void check(Guard& guard, int index) {
    GuardInstruction in = make(static_cast<GuardOp>(guard.kind), index);
    if (guard_row(guard.kind).subject == GuardSubject::Place) {
      in.other = fetched(guard.source->base());
      in.lookup = guard.source->lookup();
    } else {
      in.target = fetched(guard.source);
      in.other = fetched(guard.other);
    }
    if (guard.size != nullptr) {
      for (const SizePlace& place : guard.size->places) guard.size->registers.push_back(fetched(place.source));
    }
    set_operand(in, guard);
    emit(in);
  }

 private:
  static GuardInstruction make(GuardOp op, int guard) {
    return {op, LookupDict::None, kNoRegister, kNoRegister, guard, -1, kNoRegister, {}, {}};
  }

  // The register that holds the source's object from here on.
  uint32_t fetched(const Source* source) {
    if (source == nullptr) return kNoRegister;
    if (uint32_t known = program_.register_of(source); known != kNoRegister) return known;
    uint32_t base = fetched(source->base());
    uint32_t target = program_.registers_[static_cast<size_t>(source->id())] = program_.register_count_++;
    if (source->kind() == SourceKind::Local) {
      load_slot(source, target);
    } else {
      GuardInstruction in = make(GuardOp::Fetch, -1);
      in.target = target;
      in.other = base;
      in.source = source;
      in.lookup = source->lookup();
      emit(in);
    }
    return target;
  }

  // Attaches the load to the next instruction.
  void load_slot(const Source* source, uint32_t target) {
    if (pending_slot_ >= 0) emit(make(GuardOp::Nothing, -1));
    pending_slot_ = static_cast<int32_t>(source->index());
    pending_register_ = target;
  }

  void emit(GuardInstruction in) {
    in.slot = std::exchange(pending_slot_, -1);
    in.slot_register = pending_register_;
    program_.instructions_.push_back(in);
  }

  GuardProgram& program_;
  int32_t pending_slot_ = -1;
  uint32_t pending_register_ = kNoRegister;
};

void GuardProgram::compile(const std::vector<Guard*>& guards) {
  Emitter emitter(*this, guards);
  for (int i = 0; i < static_cast<int>(guards.size()); ++i) emitter.check(*guards[i], i);
  has_fetches_ = std::ranges::any_of(instructions_, [](const GuardInstruction& in) { return in.op == GuardOp::Fetch; });
}

inline GuardProgram::Outcome GuardProgram::execute(const GuardInstruction& in, const LocalsView& view,
                                                   PyObject** registers) {
  if (in.slot >= 0) {
    if (in.slot >= view.slot_count) return Outcome::SlotIsUnset;
    PyObject* object = view.slots[in.slot];
    registers[in.slot_register] = object;
    if (object == nullptr) return Outcome::SlotIsUnset;
  }
  bool holds = true;
  switch (in.op) {
#define MD_GUARD(name, ...)                    \
  case GuardOp::name:                          \
    holds = check_##name(in, registers, view); \
    break;
#include "guards/guard_kinds.def"
#undef MD_GUARD
    case GuardOp::Fetch: {
      PyObject* base = in.other != kNoRegister ? registers[in.other] : nullptr;
      Fetched fetched = look_up(in, base, view);
      registers[in.target] = fetched.object;
      holds = fetched.presence == Presence::Found;
      break;
    }
    case GuardOp::Nothing:
      break;
  }
  return holds ? Outcome::Holds : Outcome::Fails;
}

// Index of the first instruction that fails, -1 if none does.
int GuardProgram::run(const LocalsView& view, PyObject** registers) const {
  const GuardInstruction* const begin = instructions_.data();
  const GuardInstruction* const end = begin + instructions_.size();
  for (const GuardInstruction* in = begin; in != end; ++in)
    if (execute(*in, view, registers) != Outcome::Holds) return static_cast<int>(in - begin);
  return -1;
}

bool GuardProgram::check(std::span<const GuardInstruction> instructions, const LocalsView& view, PyObject** registers) {
  return std::ranges::all_of(
      instructions, [&](const GuardInstruction& in) { return execute(in, view, registers) == Outcome::Holds; });
}

GuardProgram::Miss GuardProgram::first_miss(const LocalsView& view) const {
  std::vector<PyObject*> registers(register_count_);
  int index = run(view, registers.data());
  if (index < 0) return {};
  const GuardInstruction& in = instructions_[index];
  bool slot_is_unset = in.slot >= 0 && registers[in.slot_register] == nullptr;
  return {&in, in.target != kNoRegister ? registers[in.target] : nullptr, slot_is_unset};
}

// Whether the registers that it reads hold objects, except one that it loads itself.
bool GuardProgram::can_execute(const GuardInstruction& in, PyObject* const* registers) const {
  auto has = [&](uint32_t which) {
    return which == kNoRegister || registers[which] != nullptr || (in.slot >= 0 && which == in.slot_register);
  };
  if (in.op == GuardOp::Fetch) return has(in.other);
  if (reads_places(in)) {
    for (uint32_t which : in.operand->size->registers)
      if (!has(which)) return false;
  }
  return has(in.target) && has(in.other);
}

std::vector<GuardProgram::Miss> GuardProgram::all_misses(const LocalsView& view) const {
  std::vector<PyObject*> registers(register_count_);
  std::vector<Miss> misses;
  for (const GuardInstruction& in : instructions_) {
    if (!can_execute(in, registers.data())) {
      // Its attached load must still be done.
      if (in.slot >= 0 && in.slot < view.slot_count) registers[in.slot_register] = view.slots[in.slot];
      continue;
    }
    Outcome outcome = execute(in, view, registers.data());
    if (outcome == Outcome::Holds) continue;
    PyObject* object = in.target != kNoRegister ? registers[in.target] : nullptr;
    misses.push_back({&in, object, outcome == Outcome::SlotIsUnset});
  }
  return misses;
}

}  // namespace md
