// Tests of the frame machinery: runs every frame of a thread, or one call, in InterpreterLoop.
#include "eval_frame/interpreter_loop.h"
#include "eval_frame/pending.h"

#include "bindings/bindings.h"

namespace py = pybind11;

namespace md {
namespace {

py::dict counters_dict(const LoopCounters& counters) {
  py::dict result;
  result["frames"] = counters.frames;
  result["default_frames"] = counters.default_frames;
  result["instructions"] = counters.instructions;
  result["random_hand_overs"] = counters.random_hand_overs;
  result["loops_lent"] = counters.loops_lent;
  result["returns"] = counters.returns;
  result["unwound"] = counters.unwound;
  result["thrown"] = counters.thrown;
  py::dict by_opcode;
  for (size_t op = 0; op < counters.hand_overs.size(); ++op) {
    if (counters.hand_overs[op]) by_opcode[opcode_name(static_cast<Opcode>(op))] = counters.hand_overs[op];
  }
  result["hand_overs"] = by_opcode;
  return result;
}

// A context manager: between start and stop every new frame of this thread runs in the loop.
class ConcreteFrames {
 public:
  explicit ConcreteFrames(const LoopOptions& options) : loop_(options) {}
  void start() {
    if (installation_) throw py::value_error("already started");
    installation_ = std::make_unique<HookInstallation>();
    ambient_ = std::make_unique<AmbientHandler>(&loop_);
  }
  void stop() {
    ambient_.reset();
    installation_.reset();
  }
  py::dict counters() const { return counters_dict(loop_.counters()); }

 private:
  InterpreterLoop loop_;
  std::unique_ptr<HookInstallation> installation_;
  std::unique_ptr<AmbientHandler> ambient_;
};

// The hook without a handler: shows what any PEP 523 hook costs and breaks.
class IdleHook {
 public:
  void start() {
    if (!installation_) installation_ = std::make_unique<HookInstallation>();
  }
  void stop() { installation_.reset(); }

 private:
  std::unique_ptr<HookInstallation> installation_;
};

LoopOptions options_of(double hand_over_rate, double throw_rate, uint64_t seed, double lend_rate) {
  LoopOptions options;
  options.hand_over_rate = hand_over_rate;
  options.throw_rate = throw_rate;
  options.lend_rate = lend_rate;
  options.seed = seed ? seed : 1;
  return options;
}

// One call, whose frame and callees run in the loop.
py::object run_concretely(const py::object& function, const py::args& args, const py::kwargs& kwargs) {
  InterpreterLoop loop{LoopOptions{}};
  HookInstallation installation;
  AmbientHandler ambient(&loop);
  PyObject* result = PyObject_Call(function.ptr(), args.ptr(), kwargs.ptr());
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

// Creates a frame of `function` with these locals and stack, and continues at the
// instruction; the evaluator runs the rest.
py::object resume_at(const py::object& function, int index, const py::dict& locals, const py::list& stack) {
  if (!PyFunction_Check(function.ptr())) throw py::type_error("a function is required");
  Ref result = enter_inner_frame(function.ptr(), [&](LiveFrame& frame) {
    const Bytecode& bytecode = frame.bytecode();
    for (int slot = 0; slot < bytecode.slot_count(); ++slot) {
      PyObject* value = PyDict_GetItemWithError(locals.ptr(), bytecode.slot_name(slot));
      if (bytecode.slot_kind(slot) == SlotKind::Local) {
        frame.put(slot, Ref::share(value));
      } else if (value != nullptr) {
        PyCell_Set(frame.get(slot), value);
      }
    }
    for (py::handle value : stack) frame.push(Ref::share(value.ptr()));
    frame.set_index(index);
    return resume_in_interpreter(frame);
  });
  if (!result) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result.release());
}

}  // namespace

void bind_frame_stress(py::module_& module) {
  py::module_ testing = module.def_submodule("_testing", "Frames executed by this library instruction by instruction.");
  py::class_<ConcreteFrames>(testing, "ConcreteFrames")
      .def(py::init([](double hand_over_rate, double throw_rate, uint64_t seed, double lend_rate) {
             return ConcreteFrames(options_of(hand_over_rate, throw_rate, seed, lend_rate));
           }),
           py::arg("hand_over_rate") = 0.0, py::arg("throw_rate") = 0.0, py::arg("seed") = 1,
           py::arg("lend_rate") = 0.0)
      .def("start", &ConcreteFrames::start)
      .def("stop", &ConcreteFrames::stop)
      .def("counters", &ConcreteFrames::counters);
  py::class_<IdleHook>(testing, "IdleHook")
      .def(py::init<>())
      .def("start", &IdleHook::start)
      .def("stop", &IdleHook::stop);
  testing.def("hook_is_in", &hook_is_in, "Whether the library's hook is the interpreter's evaluator.");
  testing.def("run_concretely", run_concretely, py::arg("function"));
  testing.def("resume_at", resume_at, py::arg("function"), py::arg("index"), py::arg("locals"), py::arg("stack"));
  testing.def("has_concrete_handler", [](const std::string& name) {
    for (int op = 0; op <= static_cast<int>(Opcode::UNKNOWN); ++op) {
      if (name == opcode_name(static_cast<Opcode>(op))) return has_concrete_handler(static_cast<Opcode>(op));
    }
    throw py::key_error(name);
  });
}

}  // namespace md
