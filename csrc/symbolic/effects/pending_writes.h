// Writes to exact lists and dicts made here or from outside, which are done at the exit. Each breaks before it changes anything.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// what is from outside is logged, and done at the exit. Each breaks before it changes anything if it cannot.
// The elements of a list that is about to be changed; null: no exact list.
SequenceValue* list_contents(Tracer& tracer, const ValuePtr& list);
// A list to which elements are appended here: not one of a class that reads them its own way.
bool takes_items(Tracer& tracer, const ValuePtr& list);
// False: no such list, or an iterable that is not known. What comes from an iterator is appended as it comes.
bool list_extend(Tracer& tracer, const ValuePtr& list, const ValuePtr& iterable);
// An OrderedDict takes in what subscripts of a dict's subclass give: breaks where that is not what the dict holds.
void require_own_items(Tracer& tracer, const ValuePtr& mapping);
// The same of what another set takes in: any set by its table, without asking a subclass's __iter__. Null: no set.
Ref set_to_merge(Tracer& tracer, const ValuePtr& value);
bool dict_delete(Tracer& tracer, const ValuePtr& dict, BorrowedRef key);
// The dict of a function's globals, as an object that can be written to.
ValuePtr globals_dict(Tracer& tracer, const ValuePtr& function);
PendingWrites& write_to(Tracer& tracer, const ValuePtr& object);
// What a list or dict that exists holds now, in full.
SequenceValue* written_list(Tracer& tracer, ObjectValue* object);
DictValue* written_dict(Tracer& tracer, ObjectValue* object);
// To exact lists and dicts; false: no such list.
bool list_append(Tracer& tracer, const ValuePtr& list, ValuePtr value);
void list_splice(Tracer& tracer, const ValuePtr& list, int64_t start, int64_t stop, std::vector<ValuePtr> values);
// The elements of a deque that is about to be changed; null: no deque. keeps_iterators: who goes over it may go on.
std::vector<ValuePtr>* deque_contents(Tracer& tracer, const ValuePtr& deque, bool keeps_iterators = false);
// Of an exact dict, under a constant key. Null, or false: nothing is there, which is guarded.
ValuePtr dict_item(Tracer& tracer, const ValuePtr& dict, BorrowedRef key);
bool dict_set(Tracer& tracer, const ValuePtr& dict, BorrowedRef key, ValuePtr value);
// Without a look-up first: a name in globals. Null value: deleted.
void store_in_dict(Tracer& tracer, const ValuePtr& dict, BorrowedRef key, ValuePtr value);
bool dict_clear(Tracer& tracer, const ValuePtr& dict);
// What a set holds, an exact one, or a constant frozenset: not to be changed. Null: no such set.
Ref set_contents(Tracer& tracer, const ValuePtr& set);
// False: no exact set.
bool set_change(Tracer& tracer, EffectKind kind, const ValuePtr& set, BorrowedRef item);
// Null value: deleted.
void attribute_store(Tracer& tracer, const ValuePtr& object, BorrowedRef name, ValuePtr value);

}  // namespace md
