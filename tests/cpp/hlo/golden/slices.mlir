module @slices {
  func.func public @main(%0: tensor<4x6xf32>, %1: tensor<i32>, %2: tensor<i32>) -> (tensor<2x2xf32>, tensor<4x0xf32>, tensor<4x3xf32>, tensor<2x3xf32>, tensor<4x6xf32>) {
    %3 = "stablehlo.dynamic_slice"(%0, %1, %2) {slice_sizes = array<i64: 2, 3>} : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %4 = "stablehlo.slice"(%0) {start_indices = array<i64: 1, 0>, limit_indices = array<i64: 4, 6>, strides = array<i64: 2, 3>} : (tensor<4x6xf32>) -> tensor<2x2xf32>
    %5 = "stablehlo.slice"(%0) {start_indices = array<i64: 0, 2>, limit_indices = array<i64: 4, 2>, strides = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x0xf32>
    %6 = "stablehlo.slice"(%0) {start_indices = array<i64: 0, 1>, limit_indices = array<i64: 4, 6>, strides = array<i64: 1, 2>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
    %7 = "stablehlo.dynamic_update_slice"(%0, %3, %1, %2) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
    "func.return"(%4, %5, %6, %3, %7) : (tensor<2x2xf32>, tensor<4x0xf32>, tensor<4x3xf32>, tensor<2x3xf32>, tensor<4x6xf32>) -> ()
  }
}
