import ArgumentParser
import Foundation

/// Has what was printed go out at once: a reader of a pipe gets each line as it comes.
///
/// Whoever speaks with Syncthing is not ended by SIGPIPE: SwiftNIO has it ignored in the whole process.
///
/// - Throws: `ExitCode` 0 where nobody reads any more, so that there is nothing left to do.
func flushOutput() throws {
    if fflush(nil) != 0, errno == EPIPE { throw ExitCode.success }
}

extension String {
    /// Text as a terminal can show it: control characters, which could do more than show, by their numbers.
    var printable: String {
        unicodeScalars.map { $0.properties.generalCategory == .control ? "\\u{\(String($0.value, radix: 16))}" : String($0) }.joined()
    }
}

/// JSON for machines, one object a line.
enum JSONOutput {
    static func line(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
