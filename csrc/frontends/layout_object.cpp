#include "frontends/layout_object.h"

#include "frontends/named_objects.h"

namespace md {
namespace {

constexpr std::string_view kNames[] = {"strided",    "sparse_coo", "sparse_csr", "sparse_csc",
                                       "sparse_bsr", "sparse_bsc", "_mkldnn",    "jagged"};

const NamedObjects& layouts() {
  static const NamedObjects objects("minidynamo.layout", "How the elements of a tensor are kept.", kNames);
  return objects;
}

}  // namespace

PyTypeObject* layout_type() { return layouts().type(); }
std::span<const std::string_view> layout_names() { return kNames; }
BorrowedRef layout_object(std::string_view name) { return layouts().object(name); }

}  // namespace md
