module @reduce {
  func.func public @main(%0: tensor<2x3xf32>) -> (tensor<f32>, tensor<3xf32>, tensor<2xf32>, tensor<2xi32>) {
    %1 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    %2 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<2x3xi32>
    %3 = "stablehlo.constant"() {value = dense<-1> : tensor<i32>} : () -> tensor<i32>
    %11, %12 = "stablehlo.reduce"(%0, %2, %1, %3) ({
    ^bb0(%4: tensor<f32>, %5: tensor<i32>, %6: tensor<f32>, %7: tensor<i32>):
      %8 = "stablehlo.compare"(%4, %6) {comparison_direction = #stablehlo<comparison_direction GE>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %9 = "stablehlo.select"(%8, %4, %6) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %10 = "stablehlo.select"(%8, %5, %7) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%9, %10) : (tensor<f32>, tensor<i32>) -> ()
    }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
    %16 = "stablehlo.reduce"(%0, %1) ({
    ^bb0(%13: tensor<f32>, %14: tensor<f32>):
      %15 = "stablehlo.add"(%13, %14) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%15) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    %20 = "stablehlo.reduce"(%0, %1) ({
    ^bb0(%17: tensor<f32>, %18: tensor<f32>):
      %19 = "stablehlo.maximum"(%17, %18) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%19) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
    "func.return"(%16, %20, %11, %12) : (tensor<f32>, tensor<3xf32>, tensor<2xf32>, tensor<2xi32>) -> ()
  }
}
