internal import ArgumentParser
internal import Foundation

/// An object as JSON, as every tool writes it: keys sorted, times as in ISO 8601.
///
/// - Parameters:
///   - object: the object.
///   - isIndented: whether it takes a line a value, for people; else it is one line.
/// - Returns: the JSON, without a line end.
/// - Throws: what encoding the object throws.
package func jsonText(_ object: some Encodable, isIndented: Bool) throws -> String {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if isIndented { encoder.outputFormatting.insert(.prettyPrinted) }
    return String(decoding: try encoder.encode(object), as: UTF8.self)
}

/// An object as JSON on one line.
package func jsonLine(_ object: some Encodable) throws -> String { try jsonText(object, isIndented: false) }

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

extension Unicode.Scalar {
    /// Whether a terminal could do more with it than show it: a control character, or one that begins another line.
    package var isTerminalControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// Its number, in the place of what must not go to a terminal.
    package var escape: String { "\\u{\(String(value, radix: 16))}" }
}

extension String {
    /// Text as a terminal can show it, on one line: what could do more than show, by its number.
    package var printable: String { unicodeScalars.map { $0.isTerminalControl ? $0.escape : String($0) }.joined() }

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
