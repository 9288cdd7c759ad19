internal import Foundation

/// A few lines of text that show what an attachment looks like on a terminal.
enum Thumbnail {
    /// The size of a thumbnail in characters.
    static let columns = 24
    static let rows = 6

    /// The shades of a character, from black to white.
    private static let shades = Array(" ░▒▓█")

    /// Returns the thumbnail of data: of a picture its shades, of a text its first lines, and otherwise a label.
    static func text(of data: Data, named name: String) -> String {
        if let image = GreyImage(data) { return picture(image) }
        if let text = beginning(data) { return text }
        let kind = (name as NSString).pathExtension
        return "[\(kind.isEmpty ? "data" : kind), \(data.count) byte\(data.count == 1 ? "" : "s")]"
    }

    /// Draws a picture.
    ///
    /// A character is about twice as high as it is wide.
    private static func picture(_ image: GreyImage) -> String {
        let rows = min(Self.rows, max(1, Self.columns * image.height / image.width / 2))
        let columns = min(Self.columns, max(1, rows * 2 * image.width / image.height))
        guard let small = image.scaled(width: columns, height: rows) else { return "" }
        let characters = small.pixels.map { shades[Int($0) * shades.count / 256] }
        return (0..<rows).map { String(characters[$0 * columns..<($0 + 1) * columns]) }.joined(separator: "\n")
    }

    /// Returns the first lines of UTF-8 text; nil for other data.
    private static func beginning(_ data: Data) -> String? {
        // A character that the limit cuts is left out.
        let start = data.prefix(4 * columns * rows)
        let text = (0...3).lazy.compactMap { String(data: start.dropLast($0), encoding: .utf8) }.first
        guard let text, !text.isEmpty, !text.unicodeScalars.contains(where: isControl) else { return nil }
        let lines = text.split(whereSeparator: \.isNewline).prefix(rows).map { String($0.prefix(columns)) }
        return lines.joined(separator: "\n")
    }

    /// Returns whether a scalar shows that data is no text.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control && !["\t", "\r", "\n"].contains(scalar)
    }
}
