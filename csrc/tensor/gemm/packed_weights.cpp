#include "tensor/gemm/packed_weights.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace md {
namespace {

constexpr int kSightings = 2;  // with unchanged contents before they are packed
constexpr int kMostSightings = 1 << 20;
constexpr size_t kMostBytes = size_t{1} << 30;
constexpr size_t kMostForms = 8;  // per storage; each view into a larger storage counts as one

std::atomic<size_t> all_bytes = 0;

struct Form {
  const void* weights;
  std::string layout;
  uint64_t version;
  int sightings = 0;  // of this version
  int wanted = kSightings;
  StoragePtr packed = {};
};

// Guarded by one lock, which is never held while packing.
class PackedForms : public StorageCompanion {
 public:
  ~PackedForms() override {
    for (Form& form : forms_) drop(form);
  }
  // The form, its sighting counted; null if there are too many.
  Form* meet(const void* weights, const std::string& layout, uint64_t version) {
    auto found = std::find_if(forms_.begin(), forms_.end(),
                              [&](const Form& form) { return form.weights == weights && form.layout == layout; });
    if (found == forms_.end()) {
      if (forms_.size() >= kMostForms) return nullptr;
      found = forms_.insert(forms_.end(), {.weights = weights, .layout = layout, .version = version});
    }
    if (found->version != version) {
      // Weights written between uses are packed later each time.
      if (found->packed) found->wanted = std::min(2 * found->wanted, kMostSightings);
      drop(*found);
      found->version = version;
      found->sightings = 0;
    }
    found->sightings = std::min(found->sightings + 1, kMostSightings);
    return &*found;
  }

 private:
  static void drop(Form& form) {
    if (form.packed) all_bytes -= form.packed->nbytes();
    form.packed = {};
  }
  std::vector<Form> forms_;
};

std::mutex& forms_mutex() {
  static std::mutex* const mutex = [] {
    static std::mutex instance;
    pthread_atfork([] { instance.lock(); }, [] { instance.unlock(); }, [] { instance.unlock(); });
    return &instance;
  }();
  return *mutex;
}

PackedForms& forms_of(Storage& storage) {
  if (storage.companion() == nullptr) storage.set_companion(new PackedForms);
  return *static_cast<PackedForms*>(storage.companion());
}

}  // namespace

bool may_be_packed(const Storage& storage) { return !storage.shared_with_outside(); }

StoragePtr pack_once(const WeightPacking& packing, const void* weights) {
  StoragePtr packed = Storage::allocate(packing.packed_bytes());
  packing.pack(weights, packed->data());
  return packed;
}

StoragePtr find_packed(Storage& storage, const void* weights, const WeightPacking& packing, PackedWhen when) {
  if (!may_be_packed(storage)) return {};
  uint64_t version = storage.version();
  {
    std::lock_guard lock(forms_mutex());
    Form* form = forms_of(storage).meet(weights, packing.packed_layout(), version);
    if (form == nullptr) return {};
    if (form->packed) return form->packed;
    bool is_early = form->sightings <= form->wanted || all_bytes + packing.packed_bytes() > kMostBytes;
    if (is_early && when == PackedWhen::Seen) return {};
  }
  StoragePtr packed = pack_once(packing, weights);
  std::lock_guard lock(forms_mutex());
  Form* form = forms_of(storage).meet(weights, packing.packed_layout(), version);
  if (form == nullptr || storage.version() != version) return packed;
  if (!form->packed) {
    form->packed = packed;
    all_bytes += packed->nbytes();
  }
  return packed;
}

size_t packed_weights_bytes() { return all_bytes; }

}  // namespace md
