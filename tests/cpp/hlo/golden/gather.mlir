module @gather {
  func.func public @main(%0: tensor<5x4xf32>, %1: tensor<3x1xi32>, %2: tensor<5x2x1xi64>) -> (tensor<3x4xf32>, tensor<5x2xf32>) {
    %3 = "stablehlo.gather"(%0, %1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false} : (tensor<5x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
    %4 = "stablehlo.gather"(%0, %2) {dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = true} : (tensor<5x4xf32>, tensor<5x2x1xi64>) -> tensor<5x2xf32>
    "func.return"(%3, %4) : (tensor<3x4xf32>, tensor<5x2xf32>) -> ()
  }
}
