// Functions provided by the host program; the rows of host_hooks.def.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct _typeobject;

namespace md {

enum class EventKind : uint8_t;
struct NumpyRoutine;
class Plan;
class Graph;
class Ref;
class BorrowedRef;
struct ShownGraph;
struct WrapperType;

struct HostHooks {
#define MD_HOOK(name, result, parameters, meaning) std::atomic<result(*) parameters> name = nullptr;
#include "base/host_hooks.def"
#undef MD_HOOK
};
inline constinit HostHooks host_hooks;

}  // namespace md
