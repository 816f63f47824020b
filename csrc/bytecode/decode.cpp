#include "bytecode/decode.h"

#include "base/error.h"
#include "cpython/object_layout.h"
#include "cpython/object_protocol.h"

#include <algorithm>
#include <array>
#include <utility>

namespace md {
namespace {

// How a versioned opcode and its argument are decoded into neutral instructions: one form, one function.
#define MD_FORMS(X)  \
  X(Unknown)         \
  X(Plain)           \
  X(Extended)        \
  X(Prefix)          \
  X(KeywordNames)    \
  X(Forward)         \
  X(ForIter)         \
  X(Backward)        \
  X(BackwardQuiet)   \
  X(LoadFast)        \
  X(Pair)            \
  X(PairOfStores)    \
  X(LoadGlobal)      \
  X(LoadAttr)        \
  X(LoadSuperAttr)   \
  X(Compare)         \
  X(Call)            \
  X(LowBit)          \
  X(FormatValue)     \
  X(UnpackEx)        \
  X(Resume)          \
  X(EndFor)          \
  X(Statement)       \
  X(UnaryIntrinsic)  \
  X(BinaryIntrinsic) \
  X(PushNull)        \
  X(CallUnpacked)    \
  X(SmallInt)        \
  X(CommonConstant)  \
  X(Copy)            \
  X(BinaryOp)        \
  X(WithExceptStart) \
  X(Template)        \
  X(Interpolation)

enum class Form : uint8_t {
#define MD_FORM(name) name,
  MD_FORMS(MD_FORM)
#undef MD_FORM
};

struct RawRow {
  uint8_t caches = 0;
  Form form = Form::Unknown;
  Opcode op = Opcode::UNKNOWN;
};

constexpr std::array<RawRow, 256> make_raw_rows() {
  std::array<RawRow, 256> rows{};
#define MD_RAW(number, name, caches, form, neutral) rows[number] = {caches, Form::form, Opcode::neutral};
#if PY_VERSION_HEX >= 0x030E0000
#include "bytecode/opcodes_314.def"
#elif PY_VERSION_HEX >= 0x030D0000
#include "bytecode/opcodes_313.def"
#elif PY_VERSION_HEX >= 0x030C0000
#include "bytecode/opcodes_312.def"
#else
#include "bytecode/opcodes_311.def"
#endif
#undef MD_RAW
  return rows;
}
constexpr std::array<RawRow, 256> kRawRows = make_raw_rows();

// Intrinsics with a neutral opcode; the others remain CALL_INTRINSIC with their number.
struct IntrinsicRow {
  int number;
  Opcode op;
};
constexpr IntrinsicRow kUnaryIntrinsics[] = {
    {1, Opcode::PRINT_EXPR},     {2, Opcode::IMPORT_STAR},    {3, Opcode::STOPITERATION_ERROR},
    {4, Opcode::ASYNC_GEN_WRAP}, {5, Opcode::UNARY_POSITIVE}, {6, Opcode::LIST_TO_TUPLE},
};
constexpr IntrinsicRow kBinaryIntrinsics[] = {{1, Opcode::PREP_RERAISE_STAR}};

// Units that an exhausted FOR_ITER skips in addition to its jump: END_FOR, since 3.13 also POP_TOP or POP_ITER.
constexpr int kForIterSkips = PY_VERSION_HEX >= 0x030D0000 ? 2 : PY_VERSION_HEX >= 0x030C0000 ? 1 : 0;
constexpr int kEndForPops = PY_VERSION_HEX >= 0x030D0000 ? 1 : 2;
constexpr int kCompareShift = PY_VERSION_HEX >= 0x030D0000 ? 5 : PY_VERSION_HEX >= 0x030C0000 ? 4 : 0;
constexpr bool kCompareMakesBool = PY_VERSION_HEX >= 0x030D0000;
// Stack depth of __exit__ below the exception that leaves a with statement; since 3.14 its self, or NULL, is above it.
constexpr int kExitDepth = PY_VERSION_HEX >= 0x030E0000 ? 5 : 4;
constexpr int kSubscript = 26;                            // argument of BINARY_OP
constexpr int kTemplate = 0x100, kInterpolation = 0x101;  // encoded as intrinsic numbers

struct CodeUnit {
  uint8_t op;
  uint8_t arg;
};

class Decoder {
 public:
  explicit Decoder(PyCodeObject* code) : code_(code), bytes_(check(PyCode_GetCode(code))) {
    units_ = reinterpret_cast<const CodeUnit*>(PyBytes_AS_STRING(bytes_.get()));
    unit_count_ = static_cast<int>(PyBytes_GET_SIZE(bytes_.get()) / 2);
    out_.unit_to_index.assign(unit_count_ + 1, -1);
  }

  DecodedCode run();

#define MD_FORM(name) void form##name();
  MD_FORMS(MD_FORM)
#undef MD_FORM

 private:
  void emit(Opcode op, int arg = 0, int arg2 = 0);
  void load_fast(int slot);
  void load_extra_constant(BorrowedRef object);
  // Whether the code unit `units` ahead decodes to `op` with this argument.
  bool follows(int units, Opcode op, int arg) const;
  void emit_intrinsic(const IntrinsicRow* begin, const IntrinsicRow* end, int operands);
  void end_instruction();
  void resolve_targets();

  PyCodeObject* code_;
  Ref bytes_;
  const CodeUnit* units_;
  int unit_count_;
  DecodedCode out_;
  // The instruction being decoded.
  RawRow row_;
  int begin_ = 0;     // first prefix
  int position_ = 0;  // the real opcode
  int next_ = 0;      // after the caches
  int arg_ = 0;
  int keyword_names_ = -1;
  bool without_keywords_ = false;  // PUSH_NULL preceded CALL_FUNCTION_EX
  bool in_prefix_ = false;
};

void Decoder::emit(Opcode op, int arg, int arg2) {
  Instruction instruction;
  instruction.op = op;
  instruction.resumable = out_.instructions.empty() || out_.instructions.back().unit != begin_;
  instruction.arg = arg;
  instruction.arg2 = arg2;
  instruction.unit = begin_;
  instruction.lasti = position_;
  instruction.next_unit = next_;
  out_.instructions.push_back(instruction);
}

void Decoder::formUnknown() { emit(Opcode::UNKNOWN, units_[position_].op, arg_); }
void Decoder::formPlain() { emit(row_.op, arg_); }
void Decoder::formExtended() { in_prefix_ = true; }
void Decoder::formPrefix() {
  in_prefix_ = true;
  arg_ = 0;
}
void Decoder::formKeywordNames() {
  keyword_names_ = arg_;
  formPrefix();
}
void Decoder::formForward() { emit(row_.op, next_ + arg_); }
void Decoder::formForIter() { emit(row_.op, next_ + arg_ + kForIterSkips); }
void Decoder::formBackward() { emit(row_.op, next_ - arg_); }
void Decoder::formBackwardQuiet() { emit(row_.op, next_ - arg_, 1); }

// Since 3.13 the cell of a closure is loaded with LOAD_FAST.
void Decoder::load_fast(int slot) {
  bool is_cell = PY_VERSION_HEX >= 0x030D0000 && pv_slot_kind(code_, slot) != 0;
  emit(is_cell ? Opcode::LOAD_CLOSURE : Opcode::LOAD_FAST, slot);
}
void Decoder::formLoadFast() { load_fast(arg_); }

// The row names the first half; the second half is a load.
void Decoder::formPair() {
  if (row_.op == Opcode::LOAD_FAST)
    load_fast(arg_ >> 4);
  else
    emit(row_.op, arg_ >> 4);
  load_fast(arg_ & 15);
}
void Decoder::formPairOfStores() {
  emit(row_.op, arg_ >> 4);
  emit(row_.op, arg_ & 15);
}

void Decoder::formLoadGlobal() {
  bool with_null = arg_ & 1;
  if (with_null && !kNullAfterCallable) emit(Opcode::PUSH_NULL);
  emit(Opcode::LOAD_GLOBAL, arg_ >> 1);
  if (with_null && kNullAfterCallable) emit(Opcode::PUSH_NULL);
}

void Decoder::formLoadAttr() { emit(arg_ & 1 ? Opcode::LOAD_METHOD : Opcode::LOAD_ATTR, arg_ >> 1); }
void Decoder::formLoadSuperAttr() {
  emit(arg_ & 1 ? Opcode::LOAD_SUPER_METHOD : Opcode::LOAD_SUPER_ATTR, arg_ >> 2, (arg_ >> 1) & 1);
}
void Decoder::formCompare() { emit(row_.op, arg_ >> kCompareShift, kCompareMakesBool ? (arg_ >> 4) & 1 : 0); }
void Decoder::formCall() {
  emit(row_.op, arg_, keyword_names_);
  keyword_names_ = -1;
}
void Decoder::formLowBit() { emit(row_.op, arg_ & 1); }
void Decoder::formFormatValue() { emit(row_.op, arg_ & 3, (arg_ >> 2) & 1); }
void Decoder::formUnpackEx() { emit(row_.op, arg_ & 0xFF, arg_ >> 8); }
void Decoder::formResume() { emit(row_.op, arg_ & 3); }
void Decoder::formEndFor() { emit(row_.op, kEndForPops); }
void Decoder::formStatement() {
  // 3.11 drops the result itself; later versions push None and pop it.
  emit(row_.op);
  emit(Opcode::POP_TOP);
}

void Decoder::emit_intrinsic(const IntrinsicRow* begin, const IntrinsicRow* end, int operands) {
  for (const IntrinsicRow* row = begin; row != end; ++row) {
    if (row->number == arg_) return emit(row->op);
  }
  emit(Opcode::CALL_INTRINSIC, operands, arg_);
}
void Decoder::formUnaryIntrinsic() { emit_intrinsic(std::begin(kUnaryIntrinsics), std::end(kUnaryIntrinsics), 1); }
void Decoder::formBinaryIntrinsic() { emit_intrinsic(std::begin(kBinaryIntrinsics), std::end(kBinaryIntrinsics), 2); }

void Decoder::formWithExceptStart() { emit(row_.op, kExitDepth); }

// ---- since 3.14

bool Decoder::follows(int units, Opcode op, int arg) const {
  int unit = position_ + units;
  return unit < unit_count_ && kRawRows[units_[unit].op].op == op && units_[unit].arg == arg;
}

// A NULL in place of the keyword dict is part of the call.
void Decoder::formPushNull() {
  if (!follows(1, Opcode::CALL_FUNCTION_EX, 0)) return emit(row_.op);
  without_keywords_ = true;
  formPrefix();
}
void Decoder::formCallUnpacked() { emit(row_.op, std::exchange(without_keywords_, false) ? 0 : 1); }

void Decoder::formBinaryOp() {
  if (arg_ == kSubscript) return emit(Opcode::BINARY_SUBSCR);
  emit(row_.op, arg_);
}

// Appended after the code object's own constants.
void Decoder::load_extra_constant(BorrowedRef object) {
  auto known = std::find_if(out_.extra_constants.begin(), out_.extra_constants.end(),
                            [&](const Ref& constant) { return constant.get() == object.get(); });
  auto place = static_cast<int>(known - out_.extra_constants.begin());
  if (known == out_.extra_constants.end()) out_.extra_constants.push_back(Ref::share(object));
  emit(Opcode::LOAD_CONST, static_cast<int>(PyTuple_GET_SIZE(code_->co_consts)) + place);
}
void Decoder::formSmallInt() {
  Ref number = check(PyLong_FromLong(arg_));
  load_extra_constant(number);
}
void Decoder::formCommonConstant() {
  PyObject* object = pv_common_constant(arg_);
  if (object == PyExc_AssertionError) return emit(Opcode::LOAD_ASSERTION_ERROR);
  load_extra_constant(object);
}

// The start of a with statement spans six instructions. BEFORE_WITH leaves __exit__ bound.
void Decoder::formCopy() {
  for (int enter : {0, 2}) {
    if (arg_ != 1 || !follows(1, Opcode::BEFORE_WITH, enter + 1) || !follows(2, Opcode::SWAP, 2) ||
        !follows(3, Opcode::SWAP, 3) || !follows(4, Opcode::BEFORE_WITH, enter) || !follows(5, Opcode::CALL, 0))
      continue;
    // Positions and tracebacks refer to the call.
    position_ += 5;
    next_ = position_ + 1 + kRawRows[units_[position_].op].caches;
    out_.unit_to_index[position_] = static_cast<int32_t>(out_.instructions.size());
    emit(enter == 0 ? Opcode::BEFORE_WITH : Opcode::BEFORE_ASYNC_WITH);
    emit(Opcode::PUSH_NULL);
    return emit(Opcode::SWAP, 2);
  }
  emit(row_.op, arg_);
}

void Decoder::formTemplate() { emit(row_.op, 2, kTemplate); }
void Decoder::formInterpolation() { emit(row_.op, 2 + (arg_ & 1), kInterpolation); }

void Decoder::resolve_targets() {
  for (Instruction& instruction : out_.instructions) {
    if (!has_target(instruction.op)) continue;
    MD_ASSERT(instruction.arg >= 0 && instruction.arg < unit_count_, "jump out of the code");
    instruction.arg = out_.unit_to_index[instruction.arg];
    MD_ASSERT(instruction.arg >= 0, "jump into a cache");
  }
}

DecodedCode Decoder::run() {
  using Handler = void (Decoder::*)();
  static constexpr Handler kForms[] = {
#define MD_FORM(name) &Decoder::form##name,
      MD_FORMS(MD_FORM)
#undef MD_FORM
  };
  while (next_ < unit_count_) {
    position_ = next_;
    row_ = kRawRows[units_[position_].op];
    next_ = position_ + 1 + row_.caches;
    if (!in_prefix_) {
      begin_ = position_;
      arg_ = 0;
    }
    in_prefix_ = false;
    arg_ = (arg_ << 8) | units_[position_].arg;
    out_.unit_to_index[position_] = static_cast<int32_t>(out_.instructions.size());
    Handler handler = kForms[static_cast<int>(row_.form)];
    (this->*handler)();
  }
  // One past the end, so that ranges may end there.
  out_.unit_to_index[unit_count_] = static_cast<int32_t>(out_.instructions.size());
  resolve_targets();
  return std::move(out_);
}

}  // namespace

DecodedCode decode(PyCodeObject* code) { return Decoder(code).run(); }

}  // namespace md
