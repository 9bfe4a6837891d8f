#include "exec/disk_cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/build_id.h"
#include "device.h"
#include "disk_environment.h"

namespace torch_tpu::exec {
namespace {

namespace fs = std::filesystem;
using Mode = DiskCache::Mode;

const std::string kBlob(5000, 'x');

void Put(const fs::path& file, const std::string& contents) {
  std::ofstream(file, std::ios::binary) << contents;
  chmod(file.c_str(), 0600);
}

class Disk : public ::testing::Test {
 protected:
  Disk() : folder(NewFolder("blobs")), cache(folder, Mode::kReadWrite) {}

  // Reads the blob "a", which must be refused for a reason that contains `why`, and be gone.
  void ExpectBad(const std::string& why) {
    const int64_t bad = GetStats().disk_bad_files;
    ::testing::internal::CaptureStderr();
    EXPECT_FALSE(cache.Read("a").has_value());
    EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), why);
    EXPECT_EQ(GetStats().disk_bad_files, bad + 1);
    EXPECT_FALSE(fs::exists(fs::symlink_status(folder / "a")));
  }

  fs::path folder;
  DiskCache cache;
};

TEST_F(Disk, GivesBackWhatWasWritten) {
  EXPECT_FALSE(cache.Read("a").has_value());
  EXPECT_TRUE(cache.Write("a", kBlob));
  EXPECT_TRUE(cache.Write("empty", ""));
  EXPECT_EQ(cache.Read("a"), kBlob);
  EXPECT_EQ(cache.Read("empty"), "");
  EXPECT_TRUE(cache.Write("a", "other"));
  EXPECT_EQ(cache.Read("a"), "other");
  EXPECT_EQ(DiskCache(folder, Mode::kReadOnly).Read("a"), "other");
  cache.Remove("a");
  EXPECT_FALSE(cache.Read("a").has_value());
  EXPECT_EQ(cache.Clear(), 1);
  EXPECT_TRUE(cache.List().empty());
}

TEST_F(Disk, IsTheUsersAlone) {
  cache.Write("a", kBlob);
  struct stat status;
  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  ASSERT_EQ(stat((folder / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST_F(Disk, AFileThatIsCutShortIsAMiss) {
  const std::string whole = Seal("a", kBlob);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{20}, size_t{55}, size_t{56}, size_t{57},
                            whole.size() / 2, whole.size() - 1}) {
    Put(folder / "a", whole.substr(0, size));
    ExpectBad(size < 56 ? "cut short" : "checksum");
  }
}

TEST_F(Disk, AFileWithOneWrongBitIsAMiss) {
  const std::string whole = Seal("a", std::string(64, 'x'));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string flipped = whole;
    flipped[at] ^= static_cast<char>(1 << (at % 8));
    Put(folder / "a", flipped);
    ExpectBad(at < 16 ? "another format" : "checksum");
  }
}

TEST_F(Disk, AFileOfAnotherVersionOrUnderAnotherNameIsAMiss) {
  std::string foreign = Seal("a", kBlob);
  foreign.replace(0, 16, "torch_tpu blob 9");
  Put(folder / "a", foreign);
  ExpectBad("another format");
  Put(folder / "a", Seal("b", kBlob));
  ExpectBad("checksum");
  Put(folder / "a", Seal("a", kBlob) + "more");
  ExpectBad("checksum");
}

TEST_F(Disk, AFileOfAnotherUserIsAMiss) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  Put(folder / "a", Seal("a", kBlob));
  ASSERT_EQ(chown((folder / "a").c_str(), 12345, 12345), 0);
  ExpectBad("belongs to user 12345");
}

TEST_F(Disk, AFileThatOthersMayWriteIsAMiss) {
  for (const mode_t mode : {0620, 0602, 0666}) {
    Put(folder / "a", Seal("a", kBlob));
    chmod((folder / "a").c_str(), mode);
    ExpectBad("others may write");
  }
}

TEST_F(Disk, WhatIsNoFileIsAMiss) {
  Put(folder / "target", Seal("a", kBlob));
  fs::create_symlink(folder / "target", folder / "a");
  ExpectBad("symbolic links");
  ASSERT_EQ(mkfifo((folder / "a").c_str(), 0600), 0);
  ExpectBad("no regular file");
}

TEST_F(Disk, TheFoldersOfOthersAreRefused) {
  const auto refusal = [](const fs::path& path) {
    return MessageOf<c10::Error>([&] { DiskCache(path, Mode::kReadOnly); });
  };
  const fs::path top = NewFolder("top"), inner = top / "inner";
  EXPECT_CONTAINS(refusal(inner), "No such file");
  fs::create_directories(inner);
  EXPECT_NO_THROW(DiskCache(inner, Mode::kReadOnly));
  chmod(inner.c_str(), 0777);
  EXPECT_CONTAINS(refusal(inner), "others may write");
  chmod(inner.c_str(), 01777);
  EXPECT_CONTAINS(refusal(inner), "others may write");
  chmod(inner.c_str(), 0770);
  EXPECT_CONTAINS(refusal(inner), "others may write");
  chmod(inner.c_str(), 0755);
  chmod(top.c_str(), 0777);
  EXPECT_CONTAINS(refusal(inner), "everybody may write to " + top.string());
  chmod(top.c_str(), 01777);  // as /tmp
  EXPECT_NO_THROW(DiskCache(inner, Mode::kReadOnly));
  // Behind a link it is the place itself that counts.
  const fs::path link = NewFolder("link");
  chmod(inner.c_str(), 0777);
  fs::create_directory_symlink(inner, link);
  EXPECT_CONTAINS(refusal(link), "others may write");
  fs::remove(link);
  chmod(inner.c_str(), 0755);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(inner.c_str(), 12345, 12345), 0);
    EXPECT_CONTAINS(refusal(inner), "belongs to user 12345");
  }
}

TEST_F(Disk, AReadOnlyFolderStaysAsItIs) {
  cache.Write("a", kBlob);
  Put(folder / "bad", "x");
  DiskCache reader(folder, Mode::kReadOnly);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(reader.Write("b", kBlob));
  EXPECT_FALSE(reader.Read("bad").has_value());
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), "cut short");
  EXPECT_FALSE(reader.Lock("a").held());
  reader.Clear();
  EXPECT_TRUE(fs::exists(folder / "a") && fs::exists(folder / "bad"));
}

TEST_F(Disk, WhatADeadWriterLeftIsNeverSeenAndGoesAway) {
  Put(folder / "a.0123.part", "half");
  EXPECT_TRUE(cache.List().empty());
  EXPECT_TRUE(fs::exists(folder / "a.0123.part"));  // its writer may live
  fs::last_write_time(folder / "a.0123.part",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.List();
  EXPECT_FALSE(fs::exists(folder / "a.0123.part"));
}

TEST_F(Disk, AFullDiskCostsNothingButTheBlob) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(cache.Write("a", kBlob));
  EXPECT_FALSE(cache.Write("a", kBlob));
  const std::string told = ::testing::internal::GetCapturedStderr();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_CONTAINS(told, "writing failed: File too large");
  EXPECT_EQ(told.find("writing"), told.rfind("writing"));
  EXPECT_TRUE(fs::is_empty(folder));
  EXPECT_TRUE(cache.Write("a", kBlob));
}

int64_t BytesIn(const DiskCache& cache) {
  int64_t bytes = 0;
  for (const auto& file : cache.List()) bytes += file.bytes;
  return bytes;
}

TEST_F(Disk, StaysBelowItsLimitAndKeepsWhatIsUsed) {
  constexpr int64_t kLimit = 100000;
  DiskCache limited(NewFolder("limited"), Mode::kReadWrite, kLimit);
  limited.Write("used", kBlob);
  for (int i = 0; i < 100; ++i) {
    limited.Write("blob" + std::to_string(i), kBlob);
    EXPECT_LE(BytesIn(limited), kLimit);
    EXPECT_TRUE(limited.Read("used").has_value()) << i;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // the file system's clock ticks
  }
  EXPECT_TRUE(limited.Read("blob99").has_value());
  EXPECT_FALSE(limited.Read("blob0").has_value());
  EXPECT_GT(BytesIn(limited), kLimit / 2);
  EXPECT_FALSE(limited.Write("huge", std::string(kLimit, 'x')));
  EXPECT_TRUE(limited.Read("used").has_value());
}

TEST_F(Disk, WritersInManyThreadsShareTheLimit) {
  constexpr int64_t kLimit = 1000000;
  const fs::path shared = NewFolder("shared_limit");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      DiskCache mine(shared, Mode::kReadWrite, kLimit);  // as a process of its own
      for (int i = 0; i < 100; ++i) {
        const std::string name = std::to_string(t) + "_" + std::to_string(i);
        EXPECT_TRUE(mine.Write(name, kBlob));
        EXPECT_LE(BytesIn(mine), kLimit);
      }
    });
  }
  threads.clear();
  EXPECT_LE(BytesIn(DiskCache(shared, Mode::kReadOnly)), kLimit);
}

TEST_F(Disk, ALockKeepsOthersOutByName) {
  const NameLock a = cache.Lock("a");
  EXPECT_TRUE(a.held());
  EXPECT_TRUE(cache.Lock("b").held());
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(cache.Lock("a", 0.05).held());
  EXPECT_CONTAINS(::testing::internal::GetCapturedStderr(), "compiling it here, too");
  EXPECT_FALSE(DiskCache(folder, Mode::kReadWrite).Lock("a", 0.05).held());
}

TEST_F(Disk, ALockIsPassedOn) {
  std::atomic<int> inside{0}, most{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) {
          const NameLock lock = cache.Lock("a");
          EXPECT_TRUE(lock.held());
          const int now = ++inside;
          most = std::max(most.load(), now);
          --inside;
        }
      });
    }
  }
  EXPECT_EQ(most, 1);
}

TEST_F(Disk, ADeadHolderBlocksNobody) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const NameLock lock = cache.Lock("a");
    const char held = lock.held() ? 'y' : 'n';
    if (write(pipe_ends[1], &held, 1) != 1) _exit(1);
    pause();
  }
  char held = 0;
  ASSERT_EQ(read(pipe_ends[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  EXPECT_FALSE(cache.Lock("a", 0.05).held());
  kill(child, SIGKILL);
  EXPECT_TRUE(cache.Lock("a", 60).held());
  waitpid(child, nullptr, 0);
}

TEST_F(Disk, AForkedChildDoesNotKeepALock) {
  pid_t child;
  {
    const NameLock lock = cache.Lock("a");
    child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
  }
  EXPECT_TRUE(cache.Lock("a", 60).held());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(Disk, WritersThatAreKilledLeaveWholeBlobs) {
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      const std::string blob(200000, static_cast<char>('a' + round));
      for (int i = 0;; ++i) cache.Write("blob" + std::to_string(i % 4), blob);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (const auto& file : cache.List()) {
      std::string problem;
      EXPECT_TRUE(cache.Peek(file.name, problem).has_value()) << file.name << ": " << problem;
    }
  }
}

TEST(BuildId, IsOne) {
  EXPECT_EQ(BuildId().size(), 40u);
  EXPECT_EQ(BuildId().find_first_not_of("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace torch_tpu::exec
