#include "eval_frame/quick_steps.h"

#include <array>
#include <optional>
#include <utility>

#include "bytecode/binary_operators.h"

namespace md {

namespace {

enum class Quick : uint8_t { None, LoadFast, LoadConst, StoreFast, Jump, Binary, Compare, BranchIfTrue, BranchIfFalse };

constexpr auto kQuick = [] {
  std::array<Quick, static_cast<size_t>(Opcode::UNKNOWN) + 1> kinds{};
  auto set = [&](Opcode op, Quick kind) { kinds[static_cast<size_t>(op)] = kind; };
  set(Opcode::LOAD_FAST, Quick::LoadFast);
  set(Opcode::LOAD_CONST, Quick::LoadConst);
  set(Opcode::STORE_FAST, Quick::StoreFast);
  set(Opcode::JUMP, Quick::Jump);
  set(Opcode::BINARY_OP, Quick::Binary);
  set(Opcode::COMPARE_OP, Quick::Compare);
  set(Opcode::POP_JUMP_IF_TRUE, Quick::BranchIfTrue);
  set(Opcode::POP_JUMP_IF_FALSE, Quick::BranchIfFalse);
  return kinds;
}();

bool is_float(BorrowedRef object) { return PyFloat_CheckExact(object.get()); }
bool is_plain_number(BorrowedRef object) { return is_float(object) || PyLong_CheckExact(object.get()); }

std::optional<double> number_of(BorrowedRef object) {
  if (is_float(object)) return PyFloat_AS_DOUBLE(object.get());
  return std::nullopt;
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

// Of exact ints; null: not done here.
Ref apply_to_ints(BinaryCode code, BorrowedRef left, BorrowedRef right) {
  const PyNumberMethods& ints = *PyLong_Type.tp_as_number;
  if (code == BinaryCode::Add) return Ref::steal(ints.nb_add(left, right));
  if (code == BinaryCode::Subtract) return Ref::steal(ints.nb_subtract(left, right));
  if (code == BinaryCode::Multiply) return Ref::steal(ints.nb_multiply(left, right));
  return {};
}

Ref apply_to_numbers(BinaryCode code, BorrowedRef left, BorrowedRef right) {
  if (PyLong_CheckExact(left.get()) && PyLong_CheckExact(right.get())) return apply_to_ints(code, left, right);
  std::optional<double> first = number_of(left), second = number_of(right);
  std::optional<double> value = first && second ? apply(code, *first, *second) : std::nullopt;
  return value ? Ref::steal(PyFloat_FromDouble(*value)) : Ref();
}

// Replaces both operands.
bool finish_two(LiveFrame& f, Ref result) {
  f.pop();
  f.poke(1, std::move(result));
  f.set_index(f.index() + 1);
  return true;
}

bool step_binary(LiveFrame& f, const Instruction& i) {
  if (!is_known_binary(i.arg)) return false;
  Ref result = apply_to_numbers(binary_operator(i.arg).code, f.peek(2), f.peek(1));
  if (!result) {
    PyErr_Clear();  // out of memory: step() raises it
    return false;
  }
  return finish_two(f, std::move(result));
}

bool step_compare(LiveFrame& f, const Instruction& i) {
  BorrowedRef left = f.peek(2), right = f.peek(1);
  if (is_float(left) && is_float(right)) {
    bool holds = compare(i.arg, PyFloat_AS_DOUBLE(left.get()), PyFloat_AS_DOUBLE(right.get()));
    return finish_two(f, Ref::share(holds ? Py_True : Py_False));
  }
  if (!PyLong_CheckExact(left.get()) || !PyLong_CheckExact(right.get())) return false;
  return finish_two(f, Ref::steal(PyLong_Type.tp_richcompare(left, right, i.arg)));
}

// A backward branch handles signals.
bool branch_if(LiveFrame& f, const Instruction& i, PyObject* taken, PyObject* not_taken) {
  PyObject* value = f.peek(1);
  if ((value != taken && value != not_taken) || i.arg <= f.index()) return false;
  f.pop();
  f.set_index(value == taken ? i.arg : f.index() + 1);
  return true;
}

bool load(LiveFrame& f, BorrowedRef value) {
  if (!value) return false;
  f.push(Ref::share(value));
  f.set_index(f.index() + 1);
  return true;
}

// The last reference to another object may be the old value's, and its finalizer runs code.
bool store_fast(LiveFrame& f, const Instruction& i) {
  BorrowedRef old = f.get(i.arg);
  if (old && Py_REFCNT(old.get()) == 1 && !is_plain_number(old)) return false;
  f.put(i.arg, f.pop());
  f.set_index(f.index() + 1);
  return true;
}

bool is_branch(Quick kind) { return kind == Quick::BranchIfTrue || kind == Quick::BranchIfFalse; }

}  // namespace

bool may_step_quickly(Opcode op) {
  return kQuick[static_cast<size_t>(op)] != Quick::None || has_trait(op, kMoves) || op == Opcode::JUMP_BACKWARD;
}

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
      f.set_index(i.arg);
      return true;
    case Quick::Binary:
      return step_binary(f, i);
    case Quick::Compare:
      return step_compare(f, i);
    case Quick::BranchIfTrue:
      return branch_if(f, i, Py_True, Py_False);
    case Quick::BranchIfFalse:
      return branch_if(f, i, Py_False, Py_True);
  }
  return false;
}

}  // namespace md
