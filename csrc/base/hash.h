// A fast 64-bit hash of a byte string, for keys in memory only (never for names on disk).
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace torch_tpu {

// wyhash-style: 128-bit multiply and fold over 16-byte steps.
inline uint64_t HashBytes(std::string_view bytes) {
  auto mix = [](uint64_t a, uint64_t b) {
    const unsigned __int128 r = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(r) ^ static_cast<uint64_t>(r >> 64);
  };
  auto read = [](const char* p, size_t n) {
    uint64_t v = 0;
    std::memcpy(&v, p, n);
    return v;
  };
  constexpr uint64_t k0 = 0xa0761d6478bd642full, k1 = 0xe7037ed1a0b428dbull;
  const char* p = bytes.data();
  size_t n = bytes.size();
  uint64_t h = mix(n ^ k0, k1);
  for (; n >= 16; p += 16, n -= 16) h = mix(read(p, 8) ^ k1 ^ h, read(p + 8, 8) ^ k0);
  const uint64_t a = read(p, n < 8 ? n : 8), b = n > 8 ? read(p + 8, n - 8) : 0;
  return mix(a ^ k0 ^ h, b ^ k1);
}

}  // namespace torch_tpu
