/// A text that a person types, with a cursor.
public struct TextField: Equatable, Sendable {
    /// Whether the enter key starts a new line.
    public let isMultiline: Bool
    private var characters: [Character]
    /// The number of characters before the cursor.
    public private(set) var cursor: Int

    /// Makes a field with the cursor at its end.
    public init(_ text: String = "", isMultiline: Bool = false) {
        characters = Array(text)
        cursor = characters.count
        self.isMultiline = isMultiline
    }

    /// The text.
    public var text: String { String(characters) }

    /// The text before the cursor, and the text after it.
    public var parts: (before: String, after: String) { (String(characters[..<cursor]), String(characters[cursor...])) }

    /// Replaces the text; the cursor stays where it can.
    mutating func replace(_ text: String) {
        characters = Array(text)
        cursor = min(cursor, characters.count)
    }

    /// Takes a key.
    ///
    /// - Returns: whether the key has a meaning in a field.
    @discardableResult
    mutating func press(_ key: Key) -> Bool {
        switch key {
        case .character(let character): insert(character)
        case .enter where isMultiline: insert("\n")
        case .backspace where cursor > 0:
            cursor -= 1
            characters.remove(at: cursor)
        case .delete where cursor < characters.count: characters.remove(at: cursor)
        case .left: cursor = max(0, cursor - 1)
        case .right: cursor = min(characters.count, cursor + 1)
        case .home: cursor = lineStart(before: cursor)
        case .end: cursor = lineEnd(after: cursor)
        case .up where isMultiline: moveUp()
        case .down where isMultiline: moveDown()
        default: return false
        }
        return true
    }

    private mutating func insert(_ character: Character) {
        characters.insert(character, at: cursor)
        cursor += 1
    }

    private func lineStart(before place: Int) -> Int { characters[..<place].lastIndex(of: "\n").map { $0 + 1 } ?? 0 }

    private func lineEnd(after place: Int) -> Int { characters[place...].firstIndex(of: "\n") ?? characters.count }

    private mutating func moveUp() {
        let start = lineStart(before: cursor)
        let above = start > 0 ? lineStart(before: start - 1) : 0
        cursor = start > 0 ? min(above + cursor - start, start - 1) : 0
    }

    private mutating func moveDown() {
        let end = lineEnd(after: cursor)
        let isLast = end == characters.count
        cursor = isLast ? end : min(end + 1 + cursor - lineStart(before: cursor), lineEnd(after: end + 1))
    }
}
