internal import ArgumentParser
internal import Foundation

/// Returns an object as JSON, in the form of every tool: keys sorted, times in ISO 8601.
///
/// - Parameters:
///   - object: the object.
///   - isIndented: whether the JSON has a line for each value; otherwise it is one line.
/// - Returns: the JSON, without a line end.
/// - Throws: what encoding the object throws.
package func jsonText(_ object: some Encodable, isIndented: Bool) throws -> String {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if isIndented { encoder.outputFormatting.insert(.prettyPrinted) }
    return String(decoding: try encoder.encode(object), as: UTF8.self)
}

/// Returns an object as JSON on one line.
package func jsonLine(_ object: some Encodable) throws -> String { try jsonText(object, isIndented: false) }

/// Prints an object as JSON on one line.
package func printJSON(_ object: some Encodable) throws { print(try jsonLine(object)) }

/// Writes the printed text at once, so that a reader of a pipe gets each line immediately.
///
/// SIGPIPE does not end a program that uses Syncthing: SwiftNIO ignores the signal in the whole process.
///
/// - Throws: `ExitCode` 0 when the output has no reader any more, so that nothing is left to do.
package func flushOutput() throws {
    if fflush(nil) != 0, errno == EPIPE { throw ExitCode.success }
}

/// Writes to standard error.
package func writeError(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }

/// Writes a line to standard error.
package func printError(_ text: String) { writeError("\(text)\n") }

/// Returns a number with its unit, such as “2 files”.
package func counted(_ number: Int, _ thing: String) -> String { "\(number) \(thing)\(number == 1 ? "" : "s")" }

extension Unicode.Scalar {
    /// Whether a terminal would not just show the scalar: a control character, or one that starts another line.
    package var isTerminalControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// The number that replaces a control character.
    package var escape: String { "\\u{\(String(value, radix: 16))}" }
}

extension String {
    /// The text on one line, in a form that is safe on a terminal: numbers replace control characters.
    package var printable: String { unicodeScalars.map { $0.isTerminalControl ? $0.escape : String($0) }.joined() }

    /// The text of several lines, each in the form of ``printable``.
    package var printableLines: String {
        split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }.joined(separator: "\n")
    }

    /// The word in a form that a shell reads back: unchanged if that is safe, otherwise in quotation marks.
    package var shellWord: String {
        let isSafe =
            !isEmpty
            && unicodeScalars.allSatisfy { $0.isASCII && ($0.properties.isAlphabetic || "0123456789/._-+,:@%~=".unicodeScalars.contains($0)) }
        return isSafe && !hasPrefix("~") ? self : "'\(replacingOccurrences(of: "'", with: #"'\''"#))'"
    }
}
