// Writes to exact lists and dicts made here or from outside, which are done at the exit. Each breaks before it changes anything.
#pragma once
#include "symbolic/walk.h"

namespace md {

// what is from outside is logged, and done at the exit. Each breaks before it changes anything if it cannot.
// The elements of a list that is about to be changed; null: no exact list.
SequenceValue* list_contents(Walk& walk, const ValuePtr& list);
// A list to which elements are appended here: not one of a class that reads them its own way.
bool takes_items(Walk& walk, const ValuePtr& list);
// False: no such list, or an iterable that is not known. What comes from an iterator is appended as it comes.
bool list_extend(Walk& walk, const ValuePtr& list, const ValuePtr& iterable);
// An OrderedDict takes in what subscripts of a dict's subclass give: breaks where that is not what the dict holds.
void require_own_items(Walk& walk, const ValuePtr& mapping);
// The same of what another set takes in: any set by its table, without asking a subclass's __iter__. Null: no set.
Ref set_to_merge(Walk& walk, const ValuePtr& value);
bool dict_delete(Walk& walk, const ValuePtr& dict, BorrowedRef key);
// The dict of a function's globals, as an object that can be written to.
ValuePtr globals_dict(Walk& walk, const ValuePtr& function);

}  // namespace md
