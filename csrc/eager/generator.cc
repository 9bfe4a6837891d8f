#include "eager/generator.h"

#include <ATen/Functions.h>
#include <c10/core/GeneratorImpl.h>

#include <array>
#include <cstring>
#include <memory>
#include <mutex>

#include "eager/guard.h"
#include "exec/recording.h"

namespace torch_tpu::eager {
namespace {

constexpr c10::DeviceType kTpu = c10::DeviceType::PrivateUse1;
constexpr uint64_t kBlock = 4;  // 32-bit numbers that Philox gives at a time

class Generator final : public c10::GeneratorImpl {
 public:
  explicit Generator(int device, std::shared_ptr<RandomState> state = nullptr)
      : GeneratorImpl(c10::Device(kTpu, static_cast<c10::DeviceIndex>(device)),
                      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        state_(state ? std::move(state)
                     : std::make_shared<RandomState>(c10::default_rng_seed_val, 0)) {}

  // PyTorch's check_generator asks for it.
  static c10::DeviceType device_type() { return kTpu; }

  void set_current_seed(uint64_t seed) override { *state_ = {seed, 0}; }
  uint64_t current_seed() const override { return state_->seed; }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return state_->seed;
  }

  void set_offset(uint64_t offset) override {
    TORCH_CHECK(offset % kBlock == 0, "Generator.set_offset: expected a multiple of ", kBlock,
                ", got ", offset);
    state_->offset = offset;
  }
  uint64_t get_offset() const override { return state_->offset; }

  // 16 bytes: the seed (uint64), then the offset (int64). CUDA's layout, which DTensor reads.
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::Tensor bytes = at::empty({sizeof(RandomState)}, at::TensorOptions().dtype(at::kByte));
    std::memcpy(bytes.mutable_data_ptr(), state_.get(), sizeof(RandomState));
    return bytes.getIntrusivePtr();
  }
  void set_state(const c10::TensorImpl& new_state) override {
    at::detail::check_rng_state(new_state);
    TORCH_CHECK(new_state.numel() == sizeof(RandomState),
                "Generator.set_state: expected a state of ", sizeof(RandomState), " bytes, got ",
                new_state.numel());
    RandomState state;
    std::memcpy(&state, new_state.data(), sizeof(state));
    TORCH_CHECK(state.offset % kBlock == 0, "Generator.set_state: expected an offset that is a ",
                "multiple of ", kBlock, ", got ", state.offset);
    *state_ = state;
  }

  // Shares the state, so that what replays a graph and what recorded it draw from one stream.
  c10::intrusive_ptr<GeneratorImpl> graphsafe_get_state() const override {
    return c10::make_intrusive<Generator>(device().index(), state_);
  }
  void graphsafe_set_state(const c10::intrusive_ptr<GeneratorImpl>& new_state) override {
    const auto* other = dynamic_cast<const Generator*>(new_state.get());
    TORCH_CHECK(other != nullptr,
                "Generator.graphsafe_set_state: expected the state of a tpu generator");
    state_ = other->state_;
  }

  RandomState Next(uint64_t count) {
    const RandomState now = *state_;
    state_->offset += (count + kBlock - 1) / kBlock * kBlock;
    return now;
  }

 private:
  // Ownership goes to the intrusive_ptr that PyTorch makes of it.
  Generator* clone_impl() const override {
    return std::make_unique<Generator>(device().index(), std::make_shared<RandomState>(*state_))
        .release();
  }

  std::shared_ptr<RandomState> state_;
};

struct Defaults {
  std::mutex mutex;
  std::optional<uint64_t> seed;  // of the last SeedDefaultGenerators
  std::array<at::Generator, kMaxDevices> generators;
};

Defaults& GetDefaults() {
  static Defaults& defaults = *std::make_unique<Defaults>().release();  // outlives its users
  return defaults;
}

}  // namespace

RandomState NextRandomState(const std::optional<at::Generator>& generator, int device,
                            uint64_t count) {
  // A graph asks for its states at each launch.
  if (exec::Recording::Current() != nullptr) return {};
  Generator* impl =
      generator && generator->defined()
          ? at::check_generator<Generator>(generator)
          : static_cast<Generator*>(DefaultGenerator(device).unsafeGetGeneratorImpl());
  const std::lock_guard lock(impl->mutex_);
  return impl->Next(count);
}

const at::Generator& DefaultGenerator(int device) {
  CheckDevice(device);
  Defaults& defaults = GetDefaults();
  const std::lock_guard lock(defaults.mutex);
  at::Generator& generator = defaults.generators[device];
  if (!generator.defined()) {
    generator = at::make_generator<Generator>(device);
    if (defaults.seed) {
      generator.set_current_seed(*defaults.seed);
    } else {
      generator.seed();
    }
  }
  return generator;
}

at::Generator NewGenerator(int device) {
  CheckDevice(device);
  return at::make_generator<Generator>(device);
}

void SeedDefaultGenerators(uint64_t seed) {
  Defaults& defaults = GetDefaults();
  const std::lock_guard lock(defaults.mutex);
  defaults.seed = seed;
  for (at::Generator& generator : defaults.generators) {
    if (!generator.defined()) continue;
    const std::lock_guard generator_lock(generator.mutex());
    generator.set_current_seed(seed);
  }
}

}  // namespace torch_tpu::eager
