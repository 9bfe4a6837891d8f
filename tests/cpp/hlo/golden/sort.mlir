module @sort {
  func.func public @main(%0: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi64>) {
    %1 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<2x3xi64>
    %7, %8 = "stablehlo.sort"(%0, %1) ({
    ^bb0(%2: tensor<f32>, %3: tensor<f32>, %4: tensor<i64>, %5: tensor<i64>):
      %6 = "stablehlo.compare"(%2, %3) {comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type TOTALORDER>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%6) : (tensor<i1>) -> ()
    }) {dimension = 1 : i64, is_stable = true} : (tensor<2x3xf32>, tensor<2x3xi64>) -> (tensor<2x3xf32>, tensor<2x3xi64>)
    "func.return"(%7, %8) : (tensor<2x3xf32>, tensor<2x3xi64>) -> ()
  }
}
