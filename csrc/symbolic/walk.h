// The translator's state and services. One handler per neutral instruction, in translate_*.cpp, registered in one table;
// calls, methods and types go through registries, never through chains.
//  1. A handler either completes its instruction or leaves through graph_break() or raise_here(); the walk then ends at the instruction
//     with the state that it had before it, so a handler changes virtual objects only after its last look at anything.
//  2. Looking at an object means guarding what was seen: use exact_type, constant_of, length_of, attribute ... never the object itself.
//  3. Nothing runs user code and no real object is changed.
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "cpython/version_facts.h"
#include "symbolic/class_builder.h"
#include "symbolic/endings.h"
#include "symbolic/frame_stack.h"
#include "symbolic/key_table.h"
#include "symbolic/made_class.h"
#include "symbolic/outcomes.h"
#include "symbolic/region.h"
#include "symbolic/registry.h"
#include "symbolic/size_symbols.h"
#include "symbolic/symbolic_frame.h"
#include "symbolic/walk_trace.h"

namespace md {

class Walk;
struct OutputRequest;
struct QueuedOutput;
struct WrapperType;

// What asks an object for its elements may ask it for their number first, once it has its iterator.
enum class LengthHint : uint8_t { Unknown, NotAsked, Asked };
inline constexpr LengthHint kTupleHint = kTupleAsksForLength ? LengthHint::Asked : LengthHint::NotAsked;

class Walk {
 public:
  Walk(const WalkStart& start, const RestartSignal* restart, const OperatorSites& declined);
  ~Walk();
  Walk(const Walk&) = delete;
  CapturedRegion run();

  uint64_t number() const { return number_; }  // no other walk of the process has it

  FrameStack& frames() { return frames_; }
  const FrameStack& frames() const { return frames_; }
  KeyTable& keys() { return key_table_; }
  const KeyTable& keys() const { return key_table_; }
  ClassBuilder& classes() { return classes_; }
  const ClassBuilder& classes() const { return classes_; }

  // --- outcomes
  bool is_declined_operator() { return declined_.contains({frames_.innermost().bytecode, frames_.innermost().index}); }

  // --- values
  ValuePtr none() { return constant(Py_None); }
  ValuePtr boolean(bool value) { return constant(value ? Py_True : Py_False); }
  ValuePtr integer(int64_t value);
  ValuePtr string(const std::string& text);
  // An object that is the same at every run: an atom, or made from guarded ones.
  ValuePtr constant(BorrowedRef object);
  // The object at a source; the same Value for the same source.
  ValuePtr at(const Source* source, Ref object);
  // Fetches it first; null if nothing is there.
  ValuePtr at(const Source* source);
  GuardSet& guards() { return guards_; }
  SourcePool& sources() { return guards_.sources(); }
  const WalkStart& start() const { return start_; }
  const LocalsView& view() const { return start_.view; }
  // A cell that exists.
  ValuePtr cell_at(const Source* source, Ref object);
  // Where a value came from; null for what the walk made and for constants.
  const Source* source_of(const ValuePtr& value) const;

  // --- looking at values (each adds the guard that makes the answer valid)
  PyTypeObject* exact_type(const ValuePtr& value);  // never null: NULL on the stack is an internal error
  bool is_exactly(const ValuePtr& value, PyTypeObject* type) { return exact_type(value) == type; }
  [[noreturn]] void raise_unhashable(bool alone);
  // The step at which the program was first asked for the hash of what this stands for.
  int64_t own_key_step(BorrowedRef stand_in) const;
  // The object, for functions, classes, modules, and the like, guarded by identity. Null for what the walk made.
  BorrowedRef identity_of(const ValuePtr& value);
  // The mapping that a mappingproxy shows; any other value is itself.
  ValuePtr behind_proxy(const ValuePtr& value);
  // The __dict__ of a class. Null: not known.
  ValuePtr proxy_of_class(const ValuePtr& type);
  // --- identities (identities.cpp)
  // --- vars() (instance_dicts.cpp)
  // Null: the object has a __dict__ of another kind, or none.
  ValuePtr instance_dict(const ValuePtr& owner);
  // A number that differs from run to run: constant_of ends the region there, or guards it by value at a function's entry.
  bool is_varying(const ValuePtr& value) const;
  // The computation on operands of which one varies; null: they all are known, or its result's type is not fixed.
  ValuePtr computed(Computation computation, std::vector<ValuePtr> operands);

  // --- sizes that differ from run to run (symbolic_sizes.cpp). What decides anything by them is recorded and guarded.
  // A whole number that may be a size: symbolic or not. An int that varies becomes a symbol.
  std::optional<Dim> dim_of(const ValuePtr& value);
  // --- sizes that are numbers out of tensors (told_sizes.cpp). A run knows them when it has come to them.
  Dim told_size(NumberValue* number);
  // In each run this bool is True, or Python runs the region.
  void rely_on(NumberValue* condition);
  // Whether it is such a size, or computed of some. At one, the region ends.
  bool is_told(const ValuePtr& value) const;
  ValueRef told_number(Dim dim);
  bool is_told(Dim dim) const { return sizes_.is_told(dim); }

  // --- writing (pending_writes.cpp). To exact lists and dicts made here or from outside, and to the storage of instances from outside;
  // False: no such list.
  bool list_append(const ValuePtr& list, ValuePtr value);
  // The elements of a deque that is about to be changed; null: no deque. keeps_iterators: who goes over it may go on.
  std::vector<ValuePtr>* deque_contents(const ValuePtr& deque, bool keeps_iterators = false);
  void freeze_deques();
  void list_splice(const ValuePtr& list, int64_t start, int64_t stop, std::vector<ValuePtr> values);
  // The entries of a dict that is about to be changed; null: no exact dict.
  DictValue* dict_contents(const ValuePtr& dict);
  bool dict_set(const ValuePtr& dict, BorrowedRef key, ValuePtr value);
  bool dict_clear(const ValuePtr& dict);
  // Of an exact dict, under a constant key. Null, or false: nothing is there, which is guarded.
  ValuePtr dict_item(const ValuePtr& dict, BorrowedRef key);
  // What was written there in this region, null for deleted; no answer: nothing was.
  std::optional<ValuePtr> written_item(const ValuePtr& dict, BorrowedRef key) const;
  // Without a look-up first: a name in globals. Null value: deleted.
  void store_in_dict(const ValuePtr& dict, BorrowedRef key, ValuePtr value);
  // Null value: deleted.
  void attribute_store(const ValuePtr& object, BorrowedRef name, ValuePtr value);
  // A function from outside, of whose attributes something is asked: another one may be the same.
  void note_function(const ValuePtr& function);
  // --- to classes from outside (class_writes.cpp). Null value: deleted. False: not to be done by the walk.
  bool class_store(const ValuePtr& type, BorrowedRef name, const ValuePtr& value);
  // What was written in this region under the name, along the MRO; no answer: nothing was.
  std::optional<ValuePtr> written_on_class(const ValuePtr& type, BorrowedRef name);
  bool any_class_written_at(BorrowedRef name) const;
  // The __dict__ of a function that the walk made.
  const Handle<DictValue>& function_dict(const ValuePtr& function);
  // What a set holds, an exact one made here or from outside, or a constant frozenset: not to be changed. Null: no such set.
  Ref set_contents(const ValuePtr& set);
  // False: no exact set.
  bool set_change(EffectKind kind, const ValuePtr& set, BorrowedRef item);
  bool any_dict_written() const { return dict_written_; }
  // Whether a dict was written, somewhere in this region, under this key.
  bool any_dict_written_at(BorrowedRef key) const;
  // Whether a dict that the interpreter looks names up in by itself waits for writes. That the dicts that do are others is guarded:
  // they do not have the key `sign`, which it has.
  bool is_waiting_for_writes(BorrowedRef table, BorrowedRef sign);

  // --- classes made by the walk (made_classes.cpp)
  // Runs the body to its end inside the current instruction. Gives its result, a cell or None.
  ValuePtr run_class_body(const ValuePtr& function, const Handle<DictValue>& names);

  // --- locals() (local_names.cpp)
  bool may_have_frame_object() const;

  // --- calls (translate_calls.cpp, inlining.cpp)
  // The text by a __repr__ that knows what it is in the middle of (guarded_reprs.cpp); null: another function, or not known.
  ValuePtr guarded_repr(const ValuePtr& function, const CallArgs& args);
  // Calls something and runs it to its end inside the current instruction: what a builtin calls back.
  ValuePtr call_now(const ValuePtr& callable, CallArgs args);
  // The same; nullopt: it raised an exception of this class, which nobody else sees.
  std::optional<ValuePtr> call_catching(const ValuePtr& callable, CallArgs args, PyObject* exception);
  // Runs a generator to its next yield; nullopt: it has returned.
  std::optional<ValuePtr> resume(IteratorValue* generator, const ValuePtr& sent);
  // The same, raising the exception where it is suspended.
  std::optional<ValuePtr> throw_into(IteratorValue* generator, const ValuePtr& exception);
  // Unsets a slot of the running frame, and gives what it held. At an exit it is unset, whatever it held at the start.
  ValuePtr clear_slot(int slot);
  // The frame lets go of a value. Where the death of the object runs code of the program's, Python does it, in its place.
  void let_go(const ValuePtr& value);
  // Null unless the frame at the bottom holds it since the region's start.
  PyObject* held_from_start(const ValuePtr& value);
  bool may_die_noticed(const ValuePtr& value);
  // Whatever takes something from the frame's stack may be the last to hold it: Python executes it then.
  void look_for_dropped();
  // It is suspended where closing it would run handlers.
  bool needs_closing(const IteratorValue& generator) const;
  // Enters a Python function, not a generator's.
  void inline_function(const ValuePtr& function, CallArgs args, ContinuationKind continuation,
                       ValuePtr continuation_value);
  // The innermost frame returns `result` to its caller, or ends the region.
  void return_value(ValuePtr result);
  // Of what a wrapper stands for, under the policy inside it.
  void call_under(const Policy* inside, const ValuePtr& function, CallArgs& args, ContinuationKind continuation,
                  const ValuePtr& continuation_value);
  // --- weak references (weak_references.cpp)
  // Something that was there at the region's start may have lost a reference since.
  bool may_have_dropped() const;
  // Of what functools.lru_cache has made (cached_calls.cpp).
  ValuePtr call_cached(const ValuePtr& callable, const CallArgs& args);
  void apply_continuation(ContinuationKind kind, const ValuePtr& continuation_value, ValuePtr result);

  // --- attributes (attributes.cpp). Result: a value, or null when a frame was inlined that gives it.

  // --- tensors (tensor_ops.cpp)
  bool is_tensor(const ValuePtr& value) const { return value->kind == ValueKind::Tensor; }
  void guard_tensor(TensorValue* tensor);
  ValueRef graph_value(TensorValue* tensor);
  // A number that is an input of the graph, guarded by type alone.
  ValueRef scalar_input(const ValuePtr& value);
  // --- writes into tensors (tensor_writes.cpp)
  // The value in the target's dtype becomes what the target holds.
  void write_result(TensorValue* target, ValueRef value);
  // `alias` is result `out` of the view `node` of `viewed`.
  void make_alias(TensorValue* alias, TensorValue* viewed, const Node& node, int out);
  // The tensor has this value from here on.
  void write_tensor(TensorValue* tensor, ValueRef value);
  // The same as a view of what the tensor was at the region's start; only for inputs and their views.
  ValueRef original_value(TensorValue* tensor);
  // (what an input was, what it is now) for each that was written to.
  std::vector<std::pair<ValueRef, ValueRef>> written_values() const;
  const std::shared_ptr<TensorBase>& base_of(TensorValue* tensor);
  // What the exit gives for a tensor that is no input itself.
  ValueRef output_value(TensorValue* tensor);

  // --- iteration (iterators.cpp)
  std::optional<ValuePtr> next_of(IteratorValue* iterator);  // nullopt: exhausted

  // --- modes of the thread as the walk left them
  bool grad_mode = true;
  bool inference_mode = false;
  // The region depends on the modes: they are guarded.
  void uses_modes() { guards_.global_state(); }
  Graph& graph() { return *graph_; }
  // The instruction changes what it cannot change back: should it break after all, the region is walked again and ends before it.
  void cannot_undo() { advanced_ = true; }
  int64_t step_number() const { return steps_; }
  // The region ends before this step, which the driver executes; nothing is said of it.
  [[noreturn]] void end_silently_before(int64_t step);
  // The frames as they are, for what is called here at run time. Returns the number of the site. `locals` are the values that
  // they hold; with `failure`, also what they are to be should the call raise, in terms of those values.
  int add_call_out_site(std::vector<ValueRef>& locals, std::vector<ValueRef>* failure);
  // A call that writes something out, to be made at the exit (output_queue.cpp). Breaks for the reason of the request where that would
  // not be what Python does.
  void queue_output(OutputRequest request);
  bool has_output() const { return !queued_.empty(); }
  // Frames whose state is told for an exception of the current instruction: all but those that C code waits for.
  size_t frames_told() const { return held_.empty() ? frames_.depth() : held_.front().depth; }
  // Whether an exception that leaves the region here finds no handler and no state that was to be committed before it.
  bool may_call_out() const;
  // Whether what the frames hold here can be told, for an exception that does.
  bool may_describe_failure() const;

  // What a comparison of sizes, or the truth of one, is; no answer: it is none.
  bool is_for_python(Dim dim) const;
  DictValue* written_dict(ObjectValue* object);
  SequenceValue* written_list(ObjectValue* object);

  std::shared_ptr<SymbolicFrame> frame_of(const ValuePtr& function, CallArgs& args);
  ValuePtr make_generator(std::shared_ptr<SymbolicFrame> body);

  PendingWrites& write_to(const ValuePtr& object);

 private:
  friend class RegionFinisher;
  // How much the walk has appended to what the region is made of.
  struct Extent {
    size_t nodes, inputs, effects, outputs, call_outs;
    int guards;
    size_t relations;
    bool operator==(const Extent&) const = default;
  };
  Extent extent() const;
  EndingFacts ending_facts(const Extent& before);
  CapturedRegion end_at_break(const BreakSignal& signal, const Extent& before);
  CapturedRegion end_at_raise(const RaiseSignal& signal, const Extent& before);
  // Finishes the region here, or throws what makes the trace be done again up to where the row says.
  CapturedRegion carry_out(Ending ending, GraphBreak found, int64_t raised_step = 0);
  bool ends_below_restart() const { return restart_ != nullptr && steps_ == restart_->step && !restart_->is_own; }
  void make_sizes_symbolic(TensorValue* tensor);
  int64_t hint_of(const ValueRef& value) const;
  void start_root();
  // The outermost frame returns to the frame that waits for it. Gives the value of its continuation, null where it has none.
  ValuePtr enter_caller();
  // The slots of the view from `first` on as the values of a frame; what they are now is what the region starts from.
  // What the frame that returns holds other than at the region's start; what is no constant is left unset.
  std::vector<std::pair<int, ValuePtr>> changed_slots();
  void load_slots(SymbolicFrame& frame, int first, int count, const CallerPlace* caller);
  void step();
  // Runs the frames above this depth until they have left.
  void run_held(size_t depth);
  // Lets an exception of the walk's go on to the handler that takes it, in one of the frames from this depth on. False: none does,
  // and nothing has changed.
  bool unwind(const ValuePtr& exception, size_t depth);
  // A known exception leaves the held frames through the instruction that waits for them.
  void leave_held(size_t depth, const RaiseSignal& signal);
  std::optional<ValuePtr> run_generator(IteratorValue* generator);
  // A continuation for an operator's method must be able to take the result.
  void check_operator_result(const ValuePtr& result);
  CapturedRegion finish(ExitKind exit, std::optional<GraphBreak> graph_break);
  bool calls_wrapper();
  ValueRef derive(ValueRef base, const TensorValue& tensor);
  ValueRef whole_base(TensorValue* tensor, ValueRef value);
  void note_written_input(const std::shared_ptr<TensorBase>& base);
  void check_apart(const Tensor& written, const Source* source, const Tensor& other, const Source* other_source);
  void check_apart_from_written(TensorValue* input);

  friend class WalkTrace;
  const uint64_t number_;
  WalkTrace trace_;
  const WalkStart& start_;
  const RestartSignal* restart_;  // null: the first walk
  const OperatorSites& declined_;
  FrameStack frames_;
  KeyTable key_table_;
  GuardSet guards_;
  SizeSymbols sizes_;
  const bool all_symbolic_;  // sizes of arguments, from the first capture on
  std::shared_ptr<Graph> graph_;
  struct Input {
    const Source* source;
    ValuePtr computed;
  };
  std::vector<Input> inputs_;
  std::vector<ValuePtr> initial_slots_, initial_stack_;  // of frames_[0]
  std::vector<std::pair<ValuePtr, size_t>> watched_;  // objects of initial_stack_ that the frame still holds, and where
  struct ReturnedFrame {
    int index;
    int64_t executed;
    std::vector<std::pair<int, ValuePtr>> changed;
  };
  std::vector<ReturnedFrame> returns_;  // Snapshot::returns
  int callers_slot_ = 0;                // where the next caller begins in the view
  std::vector<ValuePtr> stack_before_;  // of the innermost frame, before the current instruction
  std::unordered_map<const Source*, ValuePtr> by_source_;
  std::unordered_map<const Value*, ValueRef> scalar_inputs_;
  std::vector<ValuePtr> may_raise_;  // computed at every run, though nobody may ask for them
  std::vector<ValuePtr> stored_cells_;
  struct PendingEffect {
    EffectKind kind;
    ValuePtr target, key, value;
    int64_t start = 0, stop = 0;
    bool flag = false;
    ValueRef tensor{};  // WriteTensor: the value
    int count = 0;
    Location location = {};  // kept for the side_effects log
  };
  std::vector<PendingEffect> effects_;
  // Where in effects_ the stores under a key are, by a hash of what is written to and of the key.
  std::unordered_map<size_t, std::vector<size_t>> stores_by_key_;
  size_t stores_indexed_ = 0;  // effects looked at
  size_t output_end_ = 0;      // behind the last output among them, which may show what was stored before
  std::unordered_map<const PendingWrites*, size_t> cleared_at_;  // behind the last of them that empties the dict
  PendingEffect* last_store(const PendingWrites* writes, BorrowedRef key);
  struct CacheAdditions;
  std::unordered_map<PyObject*, std::shared_ptr<CacheAdditions>> cache_additions_;  // by function, guarded by identity
  ValuePtr call_uncached(const ValuePtr& callable, const CallArgs& args, CacheAdditions& additions, const Ref& key,
                         const Source* result_source);
  std::vector<QueuedOutput> queued_;
  std::unordered_map<const TensorBase*, int> logged_versions_;  // of inputs: writes that are among effects_
  bool logged_grad_mode_ = true, logged_inference_mode_ = false;
  void log_state();
  bool calls_directly(BorrowedRef callable);
  void add_frames(CallOutSite& site);
  std::vector<ValuePtr> mutables_, written_;  // lists, dicts and instances from outside: met, and written to
  std::vector<ValuePtr> written_classes_;
  bool shows_class_dict_ = false;  // some class's __dict__ was asked for
  bool dict_written_ = false;
  void add_mutable(const ValuePtr& value);
  void log_store(EffectKind kind, const ValuePtr& target, BorrowedRef key, ValuePtr value);
  void relate(const ValuePtr& written, const ValuePtr& other);
  void relate_instance_dict(const ValuePtr& instance, const ValuePtr& dict);
  std::vector<std::shared_ptr<TensorBase>> written_inputs_;  // in the order of their first write
  std::unordered_map<PyObject*, ValuePtr> constants_, cells_;
  std::vector<ValuePtr> functions_with_dict_;
  std::vector<Handle<InstanceDictValue>> instance_dicts_;
  std::vector<std::pair<PyObject*, ValuePtr>> shown_;  // by guarded_repr, outermost first
  std::vector<size_t> catches_;                        // depths at which a StopIteration is waited for
  ValuePtr result_;
  bool initial_grad_mode_ = true, initial_inference_mode_ = false;
  int64_t steps_ = 0;
  bool met_strict_ = false;  // an instruction under error_on_graph_break
  int64_t items_taken_ = 0;
  int64_t instruction_step_ = 0;  // of the instruction being walked that nothing waits for
  bool advanced_ = false;         // that instruction has changed what it cannot change back
  std::vector<CallOutSite> call_outs_;
  // Calls of C code that wait for frames, outermost first: how many frames are below, and the stack of the last of them before
  // the instruction that called.
  struct HeldCall {
    size_t depth;
    std::vector<ValuePtr> stack;
  };
  std::vector<HeldCall> held_;
  ValuePtr held_result_;
  ValuePtr thrown_;  // into the generator that is about to run
  std::vector<Handle<IteratorValue>> generators_;
  bool finished_ = false;
  ClassBuilder classes_;  // the last: it goes first
  friend ValuePtr load_cell(Walk& walk, CellValue* cell);
  friend void store_cell(Walk& walk, const ValuePtr& cell, ValuePtr contents);
};

// Whether the code has handlers of the program's: try, with, and the like.
bool has_handlers(const Bytecode& bytecode);
// Whether one of them covers the instruction.
bool catches(const Bytecode& bytecode, int index);

// A cell's contents (null: empty) and a store into it, shared by LOAD_DEREF, closures and STORE_DEREF.
ValuePtr load_cell(Walk& walk, CellValue* cell);
void store_cell(Walk& walk, const ValuePtr& cell, ValuePtr contents);

}  // namespace md
