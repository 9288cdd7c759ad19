internal import ArgumentParser
internal import Foundation

/// An object as JSON on one line.
package func jsonLine(_ object: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(object), as: UTF8.self)
}

/// Prints an object on a line of its own.
package func printJSON(_ object: some Encodable) throws { print(try jsonLine(object)) }

/// Has what was printed go out at once: a reader of a pipe gets each line as it comes.
///
/// A program that speaks with Syncthing is not ended by SIGPIPE: SwiftNIO has it ignored in the whole process.
///
/// - Throws: `ExitCode` 0 where nobody reads any more, so that there is nothing left to do.
package func flushOutput() throws {
    if fflush(nil) != 0, errno == EPIPE { throw ExitCode.success }
}

/// Writes to standard error.
package func writeError(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }

/// Writes a line to standard error.
package func printError(_ text: String) { writeError("\(text)\n") }

/// A number with what is counted, such as “2 files”.
package func counted(_ number: Int, _ thing: String) -> String { "\(number) \(thing)\(number == 1 ? "" : "s")" }

extension String {
    /// Text as a terminal can show it: control characters, which could do more than show, by their numbers.
    package var printable: String {
        unicodeScalars.map { $0.properties.generalCategory == .control ? "\\u{\(String($0.value, radix: 16))}" : String($0) }.joined()
    }

    /// Text of several lines, each of them ``printable``.
    package var printableLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }.joined(separator: "\n")
    }

    /// A word as a shell reads it back: as it is where that is safe, else between quotation marks.
    package var shellWord: String {
        let isSafe =
            !isEmpty
            && unicodeScalars.allSatisfy { $0.isASCII && ($0.properties.isAlphabetic || "0123456789/._-+,:@%~=".unicodeScalars.contains($0)) }
        return isSafe && !hasPrefix("~") ? self : "'\(replacingOccurrences(of: "'", with: #"'\''"#))'"
    }
}
