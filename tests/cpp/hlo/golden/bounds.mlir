module @bounds {
  func.func public @main() -> (tensor<i1>, tensor<i1>, tensor<f32>, tensor<f32>, tensor<bf16>, tensor<bf16>, tensor<ui8>, tensor<2xui8>, tensor<ui16>, tensor<2xui16>, tensor<ui32>, tensor<2xui32>, tensor<ui64>, tensor<2xui64>, tensor<i8>, tensor<2xi8>, tensor<i16>, tensor<2xi16>, tensor<i32>, tensor<2xi32>, tensor<i64>, tensor<2xi64>) {
    %0 = "stablehlo.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
    %1 = "stablehlo.constant"() {value = dense<true> : tensor<i1>} : () -> tensor<i1>
    %2 = "stablehlo.constant"() {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
    %3 = "stablehlo.constant"() {value = dense<0x7F800000> : tensor<f32>} : () -> tensor<f32>
    %4 = "stablehlo.constant"() {value = dense<0xFF80> : tensor<bf16>} : () -> tensor<bf16>
    %5 = "stablehlo.constant"() {value = dense<0x7F80> : tensor<bf16>} : () -> tensor<bf16>
    %6 = "stablehlo.constant"() {value = dense<0> : tensor<ui8>} : () -> tensor<ui8>
    %7 = "stablehlo.constant"() {value = dense<255> : tensor<2xui8>} : () -> tensor<2xui8>
    %8 = "stablehlo.constant"() {value = dense<0> : tensor<ui16>} : () -> tensor<ui16>
    %9 = "stablehlo.constant"() {value = dense<65535> : tensor<2xui16>} : () -> tensor<2xui16>
    %10 = "stablehlo.constant"() {value = dense<0> : tensor<ui32>} : () -> tensor<ui32>
    %11 = "stablehlo.constant"() {value = dense<4294967295> : tensor<2xui32>} : () -> tensor<2xui32>
    %12 = "stablehlo.constant"() {value = dense<0> : tensor<ui64>} : () -> tensor<ui64>
    %13 = "stablehlo.constant"() {value = dense<18446744073709551615> : tensor<2xui64>} : () -> tensor<2xui64>
    %14 = "stablehlo.constant"() {value = dense<-128> : tensor<i8>} : () -> tensor<i8>
    %15 = "stablehlo.constant"() {value = dense<127> : tensor<2xi8>} : () -> tensor<2xi8>
    %16 = "stablehlo.constant"() {value = dense<-32768> : tensor<i16>} : () -> tensor<i16>
    %17 = "stablehlo.constant"() {value = dense<32767> : tensor<2xi16>} : () -> tensor<2xi16>
    %18 = "stablehlo.constant"() {value = dense<-2147483648> : tensor<i32>} : () -> tensor<i32>
    %19 = "stablehlo.constant"() {value = dense<2147483647> : tensor<2xi32>} : () -> tensor<2xi32>
    %20 = "stablehlo.constant"() {value = dense<-9223372036854775808> : tensor<i64>} : () -> tensor<i64>
    %21 = "stablehlo.constant"() {value = dense<9223372036854775807> : tensor<2xi64>} : () -> tensor<2xi64>
    "func.return"(%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21) : (tensor<i1>, tensor<i1>, tensor<f32>, tensor<f32>, tensor<bf16>, tensor<bf16>, tensor<ui8>, tensor<2xui8>, tensor<ui16>, tensor<2xui16>, tensor<ui32>, tensor<2xui32>, tensor<ui64>, tensor<2xui64>, tensor<i8>, tensor<2xi8>, tensor<i16>, tensor<2xi16>, tensor<i32>, tensor<2xi32>, tensor<i64>, tensor<2xi64>) -> ()
  }
}
