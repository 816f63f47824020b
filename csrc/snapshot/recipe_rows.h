// The functions of recipes.def: how a value of each kind is created and filled.
#pragma once
#include "snapshot/value_builder.h"

namespace md {

// Creates the value; it may be null only for a Null.
using MakeRecipe = Ref (*)(ValueBuilder& builder, const Recipe& recipe, RecipeId id);
// Completes a value that was created empty, after ValueBuilder::fill_later.
using FillRecipe = void (*)(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& value);

struct RecipeRow {
  MakeRecipe make;
  FillRecipe fill;  // null: created complete
};

const RecipeRow& recipe_row(RecipeKind kind);

namespace recipe_columns {

#define MD_RECIPE(name, ...) Ref make_##name(ValueBuilder& builder, const Recipe& recipe, RecipeId id);
#include "snapshot/recipes.def"
#undef MD_RECIPE

void fill_list(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& list);
void fill_typed_list(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& list);
void fill_dict(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& dict);
void fill_typed_dict(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& dict);
void fill_set(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& set);
void fill_cell(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& cell);
void fill_function(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& function);
void fill_class(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& type);
void fill_instance(ValueBuilder& builder, const Recipe& recipe, RecipeId id, const Ref& object);
inline constexpr FillRecipe fill_nothing = nullptr;

}  // namespace recipe_columns
}  // namespace md
