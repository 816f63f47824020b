#include "symbolic/trace/trace_log.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "cpython/text.h"
#include "guards/constants.h"
#include "symbolic/breaks/graph_break.h"
#include "symbolic/trace/tracer.h"

namespace md {

namespace {

// The meaning of an instruction's argument.
enum class Argument : uint8_t { Number, Slot, Constant, Name };

// Those of all other opcodes are numbers.
constexpr std::pair<Opcode, Argument> kArguments[] = {
    {Opcode::LOAD_FAST, Argument::Slot},        {Opcode::LOAD_FAST_AND_CLEAR, Argument::Slot},
    {Opcode::STORE_FAST, Argument::Slot},       {Opcode::DELETE_FAST, Argument::Slot},
    {Opcode::LOAD_CLOSURE, Argument::Slot},     {Opcode::LOAD_DEREF, Argument::Slot},
    {Opcode::STORE_DEREF, Argument::Slot},      {Opcode::DELETE_DEREF, Argument::Slot},
    {Opcode::MAKE_CELL, Argument::Slot},        {Opcode::LOAD_CONST, Argument::Constant},
    {Opcode::RETURN_CONST, Argument::Constant}, {Opcode::LOAD_NAME, Argument::Name},
    {Opcode::STORE_NAME, Argument::Name},       {Opcode::DELETE_NAME, Argument::Name},
    {Opcode::LOAD_GLOBAL, Argument::Name},      {Opcode::STORE_GLOBAL, Argument::Name},
    {Opcode::DELETE_GLOBAL, Argument::Name},    {Opcode::LOAD_ATTR, Argument::Name},
    {Opcode::LOAD_METHOD, Argument::Name},      {Opcode::STORE_ATTR, Argument::Name},
    {Opcode::DELETE_ATTR, Argument::Name},      {Opcode::IMPORT_NAME, Argument::Name},
    {Opcode::IMPORT_FROM, Argument::Name},
};

Argument argument_of(Opcode op) {
  auto row = std::ranges::find(kArguments, op, &std::pair<Opcode, Argument>::first);
  return row != std::end(kArguments) ? row->second : Argument::Number;
}

// A constant that is not an atom may be arbitrarily large: show its type only.
std::string constant_text(BorrowedRef constant) {
  if (is_guardable_constant(constant)) return repr_constant(constant);
  return str_cat("<", constant.type()->tp_name, ">");
}

std::string argument_text(const Bytecode& code, const Instruction& instruction) {
  switch (argument_of(instruction.op)) {
    case Argument::Slot:
      return text_of(code.slot_name(instruction.arg));
    case Argument::Constant:
      return constant_text(code.constant(instruction.arg));
    case Argument::Name:
      return text_of(code.name(instruction.arg));
    case Argument::Number:
      break;
  }
  return has_target(instruction.op) ? str_cat("to ", instruction.arg) : std::to_string(instruction.arg);
}

std::string value_text(const ValuePtr& value, const Bytecode& root) {
  if (!value || value->kind == ValueKind::Null) return "NULL";
  if (auto* tensor = as<TensorValue>(value)) {
    if (tensor->ref.node != nullptr) return "%" + tensor->ref.node->name;
    return tensor->source != nullptr ? name(tensor->source, root) : "Tensor";
  }
  if (auto* object = as<ObjectValue>(value)) {
    if (object->source != nullptr) return name(object->source, root);
    return constant_text(object->object);
  }
  return describe(value);
}

// ^^^^ under the source range of the instruction, for the line without its indentation; "" if the range is not within
// one line.
std::string carets(const Bytecode& code, int index, const std::string& shown) {
  int first_line = 0, first = 0, last_line = 0, last = 0;
  if (PyCode_Addr2Location(code.code(), code[index].lasti * 2, &first_line, &first, &last_line, &last) == 0) return "";
  if (first_line != last_line || first < 0 || last <= first || first_line <= 0) return "";
  int width = last - first;
  // Columns count from the start of the line, including the stripped indentation.
  int indent = source_indent(text_of(code.code()->co_filename), first_line);
  int begin = first - indent;
  if (begin < 0 || begin + width > static_cast<int>(shown.size())) return "";
  return std::string(static_cast<size_t>(begin), ' ') + std::string(static_cast<size_t>(width), '^');
}

// "from f.py:3 in g", and the line with the source range marked.
std::string place_text(const Bytecode& code, int index) {
  SourceLine line{text_of(code.code()->co_filename), code.line_at(index), text_of(code.code()->co_name)};
  std::string shown = source_text(line), text = str_cat("from ", file_and_line(line), " in ", line.function);
  if (shown.empty()) return text;
  std::string marks = carets(code, index, shown);
  text += "\n    " + shown;
  return marks.empty() ? text : text + "\n    " + marks;
}

}  // namespace

TraceLog::TraceLog()
    : source_(log_enabled(LogArtifact::trace_source)),
      bytecode_(log_enabled(LogArtifact::trace_bytecode)),
      calls_(log_enabled(LogArtifact::trace_call)),
      effects_(log_enabled(LogArtifact::side_effects)) {}

void TraceLog::before(const Tracer& tracer, const Instruction& instruction) {
  frames_before_ = tracer.frames().depth();
  nodes_before_ = tracer.graph().nodes().size();
  effects_before_ = tracer.effects().log().size();
  code_before_ = tracer.frames().innermost().bytecode;
  index_before_ = tracer.frames().innermost().index;
  if (source_) log_line(tracer);
  if (bytecode_) log_instruction(tracer, instruction);
}

void TraceLog::after(Tracer& tracer) {
  if (calls_) {
    log_new_nodes(tracer);
    if (tracer.frames().depth() > frames_before_) log_inlined_call(tracer);
  }
  if (!effects_) return;
  tracer.effects().set_locations(effects_before_, tracer.frames().location());
}

void TraceLog::log_line(const Tracer& tracer) {
  const SymbolicFrame& frame = tracer.frames().innermost();
  int line = frame.bytecode->line_at(frame.index);
  if (line == 0 || (frame.bytecode == logged_code_ && line == logged_line_)) return;
  logged_code_ = frame.bytecode;
  logged_line_ = line;
  PyCodeObject* code = frame.bytecode->code();
  SourceLine place{text_of(code->co_filename), line, text_of(code->co_name)};
  std::string text = str_cat("TRACE starts_line ", place.file, ":", line, " in ", place.function, " (",
                             text_of(code->co_qualname), ")");
  if (tracer.frames().depth() > 1) text += str_cat(" (inline depth: ", tracer.frames().depth() - 1, ")");
  log_event(LogArtifact::trace_source, str_cat(text, "\n    ", source_text(place)));
}

void TraceLog::log_instruction(const Tracer& tracer, const Instruction& instruction) const {
  const SymbolicFrame& frame = tracer.frames().innermost();
  std::string stack;
  for (const ValuePtr& value : frame.stack)
    stack += (stack.empty() ? "" : ", ") + value_text(value, tracer.entry().start().bytecode);
  log_event(LogArtifact::trace_bytecode, str_cat("TRACE ", opcode_name(instruction.op), " ",
                                                 argument_text(*frame.bytecode, instruction), " [", stack, "]"));
}

void TraceLog::log_new_nodes(const Tracer& tracer) const {
  const auto& nodes = tracer.graph().nodes();
  for (size_t i = nodes_before_; i < nodes.size(); ++i) {
    if (nodes[i]->kind != NodeKind::Op) continue;
    log_event(LogArtifact::trace_call,
              str_cat("TRACE FX call ", nodes[i]->name, " ", place_text(*code_before_, index_before_)));
  }
}

void TraceLog::log_inlined_call(const Tracer& tracer) const {
  PyCodeObject* code = tracer.frames().innermost().bytecode->code();
  log_event(LogArtifact::trace_call,
            str_cat("TRACE inlined call ", text_of(code->co_qualname), " ", place_text(*code_before_, index_before_)));
}

}  // namespace md
