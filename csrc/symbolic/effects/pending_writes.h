// Writes to exact lists, dicts, sets and deques, and to attributes. Containers created in the trace change at once;
// writes to pre-existing ones are logged, and applied at the exit. Each function breaks before it changes anything if
// it cannot.
#pragma once
#include "symbolic/trace/tracer.h"

namespace md {

// The elements of a list that is about to be changed; null if it is not an exact list.
SequenceValue* list_contents(Tracer& tracer, const ValuePtr& list);
// Returns true for a list that the trace may append to: not of a class with its own way of reading elements.
bool takes_items(Tracer& tracer, const ValuePtr& list);
// Returns false if it is not such a list, or the iterable is unknown. Elements of an iterator are appended one by one.
bool list_extend(Tracer& tracer, const ValuePtr& list, const ValuePtr& iterable);
// OrderedDict.update() reads the items of a dict subclass through its __getitem__: breaks if they may differ from the
// dict's own.
void require_own_items(Tracer& tracer, const ValuePtr& mapping);
// What a set operation takes from a set or an exact dict: its table, which decides the order of the result, without a
// subclass's __iter__. A set, or a dict of the keys; to be read only. Null if it is neither.
Ref table_to_merge(Tracer& tracer, const ValuePtr& value);
bool dict_delete(Tracer& tracer, const ValuePtr& dict, BorrowedRef key);
// The dict of a function's globals, as an object that can be written to.
ValuePtr globals_dict(Tracer& tracer, const ValuePtr& function);
PendingWrites& write_to(Tracer& tracer, const ValuePtr& object);
// The complete current contents of a pre-existing list or dict.
SequenceValue* written_list(Tracer& tracer, ObjectValue* object);
DictValue* written_dict(Tracer& tracer, ObjectValue* object);
// For exact lists; false if it is not one.
bool list_append(Tracer& tracer, const ValuePtr& list, ValuePtr value);
void list_splice(Tracer& tracer, const ValuePtr& list, int64_t start, int64_t stop, std::vector<ValuePtr> values);
// The elements of a deque that is about to be changed; null if it is not a deque. keeps_iterators: running iterators
// stay valid.
std::vector<ValuePtr>* deque_contents(Tracer& tracer, const ValuePtr& deque, bool keeps_iterators = false);
// For exact dicts, under a constant key. Null, or false: the key is missing, which is guarded.
ValuePtr dict_item(Tracer& tracer, const ValuePtr& dict, BorrowedRef key);
bool dict_set(Tracer& tracer, const ValuePtr& dict, BorrowedRef key, ValuePtr value);
// Stores without a look-up first: for names in globals. Null value: deleted.
void store_in_dict(Tracer& tracer, const ValuePtr& dict, BorrowedRef key, ValuePtr value);
bool dict_clear(Tracer& tracer, const ValuePtr& dict);
// The elements of an exact set or a constant frozenset, read-only. Null if it is neither.
Ref set_contents(Tracer& tracer, const ValuePtr& set);
// Returns false if it is not an exact set.
bool set_change(Tracer& tracer, EffectKind kind, const ValuePtr& set, BorrowedRef item);
// SetUpdate or SetSubtract by the table of `operand`. Returns false if `set` is not an exact set.
bool set_merge(Tracer& tracer, EffectKind kind, const ValuePtr& set, const ValuePtr& operand, BorrowedRef table);
// Null value: deleted.
void attribute_store(Tracer& tracer, const ValuePtr& object, BorrowedRef name, ValuePtr value);

}  // namespace md
