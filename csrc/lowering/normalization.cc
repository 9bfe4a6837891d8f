#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {

OpRows NormalizationRows() { return {}; }

}  // namespace torch_tpu::lowering
