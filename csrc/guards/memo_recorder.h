// Records a GuardMemo after a successful check: re-runs the program and notes the words
// that each instruction depends on.
#pragma once
#include <unordered_map>
#include <unordered_set>

#include "cpython/object_layout.h"
#include "guards/guard_memo.h"

namespace md {

class MemoRecorder {
 public:
  // The registers are those left by the program; all checks have held.
  MemoRecorder(const GuardProgram& program, const LocalsView& view, PyObject* const* registers);
  std::unique_ptr<GuardMemo> record();

 private:
  enum class Provenance : uint8_t { Loose, ByAddress, Certain };  // Loose: fetched by each check
  // What the recorded words establish about the object in a register.
  struct Known {
    Provenance trust = Provenance::Loose;
    bool has_type = false;      // a word determines the object's type
    bool has_children = false;  // something is fetched from it
    bool is_constant = false;   // it is the very object that a guard owns
    bool is_read = false;       // recorded words lie in it
    int32_t group = -1;         // the recheck after which it is known, -1: none is needed
  };
  enum class DependencyKind : uint8_t { Nothing, Words, Group };  // what a lookup depends on
  struct Dependency {
    DependencyKind kind = DependencyKind::Nothing;
    Provenance trust = Provenance::Certain;  // provenance of the object found
    int32_t group = -1;
  };

  PyObject* object(uint32_t which) const { return registers_[which]; }
  Known& known(uint32_t which) { return known_[which]; }
  bool is_loose(uint32_t which) const { return which != kNoRegister && known_[which].trust == Provenance::Loose; }

  void note_uses();
  void note_held_types();
  void add_root(const GuardInstruction& in);
  void add(const GuardInstruction& in);
  bool proves_fetch(const GuardInstruction& in);
  bool is_by_address(const GuardInstruction& in) const;
  bool proves_check(const GuardInstruction& in);
  bool proves_nothing(const GuardInstruction& in);
  bool proves_presence(const GuardInstruction& in);
  bool proves_type(const GuardInstruction& in);
  bool proves_identity(const GuardInstruction& in);
  bool proves_code(const GuardInstruction& in);
  bool proves_descriptor(const GuardInstruction& in);
  bool proves_length(const GuardInstruction& in);
  bool proves_tensor(const GuardInstruction& in);
  bool proves_class(const GuardInstruction& in);
  bool proves_keys(const GuardInstruction& in);
  bool proves_absence(const GuardInstruction& in);
  void add_step(GuardInstruction in);
  void finish_rechecks();

  Dependency dependency_of(const Source& source, uint32_t base);
  Dependency dependency_none(const Source& source, uint32_t base);
  Dependency dependency_function(const Source& source, uint32_t base);
  Dependency dependency_global(const Source& source, uint32_t base);
  Dependency dependency_builtin(const Source& source, uint32_t base);
  Dependency dependency_attribute(const Source& source, uint32_t base);
  Dependency dependency_module(const Source& source, uint32_t base);
  Dependency dependency_dict(const Source& source, uint32_t base);
  Dependency dependency_type(const Source& source, uint32_t base);
  Dependency dependency_class(const Source& source, uint32_t base);
  Dependency dependency_cell(const Source& source, uint32_t base);
  Dependency dependency_closure(const Source& source, uint32_t base);
  Dependency dependency_method_function(const Source& source, uint32_t base);
  Dependency dependency_method_self(const Source& source, uint32_t base);
  Dependency dependency_element(const Source& source, uint32_t base);
  Dependency dependency_slot(const Source& source, uint32_t base);
  Dependency in_dict(PyObject* dict);
  Dependency in_type(uint32_t base);
  Dependency in_names(uint32_t base, PyObject* PyFunctionObject::* dict);
  Dependency linked(uint32_t base, const void* place, PyObject* target);

  bool is_held(PyTypeObject* type) const;
  bool has_type(uint32_t which);
  bool has_size(uint32_t which);
  bool rests_on_owner(const GuardInstruction& in, uint32_t which);
  bool rests_on(const Dependency& dependency, const GuardInstruction& in);
  bool is_this_object(const GuardInstruction& in);
  void word(uint32_t in_object, const void* place);
  void word(const void* place, int32_t recheck = -1);

  const GuardProgram& program_;
  const LocalsView& view_;
  PyObject* const* registers_;
  std::unique_ptr<GuardMemo> memory_;
  std::vector<Known> known_;
  std::unordered_set<PyObject*> held_types_;  // owned by guards, so their addresses are not reused
  std::unordered_map<PyObject*, int32_t> groups_;
  std::unordered_set<const void*> noted_;  // addresses of words
  std::unordered_set<uint32_t> presets_;
};

}  // namespace md
