#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {

OpRows LossRows() { return {}; }

}  // namespace torch_tpu::lowering
