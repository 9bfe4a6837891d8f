module @scatter {
  func.func public @main(%0: tensor<5x4xf32>, %1: tensor<3x1xi32>, %2: tensor<3x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xi32>) {
    %6 = "stablehlo.scatter"(%0, %1, %2) ({
    ^bb0(%3: tensor<f32>, %4: tensor<f32>):
      %5 = "stablehlo.add"(%3, %4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%5) : (tensor<f32>) -> ()
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, unique_indices = false} : (tensor<5x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<5x4xf32>
    %7 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<5x4xi32>
    %8 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<3x4xi32>
    %13, %14 = "stablehlo.scatter"(%0, %7, %1, %2, %8) ({
    ^bb0(%9: tensor<f32>, %10: tensor<i32>, %11: tensor<f32>, %12: tensor<i32>):
      "stablehlo.return"(%11, %12) : (tensor<f32>, tensor<i32>) -> ()
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], input_batching_dims = [], scatter_indices_batching_dims = [], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = true, unique_indices = true} : (tensor<5x4xf32>, tensor<5x4xi32>, tensor<3x1xi32>, tensor<3x4xf32>, tensor<3x4xi32>) -> (tensor<5x4xf32>, tensor<5x4xi32>)
    "func.return"(%6, %13, %14) : (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xi32>) -> ()
  }
}
