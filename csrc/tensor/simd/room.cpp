#include "tensor/simd/room.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "tensor/simd/copy.h"

namespace md {
namespace {

// Below this size a copy costs less than a room.
constexpr int64_t kLeastBytes = 4096;
// A room pays for a copy out of it by this number of appends; a chain of concatenations with fewer gets none again.
constexpr int kLeastAppends = 8;

// Memory is taken while it is held: a fork locks it before the allocator, whose handlers must be there already.
std::mutex& room_mutex() {
  static std::mutex* mutex = [] {
    static std::mutex made;
    static_cast<void>(cached_bytes());
    pthread_atfork([] { made.lock(); }, [] { made.unlock(); }, [] { made.unlock(); });
    return &made;
  }();
  return *mutex;
}

std::atomic<int64_t> rooms_made{0}, appends_made{0}, copied_out{0};
std::atomic<size_t> all_spare_bytes{0};

int64_t bytes_of(const TensorSpec& spec) { return spec.numel().value() * static_cast<int64_t>(item_size(spec.dtype)); }

// Whether no dim before it has several positions, so that a room's strides are those of a tensor of its own.
bool is_outermost(const TensorSpec& spec, int dim) {
  return std::all_of(spec.sizes.begin(), spec.sizes.begin() + dim, [](Dim size) { return same(size, Dim(1)); });
}

void copy_parts(std::span<const Tensor> parts, int dim, int64_t start, const Tensor& into) {
  for (const Tensor& part : parts) {
    if (part->rank() != into->rank()) continue;  // an empty vector, which can be concatenated with anything
    int64_t length = part->sizes()[dim];
    if (part->numel() > 0) copy_elements(part, part_of(into, dim, start, length));
    start += length;
  }
}

}  // namespace

Room::Room(StoragePtr given, int along, int64_t positions, int64_t filled)
    : memory(std::move(given)), nbytes(memory->nbytes()), dim(along), capacity(positions), used(filled) {
  all_spare_bytes += spare_bytes();
  ++rooms_made;
}

Room::~Room() { all_spare_bytes -= spare_bytes(); }

void Room::use(int64_t positions) {
  all_spare_bytes -= spare_bytes();
  used = positions;
  all_spare_bytes += spare_bytes();
}

size_t Room::spare_bytes() const {
  return nbytes / static_cast<size_t>(capacity) * static_cast<size_t>(capacity - used);
}

TensorSpec spec_in_room(const TensorSpec& contiguous, int dim, Dim capacity) {
  if (is_outermost(contiguous, dim)) return contiguous;
  TensorSpec spec = contiguous;
  Dim stride = contiguous.strides[dim] * capacity;
  for (int i = dim; i-- > 0;) {
    spec.strides[i] = stride;
    stride = stride * contiguous.sizes[i];
  }
  return spec;
}

// What TensorImpl keeps of rooms.
class RoomAccess {
 public:
  static bool is_apart(const TensorImpl& impl) { return impl.room_ != nullptr && impl.memory() == nullptr; }
  static RoomPtr& room(const TensorImpl& impl) { return impl.room_; }

  static void take_elements(TensorImpl& impl, const TensorImpl& source) {
    StoragePtr storage = source.storage();
    void* first = source.data();
    std::lock_guard lock(room_mutex());
    bool requires_grad = impl.spec_.requires_grad;
    impl.room_.reset();
    impl.storage_ = std::move(storage);
    impl.spec_ = source.spec_;
    impl.spec_.requires_grad = requires_grad;
    impl.offset_ = source.offset_;
    impl.numel_ = source.numel_;
    impl.contiguous_ = source.contiguous_;
    impl.data_.store(first, std::memory_order_release);
  }

  // The elements in their place in memory; of any tensor.
  static Tensor lying(const Tensor& tensor) {
    std::lock_guard lock(room_mutex());
    return is_apart(*tensor.impl()) ? lying_apart(*tensor.impl()) : tensor;
  }

  static Tensor lying_apart(const TensorImpl& impl) {
    const Room& room = *impl.room_;
    return Tensor::from_storage(room.memory, 0, spec_in_room(impl.spec(), room.dim, room.capacity));
  }

  // Whether positions along `dim` can be appended to `first` in place, if there are enough.
  static bool ends_room(const Tensor& first, int dim) {
    const TensorImpl& impl = *first.impl();
    if (!is_apart(impl) || impl.room_->dim != dim) return false;
    // What longer tensors had is free when no tensor has it.
    if (is_alone(impl)) impl.room_->use(impl.sizes()[dim]);
    return impl.room_->used == impl.sizes()[dim];
  }

  // Positions [used, total) of the room of `first`, if it is the longest tensor there.
  static RoomPtr claim(const Tensor& first, int dim, int64_t capacity, int64_t total) {
    std::lock_guard lock(room_mutex());
    if (!ends_room(first, dim)) return nullptr;
    const RoomPtr& room = first->room_;
    if (room->capacity != capacity || total > capacity) return nullptr;
    room->use(total);
    ++room->appends;
    ++appends_made;
    return room;
  }

  // A tensor that has taken the memory of its room shares it again, if no other code can have an address or a view of
  // it, and nothing depends on its version. A plan that runs without the GIL has references besides these.
  static void leave_memory(const Tensor& tensor) {
    constexpr uint32_t kObjectAndCall = 2;
    std::lock_guard lock(room_mutex());
    const TensorImpl& impl = *tensor.impl();
    if (impl.room_ == nullptr || impl.memory() == nullptr || !impl.count_.is(kObjectAndCall)) return;
    Storage& memory = *impl.storage_.get();
    bool is_unseen = impl.room_.use_count() == 1 && memory.has_references(2) && memory.version() == 0 &&
                     memory.companion() == nullptr && !memory.shared_with_outside() && !memory.is_lent() &&
                     impl.offset() == 0;
    if (!is_unseen) return;
    impl.data_.store(nullptr, std::memory_order_relaxed);
    impl.storage_ = StoragePtr();
  }

  static void settle(const TensorImpl& impl) {
    if (impl.kind() != TensorKind::Real) return;
    std::lock_guard lock(room_mutex());
    if (!is_apart(impl)) return;
    Room& room = *impl.room_;
    TensorSpec there = spec_in_room(impl.spec(), room.dim, room.capacity);
    bool lies_alike = room.capacity == impl.sizes()[room.dim] || is_outermost(impl.spec(), room.dim);
    StoragePtr memory;
    if (is_alone(impl) && lies_alike) {
      memory = room.memory;
      memory->show_bytes(static_cast<size_t>(bytes_of(impl.spec())));
    } else {
      memory = copy_out(impl, room, there);
    }
    impl.storage_ = std::move(memory);
    impl.data_.store(impl.storage_->data(), std::memory_order_release);
  }

 private:
  // Whether no other tensor has its room, and no code reads the memory there.
  static bool is_alone(const TensorImpl& impl) {
    bool is_last = impl.room_.use_count() == 1 && impl.room_->memory->has_references(1);
    if (is_last) std::atomic_thread_fence(std::memory_order_acquire);  // what others read there
    return is_last;
  }

  static StoragePtr copy_out(const TensorImpl& impl, const Room& room, const TensorSpec& there) {
    Tensor own = Tensor::empty(impl.spec());
    copy_elements(Tensor::from_storage(room.memory, 0, there), own);
    StoragePtr memory = own->storage();
    memory->note_joins(room.appends >= kLeastAppends ? Joins::Once : Joins::NeverInRoom);
    impl.room_.reset();
    ++copied_out;
    return memory;
  }
};

void take_elements(const Tensor& tensor, const Tensor& source) {
  MD_ASSERT(tensor->kind() == TensorKind::Real && source->kind() == TensorKind::Real, "a tensor without storage");
  if (is_same(tensor, source)) return;
  RoomAccess::take_elements(*tensor.impl(), *source.impl());
  note_tensor_change();
}

void TensorImpl::settle() const { RoomAccess::settle(*this); }
bool TensorImpl::is_apart() const {
  if (memory() != nullptr) return false;
  std::lock_guard lock(room_mutex());
  return RoomAccess::is_apart(*this);
}

Tensor Tensor::in_room(std::shared_ptr<Room> room, const TensorSpec& spec) {
  Tensor tensor(new TensorImpl(spec));
  tensor.impl_->room_ = std::move(room);
  return tensor;
}

int64_t capacity_for(const Tensor& first, int dim, int64_t total) {
  if (total <= 0 || first->numel() == 0) return total;
  if (first->is_apart()) {
    std::lock_guard lock(room_mutex());
    if (!RoomAccess::ends_room(first, dim)) return 2 * total;
    int64_t capacity = RoomAccess::room(*first.impl())->capacity;
    return total <= capacity ? capacity : 2 * total;
  }
  int64_t bytes = bytes_of(first.spec());
  return first->storage()->joins() == Joins::Once && bytes >= kLeastBytes ? 2 * total : total;
}

void note_joined(const Tensor& first, const Tensor& result) {
  bool never = !first->is_apart() && first->storage()->joins() == Joins::NeverInRoom;
  result->storage()->note_joins(never ? Joins::NeverInRoom : Joins::Once);
}

namespace {

// Null: there is no memory for `capacity` positions, and the result may lie in less.
StoragePtr allocate_room(const TensorSpec& spec, int dim, int64_t capacity) {
  int64_t bytes = bytes_of(spec) / spec.sizes[dim].value();  // of a position
  try {
    return Storage::allocate(static_cast<size_t>(bytes * capacity));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Memory || !is_outermost(spec, dim)) throw;
    return StoragePtr();
  }
}

// Memory for all elements, none of which has been written.
Joined make_memory(const Tensor& first, int dim, int64_t capacity, const TensorSpec& spec) {
  int64_t total = spec.sizes[dim].value();
  Joined joined;
  StoragePtr memory = capacity > total ? allocate_room(spec, dim, capacity) : StoragePtr();
  if (!memory) {
    joined.memory = Tensor::empty(spec);
    note_joined(first, joined.memory);
    return joined;
  }
  memory->note_joins(Joins::Once);
  joined.room = std::make_shared<Room>(memory, dim, capacity, total);
  joined.memory = Tensor::from_storage(std::move(memory), 0, spec);
  return joined;
}

}  // namespace

Joined join_in_room(std::span<const Tensor> parts, int dim, int64_t capacity, const TensorSpec& spec) {
  const Tensor& first = parts[0];
  int64_t total = spec.sizes[dim].value(), start = first->sizes()[dim];
  if (RoomPtr room = RoomAccess::claim(first, dim, capacity, total)) {
    Joined joined = {Tensor::from_storage(room->memory, 0, spec), room};
    copy_parts(parts.subspan(1), dim, start, joined.memory);
    return joined;
  }
  Joined joined = make_memory(first, dim, capacity, spec);
  Tensor lying = RoomAccess::lying(first);
  copy_parts({&lying, 1}, dim, 0, joined.memory);
  copy_parts(parts.subspan(1), dim, start, joined.memory);
  return joined;
}

Tensor as_result(Joined joined, const TensorSpec& contiguous) {
  if (joined.room != nullptr) return Tensor::in_room(std::move(joined.room), contiguous);
  if (same(joined.memory.spec().strides, contiguous.strides)) return std::move(joined.memory);
  return Tensor::view(joined.memory, contiguous, 0);
}

Tensor join_held(std::span<const Tensor> parts, int dim, const TensorSpec& contiguous) {
  const Tensor& first = parts[0];
  bool fits = first->rank() == contiguous.rank() && first->numel() > 0 && first->is_contiguous() &&
              contiguous.is_contiguous() && is_outermost(contiguous, dim);
  if (!fits) return {};
  RoomAccess::leave_memory(first);
  int64_t total = contiguous.sizes[dim].value(), capacity = capacity_for(first, dim, total);
  if (capacity == total && !first->is_apart()) return {};
  return as_result(join_in_room(parts, dim, capacity, contiguous), contiguous);
}

RoomCounts room_counts() { return {rooms_made, appends_made, copied_out, all_spare_bytes}; }

}  // namespace md
