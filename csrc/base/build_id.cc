#include "base/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>

namespace torch_tpu {
namespace {

// Each name and description of a note is padded to four bytes.
size_t Padded(size_t size) { return (size + 3) & ~size_t{3}; }

std::string FindInNotes(const char* at, const char* end) {
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof(note));
    const char* name = at + sizeof(note);
    const char* description = name + Padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string id;
      for (size_t i = 0; i < note.n_descsz; ++i) {
        id += fmt::format("{:02x}", static_cast<unsigned char>(description[i]));
      }
      return id;
    }
    at = description + Padded(note.n_descsz);
  }
  return "";
}

// The object that the address of this very function lies in.
int Visit(dl_phdr_info* object, size_t /*size*/, void* result) {
  const auto self = reinterpret_cast<ElfW(Addr)>(&Visit);
  bool is_ours = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = object->dlpi_phdr[i];
    const ElfW(Addr) start = object->dlpi_addr + segment.p_vaddr;
    is_ours |= segment.p_type == PT_LOAD && self >= start && self < start + segment.p_memsz;
  }
  if (!is_ours) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* notes = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    std::string id = FindInNotes(notes, notes + segment.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(result) = std::move(id);
  }
  return 1;
}

}  // namespace

const std::string& BuildId() {
  static const std::string id = [] {
    std::string found;
    dl_iterate_phdr(&Visit, &found);
    return found;
  }();
  return id;
}

}  // namespace torch_tpu
