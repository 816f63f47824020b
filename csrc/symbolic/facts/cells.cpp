#include "symbolic/facts/cells.h"

#include "symbolic/breaks/outcomes.h"
#include "symbolic/effects/finalizers.h"
#include "symbolic/facts/value_facts.h"

namespace md {

ValuePtr load_cell(Walk& walk, CellValue* cell) {
  if (cell->holds_names) graph_break(BreakReason::class_definition, "the names of the class itself");
  if (cell->loaded) return cell->contents;
  const Source* contents = walk.sources().get(SourceKind::CellContents, cell->source, nullptr);
  ValuePtr value = value_at(walk, contents);
  if (!value) walk.guards().absent(contents);
  cell->contents = value;
  cell->loaded = true;
  return value;
}

void store_cell(Walk& walk, const ValuePtr& value, ValuePtr contents) {
  auto* cell = as<CellValue>(value);
  if (cell->source != nullptr) leave_finalizer_to_python(walk, PyCell_GET(cell->object.get()));
  cell->contents = std::move(contents);
  cell->loaded = true;
  if (cell->source != nullptr && !cell->stored) {
    cell->stored = true;
    for (const auto& [object, other] : walk.values().cells())
      if (other != value) walk.guards().alias(cell->source, as<CellValue>(other)->source, false);
    walk.effects().add_stored_cell(value);
  }
}

ValuePtr cell_at(Walk& walk, const Source* source, Ref object) {
  if (ValuePtr known = walk.values().find(source); as<CellValue>(known) != nullptr) return known;
  // One cell reached by two ways is one cell: stores must be seen through both.
  auto same = walk.values().cells().find(object);
  if (same != walk.values().cells().end()) {
    walk.guards().alias(as<CellValue>(same->second)->source, source, true);
    return same->second;
  }
  for (const ValuePtr& stored : walk.effects().stored_cells())
    if (const Source* other = as<CellValue>(stored)->source) walk.guards().alias(other, source, false);
  auto cell = make_value<CellValue>();
  cell->source = source;
  cell->loaded = false;
  walk.values().cells()[object] = cell;
  cell->object = std::move(object);
  walk.values().set(source, cell);
  return cell;
}

}  // namespace md
