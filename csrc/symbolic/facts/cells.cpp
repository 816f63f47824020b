#include "symbolic/facts/cells.h"

#include "guards/guard_set.h"
#include "symbolic/breaks/break_reason.h"
#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/facts/value_facts.h"

namespace md {

ValuePtr load_cell(Tracer& tracer, CellValue* cell) {
  if (cell->holds_names) graph_break(BreakReason::class_definition, "the names of the class itself");
  if (cell->loaded) return cell->contents;
  const Source* contents = tracer.sources().get(SourceKind::CellContents, cell->source, nullptr);
  ValuePtr value = value_at(tracer, contents);
  if (!value) tracer.guards().absent(contents);
  cell->contents = value;
  cell->loaded = true;
  return value;
}

void store_cell(Tracer& tracer, const ValuePtr& value, ValuePtr contents) {
  auto* cell = as<CellValue>(value);
  if (cell->source != nullptr) leave_finalizer_to_python(tracer, PyCell_GET(cell->object.get()));
  cell->contents = std::move(contents);
  cell->loaded = true;
  if (cell->source != nullptr && !cell->stored) {
    cell->stored = true;
    for (const auto& [object, other] : tracer.values().cells())
      if (other != value) tracer.guards().alias(cell->source, as<CellValue>(other)->source, false);
    tracer.effects().add_stored_cell(value);
  }
}

ValuePtr cell_at(Tracer& tracer, const Source* source, Ref object) {
  if (ValuePtr known = tracer.values().find(source); as<CellValue>(known) != nullptr) return known;
  // One cell reached through two sources is one value: stores must be visible through both.
  auto same = tracer.values().cells().find(object);
  if (same != tracer.values().cells().end()) {
    tracer.guards().alias(as<CellValue>(same->second)->source, source, true);
    return same->second;
  }
  for (const ValuePtr& stored : tracer.effects().stored_cells())
    if (const Source* other = as<CellValue>(stored)->source) tracer.guards().alias(other, source, false);
  auto cell = make_value<CellValue>();
  cell->source = source;
  cell->loaded = false;
  tracer.values().cells()[object] = cell;
  cell->object = std::move(object);
  tracer.values().set(source, cell);
  return cell;
}

}  // namespace md
