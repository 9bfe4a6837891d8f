module @bitcast {
  func.func public @main(%0: tensor<3xf32>, %1: tensor<3x4xui8>) -> (tensor<3xi32>, tensor<3x2xi16>, tensor<3xf32>, tensor<3xf32>) {
    %2 = "stablehlo.bitcast_convert"(%0) : (tensor<3xf32>) -> tensor<3xi32>
    %3 = "stablehlo.bitcast_convert"(%0) : (tensor<3xf32>) -> tensor<3x2xi16>
    %4 = "stablehlo.bitcast_convert"(%1) : (tensor<3x4xui8>) -> tensor<3xf32>
    "func.return"(%2, %3, %4, %0) : (tensor<3xi32>, tensor<3x2xi16>, tensor<3xf32>, tensor<3xf32>) -> ()
  }
}
