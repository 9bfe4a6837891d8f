// Random programs of reads and writes through strided views, run by the CPU plugin and by plain
// loops over bytes on the host. TORCH_TPU_TEST_VIEW_PROGRAMS sets how many (a seed each).
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>

#include "device.h"

namespace torch_tpu::exec {
namespace {

constexpr DType kDTypes[] = {DType::Bool,   DType::Byte,         DType::Short,        DType::Int,
                             DType::Long,   DType::Half,         DType::BFloat16,     DType::Float,
                             DType::Double, DType::ComplexFloat, DType::ComplexDouble};

int64_t ItemSize(DType dtype) { return static_cast<int64_t>(c10::elementSize(dtype)); }

struct HostView {
  DType dtype;
  Dims sizes, strides;
  int64_t offset = 0;

  // Byte positions of the elements, row-major.
  std::vector<int64_t> Positions() const {
    std::vector<int64_t> positions = {offset};
    for (size_t i = 0; i < sizes.size(); ++i) {
      std::vector<int64_t> next;
      for (int64_t position : positions) {
        for (int64_t k = 0; k < sizes[i]; ++k) next.push_back(position + k * strides[i]);
      }
      positions = std::move(next);
    }
    for (int64_t& position : positions) position *= ItemSize(dtype);
    return positions;
  }
  bool Overlaps() const {
    const std::vector<int64_t> positions = Positions();
    return std::set(positions.begin(), positions.end()).size() != positions.size();
  }
  std::string Text() const {
    return DTypeName(dtype) + " sizes " + ToString(sizes) + " strides " + ToString(strides) +
           " offset " + std::to_string(offset);
  }
};

class RandomViews {
 public:
  explicit RandomViews(int seed) : random_(seed) {}

  int64_t Int(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool OneIn(int n) { return Int(1, n) == 1; }
  DType AnyDtype() { return kDTypes[Int(0, std::size(kDTypes) - 1)]; }

  // Any bits, but canonical NaNs and bools.
  std::vector<char> Bytes(DType dtype, int64_t count) {
    std::vector<char> bytes(count * ItemSize(dtype));
    for (char& byte : bytes) byte = static_cast<char>(Int(0, 255));
    Canonical(bytes, dtype);
    return bytes;
  }
  static void Canonical(std::vector<char>& bytes, DType dtype) {
    if (!IsBool(dtype)) return;
    for (char& byte : bytes) byte = byte != 0;
  }

  Dims BaseDims() {
    Dims dims;
    for (int64_t rank = Int(0, 4); rank > 0; --rank) dims.push_back(OneIn(12) ? 0 : Int(1, 6));
    return dims;
  }

  // A view such as slicing, transposing, expanding and splitting make.
  HostView Derived(DType dtype, IntArrayRef base) {
    HostView view{dtype, Dims(base), RowMajorStrides(base)};
    for (int64_t steps = Int(0, 5); steps > 0; --steps) Derive(view);
    return view;
  }
  // as_strided: anything that stays inside `elements`.
  HostView Strided(DType dtype, int64_t elements) {
    HostView view{dtype, {}, {}};
    if (elements == 0) {
      view.sizes = {0};
      view.strides = {1};
      return view;
    }
    int64_t last = 0;
    for (int64_t rank = Int(0, 3); rank > 0; --rank) {
      const int64_t size = OneIn(15) ? 0 : Int(1, 4), stride = Int(0, 7);
      if (size > 0 && last + (size - 1) * stride >= elements) continue;
      if (size > 0) last += (size - 1) * stride;
      view.sizes.push_back(size);
      view.strides.push_back(stride);
    }
    view.offset = Int(0, elements - 1 - last);
    return view;
  }

 private:
  void Derive(HostView& view) {
    Dims &sizes = view.sizes, &strides = view.strides;
    const int64_t rank = static_cast<int64_t>(sizes.size());
    if (rank == 0 || OneIn(8)) {  // unsqueeze or expand in front
      if (rank >= 5) return;
      const bool expand = OneIn(2);
      sizes.insert(sizes.begin(), expand ? Int(1, 3) : 1);
      strides.insert(strides.begin(), expand ? 0 : Int(0, 9));
      return;
    }
    const int64_t d = Int(0, rank - 1), e = Int(0, rank - 1);
    switch (Int(0, 4)) {
      case 0:  // transpose
        std::swap(sizes[d], sizes[e]);
        std::swap(strides[d], strides[e]);
        break;
      case 1:  // select
        if (sizes[d] == 0) return;
        view.offset += Int(0, sizes[d] - 1) * strides[d];
        sizes.erase(sizes.begin() + d);
        strides.erase(strides.begin() + d);
        break;
      case 2: {  // slice
        const int64_t start = Int(0, sizes[d]), end = Int(start, sizes[d]), step = Int(1, 3);
        if (start < sizes[d]) view.offset += start * strides[d];
        sizes[d] = (end - start + step - 1) / step;
        strides[d] *= step;
        break;
      }
      case 3: {  // split one dimension in two
        if (sizes[d] < 2 || rank >= 5) return;
        const int64_t inner = Int(1, sizes[d]);
        if (sizes[d] % inner != 0) return;
        sizes[d] /= inner;
        sizes.insert(sizes.begin() + d + 1, inner);
        strides.insert(strides.begin() + d + 1, strides[d]);
        strides[d] *= inner;
        break;
      }
      default:  // diagonal
        if (d == e) return;
        sizes[d] = std::min(sizes[d], sizes[e]);
        strides[d] += strides[e];
        sizes.erase(sizes.begin() + e);
        strides.erase(strides.begin() + e);
    }
  }

  std::mt19937 random_;
};

struct Base {
  hlo::Type type;  // of an unwritten base: as its first view sees it
  std::vector<char> host;
  std::unique_ptr<Storage> storage;
  bool written = true;
};

// One program: a few bases, a dozen reads and writes among them, in order.
class RandomProgram {
 public:
  explicit RandomProgram(int seed) : random_(seed) {
    for (int64_t n = random_.Int(1, 3); n > 0; --n) AddBase();
    for (int64_t n = random_.Int(4, 12); n > 0; --n) AddStep();
  }

  const std::string& trace() const { return trace_; }

  void RunAndCompare() {
    const Launched launched = Launch(writer_, 0);
    const auto& results = launched.program->results;
    for (const Expected& read : reads_) {
      const ResultInfo& info = results[read.result];
      ASSERT_EQ(info.type.dims, read.sizes) << trace_;
      std::vector<char> actual(read.bytes.size());
      Runtime::Get().ToHost(launched.outputs[info.output], actual.data(), actual.size());
      ASSERT_EQ(actual, read.bytes) << "read " << read.result << " of\n" << trace_;
    }
    for (size_t i = 0; i < bases_.size(); ++i) {
      const BufferRef buffer = bases_[i]->storage->Load();
      if (buffer == nullptr) continue;
      ASSERT_EQ(Read<char>(buffer), bases_[i]->host) << "base " << i << " of\n" << trace_;
    }
  }

 private:
  struct Expected {
    int result;
    Dims sizes;
    std::vector<char> bytes;
  };

  void AddBase() {
    auto base = std::make_unique<Base>();
    base->type = {random_.AnyDtype(), random_.BaseDims()};
    base->written = !random_.OneIn(6);
    const int64_t bytes = BytesOf(base->type);
    if (base->written) {
      base->host = random_.Bytes(base->type.dtype, NumElements(base->type.dims));
      base->storage = std::make_unique<Storage>(base->host.data(), base->type, 0);
    } else {
      base->host.assign(bytes, 0);
      base->storage = std::make_unique<Storage>(bytes);
    }
    trace_ += "base " + std::to_string(bases_.size()) + ": " + DTypeName(base->type.dtype) +
              ToString(base->type.dims) + (base->written ? "\n" : " unwritten\n");
    bases_.push_back(std::move(base));
  }

  // A view of its own element type or of another, where the bytes allow it. A bool array holds no
  // bytes but 0 and 1, so other types may only read it.
  HostView AnyView(const Base& base, bool for_write) {
    const DType own = base.type.dtype;
    DType dtype = random_.OneIn(3) ? random_.AnyDtype() : own;
    const int64_t bytes = static_cast<int64_t>(base.host.size());
    const bool becomes_bool =
        IsBool(dtype) && !base.written;  // the base takes its first view's type
    if (bytes % ItemSize(dtype) != 0 || (for_write && IsBool(own)) || becomes_bool) dtype = own;
    if (random_.OneIn(3)) return random_.Strided(dtype, bytes / ItemSize(dtype));
    if (dtype == own) return random_.Derived(dtype, base.type.dims);
    return random_.Derived(dtype, {bytes / ItemSize(dtype)});
  }

  TensorView Bind(Base& base, const HostView& view) {
    views_.push_back(std::make_unique<HostView>(view));  // the writer refers to its lists
    const HostView& kept = *views_.back();
    return base.storage->View(kept.dtype, kept.sizes, kept.strides, kept.offset);
  }

  void AddStep() {
    switch (random_.Int(0, 4)) {
      case 0:
      case 1:
        return AddRead();
      case 2:
      case 3:
        return AddWrite();
      default:
        return AddCopy();
    }
  }

  void AddRead() {
    const size_t i = random_.Int(0, bases_.size() - 1);
    const HostView view = AnyView(*bases_[i], false);
    trace_ += "read base " + std::to_string(i) + ": " + view.Text() + "\n";
    writer_.Call(Row("tpu::identity"));
    writer_.Tensor(Bind(*bases_[i], view));
    writer_.EndCall();
    reads_.push_back({next_result_++, view.sizes, Elements(*bases_[i], view)});
  }

  void AddWrite() {
    const size_t i = random_.Int(0, bases_.size() - 1);
    const HostView view = AnyView(*bases_[i], true);
    if (view.Overlaps()) return;
    trace_ += "write base " + std::to_string(i) + ": " + view.Text() + "\n";
    const std::vector<char> bytes = random_.Bytes(view.dtype, NumElements(view.sizes));
    values_.push_back(
        std::make_unique<Storage>(bytes.data(), hlo::Type{view.dtype, view.sizes}, 0));
    strides_.push_back(std::make_unique<Dims>(RowMajorStrides(view.sizes)));
    writer_.Call(Row("tpu::identity"));
    const TensorView target = Bind(*bases_[i], view);
    writer_.Tensor(values_.back()->View(view.dtype, target.sizes, *strides_.back()));
    writer_.EndCall();
    writer_.Write(next_result_++, target);
    Replace(*bases_[i], view, bytes);
  }

  // From one view into another of the same sizes; also within one base, where both overlap or not.
  void AddCopy() {
    const size_t i = random_.Int(0, bases_.size() - 1), j = random_.Int(0, bases_.size() - 1);
    const HostView from = AnyView(*bases_[i], false);
    const int64_t item = ItemSize(from.dtype), bytes = bases_[j]->host.size();
    const DType own = bases_[j]->type.dtype;
    if (bytes % item != 0 || IsBool(own) != IsBool(from.dtype)) return;
    HostView to{from.dtype, from.sizes, RowMajorStrides(from.sizes)};
    int64_t last = 0;
    for (size_t d = 0; d < to.sizes.size(); ++d) {
      to.strides[d] *= from.sizes.size() == 1 ? random_.Int(1, 3) : 1;
      last += std::max<int64_t>(to.sizes[d] - 1, 0) * to.strides[d];
    }
    if (last >= bytes / item || to.Overlaps()) return;
    to.offset = random_.Int(0, bytes / item - 1 - last);
    trace_ += "copy base " + std::to_string(i) + ": " + from.Text() + " to base " +
              std::to_string(j) + ": " + to.Text() + "\n";
    writer_.Call(Row("tpu::identity"));
    writer_.Tensor(Bind(*bases_[i], from));
    writer_.EndCall();
    writer_.Write(next_result_++, Bind(*bases_[j], to));
    Replace(*bases_[j], to, Elements(*bases_[i], from));
  }

  static std::vector<char> Elements(const Base& base, const HostView& view) {
    std::vector<char> bytes;
    for (int64_t position : view.Positions()) {
      const char* from = base.host.data() + position;
      bytes.insert(bytes.end(), from, from + ItemSize(view.dtype));
    }
    RandomViews::Canonical(bytes, view.dtype);
    return bytes;
  }

  static void Replace(Base& base, const HostView& view, const std::vector<char>& bytes) {
    const char* from = bytes.data();
    for (int64_t position : view.Positions()) {
      std::memcpy(base.host.data() + position, from, ItemSize(view.dtype));
      from += ItemSize(view.dtype);
    }
  }

  RandomViews random_;
  std::string trace_;
  std::vector<std::unique_ptr<Base>> bases_;
  std::vector<std::unique_ptr<HostView>> views_;
  std::vector<std::unique_ptr<Storage>> values_;
  std::vector<std::unique_ptr<Dims>> strides_;
  std::vector<Expected> reads_;
  ProgramWriter writer_{0};
  int next_result_ = 0;
};

TEST(ViewPrograms, AgreeWithLoopsOnTheHost) {
  const char* wanted = std::getenv("TORCH_TPU_TEST_VIEW_PROGRAMS");
  const int count = wanted == nullptr ? 60 : std::atoi(wanted);
  for (int seed = 0; seed < count && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram program(seed);
    try {
      program.RunAndCompare();
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\n" << program.trace();
    }
  }
}

// A bool view must not touch the bytes beside it.
TEST(ViewPrograms, AWriteThroughBoolLeavesOtherBytesAlone) {
  const Tensor x(std::vector<uint8_t>{5, 6, 7}, {3}), no(std::vector<uint8_t>{0}, {1});
  const Dims one = {1};
  ProgramWriter writer(0);
  writer.Call(Row("tpu::identity"));
  writer.Tensor(no.storage.View(DType::Bool, one, one));
  writer.EndCall();
  writer.Write(0, x.storage.View(DType::Bool, one, one, 1));
  Launch(writer, 0);
  EXPECT_EQ(x.Values<uint8_t>(), (std::vector<uint8_t>{5, 0, 7}));
}

TEST(ViewPrograms, AnotherOffsetIsTheSameProgram) {
  const Tensor x(std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}, {4, 2});
  const Dims sizes = {2}, strides = {1};
  const size_t before = ExecutableCache::Get().size();
  for (int64_t row = 0; row < 4; ++row) {
    ProgramWriter writer(0);
    writer.Call(Row("tpu::identity"));
    writer.Tensor(x.storage.View(DType::Float, sizes, strides, row * 2));
    writer.EndCall();
    const Launched launched = Launch(writer, 0);
    EXPECT_EQ(Read<float>(launched.outputs[0]), (std::vector<float>{row * 2.0f, row * 2.0f + 1}));
  }
  EXPECT_EQ(ExecutableCache::Get().size(), before + 1);
}

}  // namespace
}  // namespace torch_tpu::exec
