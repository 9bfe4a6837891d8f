module @signature {
  func.func public @main(%0: tensor<2x3xf32> {tf.aliasing_output = 1 : i32}, %1: tensor<i64>) -> (tensor<i64>, tensor<2x3xf32>, tensor<2x3xf32>) {
    %2 = "stablehlo.negate"(%0) : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("aten::neg")
    "func.return"(%1, %2, %0) : (tensor<i64>, tensor<2x3xf32>, tensor<2x3xf32>) -> ()
  }
}
