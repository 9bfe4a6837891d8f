#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace torch_tpu::exec {

// What the settings TORCH_TPU_CACHE_DIR and TORCH_TPU_SHARED_CACHE_DIR say in these tests.
std::filesystem::path OwnFolder();
std::filesystem::path SharedFolder();
// A path of this process's where nothing lies.
std::filesystem::path NewFolder(const std::string& name);

}  // namespace torch_tpu::exec
