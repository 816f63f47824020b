#include "guards/guard_set.h"

#include <algorithm>
#include <tuple>

#include "guards/guard_program.h"

namespace md {

struct GuardSet::Impl {
  // The weak references in `guards` and the notice know each other; the notice goes last.
  DeathNotice notice;
  SourcePool sources;
  std::vector<Guard> guards;
  std::vector<std::vector<int>> guards_on;  // by source id, until seal
  bool has_global_state = false;
  bool sealed = false;
  GuardProgram program;

  void add(Guard guard);
  void add_object(GuardKind kind, const Source* source, BorrowedRef object);
  void add_keys(GuardKind kind, const Source* source, BorrowedRef tuple);
  void drop_implied();
  void sort();
};

void GuardSet::Impl::add(Guard guard) {
  MD_ASSERT(!sealed, "a guard comes before seal");
  if (guard.source == nullptr) {
    MD_ASSERT(guard.kind == GuardKind::GLOBAL_STATE, "a guard stands on a source");
    if (!has_global_state) guards.push_back(std::move(guard));
    has_global_state = true;
    return;
  }
  guards_on.resize(std::max<size_t>(guards_on.size(), sources.size()));
  std::vector<int>& same_source = guards_on[guard.source->id()];
  for (int index : same_source) {
    if (same_guard(guards[index], guard)) return;
  }
  same_source.push_back(static_cast<int>(guards.size()));
  guards.push_back(std::move(guard));
}

void GuardSet::Impl::add_object(GuardKind kind, const Source* source, BorrowedRef object) {
  MD_ASSERT(GuardSet::can_hold(object), "a guard cannot hold a ", object.type()->tp_name);
  Guard guard;
  guard.kind = kind;
  guard.source = source;
  guard.object = HeldObject(object);
  add(std::move(guard));
}

void GuardSet::Impl::drop_implied() {
  std::vector<bool> dropped(guards.size());
  for (const std::vector<int>& same_source : guards_on) {
    for (int weaker : same_source) {
      dropped[weaker] = std::ranges::any_of(
          same_source, [&](int stronger) { return !dropped[stronger] && implies(guards[stronger], guards[weaker]); });
    }
  }
  std::vector<Guard> kept;
  for (size_t i = 0; i < guards.size(); ++i) {
    if (!dropped[i]) kept.push_back(std::move(guards[i]));
  }
  guards = std::move(kept);
  guards_on.clear();
}

// What stands directly on the arguments comes before what is reached through them: a short fetch, and a type is checked
// before its attributes. Then in the order of guard_kinds.def.
void GuardSet::Impl::sort() {
  auto rank = [](const Guard& guard) {
    int depth = 0;
    int id = 0;
    for (const Source* source : {guard.source, guard.other}) {
      if (source == nullptr) continue;
      depth = std::max(depth, source->depth());
      id = std::max(id, source->id());
    }
    if (guard.size != nullptr) {
      for (const SizePlace& place : guard.size->places) depth = std::max(depth, place.source->depth());
    }
    return std::tuple(depth, guard.kind, id);
  };
  std::ranges::stable_sort(guards, [&](const Guard& a, const Guard& b) { return rank(a) < rank(b); });
}

GuardSet::GuardSet() : impl_(std::make_unique<Impl>()) {}
GuardSet::~GuardSet() = default;
GuardSet::GuardSet(GuardSet&&) noexcept = default;
GuardSet& GuardSet::operator=(GuardSet&&) noexcept = default;

SourcePool& GuardSet::sources() { return impl_->sources; }
const SourcePool& GuardSet::sources() const { return impl_->sources; }
int GuardSet::size() const { return static_cast<int>(impl_->guards.size()); }
bool GuardSet::dead() const { return impl_->notice.dead(); }

bool GuardSet::can_hold(BorrowedRef object) { return can_hold_strongly(object) || can_hold_weakly(object); }

void GuardSet::tensor_match(const Source* source, PyTypeObject* type, const TensorSpec& spec,
                            std::span<const int> stride_over) {
  const TensorType* tensor_type = find_tensor_type(type);
  MD_ASSERT(tensor_type != nullptr, type->tp_name, " is no tensor type");
  Guard guard;
  guard.kind = GuardKind::TENSOR_MATCH;
  guard.source = source;
  guard.object = HeldObject(reinterpret_cast<PyObject*>(type));
  guard.tensor = {tensor_type->unwrap, spec.dtype, spec.requires_grad, spec.rank(), {}, {}};
  for (const DimVec* dims : {&spec.sizes, &spec.strides})
    for (Dim dim : *dims) guard.tensor.dims.push_back(dim.is_symbolic() ? TensorExpectation::kAnyDim : dim.value());
  if (any_symbolic(spec.sizes.span())) guard.tensor.stride_over.assign(stride_over.begin(), stride_over.end());
  impl_->add(std::move(guard));
}

void GuardSet::type_match(const Source* source, PyTypeObject* type) {
  impl_->add_object(GuardKind::TYPE_MATCH, source, reinterpret_cast<PyObject*>(type));
}

void GuardSet::equals_match(const Source* source, BorrowedRef constant) {
  MD_ASSERT(is_guardable_constant(constant), "EQUALS_MATCH needs a constant, not a ", constant.type()->tp_name);
  Guard guard;
  guard.kind = GuardKind::EQUALS_MATCH;
  guard.source = source;
  guard.object = HeldObject(constant);
  guard.same_constant = same_constant_of(constant.type());
  impl_->add(std::move(guard));
}

void GuardSet::id_match(const Source* source, BorrowedRef object) {
  if (object.get() == Py_None) return equals_match(source, object);
  impl_->add_object(GuardKind::ID_MATCH, source, object);
}

void GuardSet::code_match(const Source* source, PyCodeObject* code) {
  impl_->add_object(GuardKind::CODE_MATCH, source, reinterpret_cast<PyObject*>(code));
}

void GuardSet::slot_match(const Source* source, BorrowedRef member_descriptor) {
  Guard guard;
  guard.kind = GuardKind::SLOT_MATCH;
  guard.source = source;
  guard.length = slot_offset(member_descriptor);
  impl_->add(std::move(guard));
}

void GuardSet::length(const Source* source, Py_ssize_t length) {
  Guard guard;
  guard.kind = GuardKind::LENGTH;
  guard.source = source;
  guard.length = length;
  impl_->add(std::move(guard));
}

void GuardSet::Impl::add_keys(GuardKind kind, const Source* source, BorrowedRef tuple) {
  Guard guard;
  guard.kind = kind;
  guard.source = source;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple.get()); ++i) {
    BorrowedRef key = PyTuple_GET_ITEM(tuple.get(), i);
    MD_ASSERT(can_hold(key), "a guard cannot hold a key of type ", key.type()->tp_name);
    guard.keys.emplace_back(key);
  }
  add(std::move(guard));
}

void GuardSet::dict_keys(const Source* source, BorrowedRef key_tuple) {
  impl_->add_keys(GuardKind::DICT_KEYS, source, key_tuple);
}

void GuardSet::set_items(const Source* source, BorrowedRef item_tuple) {
  impl_->add_keys(GuardKind::SET_ITEMS, source, item_tuple);
}

void GuardSet::abc_token(const Source* source) {
  Guard guard;
  guard.kind = GuardKind::ABC_TOKEN;
  guard.source = source;
  guard.length = current_abc_token();
  impl_->add(std::move(guard));
}

void GuardSet::text_stream(const Source* source) {
  Guard guard;
  guard.kind = GuardKind::TEXT_STREAM;
  guard.source = source;
  impl_->add(std::move(guard));
}

void GuardSet::dict_contains(const Source* source, BorrowedRef key, bool contains) {
  Ref exact = exact_constant(key);
  key = exact;
  MD_ASSERT(is_guardable_constant(key), "the key must be a constant, not a ", key.type()->tp_name);
  impl_->add_object(contains ? GuardKind::DICT_CONTAINS : GuardKind::DICT_MISSING, source, key);
}

void GuardSet::present(const Source* source) {
  Guard guard;
  guard.kind = GuardKind::PRESENT;
  guard.source = source;
  impl_->add(std::move(guard));
}

void GuardSet::absent(const Source* source) {
  Guard guard;
  guard.kind = GuardKind::ABSENT;
  guard.source = source;
  impl_->add(std::move(guard));
}

void GuardSet::alias(const Source* a, const Source* b, bool same) {
  if (a == b && same) return;
  Guard guard;
  guard.kind = same ? GuardKind::ALIAS : GuardKind::NOT_ALIAS;
  guard.source = a->id() < b->id() ? a : b;
  guard.other = a->id() < b->id() ? b : a;
  impl_->add(std::move(guard));
}

void GuardSet::no_overlap(const Source* a, const Source* b) {
  Guard guard;
  guard.kind = GuardKind::NO_OVERLAP;
  guard.source = a->id() < b->id() ? a : b;
  guard.other = a->id() < b->id() ? b : a;
  impl_->add(std::move(guard));
}

void GuardSet::shape(DimRelation relation, Dim left, Dim right, const SymbolList& symbols,
                     std::span<const SizePlace> places) {
  MD_ASSERT(!places.empty() && places.size() <= kMostSizes, "a relation has symbols, and not too many");
  Guard guard;
  guard.kind = GuardKind::SHAPE;
  guard.source = places[0].source;
  guard.size = std::make_unique<SizeExpectation>();
  guard.size->relation = relation;
  guard.size->left = DimCode(left, symbols);
  guard.size->right = DimCode(right, symbols);
  guard.size->left_text = left.str();
  guard.size->right_text = right.str();
  guard.size->places.assign(places.begin(), places.end());
  for (Dim symbol : symbols.symbols()) guard.size->symbols.push_back(symbol.str());
  impl_->add(std::move(guard));
}

void GuardSet::global_state() {
  Guard guard;
  guard.kind = GuardKind::GLOBAL_STATE;
  guard.state = {tensor_modes(), default_dtype()};
  impl_->add(std::move(guard));
}

void GuardSet::seal(GuardDeathListener* listener) {
  MD_ASSERT(!impl_->sealed, "sealed once");
  impl_->drop_implied();
  impl_->sort();
  std::vector<Guard*> in_order;
  for (Guard& guard : impl_->guards) in_order.push_back(&guard);
  impl_->notice.listen(listener);
  for (Guard* guard : in_order) {
    guard->object.settle(impl_->notice);
    for (HeldObject& key : guard->keys) key.settle(impl_->notice);
  }
  impl_->program.compile(in_order);
  impl_->sealed = true;
}

void GuardSet::stop_listening() { impl_->notice.listen(nullptr); }

bool GuardSet::check(const LocalsView& view) const {
  return impl_->sealed && !impl_->notice.dead() && impl_->program.check(view);
}

std::string GuardSet::explain(const LocalsView& view, const Bytecode& bytecode) const {
  if (dead()) return "an object that the guards refer to is gone";
  GuardProgram::Miss miss = impl_->program.first_miss(view);
  if (miss.instruction == nullptr) return "";
  const GuardInstruction& in = *miss.instruction;
  if (in.guard >= 0 && !miss.slot_is_unset) return failure(impl_->guards[in.guard], miss.object, bytecode);
  const Source* source = miss.slot_is_unset ? impl_->sources.local(in.slot) : in.source;
  return name(source, bytecode) + " is missing";
}

static void add_varying_sizes(const Guard& guard, const LocalsView& view, const Bytecode& bytecode,
                              std::set<std::string>& names) {
  Ref object = fetch(guard.source, view);
  if (!object || object.type() != guard.type()) return;
  const TensorExpectation& expected = guard.tensor;
  const TensorImpl* impl = expected.unwrap(object).impl();
  if (impl->kind() != TensorKind::Real || impl->rank() != expected.rank || impl->dtype() != expected.dtype) return;
  for (int i = 0; i < expected.rank; ++i) {
    bool differs = expected.dims[static_cast<size_t>(i)] != TensorExpectation::kAnyDim &&
                   expected.dims[static_cast<size_t>(i)] != impl->sizes()[i];
    if (differs) names.insert(name(SizePlace{guard.source, i}, bytecode));
  }
}

void GuardSet::add_varying_numbers(const LocalsView& view, const Bytecode& bytecode,
                                   std::set<std::string>& names) const {
  for (const Guard& guard : impl_->guards) {
    if (guard.kind == GuardKind::TENSOR_MATCH) add_varying_sizes(guard, view, bytecode, names);
    if (guard.kind != GuardKind::EQUALS_MATCH) continue;
    BorrowedRef constant = guard.object.get();
    PyTypeObject* type = constant.type();
    if (type != &PyLong_Type && type != &PyFloat_Type && type != &PyRange_Type) continue;
    Ref object = fetch(guard.source, view);
    if (object && object.type() == type && !identical_constants(object.get(), constant))
      names.insert(name(guard.source, bytecode));
  }
}

std::vector<std::string> GuardSet::print(const Bytecode& bytecode) const {
  std::vector<std::string> lines;
  for (const Guard& guard : impl_->guards) {
    lines.push_back(std::string(guard_kind_name(guard.kind)) + ": " + condition(guard, bytecode));
  }
  return lines;
}

}  // namespace md
