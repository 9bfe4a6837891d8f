#include "exec/disk_cache.h"

#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>
#include <c10/util/hash.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "base/hash.h"
#include "base/log.h"
#include "exec/stats.h"

namespace torch_tpu::exec {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "torch_tpu blob 1";
constexpr size_t kChecksumSize = 40;
constexpr size_t kHeaderSize = kMagic.size() + kChecksumSize;
constexpr const char* kLockFile = "locks";
constexpr std::string_view kUnfinished = ".part";
constexpr double kUnfinishedSeconds = 3600;  // no writer takes that long

std::string Checksum(const std::string& name, std::string_view blob) {
  std::string bytes = name + '\n';
  bytes += blob;
  return c10::sha1(bytes).str();
}

std::string Why(int error) { return std::strerror(error); }

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double LastUse(const struct stat& status) {
  return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * status.st_mtim.tv_nsec;
}

std::string OwnerProblem(const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return fmt::format("it belongs to user {}, not to {} or root", status.st_uid, ::geteuid());
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fmt::format("others may write to it (mode {:04o})", status.st_mode & 07777);
  }
  return "";
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(written);
  }
  return true;
}

bool ReadAll(int fd, std::string& bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + at, bytes.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
  }
  return true;
}

struct flock ByteLock(short type, int64_t at) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  return lock;
}

}  // namespace

std::string WhyNotTrusted(const std::string& path) {
  std::error_code error;
  const fs::path resolved = fs::canonical(path, error);
  if (error) return error.message();
  struct stat status;
  if (::stat(resolved.c_str(), &status) != 0) return Why(errno);
  std::string problem = OwnerProblem(status);
  for (fs::path above = resolved.parent_path(); problem.empty(); above = above.parent_path()) {
    if (::stat(above.c_str(), &status) != 0) return above.string() + ": " + Why(errno);
    // In a sticky folder nobody can replace what belongs to others.
    if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0) {
      problem = fmt::format("everybody may write to {} (mode {:04o})", above.string(),
                            status.st_mode & 07777);
    }
    if (above == above.root_path()) break;
  }
  return problem;
}

std::string Seal(const std::string& name, std::string_view blob) {
  std::string bytes(kMagic);
  bytes += Checksum(name, blob);
  bytes += blob;
  return bytes;
}

std::optional<std::string> Unseal(const std::string& name, std::string bytes,
                                  std::string& problem) {
  const std::string_view view = bytes;
  if (view.size() < kHeaderSize) {
    problem = "it is cut short";
  } else if (!view.starts_with(kMagic)) {
    problem = "it is of another format";
  } else if (Checksum(name, view.substr(kHeaderSize)) !=
             view.substr(kMagic.size(), kChecksumSize)) {
    problem = "its checksum is wrong";
  } else {
    bytes.erase(0, kHeaderSize);
    return bytes;
  }
  return std::nullopt;
}

NameLock::~NameLock() {
  if (fd_ < 0) return;
  // Unlocked by name: a forked child may have the file open, too.
  struct flock lock = ByteLock(F_UNLCK, at_);
  ::fcntl(fd_, F_OFD_SETLK, &lock);
  ::close(fd_);
}

DiskCache::DiskCache(std::string folder, Mode mode, int64_t limit_bytes)
    : folder_(std::move(folder)),
      mode_(mode),
      limit_bytes_(limit_bytes),
      written_since_trim_(limit_bytes) {
  if (mode_ == Mode::kReadWrite) {
    std::error_code error;
    const fs::path parent = fs::path(folder_).parent_path();
    if (!parent.empty()) fs::create_directories(parent, error);
    TORCH_CHECK(!error, folder_, ": expected a folder that can be made, got ", error.message());
    TORCH_CHECK(::mkdir(folder_.c_str(), 0700) == 0 || errno == EEXIST, folder_,
                ": expected a folder that can be made, got ", Why(errno));
  }
  const std::string problem = WhyNotTrusted(folder_);
  TORCH_CHECK(problem.empty(), folder_,
              ": expected a folder that only you or root can write to, got one where ", problem);
  fd_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  TORCH_CHECK(fd_ >= 0, folder_, ": expected a folder that can be read, got ", Why(errno));
}

DiskCache::~DiskCache() {
  if (fd_ >= 0) ::close(fd_);
}

void DiskCache::TellOnce(std::string_view what, int error) {
  if (told_.exchange(true)) return;
  Log(fmt::format("{}: {} failed: {}. Programs work, but may be compiled again", folder_, what,
                  Why(error)));
}

std::optional<std::string> DiskCache::Load(const std::string& name, bool mark_used,
                                           std::string& problem) const {
  const int fd = ::openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    if (errno != ENOENT) problem = Why(errno);
    return std::nullopt;
  }
  const auto close = c10::make_scope_exit([&] { ::close(fd); });
  struct stat status;
  if (::fstat(fd, &status) != 0) {
    problem = Why(errno);
  } else if (!S_ISREG(status.st_mode)) {
    problem = "it is no regular file";
  } else {
    problem = OwnerProblem(status);
  }
  if (!problem.empty()) return std::nullopt;
  std::string bytes(status.st_size, '\0');
  if (!ReadAll(fd, bytes)) {
    problem = "it cannot be read";
    return std::nullopt;
  }
  auto blob = Unseal(name, std::move(bytes), problem);
  if (blob && mark_used) ::futimens(fd, nullptr);  // a file of root's keeps its time
  return blob;
}

std::optional<std::string> DiskCache::Read(const std::string& name) {
  std::string problem;
  auto blob = Load(name, mode_ == Mode::kReadWrite, problem);
  if (!problem.empty()) {
    ++GetStats().disk_bad_files;
    Log(fmt::format("{}/{} is not used: {}", folder_, name, problem));
    Remove(name);
  }
  return blob;
}

std::optional<std::string> DiskCache::Peek(const std::string& name, std::string& problem) const {
  return Load(name, /*mark_used=*/false, problem);
}

bool DiskCache::Write(const std::string& name, std::string_view blob) {
  const std::string bytes = Seal(name, blob);
  const int64_t size = static_cast<int64_t>(bytes.size());
  if (mode_ == Mode::kReadOnly || (limit_bytes_ > 0 && size > limit_bytes_)) return false;
  std::random_device random;
  const std::string part = fmt::format("{}.{:08x}{:08x}{}", name, random(), random(), kUnfinished);
  const int fd = ::openat(fd_, part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) {
    TellOnce("writing", errno);
    return false;
  }
  // Not synchronized with the disk: what a power cut tears is found by its checksum.
  bool done = WriteAll(fd, bytes);
  int error = errno;
  ::close(fd);
  if (done && ::renameat(fd_, part.c_str(), fd_, name.c_str()) != 0) {
    done = false;
    error = errno;
  }
  if (!done) {
    ::unlinkat(fd_, part.c_str(), 0);
    TellOnce("writing", error);
    return false;
  }
  ++GetStats().disk_writes;
  if (limit_bytes_ > 0) {
    const std::lock_guard lock(mutex_);
    written_since_trim_ += size;
    // Others write, too: looked at often enough that sixteen writers stay below the limit.
    if (written_since_trim_ > limit_bytes_ / 128) Trim();
  }
  return true;
}

void DiskCache::Remove(const std::string& name) {
  if (mode_ == Mode::kReadWrite) ::unlinkat(fd_, name.c_str(), 0);
}

void DiskCache::Trim() {
  written_since_trim_ = 0;
  const std::vector<File> files = List();
  int64_t total = 0;
  for (const File& file : files) total += file.bytes;
  if (total <= limit_bytes_ / 8 * 7) return;
  for (const File& file : files) {
    if (total <= limit_bytes_ / 4 * 3) break;
    Remove(file.name);
    total -= file.bytes;
  }
}

std::vector<DiskCache::File> DiskCache::List() const {
  std::vector<File> files;
  // Of its own: a directory stream has a position.
  const int fd = ::openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* stream = fd < 0 ? nullptr : ::fdopendir(fd);
  if (stream == nullptr) {
    if (fd >= 0) ::close(fd);
    return files;
  }
  const auto close = c10::make_scope_exit([&] { ::closedir(stream); });
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    struct stat status;
    if (name == kLockFile || ::fstatat(fd_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        S_ISDIR(status.st_mode)) {
      continue;
    }
    if (std::string_view(name).ends_with(kUnfinished)) {
      if (mode_ == Mode::kReadWrite && Now() - LastUse(status) > kUnfinishedSeconds) {
        ::unlinkat(fd_, name.c_str(), 0);
      }
      continue;
    }
    files.push_back({name, static_cast<int64_t>(status.st_size), LastUse(status)});
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.last_use < b.last_use; });
  return files;
}

int64_t DiskCache::Clear() {
  const std::vector<File> files = List();
  for (const File& file : files) Remove(file.name);
  return static_cast<int64_t>(files.size());
}

NameLock DiskCache::Lock(std::string_view name, double patience_seconds) {
  if (mode_ == Mode::kReadOnly) return {};
  const int fd =
      ::openat(fd_, kLockFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    TellOnce("locking", errno);
    return {};
  }
  // One byte of the file for each name. The lock belongs to the open file, so the system drops it
  // with its last holder; the two names that share a byte in 2^62 wait for each other in vain.
  const int64_t at = static_cast<int64_t>(HashBytes(name) >> 2);
  const double give_up = Now() + patience_seconds;
  std::chrono::microseconds pause(500);
  for (bool told = false;;) {
    struct flock lock = ByteLock(F_WRLCK, at);
    if (::fcntl(fd, F_OFD_SETLK, &lock) == 0) return NameLock(fd, at);
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      TellOnce("locking", errno);
      break;
    }
    if (Now() > give_up) {
      Log(
          fmt::format("{}: another process compiles the same program since {:.0f} s; compiling it "
                      "here, too",
                      folder_, patience_seconds));
      break;
    }
    if (!told && Now() > give_up - patience_seconds + 30) {
      told = true;
      Log(fmt::format("{}: waiting for another process to compile the same program", folder_));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(20000));
  }
  ::close(fd);
  return {};
}

}  // namespace torch_tpu::exec
