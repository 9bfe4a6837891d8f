#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {

OpRows ScatterRows() { return {}; }

}  // namespace torch_tpu::lowering
