#include "guards/guard_set.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "guards/guard_index.h"
#include "guards/guard_memo.h"
#include "guards/guard_program.h"
#include "guards/guard_row.h"
#include "tensor/dim_table.h"

namespace md {

// Tensors of which none that is written may share memory with another.
struct ApartTensors {
  std::vector<const Source*> sources;
  std::unordered_map<const Source*, bool> is_written;
  void add(const Source* source, bool writes) {
    auto [known, is_new] = is_written.try_emplace(source, writes);
    if (is_new) sources.push_back(source);
    known->second = known->second || writes;
  }
};

struct GuardSet::Impl {
  // The weak references in `guards` and the notice refer to each other; the notice is destroyed last.
  DeathNotice notice;
  SourcePool sources;
  std::vector<Guard> guards;
  std::vector<std::vector<int>> guards_on;  // by source id, until simplified
  std::vector<int> process_guards;          // those without a source, likewise
  int pairs_apart = 0;
  ApartTensors apart;  // of the pairs beyond kMostPairs, until they are a guard
  bool sealed = false;
  GuardProgram program;
  GuardMemos memories;

  void add(Guard guard);
  void add_object(GuardKind kind, const Source* source, BorrowedRef object);
  void add_keys(GuardKind kind, const Source* source, BorrowedRef tuple);
  void add_apart();
  void share_types();
  void drop_implied();
  void fold_absent_dicts();
  std::unordered_multimap<const Source*, const Source*> items_fetched() const;
  void replace(std::vector<Guard> by);
  void sort();
  std::string text(const GuardProgram::Miss& miss, const Bytecode& bytecode);
};

static Guard guard_on(GuardKind kind, const Source* source) {
  Guard guard;
  guard.kind = kind;
  guard.source = source;
  return guard;
}

static bool is_number(BorrowedRef constant) {
  PyTypeObject* type = constant.type();
  return type == &PyLong_Type || type == &PyFloat_Type || type == &PyRange_Type;
}

void GuardSet::Impl::add(Guard guard) {
  MD_ASSERT(!sealed, "a guard comes before seal");
  if (guard.source == nullptr) {
    MD_ASSERT(guard_row(guard.kind).subject == GuardSubject::Process, "a guard stands on a source");
  }
  if (is_in_stand_in(guard.source)) return;
  guards_on.resize(std::max<size_t>(guards_on.size(), sources.size()));
  std::vector<int>& same_source = guard.source == nullptr ? process_guards : guards_on[guard.source->id()];
  for (int index : same_source) {
    if (same_guard(guards[index], guard)) return;
  }
  same_source.push_back(static_cast<int>(guards.size()));
  guards.push_back(std::move(guard));
}

void GuardSet::Impl::add_object(GuardKind kind, const Source* source, BorrowedRef object) {
  MD_ASSERT(GuardSet::can_hold(object), "a guard cannot hold a ", object.type()->tp_name);
  Guard guard = guard_on(kind, source);
  guard.object = GuardedRef(object);
  add(std::move(guard));
}

// The written ones first, as check_APART reads them.
void GuardSet::Impl::add_apart() {
  ApartTensors tensors = std::exchange(apart, {});
  if (tensors.sources.empty()) return;
  auto others =
      std::ranges::stable_partition(tensors.sources, [&](auto* source) { return tensors.is_written[source]; });
  Guard guard = guard_on(GuardKind::APART, tensors.sources[0]);
  guard.length = others.begin() - tensors.sources.begin();
  guard.size = std::make_unique<SizeExpectation>();
  for (const Source* source : tensors.sources) guard.size->places.push_back({source, SizePlace::kNumber});
  add(std::move(guard));
}

// If several objects are guarded to have the same class, guards on the class are merged into one.
void GuardSet::Impl::share_types() {
  // The source with the smallest id represents the class: its bases have smaller ids, so the recursion ends.
  std::unordered_map<PyObject*, const Source*> first_of_type;
  std::unordered_map<const Source*, PyObject*> typed;
  for (const Guard& guard : guards) {
    if (guard.kind != GuardKind::TYPE_MATCH && guard.kind != GuardKind::TENSOR_MATCH) continue;
    const Source*& first = first_of_type.try_emplace(guard.object.get().get(), guard.source).first->second;
    if (guard.source->id() < first->id()) first = guard.source;
    typed.emplace(guard.source, guard.object.get().get());
  }
  if (typed.size() == first_of_type.size()) return;
  std::unordered_map<const Source*, const Source*> shared;
  auto share = [&](auto&& self, const Source* source) -> const Source* {
    if (source == nullptr || source->base() == nullptr) return source;
    if (auto known = shared.find(source); known != shared.end()) return known->second;
    const Source* base = source->base();
    auto of_type = source->kind() == SourceKind::Type ? typed.find(base) : typed.end();
    base = self(self, of_type != typed.end() ? first_of_type[of_type->second] : base);
    return shared[source] = sources.on_base(source, base);
  };
  for (Guard& guard : guards) {
    // Numbers that vary are identified by the name of the source where each was read.
    bool may_vary = guard.kind == GuardKind::EQUALS_MATCH &&
                    (is_number(guard.object.get()) || PyTuple_CheckExact(guard.object.get().get()));
    if (may_vary) continue;
    guard.source = share(share, guard.source);
    guard.other = share(share, guard.other);
    if (guard.size != nullptr) {
      for (SizePlace& place : guard.size->places) place.source = share(share, place.source);
    }
  }
  replace(std::move(guards));
}

void GuardSet::Impl::replace(std::vector<Guard> by) {
  guards.clear();
  guards_on.clear();
  process_guards.clear();
  for (Guard& guard : by) add(std::move(guard));
}

// By dict: the items fetched by some guard.
std::unordered_multimap<const Source*, const Source*> GuardSet::Impl::items_fetched() const {
  std::unordered_set<const Source*> seen;
  std::unordered_multimap<const Source*, const Source*> items;
  for (const Guard& guard : guards) {
    bool is_place = guard_row(guard.kind).subject == GuardSubject::Place;
    const Source* from = is_place ? guard.source->base() : guard.source;
    for (const Source* source = from; source != nullptr && seen.insert(source).second; source = source->base())
      if (source->kind() == SourceKind::DictItem) items.emplace(source->base(), source);
  }
  return items;
}

void GuardSet::Impl::drop_implied() {
  std::vector<bool> dropped(guards.size());
  for (const std::vector<int>& same_source : guards_on) {
    for (int weaker : same_source) {
      dropped[weaker] = std::ranges::any_of(
          same_source, [&](int stronger) { return !dropped[stronger] && implies(guards[stronger], guards[weaker]); });
    }
  }
  // Fetching an item implies that its key exists.
  std::unordered_multimap<const Source*, const Source*> fetched_items = items_fetched();
  for (size_t i = 0; i < guards.size(); ++i) {
    if (guards[i].kind != GuardKind::DICT_CONTAINS) continue;
    auto [first, last] = fetched_items.equal_range(guards[i].source);
    dropped[i] = dropped[i] || std::any_of(first, last, [&](const auto& item) {
                   return identical_constants(item.second->key(), guards[i].object.get());
                 });
  }
  std::vector<Guard> kept;
  for (size_t i = 0; i < guards.size(); ++i) {
    if (!dropped[i]) kept.push_back(std::move(guards[i]));
  }
  replace(std::move(kept));
}

// Merges the guard that a tensor has no instance dict into its TENSOR_MATCH.
void GuardSet::Impl::fold_absent_dicts() {
  auto is_absent_dict = [](const Guard& guard) {
    return guard.kind == GuardKind::ABSENT && guard.source->kind() == SourceKind::InstanceDict;
  };
  std::unordered_set<const Source*> without_dict;
  for (const Guard& guard : guards)
    if (is_absent_dict(guard)) without_dict.insert(guard.source->base());
  std::unordered_set<const Source*> folded;
  for (Guard& guard : guards) {
    if (guard.kind != GuardKind::TENSOR_MATCH || !without_dict.contains(guard.source)) continue;
    if (guard.type()->tp_dictoffset <= 0) continue;
    guard.tensor.no_dict_at = guard.type()->tp_dictoffset;
    folded.insert(guard.source);
  }
  std::erase_if(guards,
                [&](const Guard& guard) { return is_absent_dict(guard) && folded.contains(guard.source->base()); });
}

// Guards directly on arguments come first: their fetches are short, and a type is checked before its attributes. Then
// in the order of guard_kinds.def.
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

std::string GuardSet::Impl::text(const GuardProgram::Miss& miss, const Bytecode& bytecode) {
  const GuardInstruction& in = *miss.instruction;
  if (in.guard >= 0 && !miss.slot_is_unset) return failure(guards[in.guard], miss.object, bytecode);
  const Source* source = miss.slot_is_unset ? sources.local(in.slot) : in.source;
  return name(source, bytecode) + " is missing";
}

std::vector<GuardSet::Fact> GuardSet::facts() {
  impl_->add_apart();
  impl_->drop_implied();
  std::vector<Fact> facts;
  for (const Guard& guard : impl_->guards) facts.push_back({guard.kind, guard.source});
  return facts;
}

void GuardSet::keep_only(const std::vector<bool>& kept) {
  MD_ASSERT(!impl_->sealed && kept.size() == impl_->guards.size(), "one flag for each of facts()");
  std::vector<Guard> left;
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) left.push_back(std::move(impl_->guards[i]));
  impl_->replace(std::move(left));
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
                            std::span<const int> stride_over, uint64_t witness) {
  const TensorFamily* family = find_family(type);
  MD_ASSERT(family != nullptr, type->tp_name, " is no tensor type");
  Guard guard = guard_on(GuardKind::TENSOR_MATCH, source);
  guard.object = GuardedRef(reinterpret_cast<PyObject*>(type));
  guard.tensor = {family, spec.dtype, spec.requires_grad, spec.rank(), witness, {}, {}};
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
  Guard guard = guard_on(GuardKind::EQUALS_MATCH, source);
  guard.object = GuardedRef(constant);
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
  Guard guard = guard_on(GuardKind::SLOT_MATCH, source);
  guard.length = slot_offset(member_descriptor);
  impl_->add(std::move(guard));
}

void GuardSet::length(const Source* source, Py_ssize_t length) {
  Guard guard = guard_on(GuardKind::LENGTH, source);
  guard.length = length;
  impl_->add(std::move(guard));
}

void GuardSet::Impl::add_keys(GuardKind kind, const Source* source, BorrowedRef tuple) {
  Guard guard = guard_on(kind, source);
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

void GuardSet::set_table(const Source* source, uint64_t fingerprint) {
  Guard guard = guard_on(GuardKind::SET_TABLE, source);
  guard.length = static_cast<int64_t>(fingerprint);
  impl_->add(std::move(guard));
}

void GuardSet::mro(const Source* source, PyTypeObject* type) { impl_->add_keys(GuardKind::MRO, source, type->tp_mro); }

void GuardSet::match_flags(const Source* source, PyTypeObject* type) {
  Guard guard = guard_on(GuardKind::MATCH_FLAGS, source);
  guard.length = pattern_flags(type);
  impl_->add(std::move(guard));
}

void GuardSet::abc_token(const Source* source) {
  Guard guard = guard_on(GuardKind::ABC_TOKEN, source);
  guard.length = current_abc_token();
  impl_->add(std::move(guard));
}

void GuardSet::recursion_limit() {
  Guard guard = guard_on(GuardKind::RECURSION_LIMIT, nullptr);
  guard.length = Py_GetRecursionLimit();
  impl_->add(std::move(guard));
}

void GuardSet::text_stream(const Source* source) { impl_->add(guard_on(GuardKind::TEXT_STREAM, source)); }

void GuardSet::dict_contains(const Source* source, BorrowedRef key, bool contains) {
  Ref exact = exact_constant(key);
  key = exact;
  MD_ASSERT(is_guardable_constant(key), "the key must be a constant, not a ", key.type()->tp_name);
  impl_->add_object(contains ? GuardKind::DICT_CONTAINS : GuardKind::DICT_MISSING, source, key);
}

void GuardSet::present(const Source* source) { impl_->add(guard_on(GuardKind::PRESENT, source)); }

void GuardSet::absent(const Source* source) { impl_->add(guard_on(GuardKind::ABSENT, source)); }

void GuardSet::alias(const Source* a, const Source* b, bool same) {
  if (a == b && same) return;
  Guard guard = guard_on(same ? GuardKind::ALIAS : GuardKind::NOT_ALIAS, a->id() < b->id() ? a : b);
  guard.other = a->id() < b->id() ? b : a;
  impl_->add(std::move(guard));
}

void GuardSet::no_overlap(const Source* written, const Source* other) {
  const auto& [first, second] = std::minmax(written, other, [](auto* a, auto* b) { return a->id() < b->id(); });
  if (is_in_stand_in(first)) return;
  if (impl_->pairs_apart == kMostPairs) {
    impl_->apart.add(written, true);
    impl_->apart.add(other, false);
    return;
  }
  ++impl_->pairs_apart;
  Guard guard = guard_on(GuardKind::NO_OVERLAP, first);
  guard.other = second;
  impl_->add(std::move(guard));
}

void GuardSet::shape(DimRelation relation, Dim left, Dim right, const SymbolList& symbols,
                     std::span<const SizePlace> places) {
  MD_ASSERT(!places.empty() && places.size() <= kMostSizes, "a relation has symbols, and not too many");
  Guard guard = guard_on(GuardKind::SHAPE, places[0].source);
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

void GuardSet::shorter_than(const Source* source, Py_ssize_t limit) {
  DimTableScope dims;
  Dim length = Dim::symbol("n0", 0);
  SymbolList symbols;
  symbols.add(length);
  SizePlace place{source, SizePlace::kLength};
  shape(DimRelation::Less, length, limit, symbols, {&place, 1});
}

void GuardSet::number(NumberCode code, BorrowedRef result) {
  const std::vector<SizePlace>& places = code.places();
  MD_ASSERT(!places.empty() && places.size() <= kMostSizes, "a computation reads numbers, and not too many");
  Guard guard = guard_on(GuardKind::NUMBER, places[0].source);
  guard.object = GuardedRef(result);
  guard.same_constant = same_constant_of(result.type());
  guard.size = std::make_unique<SizeExpectation>();
  guard.size->places = places;
  guard.number = std::make_unique<NumberCode>(std::move(code));
  impl_->add(std::move(guard));
}

void GuardSet::writable(const Source* source) { impl_->add(guard_on(GuardKind::WRITABLE, source)); }

void GuardSet::aligned(const Source* source, int64_t bytes) {
  Guard guard = guard_on(GuardKind::ALIGNED, source);
  guard.length = bytes;
  impl_->add(std::move(guard));
}

void GuardSet::global_state(const TensorFamily& family) {
  Guard guard = guard_on(GuardKind::GLOBAL_STATE, nullptr);
  guard.state = {&family, family.state()};
  impl_->add(std::move(guard));
}

void GuardSet::seal(GuardDeathListener* listener) {
  MD_ASSERT(!impl_->sealed, "sealed once");
  impl_->add_apart();
  impl_->share_types();
  impl_->drop_implied();
  impl_->fold_absent_dicts();
  impl_->sort();
  impl_->guards_on.clear();
  std::vector<Guard*> in_order;
  for (Guard& guard : impl_->guards) in_order.push_back(&guard);
  impl_->notice.listen(listener);
  for (Guard* guard : in_order) {
    guard->object.settle(impl_->notice);
    for (GuardedRef& key : guard->keys) key.settle(impl_->notice);
  }
  impl_->program.compile(in_order);
  impl_->sealed = true;
}

void GuardSet::stop_listening() { impl_->notice.listen(nullptr); }

bool GuardSet::check(const LocalsView& view, FetchedObjects* fetched) const {
  return impl_->sealed && !impl_->notice.dead() && impl_->memories.check(impl_->program, view, fetched);
}

const GuardMemo* GuardSet::last_memory() const { return impl_->memories.last(); }

std::string GuardSet::explain(const LocalsView& view, const Bytecode& bytecode) const {
  if (dead()) return "an object that the guards refer to is gone";
  GuardProgram::Miss miss = impl_->program.first_miss(view);
  return miss.instruction != nullptr ? impl_->text(miss, bytecode) : "";
}

std::vector<std::string> GuardSet::explain_all(const LocalsView& view, const Bytecode& bytecode) const {
  if (dead()) return {"an object that the guards refer to is gone"};
  std::vector<std::string> texts;
  for (const GuardProgram::Miss& miss : impl_->program.all_misses(view)) texts.push_back(impl_->text(miss, bytecode));
  return texts;
}

std::string GuardSet::failing(const LocalsView& view, const Bytecode& bytecode) const {
  if (dead()) return "an object that the guards refer to is gone";
  GuardProgram::Miss miss = impl_->program.first_miss(view);
  if (miss.instruction == nullptr) return "";
  int guard = miss.slot_is_unset ? -1 : miss.instruction->guard;
  return guard >= 0 ? failure_without_values(impl_->guards[guard], miss.object, bytecode) : impl_->text(miss, bytecode);
}

const Source* GuardSet::discriminating_source(const LocalsView& view) const {
  if (!impl_->sealed || dead()) return nullptr;
  GuardProgram::Miss miss = impl_->program.first_miss(view);
  if (miss.instruction == nullptr || miss.slot_is_unset || miss.instruction->guard < 0) return nullptr;
  const Guard& guard = impl_->guards[miss.instruction->guard];
  return has_expectation(guard) ? guard.source : nullptr;
}

Expectation GuardSet::expectation_at(const Source* place) const {
  Expectation found;
  for (const Guard& guard : impl_->guards)
    if (guard.source != nullptr && has_expectation(guard) && same_place(guard.source, place)) found.add(guard);
  return found;
}

static void add_varying_sizes(const Guard& guard, const LocalsView& view, const Bytecode& bytecode,
                              std::set<std::string>& names) {
  Ref object = fetch(guard.source, view);
  if (!object || object.type() != guard.type()) return;
  const TensorExpectation& expected = guard.tensor;
  TensorView now;
  bool is_alike = read_view(*expected.family, object, now) && now.rank == expected.rank && now.dtype == expected.dtype;
  if (!is_alike) return;
  for (int i = 0; i < expected.rank; ++i) {
    bool differs = expected.dims[static_cast<size_t>(i)] != TensorExpectation::kAnyDim &&
                   expected.dims[static_cast<size_t>(i)] != now.sizes[i];
    if (differs) names.insert(name(SizePlace{guard.source, i}, bytecode));
  }
}

// A number, or the elements of a tuple, that differ from the constant.
static void add_varying_constant(BorrowedRef object, BorrowedRef constant, const std::string& place,
                                 std::set<std::string>& names) {
  if (object.type() != constant.type()) return;
  if (is_number(constant) && !identical_constants(object, constant)) names.insert(place);
  if (!PyTuple_CheckExact(constant.get()) || PyTuple_GET_SIZE(object.get()) != PyTuple_GET_SIZE(constant.get())) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constant.get()); ++i)
    add_varying_constant(PyTuple_GET_ITEM(object.get(), i), PyTuple_GET_ITEM(constant.get(), i),
                         name_of_element(place, i), names);
}

void GuardSet::add_varying_numbers(const LocalsView& view, const Bytecode& bytecode,
                                   std::set<std::string>& names) const {
  for (const Guard& guard : impl_->guards) {
    if (guard.kind == GuardKind::TENSOR_MATCH) add_varying_sizes(guard, view, bytecode, names);
    if (guard.kind != GuardKind::EQUALS_MATCH) continue;
    BorrowedRef constant = guard.object.get();
    if (!is_number(constant) && !PyTuple_CheckExact(constant.get())) continue;
    if (Ref object = fetch(guard.source, view))
      add_varying_constant(object.get(), constant, name(guard.source, bytecode), names);
  }
}

std::vector<std::string> GuardSet::print(const Bytecode& bytecode) const {
  std::vector<std::string> lines;
  for (const Guard& guard : impl_->guards) {
    lines.push_back(std::string(guard_kind_name(guard.kind)) + ": " + condition(guard, bytecode));
  }
  return lines;
}

std::vector<std::string> GuardSet::print_program(const Bytecode& bytecode) const {
  std::vector<std::string> lines;
  auto load = [&](const GuardInstruction& in) {
    if (in.slot < 0) return;
    lines.push_back(str_cat("LOAD r", in.slot_register, " = ", name(impl_->sources.local(in.slot), bytecode)));
  };
  for (const GuardInstruction& in : impl_->program.instructions()) {
    load(in);
    if (in.op == GuardOp::Fetch) {
      lines.push_back(str_cat("FETCH r", in.target, " = ", name(in.source, bytecode)));
    } else if (in.guard >= 0) {
      const Guard& guard = impl_->guards[in.guard];
      lines.push_back(str_cat("CHECK ", guard_kind_name(guard.kind), ": ", condition(guard, bytecode)));
    }
  }
  return lines;
}

}  // namespace md
