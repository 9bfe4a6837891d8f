#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {

OpRows RandomRows() { return {}; }

}  // namespace torch_tpu::lowering
