// How a call is captured. Interned: equal policies have the same pointer for the life of the process, part of the key
// of the code cache. The ambient policy of a thread is inherited by frames reached through C or called at a break.
#pragma once
#include <cstdint>
#include <utility>

#include "cpython/ref.h"

namespace md {

enum class DynamicShapes : uint8_t { Automatic, Never, Always };  // compile(dynamic=None, False, True)

struct Policy {
  bool fullgraph = false;
  bool error_on_graph_break = false;
  bool disable = false;
  bool nested_graph_breaks = true;
  bool keeps_empty_regions = false;  // everywhere mode: keeps regions that compute nothing
  DynamicShapes dynamic = DynamicShapes::Automatic;
  uint64_t backend = 0;             // backend_id()
  int64_t recompile_limit = -1;     // -1: config.recompile_limit
  uint64_t config_fingerprint = 0;  // md::config_fingerprint() when the call began

  // Whether a graph break is an error.
  bool breaks_are_errors() const { return fullgraph || error_on_graph_break; }
  friend bool operator==(const Policy&, const Policy&) = default;
};

// Requires the GIL.
const Policy* intern(const Policy& policy);
const Policy* with_error_on_graph_break(const Policy* policy, bool value);

// The number of a backend; never reused, even if the object's address is. Requires the GIL.
uint64_t backend_id(BorrowedRef backend);
// A number that no backend has.
uint64_t new_backend_id();

// How calls without an existing capture are handled; process-wide, set by compiler.set_stance.
enum class Stance : uint8_t {
  Default,
  ForceEager,        // compiled functions run eagerly
  EagerOnRecompile,  // existing captures are used, nothing is captured
  FailOnRecompile,   // the same, but RuntimeError instead of a new capture
  EagerThenCompile,  // the first call at a place runs eagerly, the second is captured
};
Stance stance();
Stance exchange_stance(Stance stance);

// What a compiled call inherits from its thread.
struct InheritedPolicy {
  const Policy* ambient = nullptr;  // null outside of compiled calls
  bool error_outside = false;       // error_on_graph_break for calls from there
  bool error_on_graph_break() const { return ambient != nullptr ? ambient->error_on_graph_break : error_outside; }
};
const InheritedPolicy& inherited_policy();

// Of this thread; nullptr outside of compiled calls.
const Policy* ambient_policy();

// error_on_graph_break in this thread: the ambient policy's value, or outside of compiled calls the value that the
// next compiled call starts with.
bool error_on_graph_break();
bool exchange_error_on_graph_break(bool value);

// The function whose next frame in this thread runs uncaptured while its callees are captured; null if none. Borrowed:
// the caller of the function owns it.
BorrowedRef skipped_function();
BorrowedRef exchange_skipped_function(BorrowedRef function);

// Location of this thread's ambient policy.
const Policy*& ambient_policy_place();

// Sets the ambient policy for a scope.
class AmbientPolicy {
 public:
  explicit AmbientPolicy(const Policy* policy)
      : place_(ambient_policy_place()), previous_(std::exchange(place_, policy)) {}
  ~AmbientPolicy() { place_ = previous_; }
  const Policy* now() const { return place_; }
  AmbientPolicy(const AmbientPolicy&) = delete;
  AmbientPolicy& operator=(const AmbientPolicy&) = delete;

 private:
  const Policy*& place_;
  const Policy* previous_;
};

}  // namespace md
