module @windows {
  func.func public @main(%0: tensor<1x6xf32>) -> (tensor<1x3xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x6xf32>) {
    %1 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    %5 = "stablehlo.reduce_window"(%0, %1) ({
    ^bb0(%2: tensor<f32>, %3: tensor<f32>):
      %4 = "stablehlo.add"(%2, %3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%4) : (tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>} : (tensor<1x6xf32>, tensor<f32>) -> tensor<1x3xf32>
    %12, %13 = "stablehlo.reduce_window"(%0, %0, %1, %1) ({
    ^bb0(%6: tensor<f32>, %7: tensor<f32>, %8: tensor<f32>, %9: tensor<f32>):
      %10 = "stablehlo.add"(%6, %8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %11 = "stablehlo.multiply"(%7, %9) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%10, %11) : (tensor<f32>, tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 2>, window_dilations = array<i64: 1, 3>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>} : (tensor<1x6xf32>, tensor<1x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<1x8xf32>, tensor<1x8xf32>)
    %20 = "stablehlo.select_and_scatter"(%0, %5, %1) ({
    ^bb0(%14: tensor<f32>, %15: tensor<f32>):
      %16 = "stablehlo.compare"(%14, %15) {comparison_direction = #stablehlo<comparison_direction GE>, compare_type = #stablehlo<comparison_type FLOAT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%16) : (tensor<i1>) -> ()
    }, {
    ^bb0(%17: tensor<f32>, %18: tensor<f32>):
      %19 = "stablehlo.add"(%17, %18) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%19) : (tensor<f32>) -> ()
    }) {window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>} : (tensor<1x6xf32>, tensor<1x3xf32>, tensor<f32>) -> tensor<1x6xf32>
    "func.return"(%5, %12, %13, %20) : (tensor<1x3xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x6xf32>) -> ()
  }
}
