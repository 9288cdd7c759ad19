import Foundation
import FuzzDecoders

#if UBIQUITY_FUZZ
    /// LibFuzzer's own main program as a function (llvm.org/docs/LibFuzzer.html, “Using libFuzzer as a library”).
    @_silgen_name("LLVMFuzzerRunDriver")
    private func runFuzzer(
        _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
        _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
    ) -> CInt

    /// The decoder of this process.
    private let decoder = FuzzDecoder(rawValue: ProcessInfo.processInfo.environment["UBIQUITY_FUZZ"] ?? "")!

    /// The function that libFuzzer calls by this name.
    @_cdecl("LLVMFuzzerTestOneInput") func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
        decoder.read(Array(UnsafeBufferPointer(start: bytes, count: count)))
        return 0
    }

    /// With the fuzzer: tries generated inputs, starting from the valid examples in the fuzzer's directory.
    @main
    struct Fuzz {
        static func main() throws {
            if let directory = ProcessInfo.processInfo.environment["UBIQUITY_FUZZ_SEEDS"] {
                for (index, seed) in decoder.seeds.enumerated() {
                    try Data(seed).write(to: URL(filePath: directory).appending(path: "seed\(index)"))
                }
            }
            var count = CommandLine.argc
            var arguments = CommandLine.unsafeArgv
            exit(runFuzzer(&count, &arguments) { test($0, $1) })
        }
    }
#else
    /// Without the fuzzer: reads files, so that a debugger can inspect a finding.
    @main
    struct Fuzz {
        static func main() throws {
            let arguments = CommandLine.arguments.dropFirst()
            guard let name = arguments.first, let decoder = FuzzDecoder(rawValue: name) else {
                FileHandle.standardError.write(
                    Data("Usage: ubiquity-fuzz \(FuzzDecoder.allCases.map(\.rawValue).joined(separator: "|")) FILE …\n".utf8))
                exit(64)
            }
            for file in arguments.dropFirst() { decoder.read([UInt8](try Data(contentsOf: URL(filePath: file)))) }
        }
    }
#endif
