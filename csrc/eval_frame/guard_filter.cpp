#include "eval_frame/guard_filter.h"

#include <unordered_set>

#include "cpython/imports.h"
#include "eval_frame/backends.h"
#include "guards/guard_row.h"
#include "snapshot/serving_code.h"

namespace md {

namespace {

struct FilteredGuard {
  const char* kind;
  std::string name;         // L['x'].weight; "": process-wide
  Ref value;                // the current object; null if there is none
  std::vector<Ref> owners;  // the objects on the path, outermost first
  bool is_global;           // reached from a global
};

// One answer per guard; validated by minidynamo._dynamo.guard_filter.
std::vector<bool> run_filter(const Ref& filter, const std::vector<FilteredGuard>& guards) {
  ServingCode serving;
  Ref rows = check(PyList_New(0));
  for (const FilteredGuard& guard : guards) {
    Ref owners = check(PyList_New(0));
    for (const Ref& owner : guard.owners) check_status(PyList_Append(owners, owner));
    Ref row = check(Py_BuildValue("(ssOOOO)", guard.kind, guard.name.c_str(), guard.value ? Py_True : Py_False,
                                  guard.value ? guard.value.get() : Py_None, owners.get(),
                                  guard.is_global ? Py_True : Py_False));
    check_status(PyList_Append(rows, row));
  }
  Ref ask = imported("minidynamo._dynamo.guard_filter", "kept_guards");
  Ref answers = check(PyObject_CallFunctionObjArgs(ask, filter.get(), rows.get(), nullptr));
  std::vector<bool> kept;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(answers.get()); ++i)
    kept.push_back(PyList_GET_ITEM(answers.get(), i) == Py_True);
  return kept;
}

// The sources that a region reads when it runs, and their bases.
class ReadSources {
 public:
  explicit ReadSources(const CapturedRegion& region) {
    for (const RegionInput& input : region.inputs) add(input.source);
    add(region.snapshot);
    for (const HostCallSite& site : region.host_calls) add(site);
    for (const OutputSite& output : region.outputs) add(output.site);
  }
  bool has(const Source* source) const { return source != nullptr && sources_.contains(source); }

 private:
  void add(const Source* source) {
    for (; source != nullptr; source = source->base()) sources_.insert(source);
  }
  void add(const Snapshot& snapshot) {
    for (const Recipe& recipe : snapshot.recipes) add(recipe.source);
    for (const SizeNumber& size : snapshot.sizes)
      for (const SizePlace& place : size.places) add(place.source);
  }
  void add(const HostCallSite& site) {
    for (const HostCallFrame& frame : site.frames) add(frame.function);
    if (site.failure) add(*site.failure);
    add(site.locals);
    add(site.self);
  }
  std::unordered_set<const Source*> sources_;
};

// Relates what a region reads to what it writes, or the sizes of both.
bool is_relation(GuardKind kind) {
  GuardSubject subject = guard_row(kind).subject;
  return subject == GuardSubject::Pair || subject == GuardSubject::Sizes;
}

bool is_global(const Source* source) {
  for (; source != nullptr; source = source->base())
    if (source->kind() == SourceKind::Global || source->kind() == SourceKind::GlobalsDict) return true;
  return false;
}

FilteredGuard describe(const GuardSet::Fact& fact, const RegionPlace& place) {
  FilteredGuard guard{guard_kind_name(fact.kind), "", Ref(), {}, is_global(fact.source)};
  if (fact.source == nullptr) return guard;
  guard.name = name(fact.source, place.bytecode);
  guard.value = fetch(fact.source, place.view);
  for (const Source* base = fact.source->base(); base != nullptr; base = base->base())
    if (Ref owner = fetch(base, place.view)) guard.owners.insert(guard.owners.begin(), owner);
  return guard;
}

}  // namespace

void filter_guards(const RegionPlace& place, RegionEntry& entry) {
  Ref filter = Ref::share(guard_filter_of(place.policy));
  if (!filter) return;
  std::vector<GuardSet::Fact> facts = entry.guards.facts();
  std::vector<FilteredGuard> guards;
  for (const GuardSet::Fact& fact : facts) guards.push_back(describe(fact, place));
  std::vector<bool> kept = run_filter(filter, guards);
  MD_ASSERT(kept.size() == facts.size(), "one answer for each guard");
  ReadSources read(entry.region);
  for (size_t i = 0; i < facts.size(); ++i)
    if (is_relation(facts[i].kind) || read.has(facts[i].source)) kept[i] = true;
  entry.guards.keep_only(kept);
}

}  // namespace md
