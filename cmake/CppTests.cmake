# torch_tpu_add_test(<name> SOURCES <file>... LINK <target>...): one GoogleTest program, its cases known to ctest.
# The macro TORCH_TPU_TEST_PLUGIN names the CPU plugin, for tests that need a real one.
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
include(GoogleTest)

function(torch_tpu_add_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LINK} GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${CMAKE_SOURCE_DIR}/tests/cpp")
  target_compile_definitions(${name} PRIVATE TORCH_TPU_TEST_PLUGIN="${PJRT_CPU_PLUGIN}")
  # PRE_TEST: the build itself runs no test program.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
endfunction()

# torch_tpu_add_benchmark(<name> SOURCES <file>... LINK <target>...): one Google Benchmark program.
function(torch_tpu_add_benchmark name)
  cmake_parse_arguments(BENCH "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${BENCH_SOURCES})
  target_link_libraries(${name} PRIVATE ${BENCH_LINK} benchmark::benchmark_main)
  target_compile_definitions(${name} PRIVATE TORCH_TPU_TEST_PLUGIN="${PJRT_CPU_PLUGIN}")
endfunction()
