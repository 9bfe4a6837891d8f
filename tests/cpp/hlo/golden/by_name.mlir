module @by_name {
  func.func public @main(%0: tensor<2xf32>, %1: tensor<i32>) -> (tensor<2xf32>, tensor<i32>, tensor<2xf32>, tensor<2xf32>, tensor<i32>) {
    %2, %3 = "stablehlo.optimization_barrier"(%0, %1) : (tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<i32>)
    %4 = "stablehlo.custom_call"(%0) {call_target_name = "Sharding", backend_config = "a=1"} : (tensor<2xf32>) -> tensor<2xf32>
    %5 = "stablehlo.round_nearest_afz"(%0) : (tensor<2xf32>) -> tensor<2xf32>
    %6 = "stablehlo.get_dimension_size"(%0) {dimension = 0 : i64} : (tensor<2xf32>) -> tensor<i32>
    "func.return"(%2, %3, %4, %5, %6) : (tensor<2xf32>, tensor<i32>, tensor<2xf32>, tensor<2xf32>, tensor<i32>) -> ()
  }
}
