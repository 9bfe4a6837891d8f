# Finds Python, the torch package and pjrt_c_api.h (carried by the package xla-cpu-pjrt) and defines
#   torch::c10    headers and libc10
#   torch::torch  torch::c10 and libtorch, libtorch_cpu, libtorch_python
#   pjrt::header  pjrt_c_api.h
# find_package(Torch) is avoided: it is slow and adds flags of its own.

if(NOT Python_EXECUTABLE AND EXISTS "${CMAKE_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${CMAKE_SOURCE_DIR}/.venv/bin/python" CACHE FILEPATH "Python interpreter")
endif()
set(Python_FIND_VIRTUALENV FIRST)
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)

if(NOT TORCH_TPU_PYTHON_SEEN STREQUAL Python_EXECUTABLE)
  # Autoload is off: an installed torch_tpu must not be needed to build torch_tpu.
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env TORCH_DEVICE_BACKEND_AUTOLOAD=0 "${Python_EXECUTABLE}" -c [=[
import importlib.util, os, torch
plugin = importlib.util.find_spec("xla_plugins.xla_cpu_pjrt")
print(os.path.dirname(torch.__file__), torch.__version__, int(torch._C._GLIBCXX_USE_CXX11_ABI),
      os.path.dirname(plugin.origin) if plugin else "", sep=";")
]=]
    OUTPUT_VARIABLE answer
    ERROR_VARIABLE problem
    RESULT_VARIABLE status
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "torch: expected an installed torch package in ${Python_EXECUTABLE}, got:\n${problem}"
                        "Run `make build`, or pass -DPython_EXECUTABLE=<a python that has torch==2.13.0>.")
  endif()
  list(GET answer 0 torch_dir)
  list(GET answer 1 torch_version)
  list(GET answer 2 torch_abi)
  list(GET answer 3 plugin_dir)
  set(TORCH_DIR "${torch_dir}" CACHE PATH "Folder of the torch package" FORCE)
  set(TORCH_VERSION "${torch_version}" CACHE STRING "Version of the torch package" FORCE)
  set(TORCH_CXX11_ABI "${torch_abi}" CACHE STRING "_GLIBCXX_USE_CXX11_ABI of the torch package" FORCE)
  set(PJRT_CPU_PLUGIN_DIR "${plugin_dir}" CACHE PATH "Folder of the package xla-cpu-pjrt" FORCE)
  set(TORCH_TPU_PYTHON_SEEN "${Python_EXECUTABLE}" CACHE INTERNAL "Interpreter that the values above come from")
  unset(PJRT_INCLUDE_DIR CACHE)
endif()
if(NOT TORCH_VERSION MATCHES "^2\\.13\\.")
  message(FATAL_ERROR "torch: expected version 2.13, got ${TORCH_VERSION} in ${TORCH_DIR}")
endif()
message(STATUS "Found torch ${TORCH_VERSION}: ${TORCH_DIR}")

find_path(PJRT_INCLUDE_DIR pjrt_c_api.h HINTS "${PJRT_CPU_PLUGIN_DIR}/include"
          DOC "Folder of pjrt_c_api.h (the package xla-cpu-pjrt carries it)" REQUIRED)
set(PJRT_CPU_PLUGIN "${PJRT_CPU_PLUGIN_DIR}/xla_cpu_pjrt.so")

add_library(pjrt::header INTERFACE IMPORTED)
target_include_directories(pjrt::header SYSTEM INTERFACE "${PJRT_INCLUDE_DIR}")

add_library(torch::c10 INTERFACE IMPORTED)
# FMT_HEADER_ONLY: torch ships fmt's headers, and its copy of the library is hidden.
target_compile_definitions(torch::c10 INTERFACE _GLIBCXX_USE_CXX11_ABI=${TORCH_CXX11_ABI} FMT_HEADER_ONLY=1)
target_include_directories(torch::c10 SYSTEM INTERFACE "${TORCH_DIR}/include")
target_link_libraries(torch::c10 INTERFACE "${TORCH_DIR}/lib/libc10.so")

add_library(torch::torch INTERFACE IMPORTED)
target_include_directories(torch::torch SYSTEM INTERFACE "${TORCH_DIR}/include/torch/csrc/api/include"
                                                         ${Python_INCLUDE_DIRS})
target_link_libraries(torch::torch INTERFACE torch::c10 "${TORCH_DIR}/lib/libtorch_cpu.so"
                                             "${TORCH_DIR}/lib/libtorch.so" "${TORCH_DIR}/lib/libtorch_python.so")
