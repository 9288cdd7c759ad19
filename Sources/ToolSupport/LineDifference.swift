/// The difference of two texts by lines, which ``unified(old:new:context:)`` shows as `diff -u` does.
///
/// Lines are equal if their bytes are equal: no two spellings of a letter are one, and a last line without a line feed differs from one with it.
package struct LineDifference: Hashable, Sendable {
    /// The greatest number of bytes of a text.
    package static let byteLimit = 1 << 20
    /// The greatest number of lines of a text.
    package static let lineLimit = 20_000

    /// A place where the texts differ: lines of the old text, and the lines of the new text that replace them.
    package struct Change: Hashable, Sendable {
        /// The numbers of the lines of the old text, from 0.
        package let old: Range<Int>
        /// The numbers of the lines of the new text, from 0.
        package let new: Range<Int>
    }

    /// A line of the output.
    package struct Line: Hashable, Sendable {
        /// The meaning of a line.
        package enum Kind: Sendable {
            /// The name of a text.
            case name
            /// The numbers of the lines that follow.
            case place
            case same, removed, inserted
            /// The line before it has no line feed.
            case remark
        }

        package let kind: Kind
        /// The line without its line feed, with the mark of `diff -u` before it.
        package let text: String
    }

    /// The changes, in the order of the lines; none if the texts are equal.
    package let changes: [Change]
    private let old: [ArraySlice<UInt8>]
    private let new: [ArraySlice<UInt8>]

    /// Compares two texts.
    ///
    /// The result is nil if a text is above ``byteLimit`` or ``lineLimit``.
    ///
    /// - Parameters:
    ///   - old: the text that the changes start from.
    ///   - new: the text that they lead to.
    package init?(from old: String, to new: String) {
        guard old.utf8.count <= Self.byteLimit, new.utf8.count <= Self.byteLimit else { return nil }
        (self.old, self.new) = (Self.lines(of: old), Self.lines(of: new))
        guard self.old.count <= Self.lineLimit, self.new.count <= Self.lineLimit else { return nil }
        changes = Self.changes(from: self.old, to: self.new)
    }

    /// Splits a text behind each line feed.
    private static func lines(of text: String) -> [ArraySlice<UInt8>] {
        let bytes = Array(text.utf8)
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        for (index, byte) in bytes.enumerated() where byte == lineFeed {
            lines.append(bytes[start...index])
            start = index + 1
        }
        if start < bytes.count { lines.append(bytes[start...]) }
        return lines
    }

    private static func changes(from old: [ArraySlice<UInt8>], to new: [ArraySlice<UInt8>]) -> [Change] {
        var numbers: [ArraySlice<UInt8>: Int] = [:]
        func number(_ line: ArraySlice<UInt8>) -> Int {
            if let number = numbers[line] { return number }
            numbers[line] = numbers.count
            return numbers.count - 1
        }
        let common = CommonLines(old.map(number), new.map(number))
        var changes: [Change] = []
        var (row, column) = (0, 0)
        while row < old.count || column < new.count {
            let (top, left) = (row, column)
            while row < old.count, !common.old[row] { row += 1 }
            while column < new.count, !common.new[column] { column += 1 }
            if row > top || column > left { changes.append(Change(old: top..<row, new: left..<column)) }
            // As many lines are common in one text as in the other.
            while row < old.count, column < new.count, common.old[row], common.new[column] { (row, column) = (row + 1, column + 1) }
        }
        return changes
    }

    private static let lineFeed = UInt8(ascii: "\n")
}

extension LineDifference {
    /// Returns the difference in the form of `diff -u`.
    ///
    /// - Parameters:
    ///   - oldName: the name of the old text.
    ///   - newName: the name of the new text.
    ///   - context: the number of equal lines around a change.
    /// - Returns: the lines; none if the texts are equal.
    package func unified(old oldName: String, new newName: String, context: Int = 3) -> [Line] {
        guard !changes.isEmpty else { return [] }
        var lines = [Line(kind: .name, text: "--- \(oldName)"), Line(kind: .name, text: "+++ \(newName)")]
        var rest = changes[...]
        while let first = rest.first {
            var group = [first]
            rest.removeFirst()
            while let next = rest.first, next.old.lowerBound - group[group.count - 1].old.upperBound <= 2 * context {
                group.append(next)
                rest.removeFirst()
            }
            append(group, context, to: &lines)
        }
        return lines
    }

    /// Appends the changes of one hunk, and the lines around them.
    private func append(_ group: [Change], _ context: Int, to lines: inout [Line]) {
        let (first, last) = (group[0], group[group.count - 1])
        let (before, after) = (min(context, first.old.lowerBound), min(context, old.count - last.old.upperBound))
        let rows = first.old.lowerBound - before..<last.old.upperBound + after
        let columns = first.new.lowerBound - before..<last.new.upperBound + after
        lines.append(Line(kind: .place, text: "@@ -\(Self.text(of: rows)) +\(Self.text(of: columns)) @@"))
        var row = rows.lowerBound
        for change in group {
            for line in old[row..<change.old.lowerBound] { Self.append(line, .same, to: &lines) }
            for line in old[change.old] { Self.append(line, .removed, to: &lines) }
            for line in new[change.new] { Self.append(line, .inserted, to: &lines) }
            row = change.old.upperBound
        }
        for line in old[row..<rows.upperBound] { Self.append(line, .same, to: &lines) }
    }

    /// Returns the numbers of lines as `diff -u` writes them: the first and the count, which is left out if it is 1; of no lines, the one before.
    private static func text(of lines: Range<Int>) -> String {
        switch lines.count {
        case 0: "\(lines.lowerBound),0"
        case 1: "\(lines.lowerBound + 1)"
        default: "\(lines.lowerBound + 1),\(lines.count)"
        }
    }

    private static func append(_ line: ArraySlice<UInt8>, _ kind: Line.Kind, to lines: inout [Line]) {
        let isEnded = line.last == lineFeed
        let mark = kind == .removed ? "-" : kind == .inserted ? "+" : " "
        lines.append(Line(kind: kind, text: mark + String(decoding: isEnded ? line.dropLast() : line, as: UTF8.self)))
        if !isEnded { lines.append(Line(kind: .remark, text: "\\ No newline at end of file")) }
    }
}
