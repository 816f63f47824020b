#include "guards/memo_recorder.h"

#include "cpython/library_types.h"
#include "guards/constants.h"
#include "guards/tensor_family.h"

namespace md {
namespace {

bool is_static(PyTypeObject* type) { return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE); }

// __class__ can be assigned.
bool type_may_change(PyObject* object) { return !is_static(Py_TYPE(object)) || PyModule_Check(object); }

// Objects likely to be the same in later calls: those with attributes of their own.
// Containers and tensors are usually new.
bool can_be_root(PyObject* object) {
  bool is_container = PyDict_Check(object) || PyList_Check(object) || PyTuple_Check(object);
  return pv_has_instance_storage(object) != 0 && !is_container && family_of(object) == nullptr;
}

// Operand of an EQUALS_MATCH or an ID_MATCH; owned by the guard.
PyObject* expected(const GuardInstruction& in) {
  return in.op == GuardOp::EQUALS_MATCH ? *in.operand->object.cell() : *in.cell;
}

}  // namespace

MemoRecorder::MemoRecorder(const GuardProgram& program, const LocalsView& view, PyObject* const* registers)
    : program_(program),
      view_(view),
      registers_(registers),
      memory_(new GuardMemo(program)),
      known_(program.register_count()) {}

std::unique_ptr<GuardMemo> MemoRecorder::record() {
  memory_->tensor_changes_ = tensor_changes();
  memory_->objects_.assign(registers_, registers_ + program_.register_count());
  note_uses();
  note_held_types();
  for (const GuardInstruction& in : program_.instructions()) add(in);
  finish_rechecks();
  memory_->presets_.assign(presets_.begin(), presets_.end());
  for (const Known& each : known_) memory_->known_.push_back(each.trust != Provenance::Loose);
  return std::move(memory_);
}

void MemoRecorder::note_uses() {
  for (const GuardInstruction& in : program_.instructions()) {
    if ((in.op == GuardOp::Fetch || in.op == GuardOp::ABSENT) && in.other != kNoRegister)
      known(in.other).has_children = true;
    if (in.op == GuardOp::EQUALS_MATCH || in.op == GuardOp::ID_MATCH)
      known(in.target).is_constant = object(in.target) == expected(in);
  }
}

void MemoRecorder::note_held_types() {
  for (const GuardInstruction& in : program_.instructions()) {
    if (in.op == GuardOp::TYPE_MATCH) held_types_.insert(*in.cell);
    if (in.op == GuardOp::TENSOR_MATCH) held_types_.insert(*in.operand->object.cell());
  }
}

// ---- words ----

void MemoRecorder::word(const void* place, int32_t recheck) {
  auto* at = static_cast<const uint64_t*>(place);
  memory_->witnesses_.push_back({at, *at, recheck});
}

void MemoRecorder::word(uint32_t in_object, const void* place) {
  known(in_object).is_read = true;
  if (noted_.insert(place).second) word(place);
}

bool MemoRecorder::is_held(PyTypeObject* type) const {
  return is_static(type) || held_types_.contains(reinterpret_cast<PyObject*>(type));
}

// Establishes that the object has its type and thus its layout; returns false if impossible.
bool MemoRecorder::has_type(uint32_t which) {
  Known& known = this->known(which);
  if (known.has_type) return true;
  PyObject* object = this->object(which);
  if (!is_held(Py_TYPE(object))) return false;
  // An object found again after a dict has changed has the same static type (RecheckStep).
  if (known.trust != Provenance::Certain || type_may_change(object)) word(which, &object->ob_type);
  known.is_read = true;
  return known.has_type = true;
}

bool MemoRecorder::has_size(uint32_t which) {
  PyObject* object = this->object(which);
  if (!has_type(which)) return false;
  if (PyDict_Check(object)) {
    word(which, &reinterpret_cast<PyDictObject*>(object)->ma_used);
  } else if (PyAnySet_Check(object)) {
    word(which, &reinterpret_cast<PySetObject*>(object)->used);
  } else {
    word(which, &reinterpret_cast<PyVarObject*>(object)->ob_size);
  }
  return true;
}

// ---- instructions ----

void MemoRecorder::add_root(const GuardInstruction& in) {
  Known& known = this->known(in.slot_register);
  PyObject* object = this->object(in.slot_register);
  if (!known.has_children || !can_be_root(object) || !is_held(Py_TYPE(object))) return;
  known.trust = Provenance::ByAddress;
  memory_->roots_.push_back({in.slot, object});
}

void MemoRecorder::add(const GuardInstruction& in) {
  if (in.slot >= 0) add_root(in);
  bool is_proved = in.op == GuardOp::Fetch ? proves_fetch(in) : proves_check(in);
  if (!is_proved) return add_step(in);
  // Its attached load must still be done.
  if (in.slot >= 0 && is_loose(in.slot_register)) {
    GuardInstruction load = in;
    load.op = GuardOp::Nothing;
    load.target = load.other = kNoRegister;
    add_step(load);
  }
}

bool MemoRecorder::is_by_address(const GuardInstruction& in) const {
  PvWord words[3];
  switch (in.source->holder()) {
    case SourceHolder::Word:
      return true;
    case SourceHolder::Attributes:
      return pv_inline_words(object(in.other), in.source->key(), words) > 0;
    case SourceHolder::Other:
      break;
  }
  return false;
}

// Whether the memo knows what the fetch finds.
bool MemoRecorder::proves_fetch(const GuardInstruction& in) {
  Known& found = known(in.target);
  bool reads_loose = is_loose(in.other);
  bool is_leaf = !found.has_children;
  // For objects that may differ each time, only constants are worth a word.
  if (reads_loose || (is_leaf && !found.is_constant && is_by_address(in))) return false;
  Dependency dependency = dependency_of(*in.source, in.other);
  if (dependency.kind == DependencyKind::Nothing) {
    if (is_leaf || in.other == kNoRegister) return false;
    // Repeated by each check, before anything reached through it.
    memory_->witnesses_.push_back({&GuardMemo::kNever, 1, static_cast<int32_t>(memory_->rechecks_.size())});
    memory_->rechecks_.push_back({{in, Py_TYPE(object(in.target))}});
    known(in.other).is_read = true;
    dependency = {DependencyKind::Words, Provenance::ByAddress};
  }
  found.trust = dependency.trust;
  found.group = dependency.group;
  if (dependency.kind == DependencyKind::Group)
    memory_->rechecks_[static_cast<size_t>(dependency.group)].push_back({in, nullptr});
  return true;
}

// Repeats this instruction on whatever a later recheck finds.
bool MemoRecorder::rests_on_owner(const GuardInstruction& in, uint32_t which) {
  Known& known = this->known(which);
  if (known.trust != Provenance::Certain) return false;
  if (known.group >= 0) memory_->rechecks_[static_cast<size_t>(known.group)].push_back({in, nullptr});
  return true;
}

// The same for what a lookup depends on.
bool MemoRecorder::rests_on(const Dependency& dependency, const GuardInstruction& in) {
  if (dependency.kind == DependencyKind::Group)
    memory_->rechecks_[static_cast<size_t>(dependency.group)].push_back({in, nullptr});
  return dependency.kind != DependencyKind::Nothing;
}

// Whether it is the very object owned by the guard, so its address cannot be reused.
bool MemoRecorder::is_this_object(const GuardInstruction& in) {
  if (object(in.target) != expected(in)) return false;
  Known& known = this->known(in.target);
  if (known.trust == Provenance::ByAddress) known.trust = Provenance::Certain;
  return true;
}

// Whether words, or rechecks of what it depends on, replace the check.
bool MemoRecorder::proves_check(const GuardInstruction& in) {
  if (is_loose(in.target) || is_loose(in.other)) return false;
  switch (in.op) {
#define MD_GUARD(name, subject, operand, same, implies, expects, failure, proof, doc) \
  case GuardOp::name:                                                                 \
    return proof(in);
#include "guards/guard_kinds.def"
#undef MD_GUARD
    case GuardOp::Nothing:
      return true;
    case GuardOp::Fetch:
      break;
  }
  return false;
}

// ---- the proofs of guard_kinds.def ----

bool MemoRecorder::proves_nothing(const GuardInstruction&) { return false; }

bool MemoRecorder::proves_presence(const GuardInstruction&) { return true; }

bool MemoRecorder::proves_type(const GuardInstruction& in) {
  return (!type_may_change(object(in.target)) && rests_on_owner(in, in.target)) || has_type(in.target);
}

bool MemoRecorder::proves_identity(const GuardInstruction& in) {
  return rests_on_owner(in, in.target) || is_this_object(in);
}

bool MemoRecorder::proves_code(const GuardInstruction& in) {
  if (!has_type(in.target)) return false;
  word(in.target, &reinterpret_cast<PyFunctionObject*>(object(in.target))->func_code);
  return true;
}

bool MemoRecorder::proves_descriptor(const GuardInstruction& in) { return rests_on_owner(in, in.target); }

bool MemoRecorder::proves_length(const GuardInstruction& in) { return has_size(in.target); }

bool MemoRecorder::proves_tensor(const GuardInstruction& in) {
  if (known(in.target).trust != Provenance::Certain) return false;
  if (type_may_change(object(in.target)) && !has_type(in.target)) return false;
  if (!in.operand->tensor.family->counts_changes) memory_->tensors_may_change_unseen_ = true;
  memory_->tensors_.push_back(in);
  memory_->tensors_.back().slot = -1;
  return rests_on_owner(in, in.target);
}

bool MemoRecorder::proves_class(const GuardInstruction& in) {
  return PyType_Check(object(in.target)) && in_type(in.target).kind != DependencyKind::Nothing;
}

bool MemoRecorder::proves_keys(const GuardInstruction& in) {
  PyObject* dict = object(in.target);
  if (!PyDict_Check(dict) || PyODict_Check(dict) || !has_type(in.target)) return false;
  return rests_on(in_dict(dict), in);
}

bool MemoRecorder::proves_absence(const GuardInstruction& in) {
  return in.other != kNoRegister && rests_on(dependency_of(*in.source, in.other), in);
}

void MemoRecorder::add_step(GuardInstruction in) {
  if (in.slot >= 0 && !is_loose(in.slot_register)) in.slot = -1;
  if (in.op == GuardOp::Nothing && in.slot < 0) return;
  auto preset = [&](uint32_t which) {
    if (which != kNoRegister && !is_loose(which)) presets_.insert(which);
  };
  if (in.op != GuardOp::Fetch) preset(in.target);
  preset(in.other);
  if (reads_places(in)) {
    for (uint32_t which : in.operand->size->registers) preset(which);
  }
  memory_->steps_.push_back(in);
}

void MemoRecorder::finish_rechecks() {
  for (auto& steps : memory_->rechecks_) {
    for (auto& [in, type] : steps) {
      in.slot = -1;
      if (in.op != GuardOp::Fetch) continue;
      const Known& found = known(in.target);
      if (found.has_children || found.is_read) type = Py_TYPE(object(in.target));
    }
  }
}

}  // namespace md
