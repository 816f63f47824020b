#include "eval_frame/quick_steps.h"

#include <array>
#include <optional>
#include <utility>

#include "bytecode/binary_operators.h"

namespace md {

namespace {

enum class Quick : uint8_t {
  None,
  LoadFast,
  LoadConst,
  StoreFast,
  Jump,
  JumpBackward,
  Binary,
  Compare,
  Is,
  BranchIfTrue,
  BranchIfFalse
};

constexpr auto kQuick = [] {
  std::array<Quick, static_cast<size_t>(Opcode::UNKNOWN) + 1> kinds{};
  auto set = [&](Opcode op, Quick kind) { kinds[static_cast<size_t>(op)] = kind; };
  set(Opcode::LOAD_FAST, Quick::LoadFast);
  set(Opcode::LOAD_CONST, Quick::LoadConst);
  set(Opcode::STORE_FAST, Quick::StoreFast);
  set(Opcode::JUMP, Quick::Jump);
  set(Opcode::JUMP_BACKWARD, Quick::JumpBackward);
  set(Opcode::BINARY_OP, Quick::Binary);
  set(Opcode::COMPARE_OP, Quick::Compare);
  set(Opcode::IS_OP, Quick::Is);
  set(Opcode::POP_JUMP_IF_TRUE, Quick::BranchIfTrue);
  set(Opcode::POP_JUMP_IF_FALSE, Quick::BranchIfFalse);
  return kinds;
}();

bool is_float(BorrowedRef object) { return PyFloat_CheckExact(object.get()); }
bool is_int(BorrowedRef object) { return PyLong_CheckExact(object.get()); }
bool is_plain_number(BorrowedRef object) { return is_float(object) || is_int(object); }

// Also of ints that are exact as doubles: with them Python computes in doubles, too, and rounds quotients correctly.
std::optional<double> number_of(BorrowedRef object) {
  constexpr int64_t kMostExact = int64_t{1} << 53;
  if (is_float(object)) return PyFloat_AS_DOUBLE(object.get());
  if (!is_int(object)) return std::nullopt;
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0 || value > kMostExact || value < -kMostExact) return std::nullopt;
  return static_cast<double>(value);
}

std::optional<double> apply(BinaryCode code, double left, double right) {
  if (code == BinaryCode::Add) return left + right;
  if (code == BinaryCode::Subtract) return left - right;
  if (code == BinaryCode::Multiply) return left * right;
  if (code == BinaryCode::TrueDivide && right != 0) return left / right;
  return std::nullopt;
}

bool compare(int op, double left, double right) {
  switch (op) {
    case Py_LT:
      return left < right;
    case Py_LE:
      return left <= right;
    case Py_EQ:
      return left == right;
    case Py_NE:
      return left != right;
    case Py_GT:
      return left > right;
    default:
      return left >= right;
  }
}

// The function for exact ints, if it can only fail when memory is short; null: there is none.
binaryfunc function_of_ints(BinaryCode code, BorrowedRef right) {
  const PyNumberMethods& ints = *PyLong_Type.tp_as_number;
  if (code == BinaryCode::Add) return ints.nb_add;
  if (code == BinaryCode::Subtract) return ints.nb_subtract;
  if (code == BinaryCode::Multiply) return ints.nb_multiply;
  if (code == BinaryCode::And) return ints.nb_and;
  if (code == BinaryCode::Or) return ints.nb_or;
  if (code == BinaryCode::Xor) return ints.nb_xor;
  if (PyObject_IsTrue(right) == 0) return nullptr;
  if (code == BinaryCode::FloorDivide) return ints.nb_floor_divide;
  return code == BinaryCode::Remainder ? ints.nb_remainder : nullptr;
}

bool go_on(LiveFrame& f) {
  f.set_index(f.index() + 1);
  return true;
}

// Replaces both operands.
bool finish_two(LiveFrame& f, Ref result) {
  f.pop();
  f.poke(1, std::move(result));
  return go_on(f);
}

// A float that nothing else references becomes the result, as in the interpreter since 3.12.
bool finish_floats(LiveFrame& f, double value) {
  auto becomes = [&](BorrowedRef operand) {
    if (!is_float(operand) || Py_REFCNT(operand.get()) != 1) return false;
    reinterpret_cast<PyFloatObject*>(operand.get())->ob_fval = value;
    return true;
  };
  if (becomes(f.peek(2))) {
    f.pop();
    return go_on(f);
  }
  if (becomes(f.peek(1))) {
    Ref result = f.pop();
    f.poke(1, std::move(result));
    return go_on(f);
  }
  Ref result = Ref::steal(PyFloat_FromDouble(value));
  if (result) return finish_two(f, std::move(result));
  PyErr_Clear();  // step() raises it
  return false;
}

bool step_binary(LiveFrame& f, const Instruction& i) {
  if (!is_known_binary(i.arg)) return false;
  BorrowedRef left = f.peek(2), right = f.peek(1);
  BinaryCode code = binary_operator(i.arg).code;
  if (is_int(left) && is_int(right) && code != BinaryCode::TrueDivide) {
    binaryfunc function = function_of_ints(code, right);
    if (function == nullptr) return false;
    Ref result = Ref::steal(function(left, right));
    if (result) return finish_two(f, std::move(result));
    PyErr_Clear();
    return false;
  }
  std::optional<double> first = number_of(left);
  std::optional<double> second = first ? number_of(right) : std::nullopt;
  std::optional<double> value = second ? apply(code, *first, *second) : std::nullopt;
  return value && finish_floats(f, *value);
}

bool step_compare(LiveFrame& f, const Instruction& i) {
  BorrowedRef left = f.peek(2), right = f.peek(1);
  if (is_int(left) && is_int(right)) return finish_two(f, Ref::steal(PyLong_Type.tp_richcompare(left, right, i.arg)));
  std::optional<double> first = number_of(left);
  std::optional<double> second = first ? number_of(right) : std::nullopt;
  return second && finish_two(f, Ref::share(compare(i.arg, *first, *second) ? Py_True : Py_False));
}

bool step_is(LiveFrame& f, const Instruction& i) {
  for (int operand : {1, 2})
    if (Py_REFCNT(f.peek(operand).get()) == 1) return false;  // its finalizer runs code
  bool is_same = f.peek(2).get() == f.peek(1).get();
  return finish_two(f, Ref::share(is_same != (i.arg != 0) ? Py_True : Py_False));
}

// A backward jump handles signals and requests of other threads.
bool jump(LiveFrame& f, int target) {
  if (target <= f.index() && pv_has_pending(f.thread()) != 0) return false;
  f.set_index(target);
  return true;
}

bool branch_if(LiveFrame& f, const Instruction& i, PyObject* taken, PyObject* not_taken) {
  PyObject* value = f.peek(1);
  if (value != taken && value != not_taken) return false;
  if (!(value == taken ? jump(f, i.arg) : go_on(f))) return false;
  f.pop();
  return true;
}

bool load(LiveFrame& f, BorrowedRef value) {
  if (!value) return false;
  f.push(Ref::share(value));
  return go_on(f);
}

// The last reference to another object may be the old value's, and its finalizer runs code.
bool store_fast(LiveFrame& f, const Instruction& i) {
  BorrowedRef old = f.get(i.arg);
  if (old && Py_REFCNT(old.get()) == 1 && !is_plain_number(old)) return false;
  f.put(i.arg, f.pop());
  return go_on(f);
}

bool is_branch(Quick kind) { return kind == Quick::BranchIfTrue || kind == Quick::BranchIfFalse; }

}  // namespace

bool may_step_quickly(Opcode op) { return kQuick[static_cast<size_t>(op)] != Quick::None || has_trait(op, kMoves); }

bool only_moves(const LiveFrame& f) {
  Opcode op = f.instruction().op;
  if (is_branch(kQuick[static_cast<size_t>(op)])) return PyBool_Check(f.peek(1).get()) != 0;
  return has_trait(op, kMoves) || op == Opcode::JUMP_BACKWARD;
}

bool step_quickly(LiveFrame& f) {
  const Instruction& i = f.instruction();
  switch (kQuick[static_cast<size_t>(i.op)]) {
    case Quick::None:
      return false;
    case Quick::LoadFast:
      return load(f, f.get(i.arg));
    case Quick::LoadConst:
      return load(f, f.bytecode().constant(i.arg));
    case Quick::StoreFast:
      return store_fast(f, i);
    case Quick::Jump:
    case Quick::JumpBackward:
      return jump(f, i.arg);
    case Quick::Binary:
      return step_binary(f, i);
    case Quick::Compare:
      return step_compare(f, i);
    case Quick::Is:
      return step_is(f, i);
    case Quick::BranchIfTrue:
      return branch_if(f, i, Py_True, Py_False);
    case Quick::BranchIfFalse:
      return branch_if(f, i, Py_False, Py_True);
  }
  return false;
}

int64_t step_quickly_in(LiveFrame& f, const Stretch& stretch) {
  int64_t count = 0;
  while (stretch.contains(f.index()) && step_quickly(f)) ++count;
  return count;
}

}  // namespace md
