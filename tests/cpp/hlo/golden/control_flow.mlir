module @control_flow {
  func.func public @main(%0: tensor<i32>, %1: tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>) {
    %2 = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32> loc("aten::loop")
    %21, %22 = "stablehlo.while"(%2, %1) ({
    ^bb0(%3: tensor<i32>, %4: tensor<2xf32>):
      %5 = "stablehlo.compare"(%3, %0) {comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("aten::loop")
      "stablehlo.return"(%5) : (tensor<i1>) -> ()
    }, {
    ^bb0(%6: tensor<i32>, %7: tensor<2xf32>):
      %8 = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32> loc("aten::loop")
      %9 = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32> loc("aten::loop")
      %10 = "stablehlo.remainder"(%6, %9) : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("aten::loop")
      %11 = "stablehlo.compare"(%10, %8) {comparison_direction = #stablehlo<comparison_direction EQ>, compare_type = #stablehlo<comparison_type SIGNED>} : (tensor<i32>, tensor<i32>) -> tensor<i1> loc("aten::loop")
      %19 = "stablehlo.if"(%11) ({
        %12 = "stablehlo.add"(%7, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("aten::loop")
        "stablehlo.return"(%12) : (tensor<2xf32>) -> ()
      }, {
        %13 = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32> loc("aten::loop")
        %17 = "stablehlo.reduce"(%7, %13) ({
        ^bb0(%14: tensor<f32>, %15: tensor<f32>):
          %16 = "stablehlo.add"(%14, %15) : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("aten::loop")
          "stablehlo.return"(%16) : (tensor<f32>) -> ()
        }) {dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<f32>) -> tensor<f32> loc("aten::loop")
        %18 = "stablehlo.broadcast_in_dim"(%17) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2xf32> loc("aten::loop")
        "stablehlo.return"(%18) : (tensor<2xf32>) -> ()
      }) : (tensor<i1>) -> tensor<2xf32> loc("aten::loop")
      %20 = "stablehlo.add"(%6, %8) : (tensor<i32>, tensor<i32>) -> tensor<i32> loc("aten::loop")
      "stablehlo.return"(%20, %19) : (tensor<i32>, tensor<2xf32>) -> ()
    }) : (tensor<i32>, tensor<2xf32>) -> (tensor<i32>, tensor<2xf32>) loc("aten::loop")
    "func.return"(%21, %22) : (tensor<i32>, tensor<2xf32>) -> ()
  }
}
