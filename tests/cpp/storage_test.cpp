// Storage: recycling, its limit, external memory, two threads. Also dims, scalars and schemas.
#include "tensor/storage.h"

#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "tensor/dim.h"
#include "tensor/dim_code.h"
#include "tensor/kernels/random.h"
#include "tensor/memory_overlap.h"
#include "tensor/ops/schema.h"
#include "tensor/parallel/threads.h"
#include "tensor/scalar.h"
#include "tensor/simd/loops.h"
#include "tensor_values.h"

namespace {

using namespace md;

// The offsets of all elements, one for each index.
std::vector<int64_t> offsets_of(const TensorSpec& spec, int64_t start) {
  std::vector<int64_t> offsets = {start};
  for (int d = 0; d < spec.rank(); ++d) {
    std::vector<int64_t> next;
    for (int64_t offset : offsets) {
      for (int64_t i = 0; i < spec.sizes[d].value(); ++i) next.push_back(offset + i * spec.strides[d].value());
    }
    offsets = std::move(next);
  }
  return offsets;
}

TEST(views_that_meet) {
  std::mt19937 random(7);
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint32_t>(n)); };
  int apart = 0;
  for (int round = 0; round < 20000; ++round) {
    TensorSpec specs[2];
    std::vector<int64_t> offsets[2];
    int64_t starts[2];
    for (int i = 0; i < 2; ++i) {
      int64_t rank = below(4);
      for (int64_t d = 0; d < rank; ++d) {
        specs[i].sizes.push_back(Dim(below(5)));
        int64_t stride = below(2) == 0 ? below(4) : below(40);
        specs[i].strides.push_back(Dim(below(4) == 0 ? -stride : stride));
      }
      starts[i] = below(30);
      offsets[i] = offsets_of(specs[i], starts[i]);
      std::set<int64_t> different(offsets[i].begin(), offsets[i].end());
      Reach reach = reach_of(specs[i]);
      CHECK(reach.count() == (different.empty() ? 0 : *different.rbegin() + 1 - *different.begin()));
      CHECK(different.empty() || reach.low == *different.begin() - starts[i]);
      // It may say that elements share memory where none do, never the other way round.
      CHECK(!elements_are_apart(specs[i]) || different.size() == offsets[i].size());
    }
    std::set<int64_t> first(offsets[0].begin(), offsets[0].end());
    bool meet = false;
    for (int64_t offset : offsets[1]) meet = meet || first.contains(offset);
    CHECK(elements_meet(specs[0], starts[0], specs[1], starts[1]) == meet);
    apart += meet ? 0 : 1;
  }
  CHECK(apart > 1000 && apart < 19000);
}

TEST(recycling) {
  empty_cache();
  CHECK(cached_bytes() == 0);
  void* first;
  {
    StoragePtr storage = Storage::allocate(1500);
    first = storage->data();
    CHECK(reinterpret_cast<uintptr_t>(first) % 64 == 0);
    CHECK(storage->is_unique());
    StoragePtr other = storage;
    CHECK(!storage->is_unique());
  }
  CHECK(cached_bytes() >= 1500 && cached_bytes() < 2000);
  CHECK(Storage::allocate(1501)->data() == first);
  for (size_t nbytes : {size_t{0}, size_t{1}, size_t{64}, size_t{65}, size_t{128}, size_t{768}, size_t{769},
                        size_t{4097}, size_t{1} << 20, (size_t{1} << 20) + 1}) {
    StoragePtr storage = Storage::allocate(nbytes);
    CHECK(storage->nbytes() == nbytes);
    CHECK(reinterpret_cast<uintptr_t>(storage->data()) % 64 == 0);
    std::memset(storage->data(), 1, nbytes);
  }
  size_t limit = cache_limit();
  set_cache_limit(100);
  CHECK(cached_bytes() <= 100);
  {
    StoragePtr storage = Storage::allocate(10000);
  }
  CHECK(cached_bytes() <= 100);
  set_cache_limit(limit);
  empty_cache();
  CHECK(cached_bytes() == 0);
  {
    StoragePtr small = Storage::allocate(12);
  }
  CHECK(cached_bytes() == 0);  // small blocks are cached by malloc
  CHECK_THROWS(Storage::allocate(SIZE_MAX / 2), Error, "not enough memory");
}

// Two blocks made in turn do not lie at the same distance from the start of a page, and a recycled one lies where it lay.
TEST(places_in_a_page) {
  constexpr size_t kPage = 4096, kDistance = 256;
  empty_cache();
  for (size_t nbytes : {size_t{5} << 20, size_t{17} << 20}) {
    void* first;
    {
      StoragePtr a = Storage::allocate(nbytes), b = Storage::allocate(nbytes);
      first = a->data();
      size_t apart = (reinterpret_cast<uintptr_t>(a->data()) - reinterpret_cast<uintptr_t>(b->data())) % kPage;
      CHECK(apart >= kDistance && apart <= kPage - kDistance);
      std::memset(a->data(), 1, nbytes);
      std::memset(b->data(), 1, nbytes);
    }
    StoragePtr again = Storage::allocate(nbytes), other = Storage::allocate(nbytes);
    CHECK(again->data() == first || other->data() == first);
  }
  empty_cache();
}

TEST(borrowing) {
  static int deleted = 0;
  int data[4] = {1, 2, 3, 4};
  {
    StoragePtr storage =
        Storage::borrow(data, sizeof data, [](void*, void* context) { ++*static_cast<int*>(context); }, &deleted);
    CHECK(storage->shared_with_outside());
    CHECK(storage->data() == data);
  }
  CHECK(deleted == 1);
}

TEST(threads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 2000; ++i) {
        StoragePtr storage = Storage::allocate(static_cast<size_t>(i % 500) + 1);
        std::memset(storage->data(), t, storage->nbytes());
        CHECK(static_cast<unsigned char*>(storage->data())[storage->nbytes() - 1] == t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int> seen(100000, 0);
  set_num_threads(2);
  parallel_for(100000, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (int count : seen) CHECK(count == 1);
  CHECK_THROWS(parallel_for(100000, 10, [](int64_t, int64_t) { raise(ErrorKind::Value, "thrown inside"); }), Error,
               "thrown inside");
  CHECK_THROWS(set_num_threads(0), Error, "positive");
}

TEST(dims) {
  Dim a = Dim::symbol("s0", 6), b = Dim::symbol("s1", 4);
  CHECK((a + b).str() == "s1 + s0" || (a + b).str() == "s0 + s1");
  CHECK(same(a + b, b + a));
  CHECK(same((a + Dim(2)) * b, a * b + b * Dim(2)));
  CHECK(same(a - a, Dim(0)));
  CHECK(same(floor_divide(a * b * Dim(4), b * Dim(2)), a * Dim(2)));
  CHECK(floor_divide(a, b).hint() == 1);
  CHECK(same(floor_divide(a, b), floor_divide(a, b)));
  CHECK((a * Dim(3)).hint() == 18);
  CHECK(floor_divide(Dim(-7), Dim(2)).value() == -4);
  CHECK_THROWS(a.value(), Error, "symbolic");
  CHECK_THROWS(Dim(INT64_MAX) * Dim(2), Error, "overflow");
  struct Sink : ShapeGuardSink {
    std::vector<std::string> seen;
    void relation(Dim x, DimRelation relation, Dim y) override {
      seen.push_back(str_cat(x.str(), relation_sign(relation), y.str()));
    }
  } sink;
  ShapeGuardSink* before = exchange_shape_guard_sink(&sink);
  CHECK(known_equal(a, 6) && !known_less(a, b) && known_equal(a, a));
  exchange_shape_guard_sink(before);
  CHECK(sink.seen.size() == 2 && sink.seen[0] == "s0==6" && sink.seen[1] == "s0>=s1");
  DimVec long_one;
  for (int i = 0; i < 12; ++i) long_one.push_back(i);
  DimVec copy = long_one;
  copy.erase(3);
  CHECK(copy.size() == 11 && copy[3].value() == 4 && long_one[3].value() == 3);
  copy.resize(5);
  CHECK(str(copy.span()) == "(0, 1, 2, 4, 5)");
  DimVec moved = std::move(long_one);
  CHECK(moved.size() == 12 && moved[11].value() == 11);
  CHECK(long_one.empty());
  long_one = moved;
  moved = copy;
  CHECK(same(moved, copy) && long_one.size() == 12);
  long_one = std::move(moved);
  long_one.insert(0, 7);
  CHECK(str(long_one.span()) == "(7, 0, 1, 2, 4, 5)");
}

TEST(scalars) {
  CHECK(Scalar(true).str() == "True" && Scalar(int64_t{-3}).str() == "-3");
  CHECK(Scalar(0.1).str() == "0.1" && Scalar(1e16).str() == "1e+16" && Scalar(1e-5).str() == "1e-05" &&
        Scalar(3.0).str() == "3.0");
  CHECK(!identical(Scalar(0.0), Scalar(-0.0)) && identical(Scalar(NAN), Scalar(NAN)) &&
        !identical(Scalar(int64_t{1}), Scalar(true)));
  for (int bits = 0; bits < 65536; ++bits) {
    Half half{static_cast<uint16_t>(bits)};
    if ((bits & 0x7fff) <= 0x7c00) CHECK(Half::from_float(half.to_float()).bits == half.bits);
    BFloat16 brain{static_cast<uint16_t>(bits)};
    if ((bits & 0x7fff) <= 0x7f80) CHECK(BFloat16::from_float(brain.to_float()).bits == brain.bits);
  }
  CHECK(Half::from_float(65520.0f).bits == 0x7c00 && Half::from_float(65519.0f).bits == 0x7bff);
  CHECK(Half::from_float(0x1.8p-25f).bits == 1 && Half::from_float(0x1p-25f).bits == 0);
}

TEST(schemas) {
  Schema schema = parse_schema(
      "f(Tensor(a!) self, int[*] size, *, Scalar? alpha=1, str mode='none', float eps=1e-05, bool b=False) -> (Tensor "
      "values, Tensor[])");
  CHECK(schema.name == "f" && schema.params.size() == 6 && schema.positional_count() == 2);
  CHECK(schema.params[0].mutated && schema.params[1].variadic_ints && schema.params[2].optional);
  CHECK(schema.params[1].type == ParamType::IntList && schema.find("eps") == 4 && schema.find("zzz") == -1);
  CHECK(std::get<std::string>(*schema.params[3].default_value) == "none");
  CHECK(std::get<Scalar>(*schema.params[4].default_value).as_double() == 1e-05);
  CHECK(schema.returns.size() == 2 && schema.returns[1] == ParamType::TensorList && schema.return_names[0] == "values");
  CHECK(parse_schema("lib::op(Tensor x) -> ()").returns.empty());
  for (const char* wrong :
       {"", "f", "f(", "f()", "f() ->", "f(Tensr x) -> Tensor", "f(Tensor) -> Tensor", "f(Tensor x,) -> Tensor",
        "f(int x=) -> Tensor", "f(int x=1, int y) -> Tensor", "f(Tensor x, Tensor x) -> Tensor", "f() -> Tensor x y",
        "f(str s='a) -> Tensor", "f(bool[] x) -> Tensor", "f() -> int"}) {
    CHECK_THROWS(parse_schema(wrong), Error, "expected");
  }
}

TEST(random) {
  manual_seed(5);
  Tensor a = md_test::call1("randn", {DimVec{1001}});
  RandomState state = random_state();
  Tensor b = md_test::call1("rand", {DimVec{1001}});
  manual_seed(5);
  CHECK(md_test::values(md_test::call1("randn", {DimVec{1001}})) == md_test::values(a));
  set_random_state(state);
  CHECK(md_test::values(md_test::call1("rand", {DimVec{1001}})) == md_test::values(b));
  double low = 1, high = 0, sum = 0;
  for (double value : md_test::values(b)) low = std::min(low, value), high = std::max(high, value), sum += value;
  CHECK(low >= 0 && high < 1 && std::fabs(sum / 1001 - 0.5) < 0.05);
}

// The number that the C++ standard gives for its mt19937.
TEST(mersenne_twister) {
  MersenneTwister twister(5489);
  std::vector<uint32_t> words(9999);
  twister.draw(words.data(), 9999);
  CHECK(twister.draw() == 4123659995u);
  MersenneTwister other(5489);
  for (int i = 0; i < 3; ++i) other.draw();
  CHECK(other.draw() == words[3] && !(other == twister));
}

// Each instruction-set level makes the same words, and the same numbers of them.
TEST(random_loops) {
  std::vector<std::vector<double>> made;
  for (const char* level : {"baseline", "avx2", "avx512"}) {
    try {
      use_instruction_level(level);
    } catch (const Error&) {
      continue;
    }
    std::vector<uint32_t> words(3000);
    MersenneTwister(77).draw(words.data(), 3000);
    std::vector<float> floats(3000);
    std::vector<double> numbers(1500);
    loops().random.floats(words.data(), 3000, -0.37f, 0.11f, floats.data());
    loops().random.doubles(words.data(), 1500, -0.37, 0.11, numbers.data());
    numbers.insert(numbers.end(), floats.begin(), floats.end());
    numbers.insert(numbers.end(), words.begin(), words.end());
    made.push_back(std::move(numbers));
    CHECK(made.back() == made.front());
  }
}

TEST(random_transactions) {
  manual_seed(1);
  RandomState start = random_state();
  uint64_t version = random_version();
  {
    RandomTransaction outer;
    RandomDraws().word();
    RandomState between = random_state();
    {
      RandomTransaction inner;
      RandomDraws().normal();
      CHECK(!(random_state() == between));
      inner.roll_back();
    }
    CHECK(random_state() == between);
    {
      RandomTransaction kept;
      RandomDraws().word();
    }
    CHECK(!(random_state() == between) && random_version() != version);
    outer.roll_back();
  }
  CHECK(random_state() == start && random_version() == version);
}

}  // namespace
