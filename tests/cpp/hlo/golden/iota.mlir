module @iota {
  func.func public @main() -> (tensor<2x3xi32>, tensor<4xf32>, tensor<2xi1>) {
    %0 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<2x3xi32>
    %1 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<4xf32>
    %2 = "stablehlo.iota"() {iota_dimension = 0 : i64} : () -> tensor<2xi32>
    %3 = "stablehlo.constant"() {value = dense<0> : tensor<2xi32>} : () -> tensor<2xi32>
    %4 = "stablehlo.compare"(%2, %3) {comparison_direction = #stablehlo<comparison_direction NE>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    "func.return"(%0, %1, %4) : (tensor<2x3xi32>, tensor<4xf32>, tensor<2xi1>) -> ()
  }
}
