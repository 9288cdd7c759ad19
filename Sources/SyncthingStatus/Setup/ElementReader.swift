/// A reader of the part of XML that Syncthing's `config.xml` uses.
///
/// It knows elements, attributes, texts, comments, and the five named and the numbered entities. A document type is
/// refused, so no text can define entities that grow or name other files.
struct ElementReader {
    /// What a document consists of.
    enum Token: Hashable {
        case start(String, [String: String])
        case end(String)
        case text(String)
    }

    /// The text is not such a document.
    struct Malformed: Error {}

    private let bytes: [UInt8]
    private var place = 0
    private var pending: Token?
    /// The names of the open elements.
    private var open: [String] = []
    /// Deeper elements are refused; Syncthing's are four deep.
    private static let deepest = 64

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the next token; nil at the end.
    mutating func next() throws(Malformed) -> Token? {
        if let token = pending {
            pending = nil
            return token
        }
        while place < bytes.count {
            guard bytes[place] == UInt8(ascii: "<") else {
                let end = bytes[place...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
                defer { place = end }
                return .text(try Self.decoded(bytes[place..<end]))
            }
            if starts("<!--") {
                try skip(past: "-->")
            } else if starts("<?") {
                try skip(past: "?>")
            } else if starts("<!") {
                throw Malformed()
            } else {
                return try tag()
            }
        }
        guard open.isEmpty else { throw Malformed() }
        return nil
    }

    private mutating func tag() throws(Malformed) -> Token {
        place += 1
        if place < bytes.count, bytes[place] == UInt8(ascii: "/") {
            place += 1
            let name = try name()
            skipSpace()
            guard take(">"), open.popLast() == name else { throw Malformed() }
            return .end(name)
        }
        let name = try name()
        var attributes: [String: String] = [:]
        while true {
            skipSpace()
            if take("/") {
                guard take(">") else { throw Malformed() }
                pending = .end(name)
                return .start(name, attributes)
            }
            if take(">") {
                open.append(name)
                guard open.count <= Self.deepest else { throw Malformed() }
                return .start(name, attributes)
            }
            let attribute = try self.name()
            skipSpace()
            guard take("=") else { throw Malformed() }
            skipSpace()
            guard place < bytes.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(bytes[place]),
                let end = bytes[(place + 1)...].firstIndex(of: bytes[place])
            else { throw Malformed() }
            attributes[attribute] = try Self.decoded(bytes[(place + 1)..<end])
            place = end + 1
        }
    }

    private mutating func name() throws(Malformed) -> String {
        let delimiters = Array(" \t\r\n=<>/\"'&".utf8)
        let end = bytes[place...].firstIndex { delimiters.contains($0) } ?? bytes.count
        guard end > place, let name = String(validating: bytes[place..<end], as: UTF8.self) else { throw Malformed() }
        place = end
        return name
    }

    private func starts(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[place...].starts(with: $0) }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard place < bytes.count, bytes[place] == UInt8(ascii: character) else { return false }
        place += 1
        return true
    }

    private mutating func skipSpace() {
        while place < bytes.count, [9, 10, 13, 32].contains(bytes[place]) { place += 1 }
    }

    private mutating func skip(past end: StaticString) throws(Malformed) {
        while place < bytes.count, !starts(end) { place += 1 }
        guard place < bytes.count else { throw Malformed() }
        place += end.utf8CodeUnitCount
    }

    private static let named: [Substring: String] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

    /// Returns a text with its entities replaced.
    private static func decoded(_ bytes: ArraySlice<UInt8>) throws(Malformed) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Malformed() }
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        let parts = text.split(separator: "&", omittingEmptySubsequences: false)
        var decoded = String(parts[0])
        for part in parts.dropFirst() {
            guard let end = part.firstIndex(of: ";") else { throw Malformed() }
            let entity = part[..<end]
            if let value = named[entity] {
                decoded += value
            } else {
                let digits = entity.dropFirst(entity.hasPrefix("#x") ? 2 : 1)
                guard entity.hasPrefix("#"), let number = UInt32(digits, radix: entity.hasPrefix("#x") ? 16 : 10), let scalar = Unicode.Scalar(number)
                else { throw Malformed() }
                decoded.unicodeScalars.append(scalar)
            }
            decoded += part[part.index(after: end)...]
        }
        return decoded
    }
}
