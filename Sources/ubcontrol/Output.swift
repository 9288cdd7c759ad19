import ArgumentParser
import Foundation

/// Prints an object on a line of its own.
func printJSON(_ object: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(object), as: UTF8.self))
}

/// Has what was printed go out at once: a reader of a pipe gets each line as it comes.
///
/// Whoever speaks with Syncthing is not ended by SIGPIPE: SwiftNIO has it ignored in the whole process.
///
/// - Throws: `ExitCode` 0 where nobody reads any more, so that there is nothing left to do.
func flushOutput() throws {
    if fflush(nil) != 0, errno == EPIPE { throw ExitCode.success }
}

/// Writes to standard error.
func writeError(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }

extension String {
    /// Text as a terminal can show it: control characters, which could do more than show, by their numbers.
    var printable: String {
        unicodeScalars.map { $0.properties.generalCategory == .control ? "\\u{\(String($0.value, radix: 16))}" : String($0) }.joined()
    }
}

/// A number with what is counted, such as “2 files”.
func counted(_ number: Int, _ thing: String) -> String { "\(number) \(thing)\(number == 1 ? "" : "s")" }
