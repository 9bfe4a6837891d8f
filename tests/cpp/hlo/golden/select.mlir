module @select {
  func.func public @main(%0: tensor<2x2xf32>, %1: tensor<2x2xf32>, %2: tensor<2x2xi1>, %3: tensor<i1>, %4: tensor<f32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xi1>, tensor<2x2xf32>) {
    %5 = "stablehlo.select"(%2, %0, %1) : (tensor<2x2xi1>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %6 = "stablehlo.select"(%3, %0, %1) : (tensor<i1>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %7 = "stablehlo.clamp"(%4, %0, %1) : (tensor<f32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %8 = "stablehlo.is_finite"(%0) : (tensor<2x2xf32>) -> tensor<2x2xi1>
    %9 = "stablehlo.reduce_precision"(%0) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    "func.return"(%5, %6, %7, %8, %9) : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xi1>, tensor<2x2xf32>) -> ()
  }
}
