// Where the results of writes lie. A write into a base becomes one in place: its result takes over the base's memory if
// nothing reads the old elements later, and what it writes is computed there if nothing needs the window in between.
// The memory of an input is written only as the commit point permits; else the plan's own holds the values until the
// end.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "executor/buffer_assignment.h"
#include "executor/commit_point.h"
#include "executor/fusion_groups.h"
#include "executor/write_chains.h"

namespace md {

class WritePlacement {
 public:
  // Reorders the groups: writes to an input that have to wait, and whose results have no readers, come last.
  // sized: null if the sizes stay. Else only bases that keep their layout are written in place.
  WritePlacement(const Graph& graph, BufferAssignment& places, std::vector<Group>& groups,
                 std::vector<WriteChain> chains, const std::vector<bool>& escapes, const SizedGraph* sized);

  // Before anything is lowered. Without it, and without chains, all results have memory of their own.
  void take_over_bases();
  // Before a group is lowered: moves results of its nodes into the windows that they are written to. Returns whether
  // there are any.
  bool place_results(const Group& group);
  // Undoes that.
  void take_back();

  // The write's result lies in its base.
  bool is_in_base(const Node& update) const { return in_base_[static_cast<size_t>(update.index)]; }
  // The same, and what it writes has been computed in place.
  bool is_done(const Node& node) const;
  bool all_are_in_base() const;
  // A new tensor of which writes replace each element before any is read.
  bool is_overwritten(const Node& created) const;
  // A copy whose elements a write into its base takes from where they are.
  bool is_passed_over(const Node& copy) const;
  // The value that a write into its base copies.
  ValueRef source_of(const Node& update) const;
  // Whether a step for the group writes the memory of an input.
  bool writes_input(const Group& group) const;
  // Where elements lie, for all sizes.
  struct SizedPlace : Place {
    Dim at = 0;            // the offset, with symbols where the sizes change
    bool is_fixed = true;  // sizes and strides stay
  };
  // The elements that a write into its base changes.
  SizedPlace window_of(const Node& update) const;

  // What is left to copy to inputs at the end: from `value` of the plan, at the same places of the input.
  struct WriteBack {
    int value, input_value;
    std::vector<SizedPlace> windows;  // in the input
  };
  // A result in the window of a write, or, without one, in an input.
  struct Moved {
    int value;
    const Node* update;
  };
  std::vector<Moved> moved_results() const;
  std::vector<WriteBack> write_backs() const;

 private:
  struct Read {
    int step;
    int value;
    const Node* node;
  };
  // Memory of a base: all that touches it, by step.
  struct Access {
    int step;
    const Node* node;
    SizedPlace place;
    size_t operand;  // which reads; 0 if it is written
  };
  // Where a value will be written, and by which node.
  struct Target {
    SizedPlace window;
    const Node* update;
    int last_read;  // the last step that reads the value before it is written there, or from there
  };
  struct Move {
    Moved moved;
    SizedPlace from;
  };

  void add_chain(size_t index);
  void number_steps();
  void let_wait();
  bool has_other_readers(const WriteChain& chain) const;
  void take_over_base(const Node& update);
  bool is_last_of_chain(const ValueRef& value) const;
  bool may_take_over(const Node& update, const ValueRef& self, std::vector<Read>& reads) const;
  bool reads_beside(const Node& update, const Place& base, const SizedPlace& window) const;
  void add_reads(int buffer, std::vector<Read>& reads) const;
  bool may_write_input(const WriteChain& chain, const Node& node, int step, const SizedPlace& window) const;
  bool is_read_before(const WriteChain& chain, int position, const SizedPlace& window) const;
  bool may_write_before_whole(int input, const Node& update, int step) const;
  // Whether an update may write the window of this input in this step.
  bool may_write(int input, const Node& update, int step, const SizedPlace& window) const;
  bool is_passed_on(const Node& node) const;
  bool is_passed_on(const WriteChain& chain) const;
  SizedPlace place_of(int value) const;
  static bool meet(const SizedPlace& a, const SizedPlace& b);
  static bool is_same_place(const SizedPlace& a, const SizedPlace& b);
  void find_accesses();
  // but: a node that does not count.
  bool is_touched_between(const SizedPlace& window, int after, int before, const Node* but) const;
  bool is_touched_within(const Group& group, const Node& result, const SizedPlace& window) const;
  std::optional<Target> target_of(const Node& node) const;
  bool place_in_window(const Group& group, const Node& node);
  bool place_in_input(const Group& group, const Node& node);
  void move(int value, const SizedPlace& to, const Node* update);
  bool fits_step(const Group& group, const Node& node, const TensorSpec& window) const;
  const WriteChain* chain_of(const Node& node) const;
  int step_of(const Node& node) const { return step_of_[static_cast<size_t>(node.index)]; }
  const Buffer& buffer(int index) const { return places_.layout().buffers[static_cast<size_t>(index)]; }
  const Place& place(int value) const { return places_.layout().places[static_cast<size_t>(value)]; }
  int number(const Node& node) const { return places_.number({const_cast<Node*>(&node), 0}); }

  const Graph& graph_;
  BufferAssignment& places_;
  std::vector<Group>& groups_;
  std::vector<WriteChain> chains_;
  const std::vector<bool>& escapes_;  // by node index
  const SizedGraph* sized_;
  std::vector<std::vector<Node*>> users_;
  std::vector<const Node*> node_of_;           // by value
  std::vector<Dim> at_;                        // by value: its offset, with symbols; empty if the sizes stay
  std::vector<int> own_buffer_;                // by value: before any write took over its base
  std::vector<std::vector<int>> values_of_;    // by such a buffer
  std::vector<int> holder_;                    // by buffer: the own buffer of the values that it holds last
  std::vector<std::vector<Read>> old_reads_;   // by buffer: of replaced values, as far as they matter for later writes
  std::vector<int> chain_index_;               // by node index, -1: in none
  std::vector<int> step_of_;                   // by node index
  std::vector<bool> is_output_;                // by node index
  std::vector<bool> in_base_;                  // by node index
  std::vector<std::vector<Access>> accesses_;  // by buffer, those of bases only
  CommitRules rules_;
  CommitPoint commit_;
  // Of the group that is being lowered: values that were moved, and where they were; a buffer that has been joined to
  // an input's, whose accesses were others before.
  std::vector<Move> moved_;
  std::vector<Moved> kept_;  // of the groups before
  std::optional<std::pair<int, int>> joined_;
  std::vector<Access> accesses_before_;
};

}  // namespace md
