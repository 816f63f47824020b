#include "eval_frame/evaluator_operator.h"

#include <array>
#include <string>
#include <utility>

#include "bytecode/binary_operators.h"
#include "bytecode/bytecode.h"
#include "cpython/stack_room.h"
#include "eval_frame/hook.h"
#include "guards/tensor_family.h"

namespace md {

namespace {

// The frame of the operator must not be what meets the recursion limit.
constexpr int kFramesLeft = 16;

// Each class of a program has the table of the buffer protocol, empty.
bool owns_memory(BorrowedRef object) {
  const PyBufferProcs* buffer = object.type()->tp_as_buffer;
  return Py_REFCNT(object.get()) == 1 && buffer != nullptr && buffer->bf_getbuffer != nullptr &&
         family_of(object) == nullptr;
}

const Instruction& first_of(const Bytecode& bytecode, Opcode op) {
  int index = 0;
  while (bytecode[index].op != op) ++index;
  return bytecode[index];
}

// A function whose code begins with the operator, on two values that are on the stack, and whose RESUME follows the
// return: before RESUME a frame is invisible to sys._getframe, tracebacks and warnings.
Ref make_function(int operator_arg) {
  Ref names = check(PyDict_New());
  std::string source = std::string("lambda left, right: left ") + binary_operator(operator_arg).sign + " right";
  Ref plain = check(PyRun_String(source.c_str(), Py_eval_input, names, names));
  PyObject* code = PyFunction_GET_CODE(plain.get());
  const Bytecode bytecode(reinterpret_cast<PyCodeObject*>(code));
  Ref bytes = check(PyObject_GetAttrString(code, "co_code"));
  auto part = [&](int from, int to) {
    return std::string(PyBytes_AS_STRING(bytes.get()) + 2 * static_cast<Py_ssize_t>(from),
                       2 * static_cast<size_t>(to - from));
  };
  const Instruction& resume = first_of(bytecode, Opcode::RESUME);
  int units = static_cast<int>(PyBytes_GET_SIZE(bytes.get()) / 2);
  std::string moved = part(first_of(bytecode, Opcode::BINARY_OP).unit, units) + part(resume.unit, resume.next_unit);
  Ref replace = check(PyObject_GetAttrString(code, "replace"));
  Ref none = check(PyTuple_New(0));
  Ref moved_bytes = check(PyBytes_FromStringAndSize(moved.data(), static_cast<Py_ssize_t>(moved.size())));
  Ref changes = check(Py_BuildValue("{s:O}", "co_code", moved_bytes.get()));
  Ref changed = check(PyObject_Call(replace, none, changes));
  return check(PyFunction_New(changed, names));
}

const Ref& function_of(int operator_arg) {
  static auto* functions = new std::array<Ref, kBinaryOperators>();
  Ref& function = functions->at(static_cast<size_t>(operator_arg));
  if (!function) function = make_function(operator_arg);
  return function;
}

class OperandsOnStack : public FrameHandler {
 public:
  OperandsOnStack(Ref left, Ref right) : left_(std::move(left)), right_(std::move(right)) {}
  PyObject* run(PyThreadState* ts, PvFrame* frame) override {
    int slots = pv_code(frame)->co_nlocalsplus;
    pv_put(frame, slots, left_.release());
    pv_put(frame, slots + 1, right_.release());
    pv_set_depth(frame, 2);
    return pv_default(ts, frame, 0);
  }

 private:
  Ref left_, right_;
};

}  // namespace

bool may_reuse_operand(int operator_arg, BorrowedRef left, BorrowedRef right) {
  return !is_in_place(operator_arg) && (owns_memory(left) || owns_memory(right));
}

Ref apply_in_evaluator(PyThreadState* ts, int operator_arg, Ref left, Ref right) {
  if (pv_recursion_left(ts) < kFramesLeft || pv_has_stack_room() == 0)
    return Ref::steal(apply_binary(operator_arg, left, right));
  const Ref& function = function_of(operator_arg);
  OperandsOnStack operands(std::move(left), std::move(right));
  PendingEntry entry(function, operands);
  PyObject* placeholders[] = {Py_None, Py_None};
  return Ref::steal(PyObject_Vectorcall(function, placeholders, 2, nullptr));
}

}  // namespace md
