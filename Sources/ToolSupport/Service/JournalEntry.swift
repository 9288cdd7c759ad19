/// An entry for systemd's journal in its native protocol: fields, each with a name and a value of any bytes.
///
/// The format: <https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>.
package struct JournalEntry: Sendable, Hashable {
    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(name: String, value: String) { (self.name, self.value) = (name, value) }
    }

    /// The fields in their order; a name may occur more than once.
    package private(set) var fields: [Field] = []

    /// The longest name that the journal takes, in bytes.
    private static let longestName = 64

    package init() {}

    /// Adds a field.
    ///
    /// - Parameters:
    ///   - name: any text; see ``fieldName(_:prefix:)``.
    ///   - value: the value.
    ///   - prefix: precedes the name.
    package mutating func add(_ name: String, _ value: String, prefix: String = "") {
        fields.append(Field(name: Self.fieldName(name, prefix: prefix), value: value))
    }

    /// Returns a name that the journal takes: capital letters of ASCII, digits and underscores, at most 64, beginning with
    /// a letter.
    ///
    /// Any other character becomes an underscore. The journal ignores fields with other names without a word.
    package static func fieldName(_ name: String, prefix: String = "") -> String {
        var letters = (prefix + name).utf8.prefix(longestName).map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
            case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - 32
            default: UInt8(ascii: "_")
            }
        }
        // A leading underscore marks the journal's own fields, and a leading digit is refused.
        if letters.first.map({ !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) ?? true {
            letters = Array((Array("X".utf8) + letters).prefix(longestName))
        }
        return String(decoding: letters, as: UTF8.self)
    }

    /// The datagram.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for field in fields {
            let value = Array(field.value.utf8)
            bytes += field.name.utf8
            if value.contains(UInt8(ascii: "\n")) {
                // A value with line ends follows its length.
                bytes.append(UInt8(ascii: "\n"))
                for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: UInt64(value.count) >> UInt64(shift))) }
            } else {
                bytes.append(UInt8(ascii: "="))
            }
            bytes += value
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }
}
