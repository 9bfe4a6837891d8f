// Checked blobs by name in one folder, which any number of processes use at once.
//
// What lies there is code that will run, so a folder or file that somebody else could have written
// is not read. A file that is torn, damaged or of another format is as good as none.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torch_tpu::exec {

// Why what lies at `path` must not be loaded: it belongs to another user, or others may write to it
// or to a folder above it. Empty where all is well.
std::string WhyNotTrusted(const std::string& path);

// A blob as it lies in a file, with what proves it whole, and the way back: nullopt with the reason
// in `problem`. The name is part of the proof.
std::string Seal(const std::string& name, std::string_view blob);
std::optional<std::string> Unseal(const std::string& name, std::string bytes, std::string& problem);

// Held until destroyed, or until its process ends in whatever way.
class NameLock {
 public:
  NameLock() = default;
  NameLock(int fd, int64_t at) : fd_(fd), at_(at) {}
  NameLock(NameLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)), at_(other.at_) {}
  NameLock& operator=(NameLock&&) = delete;
  ~NameLock();
  bool held() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
  int64_t at_ = 0;
};

class DiskCache {
 public:
  enum class Mode { kReadOnly, kReadWrite };

  // Makes the folder (0700) in mode kReadWrite. c10::Error saying why where it cannot be used.
  DiskCache(std::string folder, Mode mode, int64_t limit_bytes = 0);
  DiskCache(const DiskCache&) = delete;
  ~DiskCache();

  const std::string& folder() const { return folder_; }

  // The blob, marked as used now. nullopt where there is none, or none that may be loaded; a bad
  // file is removed and told.
  std::optional<std::string> Read(const std::string& name);
  // Readers see the whole blob or none. False, and told once, where the disk does not take it.
  bool Write(const std::string& name, std::string_view blob);
  void Remove(const std::string& name);

  // Keeps other threads and processes on this host from holding the lock of the same name. Waits
  // until `patience_seconds` are over and then, as where the folder takes no locks, returns one
  // that is not held: everything works without, only more than once.
  NameLock Lock(std::string_view name, double patience_seconds = 600);

  struct File {
    std::string name;
    int64_t bytes = 0;
    double last_use = 0;  // seconds since 1970
  };
  // Every blob, those not used for longest first.
  std::vector<File> List() const;
  // The blob without marking it as used. nullopt where there is none or, with the reason in
  // `problem`, none that may be loaded.
  std::optional<std::string> Peek(const std::string& name, std::string& problem) const;
  // Removes every blob and what broken writers left; returns how many blobs there were.
  int64_t Clear();

 private:
  std::optional<std::string> Load(const std::string& name, bool mark_used,
                                  std::string& problem) const;
  void Trim();
  void TellOnce(std::string_view what, int error);

  std::string folder_;
  Mode mode_;
  int64_t limit_bytes_;
  int fd_ = -1;
  std::mutex mutex_;
  int64_t written_since_trim_;
  std::atomic<bool> told_{false};
};

}  // namespace torch_tpu::exec
